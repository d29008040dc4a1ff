import { afterEach, beforeEach, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { until } from '../limit-nodes.ts';
import { createDatabase } from '../postgres.ts';
import { startRedis, type TestRedis } from '../redis.ts';

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }], max_tokens: 16 };

let redis: TestRedis;
let nodes: TestGateway[];

beforeEach(async () => {
  redis = await startRedis();
  const databaseUrl = await createDatabase();
  const options = { engine: 'postgres', databaseUrl, environment: { REDIS_URL: redis.url } } as const;
  nodes = [await startGateway(options), await startGateway(options)];
});
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await redis.stop();
});

const health = async (node: TestGateway) =>
  ((await node.api.get('/health')).json.degraded as { part: string }[]).map(({ part }) => part);

/** The statuses of calls that go to both nodes at once. */
async function callBoth(key: string, count: number): Promise<number[]> {
  const call = (index: number) =>
    nodes[index % 2]!.api.post('/v1/chat/completions', CHAT, { key, headers: { 'x-gateway-virtual-key': 'sim' } });
  const replies = await Promise.all(Array.from({ length: count }, (_, index) => call(index)));
  return replies.map(({ status }) => status);
}

const answered = (statuses: readonly number[], status: number) => statuses.filter((one) => one === status).length;

test('two nodes share a limit through Redis, and keep it when Redis dies', async () => {
  const rate_limits = [{ type: 'requests', unit: 'rpw', value: 20 }];
  const { key } = await nodes[0]!.given.apiKey({ name: 'limited', rate_limits });
  for (const node of nodes) await until('Redis counts', async () => !(await health(node)).includes('redis'));

  const before = await callBoth(key, 12);
  await redis.kill();
  const after = await callBoth(key, 24);

  expect(answered(before, 200)).toBe(12);
  expect({ admitted: answered(after, 200), refused: answered(after, 429) }).toEqual({ admitted: 8, refused: 16 });
  for (const node of nodes) await until('the outage is said', async () => (await health(node)).includes('redis'));
});
