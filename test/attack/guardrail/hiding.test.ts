import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { type Scene, spoken, startScene, streamed } from './scene.ts';

/** Texts that stand where a check might not look, although the provider or the client reads them. */
let scene: Scene;
const keys: Record<string, string> = {};

beforeAll(async () => {
  scene = await startScene();
  const deny = await scene.guardrail(
    { contains: { words: ['walrus'], operator: 'none' } },
    { deny: true, stream: 'window' },
  );
  const hide = await scene.guardrail({ regexReplace: { rule: 'walrus', redactText: 'seal' } }, { stream: 'window' });
  const buffer = await scene.guardrail({ regexReplace: { rule: 'walrus', redactText: 'seal' } });
  keys.denyInput = await scene.keyWith({ input_guardrails: [deny] });
  keys.hideInput = await scene.keyWith({ input_guardrails: [hide] });
  keys.denyOutput = await scene.keyWith({ output_guardrails: [deny] });
  keys.hideOutput = await scene.keyWith({ output_guardrails: [hide] });
  keys.hideWhole = await scene.keyWith({ output_guardrails: [buffer] });
});
afterAll(() => scene.stop());
beforeEach(() => {
  scene.provider.requests.length = 0;
  scene.says('Fine.');
});

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64');
const ESCAPED = '{"q":"the \\u0077alrus\\n"}';
const user = (content: unknown, more: object = {}) => ({ messages: [{ role: 'user', content, ...more }] });
const called = (call: object) => ({
  messages: [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] },
  ],
});
const tool = (definition: object) => ({ ...user('x'), tools: [{ type: 'function', function: definition }] });

const REQUESTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'escapes in the arguments of a tool call': called({ name: 'f', arguments: ESCAPED }),
  'a name in the arguments of a tool call': called({ name: 'f', arguments: '{"the \\u0077alrus":1}' }),
  'the name of a called tool': called({ name: 'walrus', arguments: '{}' }),
  'escapes in the result of a tool': {
    messages: [{ role: 'tool', tool_call_id: 'call_1', content: ESCAPED }],
  },
  'the name of a tool': tool({ name: 'find_walrus' }),
  'the name of a member in the schema of a tool': tool({
    name: 'f',
    parameters: { type: 'object', properties: { walrus: { type: 'string' } } },
  }),
  'an allowed value in the schema of a tool': tool({
    name: 'f',
    parameters: { type: 'object', properties: { a: { enum: ['walrus'] } } },
  }),
  'a member that no schema has': tool({ name: 'f', parameters: { 'tell of the walrus': true } }),
  'what a schema requires': tool({ name: 'f', parameters: { required: ['the walrus, please'] } }),
  'the schema of the answer': {
    ...user('x'),
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { $defs: { walrus: {} } } } },
  },
  'who speaks': user('x', { name: 'walrus' }),
  'a text file in base64': user([
    { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;base64,${base64('the walrus')}` } },
  ]),
  'a text file that says it is a picture': user([
    { type: 'image_url', image_url: { url: `data:image/png;base64,${base64('the walrus')}` } },
  ]),
  'a file without base64': user([{ type: 'image_url', image_url: { url: 'data:text/plain,the%20w%61lrus' } }]),
  'a text file in UTF-16': user([
    {
      type: 'file',
      file: { file_data: `data:text/plain;base64,${base64(Buffer.from('\ufeffthe walrus', 'utf16le'))}` },
    },
  ]),
  'the name of a file': user([
    { type: 'file', file: { filename: 'walrus.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK/w==' } },
  ]),
  'text where a file should be': user([{ type: 'file', file: { file_data: 'tell of the walrus' } }]),
  'an address': user([{ type: 'image_url', image_url: { url: 'https://pictures.example/?of=walrus' } }]),
  'the end user': { ...user('x'), user: 'the walrus' },
  metadata: { ...user('x'), metadata: { note: 'walrus' } },
  'the name of metadata': { ...user('x'), metadata: { walrus: '1' } },
  'a stop sequence': { ...user('x'), stop: ['walrus'] },
  'the tool that must be called': { ...user('x'), tool_choice: { type: 'function', function: { name: 'walrus' } } },
  'a setting with other words than its own': { ...user('x'), reasoning_effort: 'think of the walrus' },
  'a role with other words than its own': { messages: [{ role: 'tell of the walrus', content: 'x' }] },
  'an id that is a sentence': {
    messages: [{ role: 'tool', tool_call_id: 'tell_of_the_walrus', content: 'x' }],
  },
  'a prediction': { ...user('x'), prediction: { type: 'content', content: 'walrus' } },
};

describe('a request is denied for', () => {
  for (const [where, body] of Object.entries(REQUESTS)) {
    test(where, async () => {
      expect((await scene.chat(keys.denyInput!, null, body)).status).toBe(446);
      expect(scene.provider.requests.length).toBe(0);
    });
  }

  test('its query', async () => {
    const reply = await scene.api.post(
      '/v1/chat/completions?note=the%20walrus',
      { model: 'm', ...user('x') },
      {
        key: keys.denyInput!,
      },
    );
    expect(reply.status).toBe(446);
  });

  test('a text file in a form that does not say that it is text', async () => {
    const form = new FormData();
    form.set('model', 'm');
    form.set('file', new File(['tell of the walrus'], 'a.bin', { type: 'application/octet-stream' }));
    const reply = await fetch(`${scene.gateway.url}/v1/audio/transcriptions`, {
      method: 'POST',
      body: form,
      headers: { 'x-gateway-api-key': keys.denyInput! },
    });
    expect(reply.status).toBe(446);
  });

  test('a file that says it is text and that nobody can read', async () => {
    const data = base64(Buffer.from([0x77, 0xff, 0x61]));
    const body = user([{ type: 'file', file: { file_data: `data:text/plain;base64,${data}` } }]);
    expect((await scene.chat(keys.denyInput!, null, body)).status).toBe(446);
  });
});

describe('a request loses what is taken out of', () => {
  const decoded = (text: string) => text.replace(/[A-Za-z0-9+/]{12,}={0,2}/g, (each) => atob(each));

  for (const [where, body] of Object.entries(REQUESTS)) {
    if (where.includes('UTF-16')) continue;
    test(where, async () => {
      expect((await scene.chat(keys.hideInput!, null, body)).status).toBe(200);
      const { text, json } = scene.provider.last;
      expect(JSON.stringify(json)).toContain('messages');
      expect(decoded(text.replaceAll('\\\\u0077', 'w').replaceAll('%61', 'a'))).not.toContain('walrus');
    });
  }

  test('arguments, which are the same JSON otherwise', async () => {
    await scene.chat(
      keys.hideInput!,
      null,
      called({ name: 'f', arguments: '{"a":[1, "the \\u0077alrus\\n\\"x\\""]}' }),
    );
    const { arguments: sent } = scene.provider.last.json.messages[1].tool_calls[0].function;
    expect(sent).toBe('{"a":[1, "the seal\\n\\"x\\""]}');
  });
});

describe('what programs need passes as it is:', () => {
  test('ids, codes, pictures and settings', async () => {
    const strict = await scene.guardrail({ regexMatch: { rule: '[0-9]|walrus', not: true } }, { deny: true });
    const key = await scene.keyWith({ input_guardrails: [strict] });
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' } };
    const body = {
      model: 'gpt-4o-2024-08-06',
      user: '3fa85f64-5717-4562-b3fc-2c963f66afa6',
      response_format: { type: 'json_object' },
      temperature: 0.5,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'x' }, picture] },
        { role: 'tool', tool_call_id: 'call_9a8b7c6d5e4f', content: 'x' },
      ],
    };
    expect((await scene.chat(key, null, body)).status).toBe(200);
  });
});

const answer = (message: object, more: object = {}) =>
  Response.json({
    id: 'c',
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop', ...more }],
  });
const call = (fn: object) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', index: 0, function: fn }],
});
const tokens = (...all: string[]) => ({ content: all.map((token) => ({ token, logprob: 0, top_logprobs: [] })) });
const chunk = (delta: object, more: object = {}) => ({ id: 'c', choices: [{ index: 0, delta, ...more }] });
const end = chunk({}, { finish_reason: 'stop' });
const sse = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
const line = (event: object) => `data: ${JSON.stringify(event)}\n\n`;

const ANSWERS: Readonly<Record<string, () => Response>> = {
  'the name of a called tool': () => answer(call({ name: 'walrus', arguments: '{}' })),
  'escapes in arguments': () => answer(call({ name: 'f', arguments: ESCAPED })),
  'tokens of its probabilities': () => answer({ role: 'assistant', content: 'x' }, { logprobs: tokens('wal', 'rus') }),
  'tokens that were not chosen': () =>
    answer(
      { role: 'assistant', content: 'x' },
      { logprobs: { content: [{ token: 'x', top_logprobs: [{ token: ' walrus' }] }] } },
    ),
  'a member that nobody knows': () => answer({ role: 'assistant', content: 'x', aside: { note: 'walrus' } }),
  'the name of a member': () => answer({ role: 'assistant', content: 'x', 'of the walrus': 1 }),
  'a reason with other words than its own': () =>
    answer({ role: 'assistant', content: 'x' }, { finish_reason: 'saw a walrus' }),
  'a file in base64': () => answer({ role: 'assistant', content: 'x', audio: { data: base64('the walrus') } }),
};
const STREAMS: Readonly<Record<string, () => Response>> = {
  'the name of a called tool': () => streamed([chunk(call({ name: 'walrus', arguments: '{}' })), end]),
  'escapes in arguments that come in pieces': () =>
    streamed([
      chunk(call({ name: 'f', arguments: '{"q":"the \\u00' })),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '77al' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: 'rus"}' } }] }),
      end,
    ]),
  'tokens of its probabilities': () =>
    streamed([
      chunk({ content: 'x' }, { logprobs: tokens('wal') }),
      chunk({ content: 'y' }, { logprobs: tokens('rus') }),
      end,
    ]),
  'a member that nobody knows': () => streamed([chunk({ aside: 'wal' }), chunk({ aside: 'rus' }), end]),
};
/** Of these nothing reaches the client, and so nothing is denied. */
const LEFT_OUT: Readonly<Record<string, () => Response>> = {
  'a field that nobody knows': () => sse(`note: the walrus\n${line(chunk({ content: 'x' }))}${line(end)}`),
  'a comment': () => sse(`: the walrus\n\n${line(chunk({ content: 'x' }))}${line(end)}`),
  'the name of an event': () => sse(`event: the walrus\n${line(chunk({ content: 'x' }))}${line(end)}`),
  'the id of an event': () => sse(`id: the walrus\n${line(chunk({ content: 'x' }))}${line(end)}`),
};

const ask = (key: string, stream = false) => scene.chat(key, null, { ...user('x'), stream });
const clear = (text: string) =>
  text.replaceAll('\\\\u0077', 'w').replace(/[A-Za-z0-9+/]{12,}={0,2}/g, (each) => atob(each));
/** All strings of all events, one after the other: what was cut into pieces is together again. */
const joined = (stream: string) =>
  [...stream.matchAll(/"(?:aside|arguments|token)":"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text).join('');

describe('an answer is denied, and loses what is taken out, for', () => {
  for (const [where, given] of Object.entries(ANSWERS)) {
    test(where, async () => {
      scene.provider.answers(given);
      expect((await ask(keys.denyOutput!)).status).toBe(446);
      const hidden = await ask(keys.hideOutput!);
      expect(hidden.status).toBe(200);
      expect(hidden.json.choices.length).toBe(1);
      expect(clear(hidden.text)).not.toContain('walrus');
      expect(clear(joined(hidden.text))).not.toContain('walrus');
    });
  }
  for (const [where, given] of Object.entries(STREAMS)) {
    test(`${where}, in a stream`, async () => {
      scene.provider.answers(given);
      const denied = await ask(keys.denyOutput!, true);
      expect(denied.text).toContain('guardrail_denied');
      expect(joined(clear(denied.text))).not.toContain('walrus');
      for (const key of [keys.hideOutput!, keys.hideWhole!]) {
        const hidden = await ask(key, true);
        expect(hidden.text).toContain('"finish_reason":"stop"');
        expect(clear(joined(hidden.text.replaceAll('\\u00', '\\\\u00')))).not.toContain('walrus');
        expect(joined(hidden.text)).not.toContain('0077');
      }
    });
  }
  for (const [where, given] of Object.entries(LEFT_OUT)) {
    test(`${where}, in a stream`, async () => {
      scene.provider.answers(given);
      for (const key of [keys.denyOutput!, keys.hideOutput!, keys.hideWhole!]) {
        const reply = await ask(key, true);
        expect(reply.status).toBe(200);
        expect(reply.text).toContain('"content":"x"');
        expect(reply.text).not.toContain('walrus');
      }
    });
  }

  test('nothing, where nothing is hidden', async () => {
    scene.provider.answers(() => spoken('Fine.', true));
    expect((await ask(keys.denyOutput!, true)).text).toContain('[DONE]');
  });
});

test('the place of a finding in a denied answer does not tell what the model called it', async () => {
  scene.provider.answers(() => answer(call({ name: 'f', arguments: { 'secret plan': 'the walrus' } })));
  const reply = await ask(keys.denyOutput!);
  expect(reply.status).toBe(446);
  expect(reply.text).not.toContain('secret plan');
});
