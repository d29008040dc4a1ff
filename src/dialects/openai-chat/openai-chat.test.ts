import { expect, test } from 'bun:test';
import { faultOf } from '../../../test/dialects/comparing.ts';
import type { Quirks } from '../dialect.ts';
import type { ModelRequest, Part, Turn } from '../ir.ts';
import { openaiChat } from './openai-chat.ts';

const { inbound, outbound } = openaiChat;
const user = { role: 'user', content: 'Hi' };

const FAULTS: readonly [body: unknown, param: string, message: string][] = [
  ['text', 'body', 'must be an object, not "text"'],
  [{ messages: [user] }, 'model', 'must be a string, not absent'],
  [{ model: 'm' }, 'messages', 'must be a list of messages'],
  [{ model: 'm', messages: [7] }, 'messages[0]', 'must be an object, not 7'],
  [{ model: 'm', messages: [{ role: 'robot', content: '' }] }, 'messages[0].role', 'must be one of system, developer'],
  [{ model: 'm', messages: [{ role: 'user' }] }, 'messages[0].content', 'must be a string or a list of parts'],
  [
    { model: 'm', messages: [user, { role: 'function', name: 'f', content: '' }] },
    'messages[1].role',
    'send tool messages',
  ],
  [{ model: 'm', messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id', 'must be a string'],
  [
    { model: 'm', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'cat.png' } }] }] },
    'messages[0].content[0].image_url.url',
    'must be an http(s) address or a data URL, not "cat.png"',
  ],
  [
    { model: 'm', messages: [user, { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f' } }] }] },
    'messages[1].tool_calls[0].function.arguments',
    'must be a string, not absent',
  ],
  [{ model: 'm', messages: [user], temperature: 'hot' }, 'temperature', 'must be a number, not "hot"'],
  [{ model: 'm', messages: [user], n: 0 }, 'n', 'must be a whole number from 1, not 0'],
  [{ model: 'm', messages: [user], max_tokens: 5, max_completion_tokens: 6 }, 'max_tokens', 'contradicts'],
  [{ model: 'm', messages: [user], top_logprobs: 2 }, 'top_logprobs', 'absent unless logprobs is true'],
  [{ model: 'm', messages: [user], functions: [] }, 'functions', 'send tools and tool_choice'],
  [{ model: 'm', messages: [user], tool_choice: 'maybe' }, 'tool_choice', 'must be none, auto, required or an object'],
  [
    { model: 'm', messages: [user], tools: [{ type: 'function' }] },
    'tools[0].function',
    'must be an object, not absent',
  ],
  [{ model: 'm', messages: [user], stop: [1] }, 'stop[0]', 'must be a string, not 1'],
  [{ model: 'm', messages: [user], metadata: { a: 1 } }, 'metadata.a', 'must be a string, not 1'],
  [
    { model: 'm', messages: [user], response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
    'response_format.json_schema.schema',
    'must be a JSON schema, not absent',
  ],
];
for (const [body, param, message] of FAULTS)
  test(`a fault at ${param} is named: ${message}`, () => {
    const fault = faultOf(() => inbound.decodeRequest(body));
    expect(fault).toStartWith(`${param} | `);
    expect(fault).toContain(message);
  });

test('null counts as absent, and a single stop text is a list of one', () => {
  const request = inbound.decodeRequest({ model: 'm', messages: [user], temperature: null, tools: null, stop: 'END' });
  expect(request).not.toHaveProperty('temperature');
  expect(request).not.toHaveProperty('tools');
  expect(request.stop).toEqual(['END']);
});

test('members that are not known are kept, at every level', () => {
  const request = inbound.decodeRequest({
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', x: 1 }], y: 2 }],
    tools: [{ type: 'function', function: { name: 'f', z: 3 } }],
    future: { a: 1 },
  });
  expect(request.ext).toEqual({ 'openai-chat': { future: { a: 1 } } });
  expect(request.turns[0]).toMatchObject({ ext: { 'openai-chat': { y: 2 } } });
  expect(request.turns[0]?.parts[0]).toMatchObject({ ext: { 'openai-chat': { x: 1 } } });
  expect(request.tools?.[0]).toMatchObject({ ext: { 'openai-chat': { function: { z: 3 } } } });
  expect(outbound.encodeRequest(request).body).toMatchObject({ future: { a: 1 } });
});

test('cache marks are read in both ways of writing them, on parts, on messages and on tools', () => {
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  const request = inbound.decodeRequest({
    model: 'm',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 'a', ...mark }] },
      { role: 'user', content: 'b', cache_control: { type: 'ephemeral' } },
      { role: 'user', content: [{ type: 'text', text: 'c', prompt_cache_breakpoint: { mode: 'explicit' } }] },
      { role: 'tool', tool_call_id: 'x', content: 'd', ...mark },
    ],
    tools: [{ type: 'function', function: { name: 'f' }, ...mark }],
  });
  const caches = request.turns.map((turn) => (turn.parts[0] as { cache?: object }).cache);
  expect(caches).toEqual([{ ttl: '1h' }, {}, {}, { ttl: '1h' }]);
  expect(request.tools?.[0]).toMatchObject({ cache: { ttl: '1h' } });
});

const asked = (parts: readonly Part[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'm',
  turns: [{ role: 'user', parts }],
  ...more,
});
const losses = (request: ModelRequest, quirks?: Quirks) => {
  const { dropped, changed } = outbound.encodeRequest(request, quirks);
  return {
    dropped: dropped.map(({ path, matters }) => `${path}${matters ? '!' : ''}`),
    changed: changed.map(({ path }) => path),
  };
};

test('what cannot be sent is named: it matters for content, not for hints', () => {
  const video: Part = { type: 'media', kind: 'video', source: { type: 'url', url: 'https://example.com/v' } };
  const opaque: Part = { type: 'opaque', dialect: 'anthropic', raw: { type: 'search_result' } };
  const cached: Part = { type: 'text', text: 'a', cache: { ttl: '1h' } };
  expect(losses(asked([video, opaque, cached], { topK: 5 }))).toEqual({
    dropped: ['topK', 'turns[0].parts[0]!', 'turns[0].parts[1]!', 'turns[0].parts[2].cache'],
    changed: [],
  });
  const signed: Turn = {
    role: 'assistant',
    parts: [{ type: 'reasoning', text: 'x', signature: 's', signedBy: 'anthropic' }],
  };
  expect(losses({ model: 'm', turns: [signed] }).dropped).toEqual(['turns[0].parts[0]']);
});

test('an essential member of another dialect matters, any other is a hint', () => {
  const origin = { dialect: 'anthropic', names: {}, essential: ['mcp_servers'] } as const;
  const request = asked([], { origin, ext: { anthropic: { mcp_servers: [], inference_geo: 'eu' } } });
  expect(losses(request).dropped).toEqual(['mcp_servers!', 'inference_geo']);
});

test('a picture in the result of a tool follows in a message of the user', () => {
  const image: Part = { type: 'media', kind: 'image', source: { type: 'data', data: 'AA==' }, mime: 'image/png' };
  const turn: Turn = {
    role: 'tool',
    parts: [
      { type: 'tool-result', id: 'a', parts: [{ type: 'text', text: 'See' }, image] },
      { type: 'tool-result', id: 'b', parts: [{ type: 'text', text: 'Bad' }], isError: true },
    ],
  };
  const { body, changed, dropped } = outbound.encodeRequest({ model: 'm', turns: [turn] });
  expect(body.messages).toEqual([
    { role: 'tool', tool_call_id: 'a', content: 'See' },
    { role: 'tool', tool_call_id: 'b', content: 'Bad' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] },
  ]);
  expect(changed.map(({ path }) => path)).toEqual(['turns[0].parts[0].parts[1]']);
  expect(dropped).toMatchObject([{ path: 'turns[0].parts[1].isError', matters: false }]);
});

test('a thinking budget is sent as an effort, and said to be changed', () => {
  const effort = (budgetTokens: number) =>
    outbound.encodeRequest(asked([], { reasoning: { mode: 'budget', budgetTokens } })).body.reasoning_effort;
  expect([effort(1_024), effort(8_192), effort(32_000)]).toEqual(['low', 'medium', 'high']);
  const { changed } = losses(asked([], { reasoning: { mode: 'budget', budgetTokens: 1_024 } }));
  expect(changed).toEqual(['reasoning.budgetTokens']);
});

test('quirks of a provider change how things are written', () => {
  const request = asked([{ type: 'text', text: 'a', cache: { ttl: '1h' } }], { maxOutputTokens: 7 });
  expect(outbound.encodeRequest(request).body).toMatchObject({ max_completion_tokens: 7 });
  const { body } = outbound.encodeRequest(request, { maxTokensField: 'max_tokens', cacheMarks: 'cache_control' });
  expect(body).toEqual({
    model: 'm',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    ],
    max_tokens: 7,
  });
});

test('thoughts reach a client that is not strict, and come back from it whole', () => {
  const parts: Part[] = [
    { type: 'reasoning', text: 'Hm.', signature: 's1', signedBy: 'anthropic' },
    { type: 'reasoning', redacted: 'r1', signedBy: 'gemini' },
    { type: 'text', text: 'Yes.' },
  ];
  const context = { request: { model: 'm' }, id: 'x', now: 0 };
  const reply = { choices: [{ parts, finish: { reason: 'stop' as const } }] };
  const strict = inbound.encodeReply(reply, { ...context, isStrict: true }).body.choices[0]!.message;
  expect(strict).toEqual({ role: 'assistant', content: 'Yes.', refusal: null });
  const { message } = inbound.encodeReply(reply, context).body.choices[0]!;
  expect(message).toMatchObject({ content: 'Yes.', reasoning_content: 'Hm.' });
  const again = inbound.decodeRequest({ model: 'm', messages: [user, message] }).turns[1]!;
  expect(again.parts.map(({ at, ...part }) => part)).toEqual(parts);
});

test('a chunk that is no JSON ends the reply with an error', () => {
  const decoder = outbound.decodeStream();
  expect(decoder.push({ data: '{"choices": [' })).toMatchObject([
    { type: 'error', failure: { code: 'stream_garbled' } },
  ]);
  expect(decoder.push({ data: '{"choices":[]}' })).toEqual([]);
  expect(decoder.end()).toEqual([]);
});
