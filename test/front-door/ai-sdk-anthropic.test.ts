import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createAnthropic } from '@ai-sdk/anthropic';
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import * as ai5 from 'ai-5';
import { createAnthropic as createAnthropic2 } from 'ai-sdk-anthropic-2';
import * as z from 'zod';
import { startGateway, type TestGateway } from '../gateway.ts';
import { givenProviders, PROVIDERS, type ProviderKeys } from '../three-providers.ts';

/** The Vercel AI SDK with Anthropic's models, its current major version and the one before, on three providers. */
let gateway: TestGateway;
let keys: ProviderKeys;

beforeAll(async () => {
  gateway = await startGateway();
  keys = await givenProviders(gateway);
});
afterAll(() => gateway.stop());

const ANSWER = 'This is a simulated answer. You said: "Hello"';
const city = z.object({ city: z.string() });
const person = z.object({ name: z.string(), age: z.number() });

for (const provider of PROVIDERS) {
  const address = () => ({ baseURL: `${gateway.url}/v1`, apiKey: keys[provider] });

  describe(`AI SDK 6 on a model of ${provider}`, () => {
    const model = () => createAnthropic(address())('claude-sonnet-4-5');

    test('gets a text, streams and runs a tool loop', async () => {
      expect((await generateText({ model: model(), prompt: 'Hello', maxRetries: 0 })).text).toBe(ANSWER);
      const failures: unknown[] = [];
      const onError = ({ error }: { error: unknown }) => void failures.push(error);
      const streamed = streamText({ model: model(), prompt: 'Hello', maxRetries: 0, onError });
      expect([await streamed.text, failures]).toEqual([ANSWER, []]);
      const tools = { get_weather: tool({ inputSchema: city, execute: async () => 'rain' }) };
      const prompt = 'call get_weather {"city":"Oslo"}';
      const asked = await generateText({ model: model(), prompt, tools, stopWhen: stepCountIs(3), maxRetries: 0 });
      expect(asked.text).toContain('rain');
    });

    test('gets an object that fits its schema', async () => {
      const { object } = await generateObject({ model: model(), schema: person, prompt: 'Hello', maxRetries: 0 });
      expect(person.safeParse(object).success).toBe(true);
    });
  });

  describe(`AI SDK 5 on a model of ${provider}`, () => {
    const model = () => createAnthropic2(address())('claude-sonnet-4-5');

    test('gets a text, streams and runs a tool loop', async () => {
      expect((await ai5.generateText({ model: model(), prompt: 'Hello', maxRetries: 0 })).text).toBe(ANSWER);
      const failures: unknown[] = [];
      const onError = ({ error }: { error: unknown }) => void failures.push(error);
      const streamed = ai5.streamText({ model: model(), prompt: 'Hello', maxRetries: 0, onError });
      expect([await streamed.text, failures]).toEqual([ANSWER, []]);
      const tools = { get_weather: ai5.tool({ inputSchema: city, execute: async () => 'rain' }) };
      const prompt = 'call get_weather {"city":"Oslo"}';
      const stopWhen = ai5.stepCountIs(3);
      expect((await ai5.generateText({ model: model(), prompt, tools, stopWhen, maxRetries: 0 })).text).toContain(
        'rain',
      );
    });
  });
}
