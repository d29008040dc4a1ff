import { describe, expect, test } from 'bun:test';
import { AnnotatedText, withoutPassages } from './annotations.ts';
import { citationMark, markerOf } from './citations.ts';

const FILES = new Map([
  ['0:0', 'file-a'],
  ['0:1', 'file-b'],
  ['12:3', 'file-c'],
]);
const mark = citationMark([...FILES].map(([numbers, file_id]) => ({ marker: `【${numbers}†source】`, file_id })));

/** A text said in pieces, and what was told of it. */
function said(pieces: readonly string[]) {
  const text = new AnnotatedText([mark]);
  const told = [...pieces.map((piece) => text.push(piece)), text.end()];
  return { text, told };
}

const oneOf = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)]!;

describe('citations in a text that comes in pieces', () => {
  test('a marker becomes an annotation with its place, wherever the text is cut', () => {
    const whole = `Die Antwort 😀 ist 42 ${markerOf(0, 0)}, sagt man${markerOf(12, 3)}.`;
    for (let one = 0; one <= whole.length; one++) {
      for (let other = one; other <= whole.length; other += 3) {
        const { text, told } = said([whole.slice(0, one), whole.slice(one, other), whole.slice(other)]);
        expect(text.value).toBe(whole);
        expect(text.annotations).toEqual([
          {
            type: 'file_citation',
            text: '【0:0†source】',
            start_index: 22,
            end_index: 34,
            file_citation: { file_id: 'file-a' },
          },
          {
            type: 'file_citation',
            text: '【12:3†source】',
            start_index: 44,
            end_index: 57,
            file_citation: { file_id: 'file-c' },
          },
        ]);
        expect(told.map((each) => each.text).join('')).toBe(whole);
        for (const each of told) expect(each.text.split('【').length).toBe(each.text.split('】').length);
      }
    }
  });

  test('places are those of the text that is told, whatever stands before them, and unknown markers are left out', () => {
    const parts = [
      '😀',
      '👩‍👩‍👧‍👦',
      'ä',
      ' ',
      'word',
      '【',
      '】',
      '†',
      '【Hinweis】',
      '【1',
      '9:9',
      '\n',
      '\u{10ffff}',
    ];
    const known = [...FILES.keys()].map((numbers) => `【${numbers}†source】`);
    for (let round = 0; round < 2_000; round++) {
      const whole = Array.from({ length: 12 }, () => oneOf([...parts, ...known, '【7:7†source】'])).join('');
      const pieces = whole.match(new RegExp(`[^]{1,${1 + (round % 9)}}`, 'g')) ?? [];
      const { text, told } = said(pieces);
      for (const { text: passage, start_index, end_index, file_citation } of text.annotations) {
        expect(text.value.slice(start_index, end_index)).toBe(passage);
        const numbers = /\d+:\d+/.exec(passage)![0];
        expect((file_citation as { file_id: string }).file_id).toBe(FILES.get(numbers)!);
      }
      expect(text.value).not.toContain('【7:7†source】');
      expect(text.annotations).toHaveLength(known.reduce((sum, each) => sum + text.value.split(each).length - 1, 0));
      expect(told.flatMap(({ annotations }) => annotations)).toEqual([...text.annotations]);
    }
  });

  test('what is no marker is told as it is: brackets of Chinese and Japanese texts are such', () => {
    const { text } = said(['【重要】 read 【1 and 【2:', 'x†y】 【']);
    expect(text.value).toBe('【重要】 read 【1 and 【2:x†y】 【');
    expect(text.annotations).toEqual([]);
  });

  test('a marker that is cut off at the end does not show', () => {
    expect(said(['It is so 【0:0†sou']).text.value).toBe('It is so ');
    expect(said(['It is so 【']).text.value).toBe('It is so 【');
  });

  test('a text can be told without its citations', () => {
    const { text } = said([`One${markerOf(0, 0)} two${markerOf(0, 1)}.`]);
    expect(withoutPassages(text.value, text.annotations)).toBe('One two.');
  });
});
