import { afterEach, expect, test } from 'bun:test';
import { startGateway } from '../gateway.ts';
import { startPostgres } from '../postgres.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const hello = { model: 'any', messages: [{ role: 'user', content: 'Hello' }] };

test('a gateway in good health says so without a key', async () => {
  const gateway = await startGateway();
  cleanups.push(() => gateway.stop());

  const reply = await gateway.api.get('/health', { key: null });

  expect([reply.status, reply.json]).toEqual([200, { status: 'ok', degraded: [] }]);
  const { text } = await gateway.api.get('/metrics');
  for (const part of ['store', 'redis', 'log', 'limits', 'notify', 'prices', 'audit', 'search'])
    expect(text).toContain(`\ngateway_degraded{part="${part}"} 0\n`);
});

test.each(['sqlite', 'postgres'] as const)('on %s the status says what waits and who does it', async (engine) => {
  const gateway = await startGateway({ engine });
  cleanups.push(() => gateway.stop());
  const read = async () => (await gateway.api.get('/v1/admin/status')).json;
  expect(await read()).toMatchObject({ object: 'status', store: engine, redis: 'none', nodes: [] });
  const columns = 'id, kind, tenant, ref, run_at, lease_until, fence, attempts, created_at';
  const later = Date.now() + 3_600_000;
  for (const [id, runAt] of [
    ['due', Date.now() - 5_000],
    ['later', later],
  ])
    await query(
      gateway,
      `insert into work (${columns}) values ('${id}', 'left behind', 't', 'r', ${runAt}, 0, 0, 2, 0)`,
    );
  const { queues } = await read();
  const [queue] = queues.filter(({ kind }: { kind: string }) => kind === 'left behind');
  expect(queue).toMatchObject({ running: 0, waiting: 1, later: 1, retried: 2 });
  expect(queue.oldest_ms).toBeGreaterThanOrEqual(5_000);
  const { json: key } = await gateway.api.post('/v1/api-keys', { name: 'plain' });
  expect((await gateway.api.get('/v1/admin/status', { key: key.key })).status).toBe(403);
});

test('while the database is away /health names what suffers, and since when, and nothing that identifies it', async () => {
  const postgres = await startPostgres();
  cleanups.push(() => postgres.remove());
  const gateway = await startGateway({ engine: 'postgres', databaseUrl: postgres.url });
  cleanups.push(() => gateway.stop());
  const { api } = gateway;
  const call = () => api.post('/v1/chat/completions', hello, { headers: { 'x-gateway-virtual-key': 'sim' } });
  const degraded = async (): Promise<{ part: string; since: string; effect: string }[]> =>
    (await api.get('/health', { key: null })).json.degraded;
  const parts = async () => (await degraded()).map(({ part }) => part).sort();
  expect((await call()).status).toBe(200);

  const stoppedAt = Date.now();
  await postgres.stop();
  await call();

  await eventually('it names all of them', async () => Bun.deepEquals(await parts(), ['log', 'notify', 'store']));
  const reply = await api.get('/health', { key: null });
  expect([reply.status, (await api.get('/ready', { key: null })).status]).toEqual([200, 503]);
  expect(reply.text).not.toMatch(/127\.0\.0\.1|postgres:|ECONN/);
  for (const { since, effect } of await degraded()) {
    expect(Date.parse(since)).toBeGreaterThanOrEqual(stoppedAt);
    expect(effect).toMatch(/^[A-Z].*\.$/);
  }
  expect((await api.get('/metrics')).text).toContain('gateway_degraded{part="store"} 1');

  await postgres.start();

  await eventually('it is well again', async () => (await parts()).length === 0);
});
