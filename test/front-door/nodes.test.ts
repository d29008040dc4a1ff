import { afterEach, expect, test } from 'bun:test';
import { cutListeners, startNode, TOLD_MS } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, type GatewayProcess, type ProcessOptions } from '../process.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function givenNode(databaseUrl: string, options?: ProcessOptions): Promise<GatewayProcess> {
  const node = await startNode(databaseUrl, options);
  cleanups.push(() => node.isAlive && node.kill());
  return node;
}

async function givenNodes() {
  const databaseUrl = await createDatabase();
  return { databaseUrl, a: await givenNode(databaseUrl), b: await givenNode(databaseUrl) };
}

async function made(node: GatewayProcess, path: string, body: unknown) {
  const reply = await node.api.post(path, body);
  expect([path, reply.status]).toEqual([path, 200]);
  return reply.json;
}

const READER = { name: 'reader', scopes: ['virtual_keys.list'] };
const use = async (node: GatewayProcess, key: string) => (await node.api.get('/v1/virtual-keys', { key })).status;
const degradedOf = async (node: GatewayProcess): Promise<string[]> =>
  (await node.api.get('/health', { key: null })).json.degraded.map(({ part }: { part: string }) => part);

test('what is changed on one node holds on the others within a second', async () => {
  const { a, b } = await givenNodes();
  const revoked = [];
  for (let number = 0; number < 3; number++) revoked.push(await made(a, '/v1/api-keys', READER));
  const narrowed = await made(b, '/v1/api-keys', READER);
  const workspace = await made(a, '/v1/admin/workspaces', { name: 'Short-lived' });
  const homeless = await made(a, '/v1/api-keys', { ...READER, workspace_id: workspace.id });
  const keys = [...revoked, narrowed, homeless].map(({ key }) => key);
  // Each of them is in both memories, and would stay there for ten seconds.
  for (const node of [a, b]) for (const key of keys) expect(await use(node, key)).toBe(200);

  // The best of three: what else runs on this machine is not our time.
  const times: number[] = [];
  for (const { id, key } of revoked) {
    await a.api.delete(`/v1/api-keys/${id}`);
    const deletedAt = performance.now();
    await eventually('the deleted key is refused', async () => (await use(b, key)) === 401, TOLD_MS);
    times.push(performance.now() - deletedAt);
  }
  expect(Math.min(...times)).toBeLessThan(1_000);

  await a.api.put(`/v1/api-keys/${narrowed.id}`, { scopes: ['logs.read'] });
  await eventually('the narrowed key is refused', async () => (await use(b, narrowed.key)) === 403, TOLD_MS);

  expect((await b.api.delete(`/v1/admin/workspaces/${workspace.id}`)).status).toBe(200);
  await eventually('the key without workspace is refused', async () => (await use(a, homeless.key)) === 401, TOLD_MS);
  expect([await degradedOf(a), await degradedOf(b)]).toEqual([[], []]);
});

test('a node that cannot hear the others says so and still learns of a revoked key within seconds', async () => {
  const { databaseUrl, a, b } = await givenNodes();
  const { id, key } = await made(a, '/v1/api-keys', READER);
  expect(await use(b, key)).toBe(200);
  let isOver = false;
  const cutting = (async () => {
    while (!isOver) await cutListeners(databaseUrl);
  })();
  await eventually('it says so', async () => (await degradedOf(b)).includes('notify'));

  await a.api.delete(`/v1/api-keys/${id}`);
  await eventually('the deleted key is refused', async () => (await use(b, key)) === 401, TOLD_MS);

  isOver = true;
  await cutting;
  await eventually('it hears again', async () => (await degradedOf(b)).length === 0);
});

test('another admin key, set at the start of one node, ends the old one on the others', async () => {
  const { databaseUrl, a, b } = await givenNodes();
  expect((await b.api.get('/v1/api-keys')).status).toBe(200);
  await a.stop();

  await givenNode(databaseUrl, { environment: { GATEWAY_ADMIN_KEY: 'gw-another-admin-key-for-tests' } });

  await eventually('the old one is refused', async () => (await b.api.get('/v1/api-keys')).status === 401, TOLD_MS);
  expect((await b.api.get('/v1/api-keys', { key: 'gw-another-admin-key-for-tests' })).status).toBe(200);
});
