import { expect, test } from 'bun:test';
import { rarest, termsOf, wordsOf } from './words.ts';

test.each([
  ['Ein Café in Łódź', ['ein', 'cafe', 'in', 'łodz']],
  ['parseHTTPHeader', ['parsehttpheader', 'parse', 'http', 'header']],
  ['snake_case and kebab-case', ['snake', 'case', 'and', 'kebab', 'case']],
  ['utf8', ['utf8', 'utf', '8']],
  ['東京都', ['東京', '京都']],
  ['空', ['空']],
  ['안녕하세요', ['안녕', '녕하', '하세', '세요']],
  ['ｆｕｌｌ', ['full']],
  ['Привет, мир', ['привет', 'мир']],
  ['हिन्दी भाषा', ['हिन्दी', 'भाषा']],
  ['!?… 😀', []],
])('the words of %p', (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

test('a query asks for each of its words once, and for no endless number of them', () => {
  expect(termsOf('a rose is a rose')).toEqual(['a', 'rose', 'is']);
  expect(
    termsOf(
      Array.from({ length: 500 }, (_, index) => `word${String.fromCodePoint(97 + (index % 26))}${index}`).join(' '),
    ),
  ).toHaveLength(32);
});

test('of the words, the rarest are looked for, and one at least', () => {
  const terms = [
    { word: 'the', chunks: 90_000 },
    { word: 'zebra', chunks: 12 },
    { word: 'nowhere', chunks: 0 },
    { word: 'house', chunks: 4_000 },
  ];
  expect(rarest(terms, 10_000).map(({ word }) => word)).toEqual(['zebra', 'house']);
  expect(rarest([{ word: 'the', chunks: 90_000 }], 10_000).map(({ word }) => word)).toEqual(['the']);
});
