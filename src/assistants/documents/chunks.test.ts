import { expect, test } from 'bun:test';
import { loadTokenizer } from '../../core/tokenizer.ts';
import { type Chunk, chunksOf } from './chunks.ts';

const tokenizer = await loadTokenizer('o200k_base');
const cut = (text: string, chunkTokens: number, overlapTokens: number): Chunk[] => [
  ...chunksOf(text, { chunkTokens, overlapTokens }, tokenizer),
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
  expect(cut('Hello there', 800, 400)).toEqual([{ text: 'Hello there', start: 0, end: 11 }]);
  expect(cut(' \n\t ', 800, 400)).toEqual([]);
});
