import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import * as z from 'zod';
import { startGateway, type TestGateway } from '../gateway.ts';
import { givenProviders, PROVIDERS, type ProviderKeys } from '../three-providers.ts';

/** The Vercel AI SDK, told only where the gateway is: its chat and its responses model, on three providers. */
let gateway: TestGateway;
let keys: ProviderKeys;

beforeAll(async () => {
  gateway = await startGateway();
  keys = await givenProviders(gateway);
});
afterAll(() => gateway.stop());

const ANSWER = 'This is a simulated answer. You said: "Hello"';

for (const provider of PROVIDERS) {
  describe(`the AI SDK on a model of ${provider}`, () => {
    const model = () => createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: keys[provider] }).chat('any-model');

    test('gets a text with usage', async () => {
      const { text, usage } = await generateText({ model: model(), prompt: 'Hello', maxRetries: 0 });
      expect(text).toBe(ANSWER);
      expect(usage.totalTokens).toBeGreaterThan(0);
    });

    test('streams', async () => {
      const { textStream } = streamText({ model: model(), prompt: 'Hello', maxRetries: 0 });
      const pieces: string[] = [];
      for await (const piece of textStream) pieces.push(piece);
      expect(pieces.join('')).toBe(ANSWER);
      expect(pieces.length).toBeGreaterThan(3);
    });

    test('runs a tool loop', async () => {
      const asked: string[] = [];
      const { text, steps } = await generateText({
        model: model(),
        prompt: 'call get_weather {"city":"Oslo"}',
        maxRetries: 0,
        stopWhen: stepCountIs(3),
        tools: {
          get_weather: tool({
            description: 'The weather of a city.',
            inputSchema: z.object({ city: z.string() }),
            execute: async ({ city }) => {
              asked.push(city);
              return 'rain';
            },
          }),
        },
      });
      expect(asked).toEqual(['Oslo']);
      expect(steps.length).toBe(2);
      expect(text).toContain('rain');
    });

    test('gets an object that fits its schema', async () => {
      const schema = z.object({ name: z.string(), age: z.number() });
      const made = generateObject({ model: model(), schema, prompt: 'Hello', maxRetries: 0 });
      expect(schema.safeParse((await made).object).success).toBe(true);
    });
  });
}
