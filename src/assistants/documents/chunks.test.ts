import { expect, test } from 'bun:test';
import { loadTokenizer } from '../../core/tokenizer.ts';
import { BYTES, type Chunk, chunksOf, isOneChunk } from './chunks.ts';

const tokenizer = await loadTokenizer('o200k_base');
const cut = (text: string, chunkTokens: number, overlapTokens: number): Chunk[] => [
  ...chunksOf({ text, tables: [] }, { chunkTokens, overlapTokens }, tokenizer),
];

const prose = Array.from(
  { length: 3_000 },
  (_, index) => `Sentence number ${index} says that ${index} is a number.`,
).join('\n');
const TEXTS = {
  prose,
  'letters without end': 'a'.repeat(20_000),
  'emoji without end': '👩‍👩‍👧🏽🎉'.repeat(2_000),
  'a rare script': '𒀀𒁀𒂀'.repeat(2_000),
  Chinese: '这是一个没有空格的句子。'.repeat(1_000),
  'much space': `a${' \n'.repeat(5_000)}b`,
  code: 'const value = { a: [1, 2, 3], "b": f(x) }; // <|endoftext|>\n'.repeat(500),
};

for (const [name, text] of Object.entries(TEXTS))
  for (const [size, overlap] of [
    [800, 400],
    [100, 0],
    [100, 50],
    [4_096, 2_048],
  ] as const)
    test(`${name} in chunks of ${size} with ${overlap}: none too large, none cut wrongly, nothing left out`, () => {
      const chunks = cut(text, size, overlap);
      let covered = 0;
      for (const chunk of chunks) {
        expect(chunk.text).toBe(text.slice(chunk.start, chunk.end));
        expect(chunk.text.isWellFormed()).toBe(true);
        expect(tokenizer.count(chunk.text)).toBeLessThanOrEqual(size);
        expect(text.slice(covered, chunk.start).trim()).toBe('');
        expect(chunk.end).toBeGreaterThan(covered);
        covered = chunk.end;
      }
      expect(text.slice(covered).trim()).toBe('');
    });

test('neighbours share about as many tokens as was asked for', () => {
  const chunks = cut(prose, 800, 400);
  for (const [index, chunk] of chunks.entries()) {
    const next = chunks[index + 1];
    if (!next) break;
    const shared = tokenizer.count(prose.slice(next.start, chunk.end));
    expect(shared).toBeGreaterThan(380);
    expect(shared).toBeLessThanOrEqual(400);
  }
});

test('a short text is one chunk, and one of space alone is none', () => {
  expect(cut('Hello there', 800, 400)).toEqual([{ text: 'Hello there', start: 0, end: 11, locator: null }]);
  expect(cut(' \n\t ', 800, 400)).toEqual([]);
});

test('a text of so few bytes that it is one chunk needs no tokenizer, and is cut as with one', () => {
  const chunking = { chunkTokens: 100, overlapTokens: 50 };
  const tables = [{ start: 2, headerEnd: 8, end: 30 }];
  const odd = ['', ' ', ' x ', '\ud800 alone', 'a,b\n1,2\n3,4\n5,6\n7,8\n9,10\nand so on'];
  let compared = 0;
  for (const text of [...Object.values(TEXTS).flatMap((each) => [each.slice(0, 24), each.slice(0, 100)]), ...odd])
    for (const extracted of [
      { text, tables: [] },
      { text, tables },
    ]) {
      if (!isOneChunk(extracted, chunking)) continue;
      const chunks = [...chunksOf(extracted, chunking, BYTES)];
      expect(chunks).toEqual([...chunksOf(extracted, chunking, tokenizer)]);
      expect(chunks.length).toBe(text.trim() ? 1 : 0);
      compared++;
    }
  expect(compared).toBeGreaterThan(20);
  expect(isOneChunk({ text: 'ü'.repeat(50), tables: [] }, chunking)).toBe(true);
  expect(isOneChunk({ text: `ü${'ü'.repeat(50)}`, tables: [] }, chunking)).toBe(false);
});

test('chunks of a table begin with a row, and have its first line in front', () => {
  const header = 'number,name,price\n';
  const rows = Array.from({ length: 500 }, (_, index) => `${index},"thing ${index}",${index * 3}.50\n`);
  const text = header + rows.join('');
  const tables = [{ start: 0, headerEnd: header.length, end: text.length }];
  const chunks = [...chunksOf({ text, tables }, { chunkTokens: 200, overlapTokens: 50 }, tokenizer)];
  expect(chunks.length).toBeGreaterThan(10);
  for (const [index, chunk] of chunks.entries()) {
    expect(tokenizer.count(chunk.text)).toBeLessThanOrEqual(200);
    expect(chunk.text).toStartWith(header);
    if (index > 0) expect(chunk.text.slice(header.length)).toMatch(/^\n?\d+,"thing/);
  }
  for (const row of rows) expect(chunks.some((chunk) => chunk.text.includes(row.trim()))).toBe(true);
});

test('a table whose first line is too long for it is cut like any text', () => {
  const header = `${'column '.repeat(300)}\n`;
  const text = header + 'a row of words\n'.repeat(200);
  const tables = [{ start: 0, headerEnd: header.length, end: text.length }];
  const chunks = [...chunksOf({ text, tables }, { chunkTokens: 100, overlapTokens: 50 }, tokenizer)];
  for (const chunk of chunks) expect(chunk.text).toBe(text.slice(chunk.start, chunk.end));
});
