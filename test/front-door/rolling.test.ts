import { afterAll, afterEach, expect, test } from 'bun:test';
import { startProvider } from '../gateway.ts';
import { nextVersion, nodeEnvironment, startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { type GatewayProcess, type ProcessOptions, runGateway } from '../process.ts';

const provider = startProvider();
afterAll(() => provider.stop());
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const hello = { model: 'any', messages: [{ role: 'user', content: 'Hello' }] };

/** Deals calls out to the nodes in rotation, about a hundred a second, and makes keys meanwhile, as a busy team would. */
function load(rotation: GatewayProcess[]) {
  const outcomes: string[] = [];
  const keys: string[] = [];
  const open = new Map<Promise<void>, GatewayProcess>();
  let turn = 0;
  let isOver = false;
  const pick = () => rotation[turn++ % rotation.length]!;
  const track = (work: (node: GatewayProcess) => Promise<string>) => {
    const node = pick();
    const tracked = work(node)
      .catch((error: Error) => `failed: ${error.message}`)
      .then((outcome) => {
        outcomes.push(outcome);
        open.delete(tracked);
      });
    open.set(tracked, node);
  };
  const call = async (node: GatewayProcess, key: string) => {
    const reply = await node.api.post('/v1/chat/completions', hello, {
      key,
      headers: { 'x-gateway-virtual-key': 'sim' },
    });
    return reply.status === 200 ? 'call' : `call ${reply.status} ${reply.text}`;
  };
  const make = async (node: GatewayProcess) => {
    const reply = await node.api.post('/v1/api-keys', { name: 'made meanwhile' });
    if (reply.status === 200) keys.push(reply.json.key);
    return reply.status === 200 ? 'key' : `key ${reply.status} ${reply.text}`;
  };
  const running = (async () => {
    for (let tick = 0; !isOver; tick++) {
      if (tick % 10 === 0) track(make);
      const key = keys[tick % Math.max(1, keys.length)];
      if (key) track((node) => call(node, key));
      await Bun.sleep(10);
    }
    await Promise.all(open.keys());
  })();
  return {
    outcomes,
    /** Takes a node out of rotation, and waits for what was dealt out to it, as those who balance load do. */
    leave: async (node: GatewayProcess) => {
      rotation.splice(rotation.indexOf(node), 1);
      await Promise.all([...open].flatMap(([tracked, by]) => (by === node ? [tracked] : [])));
    },
    stop: () => {
      isOver = true;
      return running;
    },
  };
}

test('nodes are replaced by the next version one by one without a failed request', async () => {
  const databaseUrl = await createDatabase();
  const given = async (options?: ProcessOptions) => {
    const node = await startNode(databaseUrl, options);
    cleanups.push(() => node.isAlive && node.kill());
    return node;
  };
  const rotation = [await given(), await given()];
  await rotation[0]!.given.virtualKey(provider.url);
  const loading = load(rotation);
  const someCalls = () => Bun.sleep(500);
  await someCalls();

  for (const old of [...rotation]) {
    const next = await given({ command: nextVersion });
    expect((await next.api.get('/ready')).status).toBe(200);
    rotation.push(next);
    await someCalls();
    await loading.leave(old);
    expect(await old.stop()).toBe(0);
  }
  // Back again, in case the next version disappoints: one step is no obstacle.
  rotation.push(await given());
  await someCalls();
  await loading.stop();

  expect(loading.outcomes.filter((outcome) => outcome !== 'call' && outcome !== 'key')).toEqual([]);
  expect(loading.outcomes.filter((outcome) => outcome === 'call').length).toBeGreaterThan(100);
  expect(loading.outcomes.filter((outcome) => outcome === 'key').length).toBeGreaterThan(10);
});

test('a version more than one step behind the database refuses to start', async () => {
  const environment = nodeEnvironment(await createDatabase());
  const ahead = { command: nextVersion, arguments: ['migrate'], environment: { ...environment, STEPS_AHEAD: '2' } };
  expect((await runGateway(ahead)).output).toContain('9002-later');

  const refused = await runGateway({ environment });

  expect([refused.exitCode, refused.output]).toEqual([1, '']);
  expect(refused.errors.trim().split('\n')).toEqual([
    expect.stringContaining('The database is newer than this program'),
  ]);
});
