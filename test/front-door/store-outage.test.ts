import { afterAll, afterEach, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { integrityIn, killUnderLoad } from '../crash.ts';
import { startGateway, startProvider } from '../gateway.ts';
import { startPostgres } from '../postgres.ts';
import { eventually, forTests, newDataDir, removeDataDir, startProcess } from '../process.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
const provider = startProvider();
afterAll(() => provider.stop());

const viaSim = { 'x-gateway-virtual-key': 'sim' };
const hello = { model: 'any', messages: [{ role: 'user', content: 'Hello' }] };
const idOf = (reply: { headers: Headers }) => reply.headers.get('x-gateway-request-id')!;

test('while PostgreSQL is away known keys call models and everything else is 503; afterwards nothing is missing', async () => {
  const postgres = await startPostgres();
  cleanups.push(() => postgres.remove());
  const gateway = await startGateway({ engine: 'postgres', databaseUrl: postgres.url });
  cleanups.push(() => gateway.stop());
  const { api, given } = gateway;
  const known = (await given.apiKey({ name: 'known', defaults: { virtual_key: 'sim' } })).key;
  const unseen = (await given.apiKey({ name: 'never used before the outage' })).key;
  const call = (key: string) => api.post('/v1/chat/completions', hello, { key, headers: viaSim });
  expect((await call(known)).status).toBe(200);
  expect((await api.get('/ready')).status).toBe(200);

  await postgres.stop();

  const during: string[] = [];
  for (let round = 0; round < 5; round++) {
    const reply = await call(known);
    expect(reply.status).toBe(200);
    during.push(idOf(reply));
  }
  for (const reply of [
    await call(unseen),
    await call('gw-unknown-key-that-never-was'),
    await api.get('/v1/api-keys'),
    await api.get('/v1/virtual-keys/sim'),
    await api.post('/v1/api-keys', { name: 'x' }),
    await api.put('/v1/virtual-keys/sim', { name: 'x' }),
    await api.delete('/v1/virtual-keys/none'),
    await api.get('/v1/admin/organisation'),
    await api.get('/v1/admin/workspaces'),
    await api.get('/v1/logs'),
    await api.get(`/v1/logs/${during[0]}`),
  ]) {
    expect([reply.status, reply.json?.error?.code]).toEqual([503, 'store_unavailable']);
  }
  expect([(await api.get('/ready')).status, (await api.get('/health')).status]).toEqual([503, 200]);
  // The writer has noticed by now, or will when it next tries; either way nothing is lost.
  await eventually('entries are spooled', () => existsSync(join(gateway.dataDir, 'spool')));

  await postgres.start();

  await eventually('it is ready again by itself', async () => (await api.get('/ready')).status === 200);
  expect((await call(unseen)).status).toBe(200);
  expect((await call('gw-unknown-key-that-never-was')).status).toBe(401);
  expect((await api.post('/v1/api-keys', { name: 'after' })).status).toBe(200);
  await eventually('the spool is replayed', async () => {
    const found = await Promise.all(during.map((id) => api.get(`/v1/logs/${id}`)));
    for (const { status } of found) expect([200, 404, 503]).toContain(status);
    return found.every(({ status }) => status === 200);
  });
});

test('a known key whose cache has gone stale still calls models while PostgreSQL is away', async () => {
  const postgres = await startPostgres();
  cleanups.push(() => postgres.remove());
  const gateway = await startGateway({ engine: 'postgres', databaseUrl: postgres.url });
  cleanups.push(() => gateway.stop());
  const { api, given } = gateway;
  const { key } = await given.apiKey({ name: 'known' });
  const call = () => api.post('/v1/chat/completions', hello, { key, headers: viaSim });
  expect((await call()).status).toBe(200);
  await postgres.stop();
  await Bun.sleep(10_500); // the ten seconds for which an entry is not asked for again, and a little

  const replies = await Promise.all(Array.from({ length: 10 }, call));

  expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
});

test('what a killed process had spooled is in the log of the next one', async () => {
  const postgres = await startPostgres();
  cleanups.push(() => postgres.remove());
  const dataDir = newDataDir();
  cleanups.push(() => removeDataDir(dataDir));
  const options = {
    dataDir,
    environment: {
      ...forTests,
      DATABASE_URL: postgres.url,
      GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    },
  };
  const first = await startProcess(options);
  await first.given.virtualKey(provider.url);
  const call = () => first.api.post('/v1/chat/completions', hello, { headers: viaSim });
  await call();
  await postgres.stop();
  const ids = (await Promise.all(Array.from({ length: 20 }, call))).map(idOf);
  await eventually('all of them are spooled', async () => {
    const { text } = await first.api.get('/metrics');
    return Number(/^gateway_log_records_total\{result="spooled"\} (\d+)$/m.exec(text)?.[1]) >= ids.length;
  });
  await first.kill();
  await postgres.start();

  const second = await startProcess(options);
  cleanups.push(() => second.stop());

  await eventually('each is in the log', async () => {
    const found = await Promise.all(ids.map((id) => second.api.get(`/v1/logs/${id}`)));
    return found.every(({ status }) => status === 200);
  });
  expect(readdirSync(join(second.dataDir, 'spool'))).toEqual([]);
});

test('a process killed under load loses no acknowledged key, no database and no lock', async () => {
  const dataDir = newDataDir();
  cleanups.push(() => removeDataDir(dataDir));
  const acknowledged: string[] = [];
  for (let round = 0; round < 2; round++) acknowledged.push(...(await killUnderLoad(dataDir, provider.url)));

  const gateway = await startProcess({ dataDir });
  for (const key of acknowledged) {
    expect((await gateway.api.post('/v1/chat/completions', hello, { key, headers: viaSim })).status).toBe(200);
  }
  const spool = join(gateway.dataDir, 'spool');
  await eventually('nothing is left in the spool', () => !existsSync(spool) || readdirSync(spool).length === 0);
  await gateway.stop();

  expect(gateway.errors).toBe('');
  expect(integrityIn(gateway.dataDir)).toEqual({ 'state.db': 'ok', 'logs.db': 'ok' });
});
