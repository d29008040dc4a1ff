import { join } from 'node:path';
import { startGateway } from '../gateway.ts';
import { root } from '../process.ts';
import { runAuthorization } from './conformance-authorization.ts';
import { startKeyShim } from './key-shim.ts';
import { startReferenceServer } from './reference-server.ts';

/**
 * `npm run conformance`: the official MCP conformance suite against the reference server, directly and through the
 * gateway, in both eras of the protocol, and its scenarios for authorization servers against the gateway's own. Ends
 * with a failing exit code when the gateway loses a required scenario.
 */
const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
const SUITE = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

interface Score {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly optionalPassed: number;
  readonly optional: number;
}

async function run(url: string, revision: string): Promise<Score> {
  const child = Bun.spawn([process.execPath, SUITE, 'server', '--url', url, '--requirements', revision], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH, NO_COLOR: '1' },
  });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const score = scoreOf(output + errors);
  if (!score) throw new Error(`The suite did not come to its end on ${url}:\n${(output + errors).slice(-2_000)}`);
  return score;
}

/** Scenarios that are run and not required stand in a list of their own after the summary. */
export function scoreOf(output: string): Score | null {
  const [, summary] = output.split('=== SUMMARY ===');
  if (summary === undefined) return null;
  const [all = '', unscored = ''] = summary.split('\nNot scored');
  const optional = new Map([...unscored.matchAll(/^\s+([✓✗]) (\S+) \(/gm)].map(([, mark, name]) => [name!, mark!]));
  const required = [...all.matchAll(/^([✓✗]) (\S+): /gm)].filter(([, , name]) => !optional.has(name!));
  const names = (mark: string) => required.filter((each) => each[1] === mark).map((each) => each[2]!);
  return {
    passed: names('✓'),
    failed: names('✗'),
    optionalPassed: [...optional.values()].filter((mark) => mark === '✓').length,
    optional: optional.size,
  };
}

const shown = ({ passed, failed, optionalPassed, optional }: Score) =>
  `${passed.length}/${passed.length + failed.length} required (${optionalPassed}/${optional} optional)`;

const WAYS = [
  ['through gateway', 'reference'],
  ['through policies', 'policed'],
] as const;

type Gateway = Awaited<ReturnType<typeof startGateway>>;

async function register(gateway: Gateway, slug: string, url: string, configurations = {}) {
  const made = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, configurations });
  if (made.status !== 200) throw new Error(`The server could not be registered: ${made.text}`);
}

/** The same server behind policies of every kind that none of the scenarios falls under. */
async function registerPoliced(gateway: Gateway, url: string) {
  const checks = [{ id: 'default.contains', parameters: { words: ['walrus'], operator: 'none' } }];
  await gateway.api.post('/v1/guardrails', { name: 'none', slug: 'no-walrus', checks, actions: { deny: true } });
  await register(gateway, 'policed', url, {
    input_guardrails: ['no-walrus'],
    output_guardrails: ['no-walrus'],
    tool_pinning: { mode: 'block' },
    tool_authorization: { 'delete_*': { required_claims: ['email'] } },
    rate_limits: [{ type: 'requests', unit: 'rpm', value: 1_000_000 }],
  });
  const off = { capabilities: [{ type: 'tool', name: 'delete_all', enabled: false }] };
  await gateway.api.put('/v1/mcp-servers/policed/capabilities', off);
}

async function main(): Promise<number> {
  const server = startReferenceServer();
  const gateway = await startGateway({ environment: { GATEWAY_OAUTH_REGISTRATION: 'true' } });
  await register(gateway, 'reference', server.url);
  await registerPoliced(gateway, server.url);
  const { key } = await gateway.given.apiKey();
  const shim = startKeyShim(gateway.url, key);
  let lost = 0;
  try {
    for (const revision of REVISIONS) {
      const direct = await run(server.url, revision);
      console.log(`${revision}  direct           ${shown(direct)}`);
      for (const [way, slug] of WAYS) {
        const through = await run(`${shim.url}/${slug}/mcp`, revision);
        console.log(`${revision}  ${way}  ${shown(through)}`);
        for (const name of through.failed) console.log(`${revision}  fails ${way}: ${name}`);
        lost += through.failed.length + Math.max(0, direct.passed.length - through.passed.length);
      }
    }
    const authorization = await runAuthorization(gateway, 'reference');
    const { passed, failed } = authorization;
    console.log(`authorization server         ${passed.length}/${passed.length + failed.length} scenarios`);
    if (failed.length > 0 || passed.length === 0) console.log(authorization.output);
    lost += failed.length + (passed.length === 0 ? 1 : 0);
  } finally {
    shim.stop();
    await gateway.stop();
    server.stop();
  }
  console.log(lost === 0 ? 'Nothing is lost on the way through the gateway.' : 'Scenarios are lost on the way.');
  return lost === 0 ? 0 : 1;
}

if (import.meta.main) process.exit(await main());
