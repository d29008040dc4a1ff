import type { Content } from './formats.ts';

/** The words of a text as people count them; of scripts without spaces, the characters. */
export const countedWords = (text: string): string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]|\p{N}+|[\p{L}\p{M}]+/gu) ?? [];

export const textsIn = ({ title, blocks }: Content, isAlone: boolean): string[] => {
  const tables = blocks.filter((block) => 'rows' in block);
  if (isAlone && tables.length > 0) return tables.flatMap(({ rows }) => rows.flat());
  return [
    title,
    ...blocks.flatMap((block) => ('rows' in block ? block.rows.flat() : 'heading' in block ? [] : [block.text])),
    ...(isAlone ? [] : blocks.flatMap((block) => ('heading' in block ? [block.heading] : []))),
  ];
};

const countsOf = (words: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
};

export interface WordCount {
  readonly words: number;
  readonly found: number;
}

/** How many of the words that were written are read. */
export function wordsFound(written: readonly string[], read: string): WordCount {
  const held = countsOf(countedWords(read));
  let [words, found] = [0, 0];
  for (const [word, times] of countsOf(written.flatMap(countedWords))) {
    words += times;
    found += Math.min(times, held.get(word) ?? 0);
  }
  return { words, found };
}

/** Numbers that nobody wrote: those that came about where two were read as one. */
export function gluedNumbers(written: readonly string[], read: string): string[] {
  const known = new Set(written.flatMap((text) => text.normalize('NFKC').match(/\p{N}+/gu) ?? []));
  return (read.normalize('NFKC').match(/\p{N}+/gu) ?? []).filter((number) => !known.has(number));
}

/** Rows of tables that are not one line with all their cells in order. */
export function brokenRows({ blocks }: Content, read: string): number {
  const lines = read.split('\n').map((line) => countedWords(line).join(' '));
  return blocks
    .flatMap((block) => ('rows' in block ? block.rows : []))
    .filter((row) => !lines.some((line) => ` ${line} `.includes(` ${countedWords(row.join(' ')).join(' ')} `))).length;
}
