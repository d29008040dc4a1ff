import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { APIError as AnthropicError } from '@anthropic-ai/sdk';
import { ApiError as GoogleError } from '@google/genai';
import { APIError as OpenAIError, toFile } from 'openai';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { anthropicClient, folded, googleClient, openaiClient } from '../sdk-clients.ts';

let gateway: TestGateway;
const keys = { demo: '', anthropic: '', google: '' };

beforeAll(async () => {
  gateway = await startGateway();
  const { given, provider } = gateway;
  await given.virtualKey({ slug: 'claude', provider: 'anthropic', key: 'sk-ant-simulated' });
  const google = { provider: 'google', key: 'goog-simulated', custom_host: `${provider.origin}/v1beta` };
  await given.virtualKey({ slug: 'gemini', ...google });
  keys.demo = (await given.apiKey({ defaults: { virtual_key: 'demo' } })).key;
  keys.anthropic = (await given.apiKey({ defaults: { virtual_key: 'claude' } })).key;
  keys.google = (await given.apiKey({ defaults: { virtual_key: 'gemini' } })).key;
});
afterAll(() => gateway.stop());

const hello = [{ role: 'user' as const, content: 'Hello' }];
const ANSWER = 'This is a simulated answer. You said: "Hello"';

describe("OpenAI's client, with a new base address and key and nothing else", () => {
  const openai = () => openaiClient(gateway.url, keys.demo);

  test('gets an answer', async () => {
    const completion = await openai().chat.completions.create({ model: 'gpt-5', messages: hello });
    expect(completion.choices[0]?.message.content).toBe(ANSWER);
    expect(completion.model).toBe('gpt-5');
    expect(completion.usage?.total_tokens).toBeGreaterThan(0);
  });

  test('gets a stream', async () => {
    const stream = await openai().chat.completions.create({ model: 'gpt-5', messages: hello, stream: true });
    const { text, pieces } = await folded(stream, (chunk) => chunk.choices[0]?.delta.content);
    expect(text).toBe(ANSWER);
    expect(pieces).toBeGreaterThan(3);
  });

  test('chooses a virtual key by the model alone', async () => {
    const openai = openaiClient(gateway.url, ADMIN_KEY);
    const completion = await openai.chat.completions.create({ model: '@demo/anything', messages: hello });
    expect(completion.choices[0]?.message.content).toBe(ANSWER);
    expect(completion.model).toBe('anything');
    const stream = await openai.chat.completions.create({ model: '@sim/anything', messages: hello, stream: true });
    expect((await folded(stream, (chunk) => chunk.choices[0]?.delta.content)).text).toBe(ANSWER);
  });

  test('calls tools', async () => {
    const completion = await openai().chat.completions.create({
      model: 'gpt-5',
      messages: [{ role: 'user', content: 'call get_weather {"city":"Oslo"}' }],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }],
    });
    const call = completion.choices[0]?.message.tool_calls?.[0];
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } });
  });

  test('embeds, in the binary form it asks for by itself', async () => {
    const { data } = await openai().embeddings.create({ model: 'text-embedding-3-small', input: ['a', 'a', 'b'] });
    expect(data).toHaveLength(3);
    expect(data[0]?.embedding).toHaveLength(1536);
    expect(data[1]?.embedding).toEqual(data[0]!.embedding);
    expect(data[2]?.embedding).not.toEqual(data[0]!.embedding);
  });

  test('lists models', async () => {
    const names: string[] = [];
    for await (const { id } of openai().models.list()) names.push(id);
    expect(names).toContain('gpt-5');
    expect((await openai().models.retrieve('gpt-5')).id).toBe('gpt-5');
  });

  test('uploads a file and reads it back', async () => {
    const file = await openai().files.create({ file: await toFile(Buffer.from('{}\n'), 'a.jsonl'), purpose: 'batch' });
    expect(file).toMatchObject({ bytes: 3, status: 'processed' });
    expect(await (await openai().files.content(file.id)).text()).toBe('{}\n');
  });

  test('sees a refused key as an authentication error', async () => {
    const asking = openaiClient(gateway.url, 'gw-wrong').models.list();
    const error = await asking.then(
      () => null,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(OpenAIError);
    expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  test("sees a provider's error as the provider told it", async () => {
    const messages = [{ role: 'user' as const, content: '[[simulate: status=429]]' }];
    const error = await openai()
      .chat.completions.create({ model: 'gpt-5', messages })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  });
});

describe("Anthropic's client, with a new base address and key and nothing else", () => {
  const ask = { model: 'claude-sonnet-5', max_tokens: 100, messages: hello };
  const anthropic = () => anthropicClient(gateway.url, keys.anthropic);

  test('gets an answer', async () => {
    const message = await anthropic().messages.create(ask);
    expect(message.content).toEqual([expect.objectContaining({ type: 'text', text: ANSWER })]);
    expect(message.usage.output_tokens).toBeGreaterThan(0);
  });

  test('gets a stream', async () => {
    const stream = anthropic().messages.stream(ask);
    let pieces = 0;
    stream.on('text', () => {
      pieces++;
    });
    const message = await stream.finalMessage();
    expect(message.content).toEqual([expect.objectContaining({ type: 'text', text: ANSWER })]);
    expect(message.stop_reason).toBe('end_turn');
    expect(pieces).toBeGreaterThan(3);
  });

  test('counts tokens', async () => {
    const { input_tokens } = await anthropic().messages.countTokens({ model: ask.model, messages: hello });
    expect(input_tokens).toBeGreaterThan(0);
  });

  test('sees a refused key as an authentication error', async () => {
    const error = await anthropicClient(gateway.url, 'gw-wrong')
      .messages.create(ask)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AnthropicError);
    expect(error).toMatchObject({ status: 401 });
  });
});

describe("Google's client, with a new base address and key and nothing else", () => {
  const ask = { model: 'gemini-2.5-flash', contents: 'Hello' };
  const google = () => googleClient(gateway.url, keys.google);

  test('gets an answer', async () => {
    const answer = await google().models.generateContent(ask);
    expect(answer.text).toBe(ANSWER);
    expect(answer.usageMetadata?.totalTokenCount).toBeGreaterThan(0);
  });

  test('gets a stream', async () => {
    const { text, pieces } = await folded(await google().models.generateContentStream(ask), (chunk) => chunk.text);
    expect(text).toBe(ANSWER);
    expect(pieces).toBeGreaterThan(3);
  });

  test('embeds', async () => {
    const { embeddings } = await google().models.embedContent({ model: 'gemini-embedding-001', contents: 'Hello' });
    expect(embeddings?.[0]?.values).toHaveLength(3072);
  });

  test('sees a refused key as an error of status 401', async () => {
    const error = await googleClient(gateway.url, 'gw-wrong')
      .models.generateContent(ask)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(GoogleError);
    expect(error).toMatchObject({ status: 401 });
  });
});
