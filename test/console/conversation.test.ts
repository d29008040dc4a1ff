import { expect, test } from 'bun:test';
import type { Part, Turn } from '../../web/conversation/parts.ts';
import { readExchange } from '../../web/conversation/read.ts';
import { diffLines } from '../../web/design/diff.ts';
import { suggestionsAt, termsOf, withTerm, written } from '../../web/shell/filter-text.ts';

/** What the logs page makes of bodies, as a line for each turn. */
const shown = (turns: readonly Turn[] = []): string[] =>
  turns.map(({ role, parts }) => `${role}: ${parts.map(partText).join(' | ')}`);
const partText = (part: Part): string => {
  if (part.kind === 'call') return `${part.name}(${part.args.replace(/\s+/g, '')})`;
  if (part.kind === 'result') return `= ${part.parts.map(partText).join(' ')}`;
  if (part.kind === 'image') return `image ${part.source}`;
  return part.kind === 'text' ? part.text : `[${part.kind}] ${'text' in part ? part.text : ''}`;
};
const events = (...data: readonly object[]) => data.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
const read = (request: object, response: object | string) =>
  readExchange(JSON.stringify(request), typeof response === 'string' ? response : JSON.stringify(response));

test('chat, streamed: pieces of text, thoughts and calls come together', () => {
  const delta = (given: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta: given, finish_reason }],
  });
  const exchange = read(
    {
      messages: [
        { role: 'developer', content: 'Be kind.' },
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      ],
    },
    events(
      delta({ reasoning_content: 'A gree' }),
      delta({ reasoning_content: 'ting.' }),
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }),
      delta({ tool_calls: [{ index: 1e9, id: 'c1', function: { name: 'look', arguments: '{"a"' } }] }),
      delta({ tool_calls: [{ index: 1e9, function: { arguments: ':1}' } }] }),
      delta({}, 'tool_calls'),
    ) + 'data: {"cut',
  );
  expect(shown(exchange?.turns)).toEqual(['system: Be kind.', 'user: Hi']);
  expect(shown(exchange?.answer)).toEqual(['assistant: [reasoning] A greeting. | Hello | look({"a":1})']);
  expect(exchange?.finish).toBe('tool_calls');
});

test("messages in Anthropic's format, with results of tools and a picture", () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } };
  const request = {
    system: [{ type: 'text', text: 'Be kind.' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'What is this?' }, image] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: { at: 1 } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'a cat' }] },
    ],
  };
  const answer = events(
    { type: 'message_start', message: {} },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Fur.' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'A cat.' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  );
  const exchange = read(request, answer);
  expect(shown(exchange?.turns)).toEqual([
    'system: Be kind.',
    'user: What is this? | image data:image/png;base64,QUJD',
    'assistant: look({"at":1})',
    'user: = a cat',
  ]);
  expect(shown(exchange?.answer)).toEqual(['assistant: [reasoning] Fur. | A cat.']);
});

test("responses, Google's and Ollama's formats, embeddings, and errors", () => {
  const response = {
    status: 'completed',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes' }] }],
  };
  const items = [
    { role: 'user', content: 'Well?' },
    { type: 'function_call_output', call_id: 'c', output: '42' },
  ];
  const responses = read(
    { instructions: 'Be kind.', input: items },
    events({ type: 'response.created', response: {} }, { type: 'response.completed', response }),
  );
  expect(shown([...responses!.turns, ...responses!.answer])).toEqual([
    'system: Be kind.',
    'user: Well?',
    'tool: = 42',
    'assistant: Yes',
  ]);
  const part = (text: string) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
  });
  const google = read({ contents: [{ parts: [{ text: 'Hi' }] }] }, events(part('Hel'), part('lo')));
  expect(shown([...google!.turns, ...google!.answer])).toEqual(['user: Hi', 'assistant: Hello']);
  const lines = '{"message":{"role":"assistant","content":"Hel"}}\n{"message":{"content":"lo"},"done":true}\n';
  expect(shown(read({ messages: [] }, lines)?.answer)).toEqual(['assistant: Hello']);
  const vectors = read({ input: ['a', 'b'] }, { data: [{ embedding: [1, 2, 3] }, { embedding: [1, 2, 3] }] });
  expect(shown(vectors?.answer)).toEqual(['assistant: 2 vectors of 3 numbers']);
  expect(read({ messages: [] }, { error: { message: 'No.' } })?.error).toBe('No.');
  expect(readExchange('{"messages":[', null)).toBeNull();
});

test('whatever bodies hold, they are read', () => {
  const values = [null, 1, 'x', [], {}, [null], { type: 'image' }, { type: 'tool_use' }, [[['x']]], { parts: 7 }];
  const names = [
    'messages',
    'content',
    'input',
    'contents',
    'prompt',
    'system',
    'tools',
    'choices',
    'output',
    'candidates',
    'data',
    'message',
    'delta',
    'error',
  ];
  for (const name of names)
    for (const value of values)
      for (const body of [
        { [name]: value },
        { [name]: [value] },
        { [name]: [{ [name]: value, content: value, delta: value }] },
      ])
        expect(() => read(body, body) && read(body, events(body, { choices: [body] }))).not.toThrow();
});

test('a difference of two texts holds both of them', () => {
  let seed = 11;
  const next = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (let round = 0; round < 300; round++) {
    const [one, other] = [0, 1].map(() => Array.from({ length: next(14) }, () => 'abc'[next(3)]).join('\n'));
    const lines = diffLines(one!, other!);
    const of = (kind: 'gone' | 'new') =>
      lines
        .filter((line) => line.kind === kind || line.kind === 'same')
        .map(({ text }) => text)
        .join('\n');
    expect([of('gone'), of('new')]).toEqual([one!, other!]);
  }
  expect(diffLines('a\nb\nc', 'a\nx\nc').map(({ kind }) => kind)).toEqual(['same', 'gone', 'new', 'same']);
});

test('filters are taken apart, added to and completed', () => {
  expect(
    termsOf('status:>=400 -meta.team:"a b" "money back"').map(({ field, isNot, value }) => [field, isNot, value]),
  ).toEqual([
    ['status', false, '>=400'],
    ['meta.team', true, '"a b"'],
    [null, false, '"money back"'],
  ]);
  expect(withTerm('model:a status:200', 'model', 'b c')).toBe('status:200 model:"b c"');
  expect(withTerm('-model:a', 'model', 'b', true)).toBe('-model:a -model:b');
  expect(['none', '>5', 'a*', 'gpt-4o', null].map(written)).toEqual(['"none"', '">5"', '"a*"', 'gpt-4o', 'none']);
  const facets = { model: { values: [{ value: 'gpt-4o', requests: 3 }] } };
  expect(suggestionsAt('status:200 mod', 14, facets)[0]).toMatchObject({ text: 'model:', from: 11, to: 14 });
  expect(suggestionsAt('model:g', 7, facets)).toMatchObject([{ text: 'gpt-4o', from: 6, to: 7 }]);
});
