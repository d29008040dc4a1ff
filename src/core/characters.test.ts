import { expect, test } from 'bun:test';
import { charactersIn, firstCharacters } from './characters.ts';

for (const text of [
  '',
  'a',
  'abc',
  'é',
  '日本',
  '😀',
  'a😀b',
  '😀😀',
  '\ud83d',
  '\ude00\ud83d',
  '\ud83d\ud83d\ude00',
  '\ude00a',
]) {
  test(`${JSON.stringify(text)} has as many characters as its iterator gives, from the first on`, () => {
    expect(charactersIn(text)).toBe([...text].length);
    for (let most = 0; most < 5; most++) expect(firstCharacters(text, most)).toBe([...text].slice(0, most).join(''));
  });
}
