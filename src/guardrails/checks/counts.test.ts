import { expect, test } from 'bun:test';
import { factsOf, faultsOf, judge, type partsOf } from '../../../test/guardrails/facts.ts';
import { allLowerCase } from './all-lower-case.ts';
import { allUpperCase } from './all-upper-case.ts';
import { characterCount } from './character-count.ts';
import { containsCode } from './contains-code.ts';
import { notNull } from './not-null.ts';
import { sentenceCount } from './sentence-count.ts';
import { wordCount } from './word-count.ts';

const verdict = async (...call: Parameters<typeof judge>) => (await judge(...call)).verdict;

for (const [text, words] of [
  ['', 0],
  [' \n\t ', 0],
  ['one', 1],
  [' two  words\n', 2],
  ['null\0byte counts', 2],
  ['ein Wort\u00a0mehr', 3],
] as const) {
  test(`wordCount: ${JSON.stringify(text)} has ${words}`, async () => {
    expect(await judge(wordCount, {}, text)).toMatchObject({ verdict: true, data: { wordCount: words } });
    expect(await verdict(wordCount, { minWords: words, maxWords: words }, text)).toBe(true);
    expect(await verdict(wordCount, { minWords: words + 1 }, text)).toBe(false);
    expect(await verdict(wordCount, { minWords: words + 1, not: true }, text)).toBe(true);
  });
}

for (const [text, sentences] of [
  ['', 0],
  ['...', 0],
  ['Hello', 1],
  ['Hello. World', 2],
  ['Hello. World!', 2],
  ['Really?! Yes.', 2],
  ['Pi is 3.14 and example.com is a site.', 1],
  ['He said "no." Then left.', 2],
  ['你好。再见！', 2],
] as const) {
  test(`sentenceCount: ${JSON.stringify(text)} has ${sentences}`, async () => {
    expect(await judge(sentenceCount, {}, text)).toMatchObject({ verdict: true, data: { sentenceCount: sentences } });
    expect(await verdict(sentenceCount, { minSentences: sentences, maxSentences: sentences }, text)).toBe(true);
    expect(await verdict(sentenceCount, { minSentences: sentences + 1 }, text)).toBe(false);
  });
}

for (const [text, characters] of [
  ['', 0],
  ['abc', 3],
  ['💡', 1],
  ['a\0b', 3],
  ['\ud83d', 1],
] as const) {
  test(`characterCount: ${JSON.stringify(text)} has ${characters}`, async () => {
    expect(await judge(characterCount, {}, text)).toMatchObject({ data: { characterCount: characters } });
    expect(await verdict(characterCount, { maxCharacters: characters }, text)).toBe(true);
    if (characters > 0) expect(await verdict(characterCount, { maxCharacters: characters - 1 }, text)).toBe(false);
  });
}

test('counts are of all messages together, and bounds that nothing lies between are refused', async () => {
  expect(await verdict(wordCount, { maxWords: 3 }, ['one two', 'three'])).toBe(true);
  expect(await verdict(wordCount, { maxWords: 2 }, ['one two', 'three'])).toBe(false);
  expect(faultsOf(wordCount, { minWords: 5, maxWords: 4 })).toEqual(['maxWords: must not be less than minWords']);
  expect(faultsOf(wordCount, { minWords: -1 })).toEqual(['minWords: must not be negative']);
  expect(faultsOf(wordCount, { minWords: 1.5 })).toEqual(['minWords: give a whole number']);
  expect(faultsOf(sentenceCount, { minSentences: '1' })[0]).toStartWith('minSentences: ');
});

for (const [text, isUpper, isLower] of [
  ['HELLO 1!', true, false],
  ['hello 1!', false, true],
  ['Hello', false, false],
  ['ÄÖÜ', true, false],
  ['привет', false, true],
  ['ПРИВЕТ', true, false],
  ['123', true, true],
  ['', true, true],
  ['漢字', true, true],
] as const) {
  test(`case: ${JSON.stringify(text)} is ${isUpper ? '' : 'not '}upper and ${isLower ? '' : 'not '}lower`, async () => {
    expect(await verdict(allUpperCase, {}, text)).toBe(isUpper);
    expect(await verdict(allUpperCase, { not: true }, text)).toBe(!isUpper);
    expect(await verdict(allLowerCase, {}, text)).toBe(isLower);
    expect(await verdict(allLowerCase, { not: true }, text)).toBe(!isLower);
  });
}

test('case is of every message', async () => {
  expect(await verdict(allUpperCase, {}, ['LOUD', 'quiet'])).toBe(false);
});

test('notNull wants text in every choice, and nothing of an answer that calls tools', async () => {
  const answer = (...parts: Parameters<typeof partsOf>[0][number][]) => factsOf(parts, { on: 'output' });
  expect(await verdict(notNull, {}, answer('text'))).toBe(true);
  expect(await verdict(notNull, {}, answer(' \n'))).toBe(false);
  expect(await verdict(notNull, {}, factsOf([], { on: 'output' }))).toBe(false);
  expect(await verdict(notNull, {}, answer('text', ''))).toBe(false);
  expect(await verdict(notNull, { not: true }, answer(''))).toBe(true);
  expect(await verdict(notNull, {}, answer({ text: '{}', kind: 'tool_call', role: 'assistant' }))).toBe(true);
});

for (const [format, text, has] of [
  ['Python', 'Look:\n```python\nprint(1)\n```', true],
  ['Python', '```py\nprint(1)\n```', true],
  ['Python', '```\nprint(1)\n```', false],
  ['Python', '```js\n1\n```', false],
  ['C++', '~~~cpp\nint a;\n~~~', true],
  ['C#', '```c#\nvar a;\n```', true],
  ['C', '```c#\nvar a;\n```', false],
  ['SQL', 'select 1 ```sql', false],
  ['SQL', '> ```SQL\n> select 1\n> ```', true],
  ['SQL', '```sql', true],
] as const) {
  test(`containsCode: ${JSON.stringify(text)} has ${has ? '' : 'no '}${format}`, async () => {
    expect(await verdict(containsCode, { format }, text)).toBe(has);
    expect(await verdict(containsCode, { format, not: true }, text)).toBe(!has);
  });
}

test('containsCode names the languages it knows', () => {
  expect(faultsOf(containsCode, { format: 'Klingon' })[0]).toStartWith('format: give one of SQL, Python');
});
