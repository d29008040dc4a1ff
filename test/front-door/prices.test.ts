import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway, type TestGateway } from '../gateway.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-prices-'));
const file = join(folder, 'prices.json');
const free = { input: 0, output: 0 };
writeFileSync(file, JSON.stringify({ prices: { openai: { 'house-model': { input: 1e6, output: 0 } } } }));

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ environment: { GATEWAY_PRICES_FILE: file } });
});
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The log entry of a chat with a model. */
const chat = async (model: string, virtualKey = 'sim') => {
  const reply = await gateway.api.post(
    '/v1/chat/completions',
    { model, messages: [{ role: 'user', content: 'Hello' }] },
    { headers: { 'x-gateway-virtual-key': virtualKey } },
  );
  expect(reply.status).toBe(200);
  return gateway.logOf(reply);
};

test("a call is logged with the operator's price, the list price, or none", async () => {
  const house = await chat('house-model');
  expect(house.input_tokens).toBeGreaterThan(0);
  expect(house.cost).toBe(house.input_tokens);
  expect((await chat('gpt-4o-mini')).cost).toBeGreaterThan(0);
  expect((await chat('unheard-of')).cost).toBeNull();
});

test("a virtual key's own price stands over them, and 0 is free", async () => {
  const prices = { 'unheard-of': { input: 5e5, output: 0 }, 'gpt-4o-mini': free };
  const { slug } = await gateway.given.virtualKey({ configurations: { prices } });
  const own = await chat('unheard-of', slug);
  expect(own.cost).toBe(0.5 * own.input_tokens);
  expect((await chat('gpt-4o-mini', slug)).cost).toBe(0);
  expect((await chat('house-model', slug)).cost).toBeGreaterThan(0);
});

test('what models cost is told before they are called: by the virtual key, the operator, the list, or not at all', async () => {
  const { slug } = await gateway.given.virtualKey({
    configurations: { prices: { 'unheard-of': { input: 3, output: 4 } } },
  });
  const models = ['unheard-of', 'house-model', 'gpt-4o-mini', 'nowhere', 'dall-e-2'];
  const { json } = await gateway.api.post(`/v1/virtual-keys/${slug}/prices`, { models });
  expect(json.data).toMatchObject([
    { model: 'unheard-of', input: 3, output: 4, is_priced: true },
    { model: 'house-model', is_priced: true },
    { model: 'gpt-4o-mini', input: 0.15, output: 0.6, context: 128_000 },
    { model: 'nowhere', input: null, is_priced: false, context: null, note: null },
    { model: 'dall-e-2', is_priced: false, note: 'retired by its provider' },
  ]);
  expect((await gateway.api.post('/v1/virtual-keys/none/prices', { models })).status).toBe(404);
  expect((await gateway.api.post(`/v1/virtual-keys/${slug}/prices`, { models: 'all' })).json.error.param).toBe(
    'models',
  );
});

test('a start with prices that cannot be used is refused', async () => {
  const broken = join(folder, 'broken.json');
  writeFileSync(broken, JSON.stringify({ prices: { openai: { 'gpt-4o': { input: -1, output: 1 } } } }));
  const starting = startGateway({ environment: { GATEWAY_PRICES_FILE: broken } });
  await expect(starting).rejects.toThrow('must not be negative');
});
