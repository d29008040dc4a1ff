import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { LLMock } from '@copilotkit/aimock';
import { startGateway, type TestGateway } from '../gateway.ts';
import { anthropicClient, folded, googleClient, openaiClient } from '../sdk-clients.ts';

/** A provider that others have written: what it asks of clients and how it answers is not our reading of the formats. */
let mock: LLMock;
let gateway: TestGateway;
const keys = { openai: '', anthropic: '', google: '' };

const ANSWER = 'Grüezi from a provider that is not ours.';
const hello = [{ role: 'user' as const, content: 'hello there' }];

beforeAll(async () => {
  mock = await LLMock.create({ port: 0, host: '127.0.0.1', chunkSize: 4 });
  mock.onMessage('hello', { content: ANSWER });
  mock.onMessage('weather', { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}' }] });
  mock.onEmbedding('hello', { embedding: [0.25, 0.5, -1] });

  gateway = await startGateway();
  const { given } = gateway;
  const origin = new URL(mock.url).origin;
  const providers = [
    ['openai', 'sk-of-openai', `${origin}/v1`],
    ['anthropic', 'sk-of-anthropic', `${origin}/v1`],
    ['google', 'goog-key', `${origin}/v1beta`],
  ] as const;
  for (const [provider, key, host] of providers) {
    await given.virtualKey({ slug: `mock-${provider}`, provider, key, custom_host: host });
    keys[provider] = (await given.apiKey({ defaults: { virtual_key: `mock-${provider}` } })).key;
  }
});
afterAll(async () => {
  await gateway.stop();
  await mock.stop();
});

const lastHeaders = () => {
  const { headers } = mock.getLastRequest()!;
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
};

/** aimock masks credentials in its journal, so the scheme shows and the gateway's key must not. */
const sentNothingOfOurs = () => {
  const headers = lastHeaders();
  expect(Object.keys(headers).filter((name) => name.startsWith('x-gateway-'))).toEqual([]);
  for (const key of Object.values(keys)) expect(JSON.stringify(mock.getLastRequest())).not.toContain(key);
};

describe('openai', () => {
  const openai = () => openaiClient(gateway.url, keys.openai);

  test('chat', async () => {
    const completion = await openai().chat.completions.create({ model: 'gpt-4o', messages: hello });
    expect(completion.choices[0]?.message.content).toBe(ANSWER);
    expect(mock.getLastRequest()?.path).toBe('/v1/chat/completions');
    expect(lastHeaders().authorization).toBeDefined();
    sentNothingOfOurs();
  });

  test('chat, streamed, with usage', async () => {
    const stream = await openai().chat.completions.create({
      model: 'gpt-4o',
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    const { text, pieces } = await folded(stream, (chunk) => chunk.choices[0]?.delta.content);
    expect(text).toBe(ANSWER);
    expect(pieces).toBeGreaterThan(3);
  });

  test('tool calls', async () => {
    const completion = await openai().chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'weather please' }],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }],
    });
    expect(completion.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
    });
  });

  test('embeddings', async () => {
    const { data } = await openai().embeddings.create({
      model: 'text-embedding-3-small',
      input: 'hello',
      encoding_format: 'float',
    });
    expect(data[0]?.embedding).toEqual([0.25, 0.5, -1]);
  });

  test('an error, in its own words', async () => {
    mock.nextRequestError(503, { message: 'overloaded by hand', type: 'server_error', code: 'overloaded' });
    const error = await openai()
      .chat.completions.create({ model: 'gpt-4o', messages: hello })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 503, code: 'overloaded' });
    expect(String(error)).toContain('overloaded by hand');
  });
});

describe('anthropic', () => {
  const ask = { model: 'claude-sonnet-5', max_tokens: 64, messages: hello };
  const anthropic = () => anthropicClient(gateway.url, keys.anthropic);

  test('messages', async () => {
    const message = await anthropic().messages.create(ask);
    expect(message.content).toEqual([expect.objectContaining({ type: 'text', text: ANSWER })]);
    expect(mock.getLastRequest()?.path).toBe('/v1/messages');
    const headers = lastHeaders();
    expect(headers['x-api-key']).toBeDefined();
    expect(headers.authorization).toBeUndefined();
    expect(headers['anthropic-version']).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    sentNothingOfOurs();
  });

  test('messages, streamed', async () => {
    const message = await anthropic().messages.stream(ask).finalMessage();
    expect(message.content).toEqual([expect.objectContaining({ type: 'text', text: ANSWER })]);
    expect(message.stop_reason).toBe('end_turn');
  });
});

describe('google', () => {
  const ask = { model: 'gemini-2.5-flash', contents: 'hello there' };
  const google = () => googleClient(gateway.url, keys.google);

  test('generateContent', async () => {
    expect((await google().models.generateContent(ask)).text).toBe(ANSWER);
    expect(mock.getLastRequest()?.path).toBe('/v1beta/models/gemini-2.5-flash:generateContent');
    expect(lastHeaders()['x-goog-api-key']).toBeDefined();
    sentNothingOfOurs();
  });

  test('generateContent, streamed', async () => {
    const { text, pieces } = await folded(await google().models.generateContentStream(ask), (chunk) => chunk.text);
    expect(text).toBe(ANSWER);
    expect(pieces).toBeGreaterThan(3);
  });
});

describe('the tokens that a provider reports are in the log', () => {
  const rows: [keyof typeof keys, string, object][] = [
    ['openai', '/v1/chat/completions', { model: 'gpt-4o', messages: hello }],
    ['anthropic', '/v1/messages', { model: 'claude-sonnet-5', max_tokens: 64, messages: hello }],
    [
      'google',
      '/v1/v1beta/models/gemini-2.5-flash:generateContent',
      { contents: [{ role: 'user', parts: [{ text: 'hello there' }] }] },
    ],
  ];
  for (const [provider, path, body] of rows) {
    test(provider, async () => {
      const reply = await gateway.api.post(path, body, { key: keys[provider] });
      expect(reply.status).toBe(200);
      const { usage, usageMetadata } = reply.json;
      const entry = await gateway.logOf(reply);
      expect(entry).toMatchObject({
        provider,
        virtual_key: `mock-${provider}`,
        status: 200,
        input_tokens: usage?.prompt_tokens ?? usage?.input_tokens ?? usageMetadata.promptTokenCount,
        output_tokens: usage?.completion_tokens ?? usage?.output_tokens ?? usageMetadata.candidatesTokenCount,
      });
    });
  }
});
