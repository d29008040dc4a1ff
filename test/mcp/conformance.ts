import { join } from 'node:path';
import { startGateway } from '../gateway.ts';
import { root } from '../process.ts';
import { startKeyShim } from './key-shim.ts';
import { startReferenceServer } from './reference-server.ts';

/**
 * `npm run conformance`: the official MCP conformance suite against the reference server, directly and through the
 * gateway, in both eras of the protocol. Ends with a failing exit code when the gateway loses a required scenario.
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

async function main(): Promise<number> {
  const server = startReferenceServer();
  const gateway = await startGateway();
  const made = await gateway.api.post('/v1/mcp-servers', { name: 'Reference', slug: 'reference', url: server.url });
  if (made.status !== 200) throw new Error(`The server could not be registered: ${made.text}`);
  const { key } = await gateway.given.apiKey();
  const shim = startKeyShim(gateway.url, key);
  let lost = 0;
  try {
    for (const revision of REVISIONS) {
      const direct = await run(server.url, revision);
      const through = await run(`${shim.url}/reference/mcp`, revision);
      console.log(`${revision}  direct           ${shown(direct)}`);
      console.log(`${revision}  through gateway  ${shown(through)}`);
      for (const name of through.failed) console.log(`${revision}  fails through the gateway: ${name}`);
      lost += through.failed.length + Math.max(0, direct.passed.length - through.passed.length);
    }
  } finally {
    shim.stop();
    await gateway.stop();
    server.stop();
  }
  console.log(lost === 0 ? 'Nothing is lost on the way through the gateway.' : 'Scenarios are lost on the way.');
  return lost === 0 ? 0 : 1;
}

if (import.meta.main) process.exit(await main());
