import { expect, test } from 'bun:test';
import { bare, faultOf } from '../../../test/dialects/comparing.ts';
import { anthropic } from '../anthropic/anthropic.ts';
import type { Outbound, ReplyContext } from '../dialect.ts';
import { unfold } from '../fold.ts';
import type { ModelReply, ModelRequest, Part, Turn } from '../ir.ts';
import { openaiChat } from '../openai-chat/openai-chat.ts';
import { continued, finalResponse, takeKept } from './kept.ts';
import { responses } from './responses.ts';

const { inbound, outbound } = responses;
const user = { role: 'user', content: 'Hi' };
const asking = (more: object) => ({ model: 'm', input: [user], ...more });
const saying = (...items: unknown[]) => ({ model: 'm', input: items });

const FAULTS: readonly [body: unknown, param: string, message: string][] = [
  ['text', 'body', 'must be an object, not "text"'],
  [{ input: 'Hi' }, 'model', 'must be a string, not absent'],
  [{ model: 'm' }, 'input', 'must be a string or a list of items, not absent'],
  [{ model: 'm', input: 7 }, 'input', 'must be a string or a list of items, not 7'],
  [saying(7), 'input[0]', 'must be an object, not 7'],
  [saying({ role: 'robot', content: '' }), 'input[0].role', 'must be one of user, assistant, system, developer'],
  [saying({ role: 'user' }), 'input[0].content', 'must be a string or a list of parts, not absent'],
  [
    saying({ role: 'user', content: [{ type: 'input_image', image_url: 'cat.png' }] }),
    'input[0].content[0].image_url',
    'must be an http(s) address or a data URL, not "cat.png"',
  ],
  [
    saying({ role: 'user', content: [{ type: 'input_file', file_url: 'ftp://x' }] }),
    'input[0].content[0].file_url',
    'must be an http(s) address',
  ],
  [
    saying({ role: 'user', content: [{ type: 'input_file' }] }),
    'input[0].content[0]',
    'a file with file_data, file_id or file_url',
  ],
  [saying({ type: 'function_call', name: 'f', arguments: '{}' }), 'input[0].call_id', 'must be a string'],
  [saying({ type: 'function_call', name: 'f', call_id: 'c' }), 'input[0].arguments', 'must be a string'],
  [saying({ type: 'function_call_output', call_id: 'c' }), 'input[0].output', 'must be a string or a list of parts'],
  [
    saying({ type: 'function_call_output', call_id: 'c', output: [{ type: 'refusal', refusal: 'x' }] }),
    'input[0].output[0]',
    'must be text, an image or a file',
  ],
  [saying({ type: 'reasoning', summary: 'x' }), 'input[0].summary', 'must be a list'],
  [saying({ type: 'item_reference', id: 'msg_1' }), 'input[0]', 'refers to item msg_1, which was not found'],
  [asking({ temperature: 'hot' }), 'temperature', 'must be a number, not "hot"'],
  [asking({ store: 'yes' }), 'store', 'must be true or false'],
  [asking({ truncation: 'left' }), 'truncation', 'must be one of auto, disabled'],
  [asking({ tool_choice: 'maybe' }), 'tool_choice', 'must be none, auto, required or an object'],
  [asking({ tool_choice: { type: 'function' } }), 'tool_choice.name', 'must be a string'],
  [asking({ tools: [{ type: 'function' }] }), 'tools[0].name', 'must be a string, not absent'],
  [asking({ text: { format: { type: 'json_schema', name: 'x' } } }), 'text.format.schema', 'must be a JSON schema'],
  [asking({ text: { format: {} } }), 'text.format.type', 'must be text, json_object or json_schema'],
  [asking({ reasoning: { effort: 'much' } }), 'reasoning.effort', 'must be one of none, minimal'],
  [asking({ metadata: { a: 1 } }), 'metadata.a', 'must be a string, not 1'],
  [asking({ include: [7] }), 'include[0]', 'must be a string, not 7'],
];
for (const [body, param, message] of FAULTS)
  test(`a fault at ${param} is named: ${message}`, () => {
    const fault = faultOf(() => inbound.decodeRequest(body));
    expect(fault).toStartWith(`${param} | `);
    expect(fault).toContain(message);
  });

test('a string is what the user says, and null counts as absent', () => {
  const request = inbound.decodeRequest({
    model: 'm',
    input: 'Hi',
    temperature: null,
    tools: null,
    instructions: null,
  });
  expect(bare(request).turns).toEqual([{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }]);
  expect(request).not.toHaveProperty('temperature');
});

test('a request may do without an input when it goes on from another response', () => {
  expect(inbound.decodeRequest({ model: 'm', previous_response_id: 'resp_1' }).turns).toEqual([]);
});

test('what the assistant thought, said and called in a row is one turn, without ids and states', () => {
  const request = inbound.decodeRequest(
    saying(
      user,
      { type: 'reasoning', id: 'rs_1', status: 'completed', summary: [] },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Yes.', annotations: [], logprobs: [] }],
      },
      { type: 'function_call', id: 'fc_1', status: 'completed', call_id: 'c', name: 'f', arguments: '' },
      { type: 'function_call_output', id: 'fco_1', status: 'completed', call_id: 'c', output: 'ok' },
      { type: 'function_call_output', call_id: 'd', output: 'ok' },
    ),
  );
  expect(bare(request).turns.slice(1)).toEqual([
    {
      role: 'assistant',
      parts: [
        { type: 'reasoning' },
        { type: 'text', text: 'Yes.' },
        { type: 'tool-call', id: 'c', name: 'f', argsText: '{}' },
      ],
    },
    {
      role: 'tool',
      parts: [
        { type: 'tool-result', id: 'c', parts: [{ type: 'text', text: 'ok' }] },
        { type: 'tool-result', id: 'd', parts: [{ type: 'text', text: 'ok' }] },
      ],
    },
  ]);
});

test('sound is read, and is not sent: the API has no place for it', () => {
  const content = [{ type: 'input_audio', input_audio: { data: 'AA==', format: 'mp3' } }];
  const request = inbound.decodeRequest(saying({ role: 'user', content }));
  expect(request.turns[0]?.parts[0]).toMatchObject({ type: 'media', kind: 'audio', mime: 'audio/mpeg' });
  expect(outbound.encodeRequest(request).dropped).toMatchObject([{ path: 'input[0].content[0]', matters: true }]);
});

const droppedBy = (encode: Outbound['encodeRequest'], body: unknown) =>
  encode(inbound.decodeRequest(body)).dropped.map(({ path, matters }) => `${path}${matters ? '!' : ''}`);

test('what only this API has is named when it is sent elsewhere: some of it matters', () => {
  const body = {
    ...asking({ background: true, prompt_cache_key: 'k', truncation: 'auto', store: false }),
    tools: [{ type: 'web_search' }],
    tool_choice: { type: 'web_search_preview' },
    input: [user, { type: 'web_search_call', id: 'ws_1' }],
  };
  expect(droppedBy(openaiChat.outbound.encodeRequest, body).toSorted()).toEqual([
    'background!',
    'input[1]!',
    'prompt_cache_key',
    'tool_choice!',
    'tools[0]!',
    'truncation',
  ]);
});

test('what is off anyway is not worth a word', () => {
  const body = asking({
    background: false,
    truncation: 'disabled',
    store: false,
    include: ['reasoning.encrypted_content'],
  });
  expect(droppedBy(openaiChat.outbound.encodeRequest, body)).toEqual([]);
});

test('settings that this API has not are named: those that change the answer matter', () => {
  const request: ModelRequest = { model: 'm', turns: [], n: 2, stop: ['x'], seed: 1, topK: 3, logitBias: { '1': 2 } };
  const dropped = outbound.encodeRequest(request).dropped.map(({ path, matters }) => `${path}${matters ? '!' : ''}`);
  expect(dropped).toEqual(['n!', 'stop!', 'logitBias!', 'seed', 'topK']);
});

test('nothing is stored at the provider, and only models that think are asked for their thoughts', () => {
  const body = (model: string, more: Partial<ModelRequest> = {}) =>
    outbound.encodeRequest({ model, turns: [], ...more }).body;
  expect(body('gpt-4.1')).toEqual({ model: 'gpt-4.1', input: [], store: false });
  for (const model of ['gpt-5', 'o3', 'openai/gpt-5.1-codex'])
    expect(body(model).include).toEqual(['reasoning.encrypted_content']);
  expect(body('gpt-5-chat-latest').include).toBeUndefined();
  expect(body('custom', { reasoning: { effort: 'low' } }).include).toEqual(['reasoning.encrypted_content']);
  expect(body('gpt-5.1', { reasoning: { effort: 'none' } }).include).toBeUndefined();
});

test('a function is not strict unless it was said to be, which here has to be said', () => {
  const { body, changed } = outbound.encodeRequest({ model: 'm', turns: [], tools: [{ type: 'function', name: 'f' }] });
  expect(body.tools).toEqual([{ type: 'function', name: 'f', parameters: null, strict: false }]);
  expect(changed.map(({ path }) => path)).toEqual(['tools[0]']);
});

test('a wish for a summary is a wish to see thoughts', () => {
  const read = inbound.decodeRequest(asking({ reasoning: { effort: 'low', summary: 'detailed' } }));
  expect(read.reasoning).toEqual({ effort: 'low', display: 'summarized' });
  expect(outbound.encodeRequest(read).body.reasoning).toEqual({ effort: 'low', summary: 'detailed' });
});

const thoughts: Part[] = [
  { type: 'reasoning', text: 'Hm.', signature: 's.1', signedBy: 'anthropic' },
  { type: 'reasoning', redacted: 'r1', signedBy: 'gemini' },
  { type: 'reasoning', text: 'Ah.', signature: 'rs_1.gAAA', signedBy: 'responses' },
  { type: 'text', text: 'Yes.' },
];
const context: ReplyContext = { request: { model: 'm' }, id: 'resp_1', now: 0 };
const answer = (parts: readonly Part[]): ModelReply => ({ choices: [{ parts, finish: { reason: 'stop' } }] });

test('thoughts of any provider reach the client, and come back from it whole', () => {
  const { output } = inbound.encodeReply(answer(thoughts), context).body;
  const again = inbound.decodeRequest({ model: 'm', input: [user, ...output] }).turns[1]!;
  expect(again.parts.map(({ at, ...part }) => part as Part)).toEqual(thoughts);
});

test('thoughts of OpenAI reach a client of Anthropic, and come home with their id', () => {
  const { content } = anthropic.inbound.encodeReply(answer(thoughts.slice(2)), context).body;
  const said = { model: 'm', max_tokens: 9, messages: [user, { role: 'assistant', content }] };
  const { body } = outbound.encodeRequest(anthropic.inbound.decodeRequest(said));
  expect(body.input[1]).toEqual({
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Ah.' }],
    encrypted_content: 'gAAA',
  });
});

test('thoughts that others made are not sent to OpenAI, and said to be left out', () => {
  const turns: Turn[] = [{ role: 'assistant', parts: thoughts }];
  const { body, dropped } = outbound.encodeRequest({ model: 'm', turns });
  expect(body.input).toHaveLength(2);
  expect(dropped.map(({ path, matters }) => [path, matters])).toEqual([
    ['turns[0].parts[0]', false],
    ['turns[0].parts[1]', false],
  ]);
});

test('an answer repeats what was asked, in the words of the client', () => {
  const asked = {
    model: 'm',
    instructions: 'Be brief.',
    input: 'Hi',
    max_output_tokens: 50,
    metadata: { team: 'red' },
    previous_response_id: 'resp_0',
    reasoning: { effort: 'high', summary: 'concise' },
    temperature: 0.5,
    text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
    tool_choice: { type: 'web_search_preview' },
    tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true }],
    truncation: 'auto',
    user: 'ada',
  };
  const { body } = inbound.encodeReply(answer([]), { ...context, request: inbound.decodeRequest(asked) });
  const { input, ...echoed } = asked;
  expect(body).toMatchObject({ ...echoed, id: 'resp_1', store: true, parallel_tool_calls: true, top_p: null });
});

test('an id that the caller made is the response’s own; otherwise the provider’s stays', () => {
  const reply = { ...answer([]), id: 'chatcmpl-1' };
  expect(inbound.encodeReply(reply, context).body.id).toBe('resp_1');
  expect(inbound.encodeReply(reply, { ...context, id: 'request-7' }).body.id).toBe('chatcmpl-1');
});

test('a response that failed is no answer', () => {
  const failed = { id: 'resp_1', output: [], status: 'failed', error: { code: 'server_error', message: 'It broke.' } };
  expect(() => outbound.decodeReply(failed)).toThrow('the response failed: It broke.');
});

test('what the gateway keeps itself is not counted as lost', () => {
  const asked = inbound.decodeRequest(asking({ previous_response_id: 'resp_0' }));
  const { kept, request } = takeKept(asked);
  expect(kept).toEqual({ isStored: true, previousId: 'resp_0' });
  expect(openaiChat.outbound.encodeRequest(request).dropped).toEqual([]);
  expect(takeKept(inbound.decodeRequest(asking({ store: false }))).kept).toEqual({
    isStored: false,
    previousId: undefined,
  });
});

test('what was said before stands between the instructions and the input, and results join their turn', () => {
  const earlier: Turn[] = [
    { role: 'user', parts: [] },
    { role: 'tool', parts: [{ type: 'tool-result', id: 'a', parts: [] }] },
  ];
  const body = { ...saying({ type: 'function_call_output', call_id: 'b', output: '' }, user), instructions: 'Go.' };
  const { turns } = continued(inbound.decodeRequest(body), earlier);
  expect(turns.map(({ role, parts }) => [role, parts.length])).toEqual([
    ['system', 1],
    ['user', 0],
    ['tool', 2],
    ['user', 1],
  ]);
});

test('the last event of a stream has the whole response', () => {
  const encoder = inbound.encodeStream(context);
  const written = [...unfold(answer([{ type: 'text', text: 'Hi' }]))].flatMap((event) => encoder.push(event));
  expect(written.map(finalResponse).filter(Boolean)).toEqual([]);
  const last = encoder.end().at(-1)!;
  expect(finalResponse(last)).toMatchObject({ id: 'resp_1', status: 'completed', output: [{ type: 'message' }] });
});

test('an event that is no JSON ends the reply with an error', () => {
  const decoder = outbound.decodeStream();
  expect(decoder.push({ data: '{"type":' })).toMatchObject([{ type: 'error', failure: { code: 'stream_garbled' } }]);
  expect(decoder.push({ data: '{"type":"response.created"}' })).toEqual([]);
  expect(decoder.end()).toEqual([]);
});
