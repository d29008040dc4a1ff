import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { anthropicClient } from '../sdk-clients.ts';
import { givenProviders, type ProviderKeys } from '../three-providers.ts';

/** Clients such as Claude Code count tokens before they send them, whoever the model belongs to. */
let gateway: TestGateway;
let keys: ProviderKeys;

beforeAll(async () => {
  gateway = await startGateway();
  keys = await givenProviders(gateway);
});
afterAll(() => gateway.stop());

const count = (key: string, body: object) => gateway.api.post('/v1/messages/count_tokens', body, { key });
const hello = { messages: [{ role: 'user', content: 'tiktoken is great!' }] };

test("Anthropic's client gets a count on every chat model", async () => {
  for (const key of Object.values(keys)) {
    const client = anthropicClient(gateway.url, key);
    const { input_tokens } = await client.messages.countTokens({
      model: 'gpt-4o',
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(input_tokens).toBeGreaterThan(0);
  }
});

test('a count of the gateway says that it is one, asks no provider, and costs nothing', async () => {
  const before = gateway.provider.calls;
  await gateway.given.virtualKey({ slug: 'groq', provider: 'groq', custom_host: null });
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'groq' } });
  const reply = await count(key, { model: 'gpt-4o', ...hello });
  // 6 tokens of the text, as the vendor's tokenizer counts them, and those around the turn.
  expect(reply).toMatchObject({ status: 200, json: { input_tokens: 10 } });
  expect(reply.headers.get('x-gateway-estimated')).toBe('input_tokens');
  expect(gateway.provider.calls).toBe(before);
  expect((await gateway.logOf(reply)).cost).toBeNull();
  const own = await count(keys.anthropic, { model: 'claude', ...hello });
  expect([own.status, own.headers.get('x-gateway-estimated')]).toEqual([200, null]);
});

test('tools, results and pictures are counted', async () => {
  const plain = (await count(keys.google, { model: 'gemini', ...hello })).json.input_tokens;
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGVsbG8=' } };
  const richer = await count(keys.google, {
    model: 'gemini',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'tiktoken is great!' }, picture] }],
    tools: [{ name: 'get_weather', description: 'The weather.', input_schema: { type: 'object', properties: {} } }],
  });
  expect(richer.json.input_tokens).toBeGreaterThan(plain + 1_500);
});

test('what is no conversation is refused in the words of the client', async () => {
  const reply = await count(keys.openai, { model: 'gpt-4o', messages: 'Hello' });
  expect([reply.status, reply.json.error.message]).toEqual([400, expect.stringContaining('messages')]);
});
