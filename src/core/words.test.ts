import { expect, test } from 'bun:test';
import { wordsOf } from './words.ts';

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
