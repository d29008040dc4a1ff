import { expect, test } from 'bun:test';
import { FilterFault, fieldTerms, termsIn } from './language.ts';

const faultOf = (text: string, searches = false) => {
  try {
    termsIn(text, { searches });
  } catch (error) {
    if (error instanceof FilterFault) return `${error.position}: ${error.message}`;
    throw error;
  }
  return null;
};

test('terms, values, stars, comparisons and their opposites', () => {
  expect(termsIn('status:>=500 -model:gpt*,"o3 mini" cost:>0.1 duration:<2s stream:true meta.team:search')).toEqual([
    { column: 'status', key: null, isNot: false, tests: [{ is: '>=', value: 500 }] },
    {
      column: 'model',
      key: null,
      isNot: true,
      tests: [
        { is: 'like', parts: ['gpt', ''] },
        { is: 'equal', value: 'o3 mini' },
      ],
    },
    { column: 'cost', key: null, isNot: false, tests: [{ is: '>', value: 0.1 }] },
    { column: 'duration_ms', key: null, isNot: false, tests: [{ is: '<', value: 2000 }] },
    { column: 'is_stream', key: null, isNot: false, tests: [{ is: 'equal', value: true }] },
    { column: 'metadata', key: 'team', isNot: false, tests: [{ is: 'equal', value: 'search' }] },
  ]);
  expect(termsIn('  ')).toEqual([]);
});

test('quotes and backslashes keep marks as they are', () => {
  const value = (text: string) => fieldTerms(termsIn(`model:${text}`))[0]!.tests[0];
  expect(value('"a, b*"')).toEqual({ is: 'equal', value: 'a, b*' });
  expect(value('a\\*b\\ c')).toEqual({ is: 'equal', value: 'a*b c' });
  expect(value('"say \\"hi\\""')).toEqual({ is: 'equal', value: 'say "hi"' });
  expect(value('""')).toEqual({ is: 'equal', value: '' });
  expect(value('none')).toEqual({ is: 'absent' });
  expect(value('"none"')).toEqual({ is: 'equal', value: 'none' });
  expect(termsIn('meta.a.b:c:d')[0]).toMatchObject({ key: 'a.b', tests: [{ value: 'c:d' }] });
});

for (const [text, fault] of [
  ['status:>=500 colour:red', '14: there is no field "colour"'],
  ['refund', '1: "refund" alone is no term'],
  ['model:a "refund"', '9: a text alone asks for what was said'],
  ['status:five', '8: "five" is no number'],
  ['status:>=', '8: a value is missing'],
  ['status:200,', '12: a value is missing'],
  ['model:>5', '7: > compares numbers'],
  ['stream:maybe', '8: must be true or false'],
  ['duration:5d', '10: "5d" is no number; write milliseconds, or 2s, 5m, 1h'],
  ['cost:>1s', '7: "1s" is no number'],
  ['model:"gpt', '7: a quote is opened and not closed'],
  [':x', '1: there is no field ""'],
  [',x', '1: a term begins with the name of a field'],
  ['meta.:x', '1: there is no field "meta."'],
  ['__proto__:x', '1: there is no field "__proto__"'],
] as const)
  test(`${text} is refused where it is wrong`, () => expect(faultOf(text)).toStartWith(fault));

test('where bodies are searched, what has no field was said', () => {
  expect(termsIn('refund status:200 -"Money BACK!" re*,"a \\"b\\""', { searches: true })).toEqual([
    { column: 'said', isNot: false, phrases: [{ words: ['refund'], isBeginning: false }] },
    { column: 'status', key: null, isNot: false, tests: [{ is: 'equal', value: 200 }] },
    { column: 'said', isNot: true, phrases: [{ words: ['money', 'back'], isBeginning: false }] },
    {
      column: 'said',
      isNot: false,
      phrases: [
        { words: ['re'], isBeginning: true },
        { words: ['a', 'b'], isBeginning: false },
      ],
    },
  ]);
  for (const [text, fault] of [
    ['status:200 "!?"', '12: there is no word in it'],
    ['a*b', '1: a * in what was said stands at its end'],
    ['"refund', '1: a quote is opened and not closed'],
    ['refund,', '8: there is no word in it'],
    [`"${'word '.repeat(51)}"`, '1: is longer than 50 words'],
    [',x', '1: a term begins with the name of a field'],
  ] as const)
    expect(faultOf(text, true)).toStartWith(fault);
});

test('whatever is written is read or refused with a place in it', () => {
  const marks = ['a', 'status', 'model', ':', '>', '=', '"', '\\', '*', ',', '-', ' ', '5', 'meta.', 'none', '😀'];
  let seed = 7;
  const next = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed;
  };
  for (let round = 0; round < 20_000; round++) {
    const text = Array.from({ length: next() % 12 }, () => marks[next() % marks.length]).join('');
    const fault = faultOf(text, round % 2 === 0);
    const position = fault === null ? 1 : Number(fault.split(':')[0]);
    expect(position >= 1 && position <= text.length + 1).toBe(true);
  }
});
