import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Ollama } from 'ollama';
import { startGateway, type TestGateway } from '../gateway.ts';
import { startRecorder } from '../recorder.ts';
import { folded } from '../sdk-clients.ts';
import { givenProviders, PROVIDERS, type ProviderKeys } from '../three-providers.ts';

let gateway: TestGateway;
let keys: ProviderKeys;
const recorder = startRecorder();

beforeAll(async () => {
  gateway = await startGateway();
  keys = await givenProviders(gateway);
});
afterAll(async () => {
  await gateway.stop();
  recorder.stop();
});

const ANSWER = 'This is a simulated answer. You said: "Hello"';
const clientOf = (key: string) => new Ollama({ host: gateway.url, headers: { authorization: `Bearer ${key}` } });
const messages = [{ role: 'user', content: 'Hello' }];
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

for (const provider of PROVIDERS) {
  const ollama = () => clientOf(keys[provider]);

  describe(`Ollama's client, with a new host and a key and nothing else, on ${provider}`, () => {
    test('gets an answer, with what it took', async () => {
      const reply = await ollama().chat({ model: 'any', messages, options: { temperature: 0.5, num_predict: 100 } });
      expect(reply).toMatchObject({ model: 'any', done: true, done_reason: 'stop' });
      expect(reply.message).toEqual({ role: 'assistant', content: ANSWER });
      expect(reply.prompt_eval_count).toBeGreaterThan(0);
      expect(reply.eval_count).toBeGreaterThan(0);
    });

    test('gets a stream', async () => {
      let last: unknown;
      const stream = await ollama().chat({ model: 'any', messages, stream: true });
      const { text, pieces } = await folded(stream, (part) => {
        last = part;
        return part.message.content;
      });
      expect(text).toBe(ANSWER);
      expect(pieces).toBeGreaterThan(3);
      expect(last).toMatchObject({ done: true, done_reason: 'stop' });
    });

    test('calls a tool and brings back what came of it', async () => {
      const asked = [{ role: 'user', content: 'call get_weather {"city":"Oslo"}' }];
      const { message } = await ollama().chat({ model: 'any', messages: asked, tools: [WEATHER] });
      expect(message.tool_calls?.[0]?.function).toEqual({ name: 'get_weather', arguments: { city: 'Oslo' } });
      const result = { role: 'tool', content: 'rain', tool_name: 'get_weather' };
      const after = await ollama().chat({ model: 'any', messages: [...asked, message, result], tools: [WEATHER] });
      expect(after.message.content).toContain('rain');
    });

    test('gets JSON that fits its schema, and sends a picture', async () => {
      const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
      const { message } = await ollama().chat({ model: 'any', messages, format: schema });
      expect(typeof JSON.parse(message.content).city).toBe('string');
      const seen = [{ role: 'user', content: 'Hello', images: ['iVBORw0KGgo='] }];
      expect((await ollama().chat({ model: 'any', messages: seen })).message.content).toContain('Hello');
    });

    test('gets the answer to a prompt, whole and as a stream', async () => {
      const asked = { model: 'any', prompt: 'Hello', system: 'Be brief' };
      expect((await ollama().generate(asked)).response).toBe(ANSWER);
      const stream = await ollama().generate({ ...asked, stream: true });
      expect((await folded(stream, (part) => part.response)).text).toBe(ANSWER);
    });

    test('lists models', async () => {
      const { models } = await ollama().list();
      expect(models.length).toBeGreaterThan(2);
      expect(models[0]?.name).toBeTruthy();
      expect((await ollama().show({ model: models[0]!.name })).capabilities).toContain('completion');
    });

    if (provider !== 'anthropic')
      test('embeds', async () => {
        const { embeddings } = await ollama().embed({ model: 'text-embedding-3-small', input: ['a', 'b'] });
        expect(embeddings).toHaveLength(2);
        expect(embeddings[0]!.length).toBeGreaterThan(100);
        const { embedding } = await ollama().embeddings({ model: 'text-embedding-3-small', prompt: 'a' });
        expect(embedding).toEqual(embeddings[0]!);
      });
  });
}

describe("Ollama's client", () => {
  test('is told in its own words what is wrong', async () => {
    await expect(clientOf('gw-wrong').chat({ model: 'any', messages })).rejects.toMatchObject({ status_code: 401 });
    const options = { temperature: 'hot' as unknown as number };
    await expect(clientOf(keys.openai).chat({ model: 'any', messages, options })).rejects.toMatchObject({
      status_code: 400,
      error: expect.stringContaining('options.temperature'),
    });
    const raw = { model: 'any', prompt: 'x', raw: true };
    await expect(clientOf(keys.openai).generate(raw)).rejects.toMatchObject({ error: expect.stringContaining('raw') });
  });

  test('asks for the version without a key', async () => {
    expect((await gateway.api.get('/api/version', { key: null })).json.version).toMatch(/^\d+\.\d+\.\d+$/);
    expect((await gateway.api.get('/api/tags', { key: null })).status).toBe(401);
  });

  test('streams unless it says otherwise, and hears what was left out of its options', async () => {
    await gateway.given.virtualKey({ slug: 'recorded', custom_host: `${recorder.origin}/v1` });
    recorder.answers(() => Response.json({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }));
    const body = {
      model: '@recorded/m',
      messages,
      stream: false,
      options: { top_k: 3, num_ctx: 8, stop: ['x'] },
      keep_alive: 1,
    };
    const reply = await gateway.api.post('/api/chat', body);
    expect(reply.json.message.content).toBe('Hi');
    expect(recorder.last.json).toMatchObject({ model: 'm', messages, stop: ['x'] });
    expect(reply.headers.get('x-gateway-dropped')).toContain('options.num_ctx');
    expect(reply.headers.get('x-gateway-dropped')).toContain('keep_alive');
    const streamed = await gateway.api.post('/api/chat', { model: '@openai/m', messages });
    expect(streamed.headers.get('content-type')).toBe('application/x-ndjson');
    const lines = streamed.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ message }) => message.content).join('')).toBe(ANSWER);
    const log = await gateway.logOf(streamed);
    expect(log).toMatchObject({ path: '/api/chat', model: 'm', provider: 'openai', status: 200 });
  });

  test('is judged by guardrails, both ways, also in a stream', async () => {
    const guard = { deny: true, 'default.contains': { words: ['forbidden'], operator: 'none' } };
    const ask = (content: string, hooks: object, stream: boolean) =>
      gateway.api.post(
        '/api/chat',
        { model: 'm', messages: [{ role: 'user', content }], stream },
        { headers: { 'x-gateway-config': JSON.stringify({ virtual_key: 'openai', ...hooks }) } },
      );
    for (const stream of [true, false]) {
      expect((await ask('a forbidden word', { input_guardrails: [guard] }, stream)).status).toBe(446);
      const denied = await ask('a forbidden word', { output_guardrails: [guard] }, stream);
      expect(denied.status).toBe(446);
      expect(typeof denied.json.error).toBe('string');
      const redact = { 'default.regexReplace': { rule: 'forbidden', redactText: '[GONE]' } };
      const blacked = await ask('a forbidden word', { output_guardrails: [redact] }, stream);
      expect(blacked.text).not.toContain('forbidden');
      expect(blacked.text).toContain('[GONE]');
    }
  });
});
