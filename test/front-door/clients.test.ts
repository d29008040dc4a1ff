import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAI } from '@ai-sdk/openai';
import type Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { LLMock } from '@copilotkit/aimock';
import type { Content } from '@google/genai';
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import type OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import * as z from 'zod';
import { startGateway, type TestGateway } from '../gateway.ts';
import { anthropicClient, folded, googleClient, openaiClient } from '../sdk-clients.ts';

/**
 * Every client on every provider: a chat, a stream, a loop of tools and structured output. The providers are written by
 * others (aimock) and, for three of them, by us.
 */
let mock: LLMock;
let gateway: TestGateway;
const keys: Record<string, string> = {};

interface Place {
  readonly provider: string;
  readonly model: string;
  /** Below the provider's origin. */
  readonly base: string;
  readonly configurations?: object;
}

const AIMOCK: readonly Place[] = [
  { provider: 'openai', model: 'gpt-4o', base: '/v1' },
  {
    ...{ provider: 'azure-openai', model: 'gpt-4o', base: '/openai' },
    configurations: { azure_deployment_id: 'gpt-4o', azure_api_version: '2024-10-21' },
  },
  { provider: 'anthropic', model: 'claude-sonnet-5', base: '/v1' },
  { provider: 'google', model: 'gemini-2.5-flash', base: '/v1beta' },
  {
    ...{ provider: 'bedrock', model: 'anthropic.claude-sonnet-4-5-20250929-v1:0', base: '' },
    configurations: { aws_region: 'us-east-1' },
  },
  { provider: 'cohere', model: 'command-a-03-2025', base: '/v2' },
  { provider: 'openrouter', model: 'openai/gpt-4o', base: '/api/v1' },
  { provider: 'ollama', model: 'llama3', base: '/v1' },
];
const SIMULATED: readonly Place[] = [
  { provider: 'openai', model: 'gpt-4o', base: '/v1' },
  { provider: 'anthropic', model: 'claude-sonnet-5', base: '/v1' },
  { provider: 'google', model: 'gemini-2.5-flash', base: '/v1beta' },
];

const ADA = { name: 'Ada', age: 36 };
const person = z.object({ name: z.string(), age: z.number() });

/** What is said, and what comes back, at each of the two. */
const SPEECH = {
  aimock: { hello: 'hello there', answer: 'Grüezi from a provider that is not ours.', weather: 'weather please' },
  simulator: {
    hello: 'Hello',
    answer: 'This is a simulated answer. You said: "Hello"',
    weather: 'call get_weather {"city":"Oslo"}',
  },
} as const;

beforeAll(async () => {
  mock = await LLMock.create({ port: 0, host: '127.0.0.1', chunkSize: 4 });
  mock.onMessage('hello', { content: SPEECH.aimock.answer });
  mock.onMessage('person', { content: JSON.stringify(ADA) });
  const call = { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}' }] };
  mock.on({ userMessage: 'weather', hasToolResult: false }, call);
  mock.on({ userMessage: 'weather', hasToolResult: true }, { content: 'There is rain in Oslo.' });

  gateway = await startGateway();
  const origins = { aimock: new URL(mock.url).origin, simulator: gateway.provider.origin };
  for (const [where, places] of [
    ['aimock', AIMOCK],
    ['simulator', SIMULATED],
  ] as const)
    for (const { provider, base, configurations } of places) {
      const slug = `${where}-${provider}`;
      const custom_host = origins[where] + base;
      await gateway.given.virtualKey({ slug, provider, key: 'fake-key', custom_host, configurations });
      keys[slug] = (await gateway.given.apiKey({ defaults: { virtual_key: slug } })).key;
    }
});
afterAll(async () => {
  await gateway.stop();
  await mock.stop();
});

const parameters = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };

for (const [where, places] of [
  ['aimock', AIMOCK],
  ['simulator', SIMULATED],
] as const)
  for (const { provider, model } of places) {
    const key = () => keys[`${where}-${provider}`]!;
    const { hello, answer, weather } = SPEECH[where];
    /** Ours makes up an object that fits, theirs says what it was told to. */
    const fits = (made: unknown) => (where === 'aimock' ? expect(made).toEqual(ADA) : person.parse(made));

    describe(`OpenAI's client on ${provider} at the ${where}`, () => {
      const chat = () => openaiClient(gateway.url, key()).chat.completions;
      const messages = [{ role: 'user' as const, content: hello }];

      test('chats', async () => {
        const { choices } = await chat().create({ model, messages });
        expect([choices[0]!.message.content, choices[0]!.finish_reason]).toEqual([answer, 'stop']);
      });

      test('streams', async () => {
        const stream = await chat().create({ model, messages, stream: true });
        const { text, pieces } = await folded(stream, (chunk) => chunk.choices[0]?.delta.content);
        expect(text).toBe(answer);
        expect(pieces).toBeGreaterThan(2);
      });

      for (const isStream of [false, true])
        test(`loops with a tool${isStream ? ', streamed' : ''}`, async () => {
          const tools: OpenAI.Chat.Completions.ChatCompletionTool[] = [
            { type: 'function', function: { name: 'get_weather', parameters } },
          ];
          const said: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [{ role: 'user', content: weather }];
          const ask = async () => {
            const body = { model, messages: said, tools };
            const made = isStream ? await chat().stream(body).finalChatCompletion() : await chat().create(body);
            return made.choices[0]!;
          };
          const first = await ask();
          expect(first.finish_reason).toBe('tool_calls');
          const [call] = first.message.tool_calls!;
          expect(call).toMatchObject({ function: { name: 'get_weather' } });
          expect(JSON.parse((call as { function: { arguments: string } }).function.arguments)).toEqual({
            city: 'Oslo',
          });
          said.push(first.message, { role: 'tool', tool_call_id: call!.id, content: 'rain' });
          const last = await ask();
          expect(last.message.content).toContain('rain');
        });

      test('gets an object of its schema', async () => {
        const said = [{ role: 'user' as const, content: 'a person' }];
        const response_format = zodResponseFormat(person, 'person');
        const { choices } = await chat().parse({ model, messages: said, response_format });
        fits(choices[0]!.message.parsed);
      });
    });

    describe(`Anthropic's client on ${provider} at the ${where}`, () => {
      const api = () => anthropicClient(gateway.url, key()).messages;
      const ask = { model, max_tokens: 256, messages: [{ role: 'user' as const, content: hello }] };
      const textOf = ({ content }: Pick<Anthropic.Message, 'content'>) =>
        content.map((block) => (block.type === 'text' ? block.text : '')).join('');

      test('chats', async () => {
        const message = await api().create(ask);
        expect([textOf(message), message.stop_reason]).toEqual([answer, 'end_turn']);
      });

      test('streams', async () => {
        let pieces = 0;
        const stream = api().stream(ask);
        stream.on('text', () => pieces++);
        expect(textOf(await stream.finalMessage())).toBe(answer);
        expect(pieces).toBeGreaterThan(2);
      });

      for (const isStream of [false, true])
        test(`loops with a tool${isStream ? ', streamed' : ''}`, async () => {
          const tools: Anthropic.Tool[] = [{ name: 'get_weather', input_schema: parameters }];
          const said: Anthropic.MessageParam[] = [{ role: 'user', content: weather }];
          const turn = async () => {
            const body = { model, max_tokens: 256, messages: said, tools };
            return isStream ? api().stream(body).finalMessage() : api().create(body);
          };
          const first = await turn();
          expect(first.stop_reason).toBe('tool_use');
          const call = first.content.find((block) => block.type === 'tool_use')!;
          expect(call).toMatchObject({ name: 'get_weather', input: { city: 'Oslo' } });
          said.push(
            { role: 'assistant', content: first.content },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'rain' }] },
          );
          expect(textOf(await turn())).toContain('rain');
        });

      test('gets an object of its schema', async () => {
        const message = await api().parse({
          ...{ model, max_tokens: 256, messages: [{ role: 'user', content: 'a person' }] },
          output_config: { format: zodOutputFormat(person) },
        });
        fits(message.parsed_output);
      });
    });

    describe(`the AI SDK on ${provider} at the ${where}`, () => {
      const chat = () => createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key() }).chat(model);

      test('chats', async () => {
        expect((await generateText({ model: chat(), prompt: hello, maxRetries: 0 })).text).toBe(answer);
      });

      test('streams', async () => {
        const { textStream } = streamText({ model: chat(), prompt: hello, maxRetries: 0 });
        const { text, pieces } = await folded(textStream, (piece) => piece);
        expect(text).toBe(answer);
        expect(pieces).toBeGreaterThan(2);
      });

      test('loops with a tool', async () => {
        const asked: string[] = [];
        const execute = async ({ city }: { city: string }) => {
          asked.push(city);
          return 'rain';
        };
        const { text } = await generateText({
          ...{ model: chat(), prompt: weather, maxRetries: 0, stopWhen: stepCountIs(3) },
          tools: { get_weather: tool({ inputSchema: z.object({ city: z.string() }), execute }) },
        });
        expect(asked).toEqual(['Oslo']);
        expect(text).toContain('rain');
      });

      test('gets an object of its schema', async () => {
        const made = await generateObject({ model: chat(), schema: person, prompt: 'a person', maxRetries: 0 });
        fits(made.object);
      });
    });
  }

/** This client has no other format than its own, so it speaks to Google's models alone, which pass it through. */
for (const where of ['aimock', 'simulator'] as const)
  describe(`Google's client on google at the ${where}`, () => {
    const models = () => googleClient(gateway.url, keys[`${where}-google`]!).models;
    const { hello, answer, weather } = SPEECH[where];
    const model = 'gemini-2.5-flash';

    test('chats', async () => {
      expect((await models().generateContent({ model, contents: hello })).text).toBe(answer);
    });

    test('streams', async () => {
      const stream = await models().generateContentStream({ model, contents: hello });
      const { text, pieces } = await folded(stream, (chunk) => chunk.text);
      expect(text).toBe(answer);
      expect(pieces).toBeGreaterThan(2);
    });

    test('loops with a tool', async () => {
      const config = { tools: [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: parameters }] }] };
      const contents: Content[] = [{ role: 'user', parts: [{ text: weather }] }];
      const first = await models().generateContent({ model, contents, config });
      const [call] = first.functionCalls!;
      expect(call).toMatchObject({ name: 'get_weather', args: { city: 'Oslo' } });
      const functionResponse = { id: call!.id, name: call!.name, response: { output: 'rain' } };
      contents.push(first.candidates![0]!.content!, { role: 'user', parts: [{ functionResponse }] });
      expect((await models().generateContent({ model, contents, config })).text).toContain('rain');
    });

    test('gets an object of its schema', async () => {
      const config = { responseMimeType: 'application/json', responseJsonSchema: z.toJSONSchema(person) };
      const { text } = await models().generateContent({ model, contents: 'a person', config });
      if (where === 'aimock') expect(JSON.parse(text!)).toEqual(ADA);
      else person.parse(JSON.parse(text!));
    });
  });
