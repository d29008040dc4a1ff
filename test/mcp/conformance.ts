import { join } from 'node:path';
import { startGateway } from '../gateway.ts';
import { root } from '../process.ts';
import { startCommonShim } from './common-shim.ts';
import { runAuthorization } from './conformance-authorization.ts';
import { type Score, scoreOf } from './conformance-score.ts';
import { startKeyShim } from './key-shim.ts';
import { startReferenceServer } from './reference-server.ts';

/**
 * `npm run conformance`: the official MCP conformance suite against the reference server, directly, through the gateway
 * and at the address of all servers, in both eras of the protocol, and its scenarios for authorization servers against
 * the gateway's own. Ends with a failing exit code when a scenario is lost on the way that is not lost directly.
 */
const REVISIONS = ['2025-11-25', '2026-07-28'] as const;
const SUITE = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

async function run(url: string, revision: string): Promise<Score> {
  const child = Bun.spawn([process.execPath, SUITE, 'server', '--url', url, '--requirements', revision], {
    stdout: 'pipe',
    stderr: 'pipe',
    env: { PATH: process.env.PATH, NO_COLOR: '1' },
  });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  try {
    return scoreOf(output + errors);
  } catch (error) {
    throw new Error(`${(error as Error).message} (${url}):\n${(output + errors).slice(-2_000)}`);
  }
}

const shown = ({ passed, failed, optionalPassed, optionalFailed }: Score) => {
  const optional = optionalPassed.length + optionalFailed.length;
  return `${passed.length}/${passed.length + failed.length} required (${optionalPassed.length}/${optional} optional)`;
};

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

/** Two servers behind one address, in a workspace of their own; the suite knows the first one's names. */
async function startCommon(gateway: Gateway, urls: readonly string[]) {
  const { id } = await gateway.given.workspace({ name: 'common' });
  for (const [index, url] of urls.entries()) {
    const slug = `common-${index + 1}`;
    const made = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, workspace_id: id });
    if (made.status !== 200) throw new Error(`The server could not be registered: ${made.text}`);
  }
  const { key } = await gateway.given.apiKey({ workspace_id: id });
  return startCommonShim(gateway.url, key, 'common-1');
}

async function main(): Promise<number> {
  const server = startReferenceServer();
  const another = startReferenceServer();
  const gateway = await startGateway({ environment: { GATEWAY_OAUTH_REGISTRATION: 'true' } });
  await register(gateway, 'reference', server.url);
  await registerPoliced(gateway, server.url);
  const { key } = await gateway.given.apiKey();
  const shim = startKeyShim(gateway.url, key);
  const common = await startCommon(gateway, [server.url, another.url]);
  const ways = [
    ['through gateway', `${shim.url}/reference/mcp`],
    ['through policies', `${shim.url}/policed/mcp`],
    ['at one address', common.url],
  ] as const;
  let lost = 0;
  try {
    for (const revision of REVISIONS) {
      const direct = await run(server.url, revision);
      console.log(`${revision}  direct           ${shown(direct)}`);
      for (const [way, url] of ways) {
        const through = await run(url, revision);
        console.log(`${revision}  ${way.padEnd(16)} ${shown(through)}`);
        const failing = [
          ...through.failed,
          ...through.optionalFailed.filter((name) => !direct.optionalFailed.includes(name)),
        ];
        for (const name of failing) console.log(`${revision}  fails ${way}: ${name}`);
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
    common.stop();
    await gateway.stop();
    server.stop();
    another.stop();
  }
  console.log(lost === 0 ? 'Nothing is lost on the way through the gateway.' : 'Scenarios are lost on the way.');
  return lost === 0 ? 0 : 1;
}

if (import.meta.main) process.exit(await main());
