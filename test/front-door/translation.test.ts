import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { APIError as AnthropicError } from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { APIError as OpenAIError } from 'openai';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { anthropicClient, folded, openaiClient } from '../sdk-clients.ts';
import { givenProviders, PROVIDERS, type ProviderKeys } from '../three-providers.ts';

/** Clients of one vendor, models of another: only the virtual key differs. */
let gateway: TestGateway;
let keys: ProviderKeys;

beforeAll(async () => {
  gateway = await startGateway();
  keys = await givenProviders(gateway);
});
afterAll(() => gateway.stop());

const ANSWER = 'This is a simulated answer. You said: "Hello"';
const weather: OpenAI.Chat.Completions.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

for (const provider of PROVIDERS) {
  describe(`OpenAI's client on a model of ${provider}`, () => {
    const openai = () => openaiClient(gateway.url, keys[provider]);
    const model = 'any-model';

    test('gets an answer with usage', async () => {
      const completion = await openai().chat.completions.create({
        model,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hello' },
        ],
      });
      expect(completion.choices[0]).toMatchObject({
        finish_reason: 'stop',
        message: { role: 'assistant', content: ANSWER },
      });
      expect(completion.usage!.total_tokens).toBe(
        completion.usage!.prompt_tokens + completion.usage!.completion_tokens,
      );
    });

    test('gets a stream in pieces, with usage when asked', async () => {
      const stream = await openai().chat.completions.create({
        model,
        messages: [{ role: 'user', content: 'Hello' }],
        stream: true,
        stream_options: { include_usage: true },
      });
      let usage: OpenAI.CompletionUsage | null | undefined;
      const { text, pieces } = await folded(stream, (chunk) => {
        usage = chunk.usage ?? usage;
        return chunk.choices[0]?.delta.content;
      });
      expect(text).toBe(ANSWER);
      expect(pieces).toBeGreaterThan(3);
      expect(usage?.total_tokens).toBeGreaterThan(0);
    });

    test('runs a tool loop, streamed and not', async () => {
      const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [
        { role: 'user', content: 'call get_weather {"city":"Oslo"} and get_weather {"city":"Rome"}' },
      ];
      const streamed = await openai()
        .chat.completions.stream({ model, messages, tools: [weather] })
        .finalChatCompletion();
      const first = await openai().chat.completions.create({ model, messages, tools: [weather] });
      for (const completion of [first, streamed]) {
        expect(completion.choices[0]!.finish_reason).toBe('tool_calls');
        const calls = completion.choices[0]!.message.tool_calls!;
        expect(calls.map((call) => call.type === 'function' && JSON.parse(call.function.arguments))).toEqual([
          { city: 'Oslo' },
          { city: 'Rome' },
        ]);
        expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      }
      const { message } = first.choices[0]!;
      const second = await openai().chat.completions.create({
        model,
        tools: [weather],
        messages: [
          ...messages,
          message,
          ...message.tool_calls!.map(({ id }, index) => ({
            role: 'tool' as const,
            tool_call_id: id,
            content: ['rain', 'sun'][index]!,
          })),
        ],
      });
      expect(second.choices[0]!.message.content).toContain('sun');
    });

    test('hears an error of the provider as its own', async () => {
      const failing = openai().chat.completions.create({
        model,
        messages: [{ role: 'user', content: '[[simulate: status=429, retry-after=3]]' }],
      });
      const error = await failing.catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(OpenAIError);
      expect(error).toMatchObject({ status: 429 });
      expect((error as OpenAIError).headers!.get('retry-after')).toBe('3');
    });

    test('hears of a stream that breaks', async () => {
      const stream = await openai().chat.completions.create({
        model,
        messages: [{ role: 'user', content: '[[simulate: cut=after:3, chunk-delay=5]]' }],
        stream: true,
      });
      const reading = folded(stream, (chunk) => chunk.choices[0]?.delta.content);
      expect(
        await reading.then(
          () => 'ended cleanly',
          () => 'an error',
        ),
      ).toBe('an error');
    });

    test('takes every legal framing of the provider', async () => {
      for (const framing of ['crlf', 'cr', 'no-space', 'split', 'comments', 'multiline']) {
        const stream = await openai().chat.completions.create(
          { model, messages: [{ role: 'user', content: 'Hello' }], stream: true },
          { headers: { 'x-simulate': `framing=${framing}` } },
        );
        expect([framing, (await folded(stream, (chunk) => chunk.choices[0]?.delta.content)).text]).toEqual([
          framing,
          ANSWER,
        ]);
      }
    });
  });

  describe(`Anthropic's client on a model of ${provider}`, () => {
    const anthropic = () => anthropicClient(gateway.url, keys[provider]);
    const call = { model: 'any-model', max_tokens: 100 };

    test('gets an answer', async () => {
      const message = await anthropic().messages.create({ ...call, messages: [{ role: 'user', content: 'Hello' }] });
      expect(message).toMatchObject({
        type: 'message',
        stop_reason: 'end_turn',
        content: [{ type: 'text', text: ANSWER }],
      });
      expect(message.usage.output_tokens).toBeGreaterThan(0);
    });

    test('gets a stream that its helper accepts', async () => {
      const stream = anthropic().messages.stream({ ...call, messages: [{ role: 'user', content: 'Hello' }] });
      const message = await stream.finalMessage();
      expect(message.content).toMatchObject([{ type: 'text', text: ANSWER }]);
      expect(message.usage.output_tokens).toBeGreaterThan(0);
    });

    test('runs a tool loop', async () => {
      const tools = [{ name: 'get_weather', input_schema: { type: 'object' as const } }];
      const question = { role: 'user' as const, content: 'call get_weather {"city":"Oslo"}' };
      const first = await anthropic().messages.create({ ...call, tools, messages: [question] });
      expect(first.stop_reason).toBe('tool_use');
      const use = first.content.find((block) => block.type === 'tool_use')!;
      expect(use.input).toEqual({ city: 'Oslo' });
      const second = await anthropic().messages.create({
        ...call,
        tools,
        messages: [
          question,
          { role: 'assistant', content: first.content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'rain' }] },
        ],
      });
      expect(JSON.stringify(second.content)).toContain('rain');
    });

    test('hears an error of the provider as its own', async () => {
      const error = await anthropic()
        .messages.create({ ...call, messages: [{ role: 'user', content: '[[simulate: status=503]]' }] })
        .catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(AnthropicError);
      expect(error).toMatchObject({ status: 503 });
    });
  });
}

describe('what cannot be said', () => {
  const post = (provider: keyof ProviderKeys, body: object) =>
    gateway.api.post(
      '/v1/chat/completions',
      { model: 'any', messages: [{ role: 'user', content: 'Hello' }], ...body },
      {
        key: keys[provider],
      },
    );

  test('and matters is 400 with its path, and nothing is sent', async () => {
    const before = gateway.provider.calls;
    const reply = await post('anthropic', { n: 3 });
    expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([400, 'not_expressible', 'n']);
    expect(gateway.provider.calls).toBe(before);
  });

  test('and does not matter is named in a header', async () => {
    const reply = await post('anthropic', { seed: 7 });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-gateway-dropped')).toContain('seed');
  });

  test('because it is wrong names the path and what belongs there', async () => {
    const reply = await post('anthropic', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] });
    expect(reply.status).toBe(400);
    expect(reply.json.error.param).toMatch(/^messages\[0\]\.content\[0\]/);
  });

  test('because the provider has no such endpoint names both', async () => {
    // At its own host: another one may have it.
    await gateway.given.virtualKey({ slug: 'at-home', provider: 'anthropic', custom_host: null });
    const headers = { 'x-gateway-virtual-key': 'at-home' };
    const reply = await gateway.api.post('/v1/audio/speech', { model: 'x', input: 'Hello' }, { headers });
    expect([reply.status, reply.json.error.code]).toEqual([400, 'unsupported_by_provider']);
    expect(reply.json.error.message).toContain('anthropic');
  });
});

describe('a picture by its address, for a provider that takes only data', () => {
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  const converse = {
    output: { message: { role: 'assistant', content: [{ text: 'A dot.' }] } },
    stopReason: 'end_turn',
    usage: {},
  };

  const look = async (url: string) => {
    const bodies: { messages: { content: object[] }[] }[] = [];
    const bedrock = serve(async (request) => {
      bodies.push((await request.json()) as (typeof bodies)[number]);
      return Response.json(converse);
    });
    const { slug } = await gateway.given.virtualKey({
      slug: `bedrock-${crypto.randomUUID()}`,
      name: 'b',
      provider: 'bedrock',
      key: 'bedrock-api-key',
      custom_host: bedrock.origin,
      configurations: { aws_region: 'us-east-1' },
    });
    const reply = await gateway.api.post(
      '/v1/chat/completions',
      { model: 'anthropic.claude', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
      { headers: { 'x-gateway-virtual-key': slug } },
    );
    bedrock.stop();
    return { reply, bodies };
  };

  test('is fetched and sent as data', async () => {
    const host = serve(() => new Response(png, { headers: { 'content-type': 'image/png' } }));
    const { reply, bodies } = await look(`${host.origin}/dot.png`);
    host.stop();
    expect(reply.json.choices[0].message.content).toBe('A dot.');
    expect(bodies[0]!.messages[0]!.content).toMatchObject([
      { image: { format: 'png', source: { bytes: png.toString('base64') } } },
    ]);
  });

  test('that is not there, or must not be asked for, is 400 with its path and nothing is sent', async () => {
    const host = serve(() => new Response('', { status: 404 }));
    const missing = await look(`${host.origin}/dot.png`);
    host.stop();
    expect([missing.reply.status, missing.reply.json.error.code, missing.bodies.length]).toEqual([
      400,
      'media_unreachable',
      0,
    ]);
    const forbidden = await look('http://169.254.169.254/latest/meta-data');
    expect([forbidden.reply.status, forbidden.reply.json.error.code, forbidden.bodies.length]).toEqual([
      400,
      'egress_refused',
      0,
    ]);
  });
});
