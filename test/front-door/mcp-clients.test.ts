import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { CLIENTS, STEPS, stepsOf } from '../mcp/client-steps.ts';
import { allowing, programAt } from '../mcp/programs.ts';

/**
 * The official TypeScript clients of both lines, at servers of every kind that the gateway can stand before. With those of
 * other languages: scripts/check-mcp-clients.ts.
 */
const PROGRAM = programAt('plain-server');
const KINDS = ['sessions', 'stateless', 'sse', 'stdio'] as const;
type Kind = (typeof KINDS)[number];
const slugOf = (kind: Kind) => `clients-${kind}`;

let gateway: TestGateway;
const servers = new Map<Kind, Awaited<ReturnType<typeof startServer>>>();

/** A server as a process, at a port that it keeps. */
async function startServer(kind: Kind) {
  const begin = async (port: string) => {
    const child = Bun.spawn([process.execPath, PROGRAM, kind, port], { stdout: 'pipe' });
    const reader = child.stdout.getReader();
    let said = '';
    while (!said.includes('\n')) said += new TextDecoder().decode((await reader.read()).value);
    return { child, url: /at (\S+)/.exec(said)![1]! };
  };
  let { child, url } = await begin('0');
  const stop = async () => {
    child.kill('SIGKILL');
    await child.exited;
  };
  return {
    url,
    stop,
    restart: async () => {
      await stop();
      child = (await begin(new URL(url).port)).child;
    },
  };
}

beforeAll(async () => {
  gateway = await startGateway({ environment: allowing({ command: process.execPath, args: [PROGRAM, 'stdio'] }) });
  for (const kind of KINDS) {
    const slug = slugOf(kind);
    if (kind !== 'stdio') servers.set(kind, await startServer(kind));
    const place =
      kind === 'stdio'
        ? { transport: 'stdio', stdio: { command: process.execPath, args: [PROGRAM, 'stdio'] } }
        : { transport: kind === 'sse' ? 'sse' : 'streamable_http' };
    const rate_limits = [{ type: 'requests', unit: 'rpm', value: 1, tool: 'limited' }];
    const url = servers.get(kind)?.url;
    const registered = await gateway.api.post('/v1/mcp-servers', {
      ...{ name: kind, slug, ...(url && { url }), configurations: { ...place, rate_limits } },
    });
    if (registered.status !== 200) throw new Error(registered.text);
    const capabilities = [{ type: 'tool', name: 'secret', enabled: false }];
    await gateway.api.put(`/v1/mcp-servers/${slug}/capabilities`, { capabilities });
  }
}, 120_000);
afterAll(async () => {
  await gateway.stop();
  for (const { stop } of servers.values()) await stop();
});

for (const name of ['typescript-1', 'typescript-2'] as const)
  for (const kind of KINDS)
    for (const at of ['own', 'all'] as const) {
      // A server of 2026-07-28 alone has no version that older clients speak; at the address of all the gateway has.
      if (name === 'typescript-1' && kind === 'stateless' && at === 'own') continue;
      test(`${name} at a ${kind} server, ${at === 'own' ? 'at its own address' : 'among all'}: ${STEPS.join(', ')}`, async () => {
        const { key } = await gateway.given.apiKey({});
        const slug = slugOf(kind);
        const place =
          at === 'own'
            ? { url: `${gateway.url}/${slug}/mcp`, key, prefix: '' }
            : { url: `${gateway.url}/mcp`, key, prefix: `${slug}__` };
        const { steps, close } = stepsOf(CLIENTS[name], place);
        try {
          for (const step of STEPS) expect(`${step}: ${await steps[step]()}`).toBe(`${step}: ok`);
          await servers.get(kind)?.restart();
          const after = await steps.again();
          // Whoever holds a session with a server that has forgotten it begins anew; among all, the gateway does that.
          const begins = at === 'own' && kind === 'sessions';
          // Whether the gateway has heard of the end of the old stream before the next message is a matter of moments.
          const mayBegin = at === 'own' && kind === 'sse';
          expect(begins || mayBegin ? after.split(':')[0]! : after).toBeOneOf(
            begins ? ['new session'] : mayBegin ? ['ok', 'new session'] : ['ok'],
          );
        } finally {
          await close();
        }
      }, 120_000);
    }
