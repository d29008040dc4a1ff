import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { LLMock } from '@copilotkit/aimock';
import type OpenAI from 'openai';
import { APIError as OpenAIError } from 'openai';
import { startGateway, type TestGateway } from '../gateway.ts';
import { anthropicClient, folded, openaiClient } from '../sdk-clients.ts';

/** Models of vendors whose clients we do not serve, behind a provider that others have written. */
let mock: LLMock;
let gateway: TestGateway;
const keys: Record<string, string> = {};

const ANSWER = 'Grüezi from a provider that is not ours.';
const MODELS = {
  google: 'gemini-2.5-flash',
  bedrock: 'anthropic.claude-3-5-sonnet-20241022-v2:0',
  cohere: 'command-a-03-2025',
} as const;
const PROVIDERS = ['google', 'bedrock', 'cohere'] as const;

beforeAll(async () => {
  mock = await LLMock.create({ port: 0, host: '127.0.0.1', chunkSize: 4 });
  mock.onMessage('hello', { content: ANSWER });
  mock.on(
    { userMessage: 'weather', hasToolResult: false },
    {
      toolCalls: [
        { name: 'get_weather', arguments: '{"city":"Oslo"}' },
        { name: 'get_weather', arguments: '{"city":"Rome"}' },
      ],
    },
  );
  mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'Rain in Oslo, sun in Rome.' });

  gateway = await startGateway();
  const origin = new URL(mock.url).origin;
  const hosts = { google: `${origin}/v1beta`, bedrock: origin, cohere: `${origin}/v2` };
  for (const provider of PROVIDERS) {
    const more = provider === 'bedrock' ? { configurations: { aws_region: 'us-east-1' } } : {};
    await gateway.given.virtualKey({
      slug: provider,
      provider,
      key: 'fake-key',
      custom_host: hosts[provider],
      ...more,
    });
    keys[provider] = (await gateway.given.apiKey({ defaults: { virtual_key: provider } })).key;
  }
});
afterAll(async () => {
  await gateway.stop();
  await mock.stop();
});

const weather: OpenAI.Chat.Completions.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

for (const provider of PROVIDERS) {
  const model = MODELS[provider];

  describe(`OpenAI's client on a model of ${provider}`, () => {
    const openai = () => openaiClient(gateway.url, keys[provider]!);
    const hello = [{ role: 'user' as const, content: 'hello there' }];

    test('gets an answer', async () => {
      const completion = await openai().chat.completions.create({ model, messages: hello });
      expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: ANSWER } });
    });

    test('gets a stream in pieces', async () => {
      const stream = await openai().chat.completions.create({ model, messages: hello, stream: true });
      const { text, pieces } = await folded(stream, (chunk) => chunk.choices[0]?.delta.content);
      expect(text).toBe(ANSWER);
      expect(pieces).toBeGreaterThan(3);
    });

    for (const isStream of [false, true])
      test(`runs a loop of tools${isStream ? ', streamed' : ''}`, async () => {
        const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [
          { role: 'user', content: 'weather in Oslo and Rome please' },
        ];
        const ask = { model, messages, tools: [weather] };
        const first = isStream
          ? await openai().chat.completions.stream(ask).finalChatCompletion()
          : await openai().chat.completions.create(ask);
        const { message, finish_reason } = first.choices[0]!;
        expect(finish_reason).toBe('tool_calls');
        const calls = message.tool_calls!;
        expect(calls.map((call) => call.type === 'function' && call.function.arguments)).toEqual([
          '{"city":"Oslo"}',
          '{"city":"Rome"}',
        ]);
        expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
        const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'some weather' }));
        const last = await openai().chat.completions.create({ ...ask, messages: [...messages, message, ...results] });
        expect(last.choices[0]?.message.content).toBe('Rain in Oslo, sun in Rome.');
      });

    test('gets an error of its own kind, with the provider’s words', async () => {
      mock.nextRequestError(429, { message: 'slow down, please', type: 'rate_limit_error' });
      const error = await openai()
        .chat.completions.create({ model, messages: hello }, { maxRetries: 0 })
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OpenAIError);
      expect(error).toMatchObject({ status: 429 });
      expect(String(error)).toContain('slow down, please');
    });
  });

  test(`Anthropic's client on a model of ${provider} gets an answer, streamed and not`, async () => {
    const anthropic = anthropicClient(gateway.url, keys[provider]!);
    const ask = { model, max_tokens: 64, messages: [{ role: 'user' as const, content: 'hello there' }] };
    const whole = await anthropic.messages.create(ask);
    const streamed = await anthropic.messages.stream(ask).finalMessage();
    for (const message of [whole, streamed]) {
      expect(message.content).toEqual([expect.objectContaining({ type: 'text', text: ANSWER })]);
      expect(message.stop_reason).toBe('end_turn');
    }
  });
}
