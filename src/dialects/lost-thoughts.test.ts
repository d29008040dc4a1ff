import { expect, test } from 'bun:test';
import { unfold } from './fold.ts';
import type { ModelRequest, Part, ReasoningPart, Turn } from './ir.ts';
import { type CallThoughts, callsWithoutThoughts, ThoughtWatch, thoughtsIn, withThoughts } from './lost-thoughts.ts';

const said = (text: string): Part => ({ type: 'text', text });
const called = (id: string, name = 'f'): Part => ({ type: 'tool-call', id, name, argsText: '{"x":1}' });
const thought = (text: string): ReasoningPart => ({
  type: 'reasoning',
  text,
  signature: `of ${text}`,
  signedBy: 'anthropic',
});
const hidden: ReasoningPart = { type: 'reasoning', redacted: 'c2ln', signedBy: 'gemini' };
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts });
const request = (...turns: Turn[]): ModelRequest => ({ model: 'm', turns });
const byId = (all: readonly CallThoughts[]) => new Map(all.map((each) => [each.id, each]));

/** What a client that knows neither thoughts nor signatures sends back of an answer. */
const forgotten = (parts: readonly Part[]): Turn => assistant(...parts.filter(({ type }) => type !== 'reasoning'));

const answers: Record<string, Part[]> = {
  'a thought before the call': [thought('a'), called('1')],
  'a thought before the text': [thought('a'), said('Let me see.'), called('1')],
  'thoughts on both sides of the text': [thought('a'), said('Let me see.'), thought('b'), called('1')],
  'thoughts between calls': [thought('a'), called('1'), thought('b'), called('2')],
  'a call that was signed, and one that was not': [hidden, called('1'), called('2')],
};

for (const [name, parts] of Object.entries(answers)) {
  test(`${name}: what was kept stands where it was`, () => {
    const maker = parts.includes(hidden) ? 'gemini' : 'anthropic';
    const again = withThoughts(request(forgotten(parts)), byId(thoughtsIn(parts)), maker);
    expect(again.turns[0]!.parts).toEqual(parts);
  });

  test(`${name}: a stream leaves the same`, () => {
    const watch = new ThoughtWatch();
    for (const event of unfold({ choices: [{ parts, finish: { reason: 'tool-calls' } }] }, 1)) watch.push(event);
    const whole = thoughtsIn(parts);
    expect(watch.take()).toEqual(whole);
    expect(watch.take()).toEqual([]);
  });
}

test('an answer without calls, or without anything signed, leaves nothing', () => {
  expect(thoughtsIn([thought('a'), said('Done.')])).toEqual([]);
  expect(thoughtsIn([{ type: 'reasoning', text: 'unsigned' }, called('1')])).toEqual([]);
});

test('only turns that come back without signatures are asked for, the last ones first and not without end', () => {
  const asked = (...turns: Turn[]) => callsWithoutThoughts(request(...turns)).map(({ id }) => id);
  expect(asked({ role: 'user', parts: [said('Hi')] }, assistant(said('Hello')))).toEqual([]);
  expect(asked(assistant(called('1')), assistant(thought('a'), called('2')), assistant(called('3')))).toEqual([
    '3',
    '1',
  ]);
  const many = Array.from({ length: 500 }, (_, index) => assistant(called(`${index}`)));
  expect(asked(...many)).toHaveLength(100);
  expect(asked(...many)[0]).toBe('499');
});

test('thoughts of another maker are not sent to this one', () => {
  const parts = [thought('a'), called('1')];
  const again = withThoughts(request(forgotten(parts)), byId(thoughtsIn(parts)), 'gemini');
  expect(again.turns[0]!.parts).toEqual([called('1')]);
});

test('an id that was used for two calls gets no thoughts, because whose they are is not known', () => {
  const parts = [thought('a'), called('1')];
  const again = withThoughts(request(forgotten(parts), forgotten(parts)), byId(thoughtsIn(parts)), 'anthropic');
  expect(again.turns.map((turn) => turn.parts)).toEqual([[called('1')], [called('1')]]);
});

test('a thought that the client sent without its signature is not there twice', () => {
  const parts = [thought('a'), called('1')];
  const sent = assistant({ type: 'reasoning', text: 'a' }, called('1'));
  expect(withThoughts(request(sent), byId(thoughtsIn(parts)), 'anthropic').turns[0]!.parts).toEqual(parts);
});
