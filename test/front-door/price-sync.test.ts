import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway, type TestGateway } from '../gateway.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually } from '../process.ts';
import { startRecorder } from '../recorder.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-price-sync-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
const signed = (text: string) => sign(null, Buffer.from(text), privateKey).toString('base64');
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const listOf = (input: number) =>
  JSON.stringify({ as_of: '2026-11-16', prices: { openai: { 'new-model': { input, output: 0 } } } }, null, 2);

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`synced prices on ${engine}`, () => {
    let gateway: TestGateway;
    const site = startRecorder();
    beforeAll(async () => {
      gateway = await startGateway({ engine, environment: { GATEWAY_PRICES_SYNC_KEY: key } });
    });
    afterAll(async () => {
      await gateway.stop();
      site.stop();
    });

    const sync = (body: object, more: object = {}) => gateway.api.post('/v1/admin/prices/sync', body, more);
    const held = async () => (await gateway.api.get('/v1/admin/prices')).json.synced;
    const costOf = async (model: string) => {
      const chat = { model, messages: [{ role: 'user', content: 'Hello' }] };
      const reply = await gateway.api.post('/v1/chat/completions', chat, {
        headers: { 'x-gateway-virtual-key': 'sim' },
      });
      const { cost, input_tokens } = await gateway.logOf(reply);
      return cost === null ? null : cost / input_tokens;
    };

    test('a list is in force once its checksum fits, is recorded, and can be taken away again', async () => {
      expect(await costOf('new-model')).toBeNull();
      const text = listOf(1e6);
      const reply = await sync({ source: 'prices.json', content: text, sha256: sha256(text).toUpperCase() });
      expect(reply.status).toBe(200);
      expect(reply.json).toMatchObject({ models: 1, as_of: '2026-11-16', sha256: sha256(text) });
      await eventually('the price is in force', async () => (await costOf('new-model')) === 1);
      expect(await costOf('gpt-4o-mini')).toBeGreaterThan(0);
      await eventually('it is recorded', async () => {
        const { id } = (await gateway.api.get('/v1/admin/organisation')).json;
        const times = 'start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z';
        const { json } = await gateway.api.get(`/v1/audit-logs?${times}&organisation_id=${id}&resource_type=prices`);
        return json.records?.some((each: { action: string }) => each.action === 'sync');
      });
      expect((await gateway.api.delete('/v1/admin/prices')).json).toEqual({ synced: null });
      await eventually('the price is gone', async () => (await costOf('new-model')) === null);
    });

    test('a signature stands for a checksum, and one of another key or text does not', async () => {
      const text = listOf(2e5);
      expect((await sync({ source: 'a', content: text, signature: signed(text) })).status).toBe(200);
      const other = sign(null, Buffer.from(text), generateKeyPairSync('ed25519').privateKey).toString('base64');
      for (const signature of [signed(listOf(3e5)), other, 'AAAA', '']) {
        const refused = await sync({ source: 'a', content: listOf(4e5), signature });
        expect([refused.status, refused.json.error.code]).toEqual([400, 'prices_refused']);
      }
      expect((await held()).sha256).toBe(sha256(text));
    });

    test('what has a fault changes nothing, and the error names the line', async () => {
      const good = listOf(5e5);
      await sync({ source: 'a', content: good, sha256: sha256(good) });
      const faults: [content: string, why: string][] = [
        ['{\n  "prices": {\n    "openai": { "m": { "input": 1, "output": }\n  }\n}', 'line 3: it is not JSON'],
        [
          '{\n  "prices": {\n    "openai": {\n      "m": { "input": -1, "output": 0 }\n    }\n  }\n}',
          'line 4: prices.openai.m.input: must not be negative',
        ],
        ['{\n\n"price": {}}', 'line 1: '],
        ['', 'line 1: it is not JSON'],
      ];
      for (const [content, why] of faults) {
        const reply = await sync({ source: 'a', content, sha256: sha256(content) });
        expect([reply.status, reply.json.error.code]).toEqual([400, 'prices_refused']);
        expect(reply.json.error.message).toContain(why);
      }
      const wrong = await sync({ source: 'a', content: listOf(6e5), sha256: sha256('else') });
      expect(wrong.json.error.message).toContain(`its sha256 is ${sha256(listOf(6e5))}`);
      const unproven = await sync({ source: 'a', content: good });
      expect(unproven.json.error.message).toContain('give its sha256');
      expect((await sync({ source: 'no address', sha256: sha256(good) })).json.error.param).toBe('source');
      expect((await held()).sha256).toBe(sha256(good));
    });

    test('an address is fetched under the egress policy', async () => {
      const text = listOf(7e5);
      site.answers(() => new Response(text));
      const reply = await sync({ source: `${site.origin}/prices.json`, sha256: sha256(text) });
      expect([reply.status, reply.json.source]).toEqual([200, `${site.origin}/prices.json`]);
      const inside = await sync({ source: 'http://169.254.169.254/prices.json', sha256: sha256(text) });
      expect([inside.status, inside.json.error.code]).toEqual([400, 'egress_refused']);
      site.answers(() => new Response('no', { status: 404 }));
      const missing = await sync({ source: `${site.origin}/prices.json`, sha256: sha256(text) });
      expect(missing.json.error.message).toContain('answered 404');
      expect((await held()).sha256).toBe(sha256(text));
    });

    test('a key without the right to manage the organisation neither syncs nor removes', async () => {
      const text = listOf(8e5);
      const { key: weak } = await gateway.given.apiKey({ scopes: ['completions.write'] });
      expect((await sync({ source: 'a', content: text, sha256: sha256(text) }, { key: weak })).status).toBe(403);
      expect((await gateway.api.delete('/v1/admin/prices', { key: weak })).status).toBe(403);
    });
  });
}

test('a schedule fetches the signed list, below the file of the operator; a bad one is noted and changes nothing', async () => {
  const file = join(folder, 'own.json');
  writeFileSync(file, JSON.stringify({ prices: { openai: { 'own-model': { input: 3e5, output: 0 } } } }));
  let text = JSON.stringify({
    prices: { openai: { 'own-model': { input: 9e5, output: 0 }, 'far-model': { input: 4e5, output: 0 } } },
  });
  let signature = signed(text);
  const site = startRecorder();
  site.answers((request) => new Response(request.path.endsWith('.sig') ? `${signature}\n` : text));
  const environment = {
    GATEWAY_PRICES_FILE: file,
    GATEWAY_PRICES_SYNC_URL: `${site.origin}/list.json`,
    GATEWAY_PRICES_SYNC_KEY: key,
  };
  const gateway = await startGateway({ environment });
  try {
    const costOf = async (model: string) => {
      const chat = { model, messages: [{ role: 'user', content: 'Hello' }] };
      const reply = await gateway.api.post('/v1/chat/completions', chat, {
        headers: { 'x-gateway-virtual-key': 'sim' },
      });
      const { cost, input_tokens } = await gateway.logOf(reply);
      return cost === null ? null : cost / input_tokens;
    };
    await eventually('it is in force', async () => Math.abs(((await costOf('far-model')) ?? 0) - 0.4) < 1e-9);
    expect(await costOf('own-model')).toBeCloseTo(0.3, 9);
  } finally {
    await gateway.stop();
  }
  signature = signed('else');
  text = listOf(1);
  const again = await startGateway({ environment });
  try {
    await eventually('it is noted', async () =>
      ((await again.api.get('/health')).json.notes ?? []).some((note: string) => note.includes('could not be synced')),
    );
    expect((await again.api.get('/v1/admin/prices')).json.synced).toBeNull();
  } finally {
    await again.stop();
    site.stop();
  }
});

test('a schedule without a key is refused at the start', async () => {
  const starting = startGateway({ environment: { GATEWAY_PRICES_SYNC_URL: 'https://example.com/list.json' } });
  await expect(starting).rejects.toThrow('GATEWAY_PRICES_SYNC_KEY');
});

test('a list that one node took over is in force on the others, and on those that start later', async () => {
  const database = await createDatabase();
  const chat = { model: 'new-model', messages: [{ role: 'user', content: 'Hello' }] };
  const budget = { name: 'x', usage_limits: { type: 'cost', credit_limit: 1_000 } };
  const provider = startRecorder();
  provider.answers(() => Response.json({ id: 'a', object: 'chat.completion', model: 'new-model', choices: [] }));
  const environment = { TRUSTED_CUSTOM_HOSTS: new URL(provider.origin).host };
  const [one, other] = [await startNode(database, { environment }), await startNode(database, { environment })];
  const ask = async (node: typeof one, key: string) =>
    (
      await node.api.post('/v1/chat/completions', chat, {
        headers: { 'x-gateway-api-key': key, 'x-gateway-virtual-key': 'far' },
      })
    ).status;
  try {
    const far = { name: 'far', slug: 'far', provider: 'openai', key: 'test-key', custom_host: `${provider.origin}/v1` };
    expect((await one.api.post('/v1/virtual-keys', far)).status).toBe(200);
    const { status, json } = await one.api.post('/v1/api-keys', budget);
    expect(status).toBe(200);
    expect(await ask(other, json.key)).toBe(412);
    const text = JSON.stringify({ prices: { openai: { 'new-model': { input: 1, output: 1 } } } });
    const body = { source: 'a', content: text, sha256: sha256(text) };
    expect((await one.api.post('/v1/admin/prices/sync', body)).status).toBe(200);
    await eventually('the other node knows the price', async () => (await ask(other, json.key)) === 200);
    const late = await startNode(database, { environment });
    expect(await ask(late, json.key)).toBe(200);
    await late.stop();
  } finally {
    await one.stop();
    await other.stop();
    provider.stop();
  }
});
