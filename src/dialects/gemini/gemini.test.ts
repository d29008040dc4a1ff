import { expect, test } from 'bun:test';
import { faultOf } from '../../../test/dialects/comparing.ts';
import { anthropic } from '../anthropic/anthropic.ts';
import { FramingError } from '../framing-error.ts';
import type { ModelRequest, Part, TextPart, Turn } from '../ir.ts';
import { openaiChat } from '../openai-chat/openai-chat.ts';
import { gemini } from './gemini.ts';

const { outbound } = gemini;
const said = (text: string): TextPart => ({ type: 'text', text });
const turn = (role: Turn['role'], ...parts: Part[]): Turn => ({ role, parts });
const hi = turn('user', said('Hi'));
const called = (id = 'a'): Part => ({ type: 'tool-call', id, name: 'f', argsText: '{}' });
const result = (id = 'a'): Part => ({ type: 'tool-result', id, parts: [said('x')] });
const request = (turns: readonly Turn[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gemini-2.5-flash',
  turns,
  ...more,
});
const losses = (given: ModelRequest) => {
  const { dropped, changed } = outbound.encodeRequest(given);
  return {
    dropped: dropped.map(({ path, matters }) => `${path}${matters ? '!' : ''}`),
    changed: changed.map(({ path }) => path),
  };
};
const context = { request: { model: 'm' }, id: 'made-here', now: 0 };

test('a result that answers no call, and arguments that are no object, are the client’s fault by its own path', () => {
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'f', arguments: '[1]' } }] },
  ];
  const chat = (body: object[]) => openaiChat.inbound.decodeRequest({ model: 'gemini-2.5-flash', messages: body });
  expect(faultOf(() => outbound.encodeRequest(chat(messages)))).toBe(
    'messages[1].tool_calls[0] | messages[1].tool_calls[0]: its arguments must be the text of a JSON object',
  );
  const lost = { role: 'tool', tool_call_id: 'b', content: 'x' };
  expect(faultOf(() => outbound.encodeRequest(chat([messages[0]!, lost])))).toBe(
    'messages[1] | messages[1]: it answers "b", but no call before it has that id',
  );
});

test('ids that repeat in later turns name the function that was called last', () => {
  const other: Part = { type: 'tool-call', id: 'a', name: 'g', argsText: '{}' };
  const turns = [turn('assistant', called()), turn('tool', result()), turn('assistant', other), turn('tool', result())];
  const names = outbound
    .encodeRequest(request([hi, ...turns]))
    .body.contents.flatMap(({ parts }) => parts.flatMap((part) => part.functionResponse?.name ?? []));
  expect(names).toEqual(['f', 'g']);
});

test('newer models get a mark on calls that were made elsewhere, older ones do not', () => {
  const turns = [hi, turn('assistant', said('x'), called('a'), called('b')), turn('tool', result('a'), result('b'))];
  const signatures = (model: string) =>
    outbound.encodeRequest(request(turns, { model })).body.contents[1]?.parts.map((part) => part.thoughtSignature);
  expect(signatures('gemini-2.5-pro')).toEqual([undefined, undefined, undefined]);
  for (const model of ['gemini-3-pro-preview', 'gemini-flash-latest', 'google/gemini-10'])
    expect(signatures(model)).toEqual([undefined, 'skip_thought_signature_validator', undefined]);
  expect(signatures('gemma-3-27b')).toEqual([undefined, undefined, undefined]);
  expect(losses(request(turns, { model: 'gemini-3-pro-preview' })).changed).toEqual(['turns[1]']);
});

for (const client of [anthropic, openaiChat])
  test(`the signature of a call travels through a client of ${client.name} and comes back on the call`, () => {
    const parts = [
      { text: 'I see.' },
      { functionCall: { id: 'a', name: 'f', args: { x: 1 } }, thoughtSignature: 'c2ln' },
      { functionCall: { id: 'b', name: 'f', args: {} } },
    ];
    const reply = outbound.decodeReply({ candidates: [{ content: { parts }, finishReason: 'STOP' }] });
    const { body: answer } = client.inbound.encodeReply(reply, context);
    const message = 'choices' in answer ? answer.choices[0]!.message : { role: answer.role, content: answer.content };
    const again = client.inbound.decodeRequest({
      model: 'gemini-3-pro-preview',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'Hi' }, message],
    });
    const { body, changed } = outbound.encodeRequest(again);
    expect(body.contents[1]?.parts).toEqual(parts);
    expect(changed).toEqual([]);
  });

test('what a chat client asks for and cannot have is named in its own words', () => {
  const chat = openaiChat.inbound.decodeRequest({
    model: 'gemini-2.5-flash',
    messages: [
      { role: 'user', name: 'ada', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/a' } }] },
    ],
    n: 2,
    seed: 1,
    logprobs: true,
    top_logprobs: 0,
    logit_bias: { '1': 5 },
    parallel_tool_calls: false,
    service_tier: 'auto',
    user: 'u',
    store: true,
    audio: { voice: 'x' },
    tools: [{ type: 'custom', custom: { name: 'sql' } }],
  });
  expect(losses(chat).dropped.toSorted()).toEqual(
    [
      'messages[0].name',
      'messages[0].content[0].cache_control',
      'messages[1].content[0]!',
      'logit_bias!',
      'parallel_tool_calls',
      'service_tier',
      'user',
      'store',
      'audio!',
      'tools[0]!',
    ].toSorted(),
  );
});

test('members of Gemini in the body of a chat client reach it, and so does the wish for pictures', () => {
  const body = {
    model: 'gemini-2.5-flash-image',
    messages: [{ role: 'user', content: 'Hi' }],
    modalities: ['text', 'image'],
    safety_settings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'OFF' }],
    cached_content: 'cachedContents/1',
  };
  const chat = openaiChat.inbound.decodeRequest(body);
  const encoded = outbound.encodeRequest(chat);
  expect(encoded.body).toEqual({
    contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
    safetySettings: body.safety_settings,
    cachedContent: 'cachedContents/1',
    generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
  } as object as typeof encoded.body);
  expect(encoded.dropped).toEqual([]);
  expect(losses(openaiChat.inbound.decodeRequest({ ...body, modalities: ['audio'] })).dropped).toEqual(['modalities!']);
});

test('efforts are levels on newer models and budgets on older ones, and never both', () => {
  const thinking = (model: string, reasoning: ModelRequest['reasoning']) =>
    outbound.encodeRequest(request([hi], { model, reasoning })).body.generationConfig?.thinkingConfig;
  expect(thinking('gemini-3-pro-preview', { effort: 'medium' })).toEqual({
    includeThoughts: true,
    thinkingLevel: 'MEDIUM',
  });
  expect(thinking('gemini-3-pro-preview', { effort: 'max' })).toEqual({ includeThoughts: true, thinkingLevel: 'HIGH' });
  expect(thinking('gemini-3-pro-preview', { mode: 'off' })).toEqual({ thinkingLevel: 'MINIMAL' });
  expect(thinking('gemini-2.5-pro', { effort: 'medium' })).toEqual({ includeThoughts: true, thinkingBudget: 8_192 });
  expect(thinking('gemini-2.5-pro', { effort: 'none' })).toEqual({ thinkingBudget: 0 });
  expect(thinking('gemini-2.5-pro', { mode: 'adaptive', display: 'omitted' })).toEqual({
    includeThoughts: false,
    thinkingBudget: -1,
  });
  expect(thinking('gemini-3-pro-preview', { mode: 'budget', budgetTokens: 99, effort: 'low' })).toEqual({
    includeThoughts: true,
    thinkingBudget: 99,
  });
  expect(losses(request([hi], { reasoning: { mode: 'budget', budgetTokens: 9, effort: 'low' } })).dropped).toEqual([
    'reasoning.effort',
  ]);
});

test('every choice of tools is said', () => {
  const config = (toolChoice: ModelRequest['toolChoice']) =>
    outbound.encodeRequest(request([hi], { toolChoice })).body.toolConfig?.functionCallingConfig;
  expect(config({ type: 'auto' })).toEqual({ mode: 'AUTO' });
  expect(config({ type: 'none' })).toEqual({ mode: 'NONE' });
  expect(config({ type: 'required' })).toEqual({ mode: 'ANY' });
  expect(config({ type: 'tool', name: 'f' })).toEqual({ mode: 'ANY', allowedFunctionNames: ['f'] });
  expect(config({ type: 'allowed', mode: 'required', names: ['f'] })).toEqual({
    mode: 'ANY',
    allowedFunctionNames: ['f'],
  });
  expect(config({ type: 'allowed', mode: 'auto', names: ['f'] })).toEqual({
    mode: 'VALIDATED',
    allowedFunctionNames: ['f'],
  });
});

test('calls without an id get one that is the same when the answer is read again, and fits every provider', () => {
  const read = (responseId?: string) => {
    const parts = [{ functionCall: { name: 'f' } }, { functionCall: { name: 'f' } }];
    const body = { responseId, candidates: [{ content: { parts }, finishReason: 'STOP' }] };
    return outbound.decodeReply(body).choices[0]!.parts.map((part) => (part as { id: string }).id);
  };
  expect(read('abc/+=')).toEqual(['call_abc_0', 'call_abc_1']);
  expect(read('abc/+=')).toEqual(read('abc/+='));
  const long = read('x'.repeat(200));
  for (const id of [...long, ...read()]) expect(id).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
  expect(read()).not.toEqual(read());
});

test('an answer that is none is a fault of the provider', () => {
  for (const body of [null, [], 'x', {}, { candidates: 7 }, { error: { code: 500, message: 'x' }, candidates: [] }])
    expect(() => outbound.decodeReply(body)).toThrow(FramingError);
});

test('an answer without candidates that says why is an answer', () => {
  expect(outbound.decodeReply({ usageMetadata: { promptTokenCount: 3 } }).choices).toEqual([
    { parts: [], finish: { reason: 'other' } },
  ]);
});

test('finish reasons that mean something else than stop are told', () => {
  const reason = (finishReason: string) =>
    outbound.decodeReply({ candidates: [{ content: { parts: [{ text: 'x' }] }, finishReason }] }).choices[0]!.finish
      .reason;
  expect(['STOP', 'MAX_TOKENS', 'RECITATION', 'SPII', 'MALFORMED_FUNCTION_CALL', 'NEW'].map(reason)).toEqual([
    'stop',
    'length',
    'content-filter',
    'content-filter',
    'other',
    'other',
  ]);
});

test('a chunk that is no JSON, and everything after it, ends the reply with one error', () => {
  const decoder = outbound.decodeStream();
  expect(decoder.push({ data: '{"candidates":' })).toMatchObject([
    { type: 'error', failure: { code: 'stream_garbled' } },
  ]);
  expect(decoder.push({ data: '{"candidates":[]}' })).toEqual([]);
  expect(decoder.end()).toEqual([]);
});
