/**
 * Words as both stores index them. They are made here and not by the stores, whose own notions of a word differ: an
 * address with an @ is one word to PostgreSQL and three to SQLite.
 */
export const MOST_WORDS = 16_000;

/** What is longer is a key, a digest or a picture in letters. */
const LONGEST_WORD = 64;

/** Scripts that put no space between words: each of their characters is a word, and a text of several a phrase. */
const CLOSE = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`;
const WORD = new RegExp(String.raw`${CLOSE}|(?:(?!${CLOSE})[\p{L}\p{N}\p{M}])+`, 'gu');

export function wordsIn(text: string, most: number = MOST_WORDS): string[] {
  const words: string[] = [];
  for (const [word] of text.normalize('NFKC').toLowerCase().matchAll(WORD)) {
    if (words.length === most) break;
    if (word.length <= LONGEST_WORD) words.push(word);
  }
  return words;
}

/** What PostgreSQL keeps of one word. */
const MOST_PLACES = 255;

/** The words with their places, as PostgreSQL writes them. Of letters and digits alone, they need no escape. */
export function tsvectorOf(words: readonly string[]): string {
  const places = new Map<string, number[]>();
  for (const [index, word] of words.entries()) {
    const known = places.get(word);
    if (!known) places.set(word, [index + 1]);
    else if (known.length < MOST_PLACES) known.push(index + 1);
  }
  return Array.from(places, ([word, at]) => `'${word}':${at.join(',')}`).join(' ');
}

/** Words that must stand one after the other; with `isBeginning` the last one may go on. */
export interface Phrase {
  readonly words: readonly string[];
  readonly isBeginning: boolean;
}

export const tsqueryOf = ({ words, isBeginning }: Phrase): string =>
  words.map((word, index) => `'${word}'${isBeginning && index === words.length - 1 ? ':*' : ''}`).join(' <-> ');

export const matchOf = ({ words, isBeginning }: Phrase): string => `"${words.join(' ')}"${isBeginning ? '*' : ''}`;
