import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import { type Schema, Validator } from '@cfworker/json-schema';
import { FunctionCallingConfigMode, GoogleGenAI } from '@google/genai';
import OpenAI, { toFile } from 'openai';
import { createSimulator } from './simulator.ts';

const NOW = 1_750_000_000_000;
const simulator = createSimulator({ now: () => NOW });
let server: ReturnType<typeof Bun.serve>;
let base = '';
let openai: OpenAI;
let anthropic: Anthropic;
let gemini: GoogleGenAI;

beforeAll(() => {
  server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: simulator.simulate });
  base = `http://127.0.0.1:${server.port}`;
  openai = new OpenAI({ apiKey: 'sk-fake', baseURL: `${base}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'sk-ant-fake', baseURL: base, maxRetries: 0 });
  gemini = new GoogleGenAI({ apiKey: 'fake', httpOptions: { baseUrl: base } });
});
afterAll(() => server.stop(true));

const chat = (text: string, more: object = {}) => ({
  model: 'gpt-4o',
  messages: [{ role: 'user' as const, content: text }],
  ...more,
});

const post = (path: string, body: unknown, simulate = '', signal?: AbortSignal) =>
  fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(simulate ? { 'x-simulate': simulate } : {}) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  });

const answerTo = (text: string) => `This is a simulated answer. You said: "${text}"`;

async function eventually(isTrue: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 500 && !isTrue(); attempt += 1) await Bun.sleep(5);
  expect(isTrue()).toBe(true);
}

const weather = { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } };
const clock = { name: 'get_time', parameters: { type: 'object', properties: {} } };
const openaiTools = [weather, clock].map((tool) => ({ type: 'function' as const, function: tool }));

describe('the OpenAI SDK', () => {
  test('gets an answer that quotes what was said', async () => {
    const completion = await openai.chat.completions.create(chat('Hello'));

    expect(completion.choices[0]?.message.content).toBe(answerTo('Hello'));
    expect(completion.choices[0]?.finish_reason).toBe('stop');
    expect(completion.created).toBe(NOW / 1000);
    expect(completion.usage?.total_tokens).toBe(completion.usage!.prompt_tokens + completion.usage!.completion_tokens);
  });

  test('gets the same answer to the same request, and another id for another', async () => {
    const [one, same, other] = await Promise.all([
      openai.chat.completions.create(chat('Hello')),
      openai.chat.completions.create(chat('Hello')),
      openai.chat.completions.create(chat('Bye')),
    ]);

    expect(same).toEqual(one);
    expect(other.id).not.toBe(one.id);
  });

  test('streams about a word per chunk, and usage only when asked', async () => {
    const plain = await Array.fromAsync(await openai.chat.completions.create({ ...chat('Hello there'), stream: true }));
    const counted = await Array.fromAsync(
      await openai.chat.completions.create({
        ...chat('Hello there'),
        stream: true,
        stream_options: { include_usage: true },
      }),
    );

    const text = plain.map((chunk) => chunk.choices[0]?.delta.content ?? '');
    expect(text.join('')).toBe(answerTo('Hello there'));
    expect(text.length).toBeGreaterThan(8);
    expect(plain.at(-1)?.choices[0]?.finish_reason).toBe('stop');
    expect(plain.some((chunk) => chunk.usage !== undefined)).toBe(false);
    expect(counted.at(-1)?.choices).toEqual([]);
    expect(counted.at(-1)?.usage?.completion_tokens).toBe(Math.ceil(answerTo('Hello there').length / 4));
    expect(counted.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  });

  test('gets as many choices as n says, whole and streamed', async () => {
    const completion = await openai.chat.completions.create(chat('Hello', { n: 3 }));
    const final = await openai.chat.completions.stream({ ...chat('Hello'), n: 2 }).finalChatCompletion();

    expect(completion.choices.map((choice) => choice.index)).toEqual([0, 1, 2]);
    expect(final.choices.map((choice) => choice.message.content)).toEqual([answerTo('Hello'), answerTo('Hello')]);
  });

  test('calls the tools that the prompt names, whole and streamed', async () => {
    const request = chat('Please call get_weather {"city":"Oslo {north}"} and get_time.', { tools: openaiTools });

    const whole = await openai.chat.completions.create(request);
    const streamed = await openai.chat.completions.stream(request).finalChatCompletion();

    for (const { choices } of [whole, streamed]) {
      expect(choices[0]?.finish_reason).toBe('tool_calls');
      expect(choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function)).toMatchObject([
        { name: 'get_weather', arguments: '{"city":"Oslo {north}"}' },
        { name: 'get_time', arguments: '{}' },
      ]);
    }
  });

  test('calls a tool that is forced, and none that is forbidden', async () => {
    const forced = { type: 'function', function: { name: 'get_time' } };
    const one = await openai.chat.completions.create(chat('Hello', { tools: openaiTools, tool_choice: forced }));
    const any = await openai.chat.completions.create(chat('Hello', { tools: openaiTools, tool_choice: 'required' }));
    const none = await openai.chat.completions.create(
      chat('call get_time', { tools: openaiTools, tool_choice: 'none' }),
    );

    expect(one.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'get_time', arguments: '{}' } }]);
    expect(any.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'get_weather' } }]);
    expect(none.choices[0]?.message.content).toBe(answerTo('call get_time'));
  });

  test('calls a tool that is forced with arguments that fit its schema, unless the prompt says them', async () => {
    const parameters = {
      type: 'object',
      properties: {
        city: { type: 'string', minLength: 12 },
        days: { type: 'integer', minimum: 2, maximum: 5 },
        unit: { enum: ['celsius', 'fahrenheit'] },
        place: { $ref: '#/$defs/place' },
        tags: { type: 'array', items: { type: 'string' }, minItems: 2 },
      },
      required: ['city', 'days', 'unit', 'place', 'tags', 'undescribed'],
      $defs: { place: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'] } },
    };
    const tools = [{ type: 'function' as const, function: { name: 'plan', parameters } }];
    const forced = { type: 'function' as const, function: { name: 'plan' } };
    const validator = new Validator(parameters as Schema);
    for (const tool_choice of [forced, 'required' as const]) {
      for (const said of ['Hello', 'call plan']) {
        const request = chat(said, { tools, tool_choice });
        const whole = await openai.chat.completions.create(request);
        const streamed = await openai.chat.completions.stream(request).finalChatCompletion();
        for (const { choices } of [whole, streamed]) {
          const [call] = choices[0]!.message.tool_calls!;
          const given = JSON.parse(call!.type === 'function' ? call!.function.arguments : '');
          expect([said, validator.validate(given).errors]).toEqual([said, []]);
        }
      }
    }
    const said = await openai.chat.completions.create(chat('call plan {"a":1}', { tools, tool_choice: forced }));
    expect(said.choices[0]?.message.tool_calls).toMatchObject([{ function: { arguments: '{"a":1}' } }]);
    const asked = await openai.chat.completions.create(chat('call plan', { tools }));
    expect(asked.choices[0]?.message.tool_calls).toMatchObject([{ function: { arguments: '{}' } }]);
  });

  test('is told what a tool result said', async () => {
    const completion = await openai.chat.completions.create({
      model: 'gpt-4o',
      tools: openaiTools,
      messages: [
        { role: 'user', content: 'call get_time' },
        {
          role: 'assistant',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_time', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'half past nine' },
      ],
    });

    expect(completion.choices[0]?.message.content).toContain('The tool said: "half past nine"');
  });

  test('gets JSON, of the asked schema if there is one', async () => {
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        mood: { enum: ['calm', 'wild'] },
        age: { type: 'integer', minimum: 18 },
        born: { type: 'string', format: 'date' },
        parts: { type: 'array', items: { $ref: '#/$defs/part' }, minItems: 2 },
      },
      required: ['name', 'mood', 'age', 'born', 'parts'],
      $defs: {
        part: {
          type: 'object',
          properties: { size: { type: 'number' }, inner: { anyOf: [{ $ref: '#/$defs/part' }, { type: 'null' }] } },
          required: ['size', 'inner'],
        },
      },
    };
    const format = { type: 'json_schema', json_schema: { name: 'person', schema } };

    const shaped = await openai.chat.completions.create(chat('Who?', { response_format: format }));
    const free = await openai.chat.completions.create(chat('Who?', { response_format: { type: 'json_object' } }));

    const person = JSON.parse(shaped.choices[0]?.message.content ?? '');
    expect(person).toMatchObject({ name: 'simulated', mood: 'calm', age: 18, born: '2025-01-01' });
    expect(person.parts).toHaveLength(2);
    expect(JSON.parse(free.choices[0]?.message.content ?? '')).toMatchObject({ simulated: true });
  });

  test('completes prompts, whole and streamed', async () => {
    const whole = await openai.completions.create({ model: 'gpt-3.5-turbo-instruct', prompt: ['One', 'Two'], n: 2 });
    const streamed = await Array.fromAsync(
      await openai.completions.create({ model: 'gpt-3.5-turbo-instruct', prompt: 'One', stream: true }),
    );

    expect(whole.choices.map((choice) => choice.text)).toEqual(['One', 'One', 'Two', 'Two'].map(answerTo));
    expect(streamed.map((chunk) => chunk.choices[0]?.text).join('')).toBe(answerTo('One'));
  });

  test('gets unit vectors that depend on the text alone, as floats or base64', async () => {
    const model = 'text-embedding-3-small';
    // The SDK asks for base64 unless told otherwise.
    const base64 = await openai.embeddings.create({ model, input: ['sea', 'hill'], dimensions: 64 });
    const floats = await openai.embeddings.create({ model, input: 'hill', dimensions: 64, encoding_format: 'float' });
    const full = await openai.embeddings.create({ model, input: [[1, 2, 3]], encoding_format: 'float' });

    expect(base64.data[1]?.embedding).toEqual(floats.data[0]!.embedding);
    expect(base64.data[0]?.embedding).not.toEqual(floats.data[0]!.embedding);
    expect(Math.hypot(...floats.data[0]!.embedding)).toBeCloseTo(1, 5);
    expect(full.data[0]?.embedding).toHaveLength(1536);
  });

  test('lists models and looks one up', async () => {
    const models = await Array.fromAsync(openai.models.list());

    expect(models.map((model) => model.id)).toContain('gpt-4o');
    expect((await openai.models.retrieve('meta/any-name')).id).toBe('meta/any-name');
  });

  test('stores, lists, reads and deletes files', async () => {
    const upload = await toFile(Buffer.from('{"line":1}\n'), 'lines.jsonl');
    const file = await openai.files.create({ file: upload, purpose: 'batch' });
    const twin = await openai.files.create({ file: upload, purpose: 'batch' });

    expect(file).toMatchObject({ object: 'file', bytes: 11, filename: 'lines.jsonl', purpose: 'batch' });
    expect(twin.id).not.toBe(file.id);
    const pages = await Array.fromAsync(openai.files.list({ limit: 1, purpose: 'batch' }));
    expect(pages.map(({ id }) => id)).toEqual([twin.id, file.id]);
    expect(await (await openai.files.content(file.id)).text()).toBe('{"line":1}\n');
    expect(await openai.files.delete(file.id)).toMatchObject({ id: file.id, deleted: true });
    const missing = await openai.files.retrieve(file.id).catch((error) => error);
    expect(missing).toBeInstanceOf(OpenAI.NotFoundError);
    expect(missing.message).toContain(`No file ${file.id}.`);
  });

  test('reads simulated errors as its own', async () => {
    const limited = await openai.chat.completions
      .create(chat('Hello [[simulate: status=429, retry-after=2]]'))
      .catch((error) => error);

    expect(limited).toBeInstanceOf(OpenAI.RateLimitError);
    expect(limited.code).toBe('rate_limit_exceeded');
    expect(limited.headers.get('retry-after')).toBe('2');
    expect(limited.requestID).toStartWith('req_');
  });
});

describe('the Anthropic SDK', () => {
  const message = (content: string, more: object = {}) => ({
    model: 'claude-sonnet-5-5',
    max_tokens: 100,
    messages: [{ role: 'user' as const, content }],
    ...more,
  });
  const tools = [weather, clock].map(({ name, parameters }) => ({
    name,
    input_schema: { ...parameters, type: 'object' as const },
  }));

  test('gets an answer, whole and streamed, with the same text and tokens', async () => {
    const request = message('Hello', { system: 'Be brief.' });
    const whole = await anthropic.messages.create(request);
    const streamed = await anthropic.messages.stream(request).finalMessage();

    expect(whole.content).toMatchObject([{ type: 'text', text: answerTo('Hello') }]);
    expect(whole.stop_reason).toBe('end_turn');
    expect(streamed.content).toMatchObject([{ type: 'text', text: answerTo('Hello') }]);
    expect(streamed.usage).toMatchObject({
      input_tokens: whole.usage.input_tokens,
      output_tokens: whole.usage.output_tokens,
    });
    expect(await anthropic.messages.countTokens({ model: request.model, messages: request.messages })).toEqual({
      input_tokens: whole.usage.input_tokens - 2,
    });
  });

  test('sees the events in their order', async () => {
    const reply = await post('/v1/messages', message('Hi', { stream: true }), 'length=2');

    const names = [...(await reply.text()).matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    expect(names).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  test('calls the tools that the prompt names or the choice forces, and is told their result', async () => {
    const request = message('call get_weather {"city":"Oslo"} and get_time', { tools });
    const whole = await anthropic.messages.create(request);
    const streamed = await anthropic.messages.stream(request).finalMessage();
    const forced = await anthropic.messages.create(
      message('Hello', { tools, tool_choice: { type: 'tool', name: 'get_time' } }),
    );
    const told = await anthropic.messages.create({
      ...request,
      messages: [
        ...request.messages,
        { role: 'assistant', content: whole.content as Anthropic.ContentBlockParam[] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'rain' }] }],
        },
      ],
    });

    for (const { content, stop_reason } of [whole, streamed]) {
      expect(stop_reason).toBe('tool_use');
      expect(content).toMatchObject([
        { type: 'tool_use', name: 'get_weather', input: { city: 'Oslo' } },
        { type: 'tool_use', name: 'get_time', input: {} },
      ]);
    }
    expect(forced.content).toMatchObject([{ type: 'tool_use', name: 'get_time' }]);
    const weather = { type: 'tool', name: 'get_weather' } as const;
    const filled = await anthropic.messages.create(message('Hello', { tools, tool_choice: weather }));
    expect(filled.content).toMatchObject([{ name: 'get_weather', input: { city: 'simulated' } }]);
    expect(told.content).toMatchObject([{ text: 'This is a simulated answer. The tool said: "rain"' }]);
  });

  test('reads simulated errors as its own', async () => {
    const overloaded = await anthropic.messages
      .create(message('Hello'), { headers: { 'x-simulate': 'status=529' } })
      .catch((error) => error);

    expect(overloaded.status).toBe(529);
    expect(overloaded.error).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
  });

  test('lists models', async () => {
    const models = await Array.fromAsync(anthropic.models.list());

    expect(models.map((model) => model.id)).toContain('claude-sonnet-5-5');
  });
});

describe('the Google SDK', () => {
  const model = 'gemini-2.5-flash';
  const config = {
    tools: [{ functionDeclarations: [weather, clock].map(({ name }) => ({ name, description: name })) }],
  };

  test('gets an answer, whole and streamed, with the same text and tokens', async () => {
    const whole = await gemini.models.generateContent({ model, contents: 'Hello' });
    const chunks = await Array.fromAsync(await gemini.models.generateContentStream({ model, contents: 'Hello' }));
    const counted = await gemini.models.countTokens({ model, contents: 'Hello' });

    expect(whole.text).toBe(answerTo('Hello'));
    expect(chunks.map((chunk) => chunk.text).join('')).toBe(answerTo('Hello'));
    expect(chunks.at(-1)?.candidates?.[0]?.finishReason as string).toBe('STOP');
    expect(chunks.at(-1)?.usageMetadata).toEqual(whole.usageMetadata);
    expect(counted.totalTokens).toBe(whole.usageMetadata?.promptTokenCount);
  });

  test('calls the functions that the prompt names or the mode forces, and is told their result', async () => {
    const asked = { model, contents: 'call get_weather {"city":"Oslo"} and get_time', config };
    const whole = await gemini.models.generateContent(asked);
    const streamed = await Array.fromAsync(await gemini.models.generateContentStream(asked));
    const forced = await gemini.models.generateContent({
      model,
      contents: 'Hello',
      config: {
        ...config,
        toolConfig: {
          functionCallingConfig: { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['get_time'] },
        },
      },
    });
    const told = await gemini.models.generateContent({
      model,
      config,
      contents: [
        { role: 'user', parts: [{ text: asked.contents }] },
        { role: 'model', parts: [{ functionCall: { name: 'get_time', args: {} } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'get_time', response: { hour: 9 } } }] },
      ],
    });

    const calls = [
      { name: 'get_weather', args: { city: 'Oslo' } },
      { name: 'get_time', args: {} },
    ];
    expect(whole.functionCalls).toEqual(calls);
    expect(streamed.flatMap((chunk) => chunk.functionCalls ?? [])).toEqual(calls);
    expect(forced.functionCalls).toEqual([{ name: 'get_time', args: {} }]);
    const described = { name: 'get_weather', parametersJsonSchema: weather.parameters };
    const functionCallingConfig = { mode: FunctionCallingConfigMode.ANY, allowedFunctionNames: ['get_weather'] };
    const filled = await gemini.models.generateContent({
      model,
      contents: 'Hello',
      config: { tools: [{ functionDeclarations: [described] }], toolConfig: { functionCallingConfig } },
    });
    expect(filled.functionCalls).toEqual([{ name: 'get_weather', args: { city: 'simulated' } }]);
    expect(told.text).toBe('This is a simulated answer. The tool said: "{"hour":9}"');
  });

  test('gets JSON of the asked schema', async () => {
    const reply = await gemini.models.generateContent({
      model,
      contents: 'Who?',
      config: {
        responseMimeType: 'application/json',
        responseJsonSchema: { type: 'object', properties: { name: { type: 'string' } } },
      },
    });

    expect(JSON.parse(reply.text ?? '')).toEqual({ name: 'simulated' });
  });

  test('gets unit vectors', async () => {
    const reply = await gemini.models.embedContent({
      model: 'gemini-embedding-001',
      contents: ['sea', 'hill'],
      config: { outputDimensionality: 32 },
    });

    expect(reply.embeddings).toHaveLength(2);
    expect(Math.hypot(...(reply.embeddings?.[0]?.values ?? []))).toBeCloseTo(1, 5);
  });

  test('lists models, and reads simulated errors as its own', async () => {
    const names = (await Array.fromAsync(await gemini.models.list())).map((each) => each.name);
    const failure = await gemini.models
      .generateContent({ model, contents: 'Hello [[simulate: status=503]]' })
      .catch((error) => error);

    expect(names).toContain('models/gemini-2.5-flash');
    expect(failure.status).toBe(503);
    expect(failure.message).toContain('UNAVAILABLE');
  });
});

test('Gemini streams a JSON array without alt=sse, and events with CRLF with it', async () => {
  const body = { contents: [{ parts: [{ text: 'Hello' }] }] };
  const array = await post('/v1beta/models/gemini-2.5-flash:streamGenerateContent', body);
  const events = await post('/models/gemini-2.5-flash:streamGenerateContent?alt=sse', body);

  const parts = (await array.json()) as { candidates: { content: { parts: { text: string }[] } }[] }[];
  expect(parts.map((part) => part.candidates[0]?.content.parts[0]?.text).join('')).toBe(answerTo('Hello'));
  expect((await events.text()).replaceAll('\r\n', '')).not.toContain('\n');
});

test('every version segment, and none, leads to the same answer', async () => {
  const paths = ['', '/v1', '/v1beta', '/v1alpha', '/v2'].map((version) => `${version}/chat/completions`);
  const bodies = await Promise.all(paths.map(async (path) => (await post(path, chat('Hello'))).text()));

  expect(new Set(bodies).size).toBe(1);
});

const contents = [{ parts: [{ text: 'Hello' }] }];
const refusals: [name: string, path: string, body: unknown, status: number, shape: object][] = [
  ['an OpenAI body that is no JSON', '/v1/chat/completions', '{', 400, { error: { type: 'invalid_request_error' } }],
  ['an OpenAI body without messages', '/v1/chat/completions', { model: 'm' }, 400, { error: { param: 'messages' } }],
  [
    'an OpenAI call without a key',
    '/v1/chat/completions',
    { model: 'require-key' },
    401,
    { error: { code: 'invalid_api_key' } },
  ],
  ['an unknown path', '/v1/nowhere', {}, 404, { error: { type: 'invalid_request_error' } }],
  [
    'an Anthropic body that is a list',
    '/v1/messages',
    [],
    400,
    { type: 'error', error: { type: 'invalid_request_error' } },
  ],
  [
    'an Anthropic call without a key',
    '/v1/messages',
    { model: 'require-key' },
    401,
    { error: { type: 'authentication_error' } },
  ],
  ['an unknown Anthropic path', '/v1/messages/nowhere', {}, 404, { error: { type: 'not_found_error' } }],
  [
    'a Gemini body without contents',
    '/v1beta/models/m:generateContent',
    {},
    400,
    { error: { code: 400, status: 'INVALID_ARGUMENT' } },
  ],
  [
    'a Gemini call without a key',
    '/v1beta/models/require-key:generateContent',
    { contents },
    401,
    { error: { status: 'UNAUTHENTICATED' } },
  ],
  ['an unknown Gemini method', '/v1beta/models/m:fly', {}, 404, { error: { code: 404, status: 'NOT_FOUND' } }],
];
for (const [name, path, body, status, shape] of refusals) {
  test(`${name} is refused in the vendor's shape`, async () => {
    const reply = await post(path, body);

    expect(reply.status).toBe(status);
    expect(reply.headers.get('x-simulated')).toBe('true');
    expect(await reply.json()).toMatchObject(shape);
  });
}

test('the model require-key answers whoever shows a key', async () => {
  expect((await openai.chat.completions.create(chat('Hello', { model: 'require-key' }))).model).toBe('require-key');
});

describe('faults', () => {
  const streamed = chat('Hello', { stream: true });

  test('an unknown fault, or a value that makes no sense, is refused', async () => {
    for (const directive of [
      'colour=red',
      'status=high',
      'stall=soon',
      'framing=round',
      'constructor=1',
      'retry-after=é',
    ]) {
      const reply = await post('/v1/chat/completions', streamed, directive);
      expect(reply.status).toBe(400);
      expect(await reply.text()).toMatch(/simulation/i);
    }
  });

  test('an error by header needs no sensible body and no known path', async () => {
    const reply = await post('/v1/unheard-of', 'no JSON', 'status=503');

    expect(reply.status).toBe(503);
    expect(await reply.json()).toMatchObject({ error: { type: 'server_error' } });
  });

  test('a status that is no error comes with the usual answer, or without a body where there is none', async () => {
    const created = await post('/v1/chat/completions', chat('Hello [[simulate: status=201]]'));
    const empty = await post('/v1/chat/completions', chat('Hello [[simulate: status=204]]'));

    expect(created.status).toBe(201);
    expect(await created.json()).toMatchObject({ object: 'chat.completion' });
    expect(empty.status).toBe(204);
  });

  test('a prompt, schema or body made to tire the simulator is answered all the same', async () => {
    const self = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] };
    const format = { type: 'json_schema', json_schema: { name: 'self', schema: self } };
    const depth = 5000;
    const deep = `{"model":"m","messages":[{"role":"user","content":"Hi","x":${'['.repeat(depth)}${']'.repeat(depth)}}]}`;
    const replies = await Promise.all([
      post('/v1/chat/completions', chat('Hello', { response_format: format })),
      post('/v1/chat/completions', chat('[[simulate:'.repeat(50_000))),
      post('/v1/chat/completions', chat('call get_time {'.repeat(50_000), { tools: openaiTools })),
      post('/v1/chat/completions', deep),
    ]);

    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200, 200]);
    await Promise.all(replies.map((reply) => reply.json()));
  });

  test('the header outdoes the prompt', async () => {
    const reply = await post('/v1/chat/completions', chat('[[simulate: status=500]]'), 'status=418');

    expect(reply.status).toBe(418);
  });

  test('delay and chunk-delay hold the answer back', async () => {
    const started = performance.now();
    await (await post('/v1/chat/completions', streamed, 'delay=30, length=2, chunk-delay=10')).text();

    // Five events have four pauses between them; timers may be a little early.
    expect(performance.now() - started).toBeGreaterThan(60);
  });

  test('a stream that stalls sends its first chunks and ends when the client leaves', async () => {
    const { open, aborted } = simulator;
    const leaving = new AbortController();
    const reply = await post('/v1/chat/completions', streamed, 'stall=after:3', leaving.signal);

    const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (text.split('\n\n').length < 4) text += (await reader.read()).value;
    expect(simulator.open).toBe(open + 1);
    leaving.abort();

    await eventually(() => simulator.open === open);
    expect(simulator.aborted).toBe(aborted + 1);
    expect(await reader.read().catch((error) => error.name)).toBe('AbortError');
  });

  for (const directive of ['stall=headers', 'delay=600000']) {
    test(`${directive} ends when the client leaves`, async () => {
      const { open, aborted } = simulator;
      const leaving = new AbortController();
      const waiting = post('/v1/chat/completions', streamed, directive, leaving.signal).catch((error) => error.name);
      await eventually(() => simulator.open === open + 1);
      leaving.abort();

      expect(await waiting).toBe('AbortError');
      await eventually(() => simulator.open === open);
      expect(simulator.aborted).toBe(aborted + 1);
    });
  }

  test('a slow stream stops when the client leaves', async () => {
    const { open, aborted } = simulator;
    const reply = await post('/v1/chat/completions', streamed, 'chunk-delay=600000');
    await reply.body!.cancel();

    await eventually(() => simulator.open === open && simulator.aborted === aborted + 1);
  });

  test('inside one process, an aborted request fails its body and a cancelled body frees its answer', async () => {
    const local = createSimulator();
    const leaving = new AbortController();
    const request = (signal?: AbortSignal) =>
      new Request('http://simulator/v1/chat/completions', {
        method: 'POST',
        headers: { 'x-simulate': 'stall=after:1' },
        body: JSON.stringify(streamed),
        signal,
      });
    const left = await local.simulate(request(leaving.signal));
    const cancelled = await local.simulate(request());
    const reader = left.body!.getReader();
    expect((await reader.read()).done).toBe(false);

    leaving.abort();
    await cancelled.body!.cancel();

    expect(await reader.read().catch((error) => error.name)).toBe('AbortError');
    expect(local).toMatchObject({ open: 0, aborted: 2 });
  });

  test('a cut stream sends its first chunks and closes without its end', async () => {
    const { open } = simulator;
    const body = JSON.stringify(streamed);
    // A plain socket, because fetch may forget what it received before the connection died.
    const received = await new Promise<string>((resolve) => {
      let text = '';
      Bun.connect({
        hostname: '127.0.0.1',
        port: server.port!,
        socket: {
          open: (socket) => {
            const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-simulate: cut=after:2\r\n`;
            socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
          },
          data: (_, bytes) => {
            text += bytes.toString();
          },
          close: () => resolve(text),
        },
      });
    });

    expect(received).toStartWith('HTTP/1.1 200 OK');
    expect(received.match(/^data: /gm)).toHaveLength(2);
    expect(received).not.toEndWith('0\r\n\r\n');
    expect(simulator.open).toBe(open);
  });

  test('a client that reads a cut stream fails', async () => {
    const reading = post('/v1/chat/completions', streamed, 'cut=after:2').then((reply) => reply.text());

    expect(await reading.catch((error) => error.code)).toBe('ECONNRESET');
  });

  test('cut=headers closes the connection before a byte', async () => {
    const failure = await post('/v1/chat/completions', chat('Hello'), 'cut=headers').catch((error) => error);

    expect(failure.code).toBe('ECONNRESET');
  });

  test('a whole answer can be cut and stalled inside, too', async () => {
    const reading = post('/v1/chat/completions', chat('Hello'), 'cut=after:1').then((reply) => reply.text());
    expect(await reading.catch((error) => error.code)).toBe('ECONNRESET');

    const stalled = await post('/v1/chat/completions', chat('Hello'), 'stall=after:1');
    const reader = stalled.body!.getReader();
    expect((await reader.read()).value).toHaveLength(64);
    await reader.cancel();
  });

  test('length counts the words and chunks the pieces', async () => {
    const contentOf = async (directive: string) => {
      const body = await (await post('/v1/chat/completions', streamed, directive)).text();
      const chunks = body.split('\n\n').filter((line) => line.includes('"content":"') && !line.includes('"role"'));
      return chunks.map((chunk) => JSON.parse(chunk.slice('data: '.length)).choices[0].delta.content as string);
    };
    const whole = await openai.chat.completions.create(chat('Hello [[simulate: length=200]]'));

    expect(whole.choices[0]?.message.content?.split(' ')).toHaveLength(200);
    expect(await contentOf('length=3')).toEqual(['This', ' is', ' a']);
    expect(await contentOf('chunks=1000')).toHaveLength(1000);
    const few = await contentOf('length=50, chunks=7');
    expect(few).toHaveLength(7);
    expect(few.join('').split(' ')).toHaveLength(50);
  });

  test('bytes is a body of exactly that size, made as it is read', async () => {
    const { open, aborted } = simulator;
    const whole = new Uint8Array(await (await post('/v1/anything', '', 'bytes=200001')).arrayBuffer());
    const endless = await fetch(`${base}/bytes/9000000000000`);
    const reader = endless.body!.getReader();
    await reader.read();
    await reader.cancel();

    expect(endless.headers.get('content-type')).toBe('application/octet-stream');
    expect(whole).toHaveLength(200_001);
    expect(whole[200_000]).toBe(200_000 & 0xff);
    await eventually(() => simulator.open === open && simulator.aborted === aborted + 1);
  });

  test('gzip compresses a whole answer', async () => {
    const raw = await fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-simulate': 'gzip' },
      body: JSON.stringify(chat('Hello')),
      decompress: false,
    });

    expect(raw.headers.get('content-encoding')).toBe('gzip');
    expect(JSON.parse(new TextDecoder().decode(Bun.gunzipSync(await raw.arrayBuffer()))).object).toBe(
      'chat.completion',
    );
  });

  const plain = () => post('/v1/chat/completions', streamed, 'length=40').then((reply) => reply.text());
  const odd = (framing: string) =>
    post('/v1/chat/completions', streamed, `length=40, framing=${framing}`).then((reply) => reply.text());

  test('each framing carries the same events', async () => {
    const events = eventsIn(await plain());
    for (const framing of ['crlf', 'cr', 'no-space', 'split', 'comments', 'multiline', 'crlf+no-space+multiline']) {
      expect(eventsIn(await odd(framing))).toEqual(events);
    }
  });

  test('each framing looks the way it is called', async () => {
    expect((await odd('crlf')).replaceAll('\r\n', '')).not.toContain('\n');
    expect(await odd('cr')).not.toContain('\n');
    expect(await odd('no-space')).not.toContain('data: ');
    expect(await odd('comments')).toMatch(/^:/m);
    expect(await odd('multiline')).toMatch(/data: .*\ndata: /);
  });

  test('split puts borders inside characters', async () => {
    const reply = await createSimulator().simulate(
      new Request('http://simulator/v1/chat/completions', {
        method: 'POST',
        headers: { 'x-simulate': 'framing=split, length=40' },
        body: JSON.stringify(streamed),
      }),
    );

    const pieces = await Array.fromAsync(reply.body!);
    const isWhole = (bytes: Uint8Array) => !new TextDecoder().decode(bytes).includes('\ufffd');
    expect(pieces.some((bytes) => !isWhole(bytes))).toBe(true);
    expect(isWhole(Buffer.concat(pieces))).toBe(true);
  });
});

/** The data of each event, read line by line as the standard has it. */
function eventsIn(stream: string): unknown[] {
  const events: unknown[] = [];
  let data: string[] = [];
  for (const line of stream.split(/\r\n|\r|\n/)) {
    if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
    if (line !== '' || data.length === 0) continue;
    const text = data.join('\n');
    events.push(text === '[DONE]' ? text : JSON.parse(text));
    data = [];
  }
  return events.map((event) => (event === '[DONE]' ? event : (event as { choices: unknown }).choices));
}

describe('plain routes', () => {
  test('echo shows what arrived, by path, by header and by prompt', async () => {
    const body = JSON.stringify(chat('[[simulate: echo]] grüezi'));
    const byPrompt = await post('/v1/chat/completions?a=1', body);
    const byHeader = await post('/v1/images', body, 'echo');
    const byPath = await post('/echo', body);

    const sha256 = new Bun.CryptoHasher('sha256').update(body).digest('hex');
    for (const reply of [byPrompt, byHeader, byPath]) {
      expect(await reply.json()).toMatchObject({
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body_sha256: sha256,
        body_bytes: Buffer.byteLength(body),
        body_text: body,
      });
    }
    const get = await fetch(`${base}/v1/echo?a=1&b=2`);
    expect(await get.json()).toMatchObject({
      method: 'GET',
      path: '/v1/echo',
      query: { a: '1', b: '2' },
      body_bytes: 0,
    });
    const large = await post('/echo', 'x'.repeat(100_000));
    expect(await large.json()).not.toHaveProperty('body_text');
  });

  test('status answers any status, without a body where there is none', async () => {
    for (const status of [200, 204, 304, 404, 529]) {
      const reply = await fetch(`${base}/status/${status}`);
      expect(reply.status).toBe(status);
      expect((await reply.text()) === '').toBe(status === 204 || status === 304);
    }
    expect((await fetch(`${base}/status/99`)).status).toBe(400);
  });

  test('cookies are two headers', async () => {
    expect((await fetch(`${base}/cookies`)).headers.getSetCookie()).toHaveLength(2);
  });

  test('range answers a part', async () => {
    const reply = await fetch(`${base}/range`, { headers: { range: 'bytes=990-2000' } });

    expect(reply.status).toBe(206);
    expect(reply.headers.get('content-range')).toBe('bytes 990-999/1000');
    expect(await reply.bytes()).toHaveLength(10);
    expect((await fetch(`${base}/range`, { headers: { range: 'bytes=1000-' } })).status).toBe(416);
  });

  test('sink counts the bytes, no faster than its rate', async () => {
    const started = performance.now();
    const reply = await post('/sink?rate=1000000', 'x'.repeat(100_000));

    expect(await reply.json()).toEqual({ bytes: 100_000 });
    expect(performance.now() - started).toBeGreaterThan(80);
  });
});
