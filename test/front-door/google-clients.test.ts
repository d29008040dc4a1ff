import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
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
const MODELS = { openai: 'gpt-5', anthropic: 'claude-opus-4-8', google: 'gemini-2.5-flash' } as const;
const clientOf = (key: string) => new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: gateway.url } });
const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
};

for (const provider of PROVIDERS) {
  const model = MODELS[provider];
  const google = () => clientOf(keys[provider]);

  describe(`Google's client, with a new base address and key and nothing else, on ${provider}`, () => {
    test('gets an answer, with its usage', async () => {
      const reply = await google().models.generateContent({
        model,
        contents: 'Hello',
        config: { systemInstruction: 'Be brief', temperature: 0.5, maxOutputTokens: 200 },
      });
      expect(reply.text).toBe(ANSWER);
      expect(reply.candidates?.[0]?.finishReason).toBe('STOP' as never);
      expect(reply.modelVersion).toBe(model);
      expect(reply.responseId).toBeTruthy();
      expect(reply.usageMetadata?.promptTokenCount).toBeGreaterThan(0);
      expect(reply.usageMetadata?.totalTokenCount).toBe(
        (reply.usageMetadata?.promptTokenCount ?? 0) + (reply.usageMetadata?.candidatesTokenCount ?? 0),
      );
    });

    test('gets a stream, whose last chunk has the usage', async () => {
      const chunks: unknown[] = [];
      const stream = await google().models.generateContentStream({ model, contents: 'Hello' });
      const { text, pieces } = await folded(stream, (chunk) => {
        chunks.push(chunk.usageMetadata?.totalTokenCount);
        return chunk.text;
      });
      expect(text).toBe(ANSWER);
      expect(pieces).toBeGreaterThan(3);
      expect(chunks.at(-1)).toBeGreaterThan(0);
    });

    test('talks on in a chat, streamed and whole', async () => {
      const chat = google().chats.create({ model });
      const first = await chat.sendMessageStream({ message: 'Hello' });
      expect((await folded(first, (chunk) => chunk.text)).text).toBe(ANSWER);
      expect((await chat.sendMessage({ message: 'Hello' })).text).toBe(ANSWER);
      expect(chat.getHistory(true).length).toBeGreaterThanOrEqual(4);
    });

    test('calls a function and brings back what came of it', async () => {
      const config = { tools: [{ functionDeclarations: [WEATHER] }] };
      const asked = { role: 'user', parts: [{ text: 'call get_weather {"city":"Oslo"}' }] };
      const reply = await google().models.generateContent({ model, contents: [asked], config });
      const call = reply.functionCalls?.[0];
      expect(call).toMatchObject({ name: 'get_weather', args: { city: 'Oslo' } });
      const response = { name: 'get_weather', response: { output: 'rain' } };
      const after = await google().models.generateContent({
        model,
        contents: [asked, reply.candidates![0]!.content!, { role: 'user', parts: [{ functionResponse: response }] }],
        config,
      });
      expect(after.text).toContain('rain');
    });

    test('has a function called that it demands, also in a stream', async () => {
      const stream = await google().models.generateContentStream({
        model,
        contents: 'Hello',
        config: {
          tools: [{ functionDeclarations: [WEATHER] }],
          toolConfig: {
            functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['get_weather'] },
          },
        },
      });
      const names: unknown[] = [];
      for await (const chunk of stream) names.push(...(chunk.functionCalls ?? []).map(({ name }) => name));
      expect(names).toEqual(['get_weather']);
    });

    test('gets JSON that fits its schema', async () => {
      const reply = await google().models.generateContent({
        model,
        contents: 'Hello',
        config: {
          responseMimeType: 'application/json',
          responseSchema: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ['city'] },
        },
      });
      expect(typeof JSON.parse(reply.text ?? '').city).toBe('string');
    });

    test('sends a picture', async () => {
      const reply = await google().models.generateContent({
        model,
        contents: [{ text: 'Hello' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
      });
      expect(reply.text).toContain('Hello');
    });

    test('lists models, and looks one up', async () => {
      const names: string[] = [];
      for await (const { name } of await google().models.list()) names.push(name ?? '');
      expect(names.length).toBeGreaterThan(2);
      expect(names.every((name) => name.startsWith('models/'))).toBe(true);
      expect((await google().models.get({ model })).name).toBe(`models/${model}`);
    });

    test('counts tokens', async () => {
      const { totalTokens } = await google().models.countTokens({ model, contents: 'Hello, how are you?' });
      expect(totalTokens).toBeGreaterThan(0);
    });

    test('is told in its own words what is wrong', async () => {
      const broken = await google()
        .models.generateContent({ model, contents: 'Hello', config: { temperature: 'hot' as unknown as number } })
        .catch((error) => error);
      if (provider !== 'google') {
        expect(broken).toBeInstanceOf(ApiError);
        expect(broken.status).toBe(400);
        expect(JSON.parse(broken.message).error).toMatchObject({
          code: 400,
          status: 'INVALID_ARGUMENT',
          message: expect.stringContaining('generationConfig.temperature'),
        });
      }
      const stranger = await clientOf('gw-wrong')
        .models.generateContent({ model, contents: 'Hello' })
        .catch((e) => e);
      expect(stranger).toBeInstanceOf(ApiError);
      expect(JSON.parse(stranger.message).error).toMatchObject({ code: 401, status: 'UNAUTHENTICATED' });
    });

    if (provider !== 'anthropic')
      test('embeds', async () => {
        const { embeddings } = await google().models.embedContent({
          model: 'text-embedding-3-small',
          contents: ['a', 'a', 'b'],
          config: { taskType: 'RETRIEVAL_QUERY' },
        });
        expect(embeddings).toHaveLength(3);
        expect(embeddings![0]!.values!.length).toBeGreaterThan(100);
        expect(embeddings![1]!.values).toEqual(embeddings![0]!.values!);
        expect(embeddings![2]!.values).not.toEqual(embeddings![0]!.values!);
      });
  });
}

describe("Google's client", () => {
  test('chooses a virtual key by the model alone', async () => {
    for (const slug of PROVIDERS) {
      const reply = await clientOf(ADMIN_KEY).models.generateContent({ model: `@${slug}/any`, contents: 'Hello' });
      expect([slug, reply.text]).toEqual([slug, ANSWER]);
    }
    const { embeddings } = await clientOf(ADMIN_KEY).models.embedContent({
      model: '@google/any',
      contents: ['a', 'b'],
    });
    expect(embeddings).toHaveLength(2);
  });

  test('is refused by the name of what only Google has', async () => {
    const refused = await clientOf(keys.anthropic)
      .models.generateContent({ model: 'claude', contents: 'Hello', config: { cachedContent: 'cachedContents/x' } })
      .catch((error) => JSON.parse(error.message).error);
    expect(refused).toMatchObject({
      code: 400,
      status: 'INVALID_ARGUMENT',
      message: expect.stringContaining('cachedContent'),
    });
  });

  test('logs its model and usage, and counts a stream', async () => {
    for (const verb of ['generateContent', 'streamGenerateContent?alt=sse', 'streamGenerateContent']) {
      const reply = await gateway.api.post(
        `/v1beta/models/claude-x:${verb}`,
        { contents: [{ parts: [{ text: 'Hello' }] }] },
        { key: keys.anthropic },
      );
      const log = await gateway.logOf(reply);
      expect(log).toMatchObject({ model: 'claude-x', provider: 'anthropic', status: 200 });
      expect(log.route ?? log.path).toContain(verb.split('?')[0]!);
      expect(log.output_tokens ?? log.usage?.output_tokens).toBeGreaterThan(0);
    }
  });

  test('gets a JSON array where it does not ask for events, whole and readable as it comes', async () => {
    const reply = await gateway.api.post(
      '/v1beta/models/x:streamGenerateContent',
      { contents: [{ parts: [{ text: 'Hello' }] }] },
      { key: keys.openai },
    );
    expect(reply.headers.get('content-type')).toContain('application/json');
    const text = reply.json.map((chunk: { candidates: { content: { parts: { text: string }[] } }[] }) =>
      chunk.candidates[0]!.content.parts.map((part) => part.text).join(''),
    );
    expect(text.join('')).toBe(ANSWER);
    expect(text.length).toBeGreaterThan(3);
  });
});

test('on a Gemini provider the bytes go through as they are, both ways', async () => {
  await gateway.given.virtualKey({
    slug: 'own',
    provider: 'google',
    key: 'AIza',
    custom_host: `${recorder.origin}/v1beta`,
  });
  const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'own' } });
  const answer = '{ "candidates": [ ], "usageMetadata": {"promptTokenCount":3, "big": 12345678901234567890} }';
  recorder.answers(() => new Response(answer, { headers: { 'content-type': 'application/json' } }));
  const bodies = [
    '{ "contents" : [{"parts":[{"text":"h\\u00e9"}]}],\n "big": 12345678901234567890 }',
    '{"contents":[]}',
    '{}',
  ];
  for (const body of bodies)
    for (const verb of ['generateContent', 'countTokens', 'streamGenerateContent?alt=sse']) {
      if (verb === 'countTokens' && body === '{}') continue;
      const reply = await gateway.api.call(
        'POST',
        `/v1beta/models/gemini-x:${verb}${verb.includes('?') ? '&' : '?'}key=${key}`,
        {
          key: null,
          headers: { 'content-type': 'application/json' },
          body,
        },
      );
      expect(reply.text).toBe(answer);
      expect(recorder.last.text).toBe(body);
      expect(recorder.last.path).toBe(`/v1beta/models/gemini-x:${verb}`);
      expect(recorder.last.headers.get('x-goog-api-key')).toBe('AIza');
    }
});
