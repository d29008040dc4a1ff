import { expect, test } from 'bun:test';
import { FramingError } from '../framing-error.ts';
import type { ModelRequest, Part, TextPart, Tool, Turn } from '../ir.ts';
import { openaiChat } from '../openai-chat/openai-chat.ts';
import { cohere } from './cohere.ts';

const { outbound } = cohere;
const said = (text: string): TextPart => ({ type: 'text', text });
const turn = (role: Turn['role'], ...parts: Part[]): Turn => ({ role, parts });
const hi = turn('user', said('Hi'));
const tools: Tool[] = ['f', 'g'].map((name) => ({ type: 'function', name }));
const request = (turns: readonly Turn[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'command-a-03-2025',
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

test('every choice of tools is said, as far as it can be', () => {
  const chosen = (toolChoice: ModelRequest['toolChoice']) => {
    const { body } = outbound.encodeRequest(request([hi], { tools, toolChoice }));
    return [body.tools?.map((tool) => tool.function.name).join(), body.tool_choice];
  };
  expect(chosen({ type: 'auto' })).toEqual(['f,g', undefined]);
  expect(chosen({ type: 'none' })).toEqual(['f,g', 'NONE']);
  expect(chosen({ type: 'required' })).toEqual(['f,g', 'REQUIRED']);
  expect(chosen({ type: 'tool', name: 'g' })).toEqual(['g', 'REQUIRED']);
  expect(chosen({ type: 'allowed', mode: 'auto', names: ['g'] })).toEqual(['g', undefined]);
  expect(chosen({ type: 'allowed', mode: 'required', names: ['g'] })).toEqual(['g', 'REQUIRED']);
  expect(losses(request([hi], { toolChoice: { type: 'required' } })).dropped).toEqual(['toolChoice']);
});

test('a whole loop of tools from a chat client keeps every id', () => {
  const chat = openaiChat.inbound.decodeRequest({
    model: 'command-a-03-2025',
    messages: [
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x": 1}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '{"ok":true}' },
    ],
  });
  expect(outbound.encodeRequest(chat).body.messages.slice(1)).toEqual([
    { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x": 1}' } }] },
    { role: 'tool', tool_call_id: 'a', content: '{"ok":true}' },
  ]);
});

test('thoughts and text in another order than Cohere’s are moved, and said to be', () => {
  const call: Part = { type: 'tool-call', id: 'a', name: 'f', argsText: '{}' };
  const parts: Part[] = [said('x'), { type: 'reasoning', text: 'Hm.' }, call, said('y')];
  const given = request([hi, turn('assistant', ...parts)]);
  expect(outbound.encodeRequest(given).body.messages[1]).toMatchObject({
    content: [
      { type: 'text', text: 'x' },
      { type: 'text', text: 'y' },
    ],
    tool_plan: 'Hm.',
  });
  expect(losses(given).changed).toEqual(['turns[1].parts[1]', 'turns[1].parts[3]']);
});

test('values outside of Cohere’s ranges are never sent in silence', () => {
  const body = (more: Partial<ModelRequest>) => outbound.encodeRequest(request([hi], more)).body;
  expect([0, 0.5, 1].map((topP) => body({ topP }).p)).toEqual([0.01, 0.5, 0.99]);
  expect(losses(request([hi], { topP: 0.5, frequencyPenalty: 1.5, presencePenalty: 0 }))).toEqual({
    dropped: ['frequencyPenalty'],
    changed: [],
  });
  expect(losses(request([hi], { logprobs: { top: 2 } })).dropped).toEqual(['logprobs!']);
});

test('reasoning is on, off, or has a budget', () => {
  const thinking = (reasoning: ModelRequest['reasoning']) =>
    outbound.encodeRequest(request([hi], { reasoning })).body.thinking;
  expect(thinking({ effort: 'high' })).toEqual({ type: 'enabled' });
  expect(thinking({ effort: 'none' })).toEqual({ type: 'disabled' });
  expect(thinking({ mode: 'off' })).toEqual({ type: 'disabled' });
  expect(thinking({ mode: 'adaptive' })).toEqual({ type: 'enabled' });
  expect(thinking({ mode: 'budget', budgetTokens: 9 })).toEqual({ type: 'enabled', token_budget: 9 });
  expect(losses(request([hi], { reasoning: { effort: 'high' } })).changed).toEqual(['reasoning.effort']);
});

test('an answer that is none, and one that failed on the way, are faults of the provider', () => {
  for (const body of [null, [], {}, { message: 'no' }]) expect(() => outbound.decodeReply(body)).toThrow(FramingError);
  const half = { message: { role: 'assistant', content: [said('Half')] } };
  expect(() => outbound.decodeReply({ ...half, finish_reason: 'ERROR', error: 'It broke.' })).toThrow('It broke.');
  expect(() => outbound.decodeReply({ ...half, finish_reason: 'TIMEOUT' })).toThrow('ran out of time');
});

test('usage that names only what is billed is taken for what was used', () => {
  const body = {
    message: { content: [] },
    finish_reason: 'COMPLETE',
    usage: { billed_units: { input_tokens: 3, output_tokens: 4 } },
  };
  expect(outbound.decodeReply(body).usage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
});

test('calls whose pieces alternate stay apart, and a piece of a call that was never started is an error', () => {
  const event = (type: string, index: number, tool_calls: object) => ({
    data: JSON.stringify({ type, index, delta: { message: { tool_calls } } }),
  });
  const decoder = outbound.decodeStream();
  const piece = (index: number, text: string) => event('tool-call-delta', index, { function: { arguments: text } });
  const events = [
    event('tool-call-start', 0, { id: 'a', function: { name: 'f', arguments: '' } }),
    event('tool-call-start', 1, { id: 'b', function: { name: 'g', arguments: '' } }),
    piece(0, '{"x":'),
    piece(1, '{'),
    piece(0, '1}'),
    piece(1, '}'),
  ].flatMap((each) => decoder.push(each));
  const texts = (index: number) =>
    events.flatMap((each) => (each.type === 'part-delta' && each.index === index ? [each.delta.text] : [])).join('');
  expect([texts(0), texts(1)]).toEqual(['{"x":1}', '{}']);
  expect(outbound.decodeStream().push(piece(0, 'x')).at(-1)).toMatchObject({
    type: 'error',
    failure: { code: 'stream_garbled' },
  });
});
