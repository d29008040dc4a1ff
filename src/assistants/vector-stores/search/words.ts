import { readWordsOf } from '../../../core/words.ts';
import { LANGUAGES, type Language, languagesOf, possibleLanguagesOf, stemsIn, stemsInAny } from './languages.ts';

/** The words of one store are its own: no count of them knows of another store's. */
export const scopeWord = (storeId: string): string => `s${Bun.hash(storeId).toString(36)}`;

/** More words than this make a search slower, not better. */
const MOST_TERMS = 32;
/** Of so many it is counted how rare they are. */
const MOST_COUNTED = 256;
/** Of so many words a text shows its language. */
const LOOKED_AT = 400;

export interface IndexedWords {
  readonly lexemes: readonly string[];
  /** How many words it has, without what was made of them: by that BM25 tells long chunks from short ones. */
  readonly length: number;
}

/** What a chunk is found by: its words, and behind them their stems in its language, or in any where it shows none. */
export function indexedWords(text: string): IndexedWords {
  const read = readWordsOf(text);
  const words = read.map(({ word }) => word);
  const languages = languagesOf(words.slice(0, LOOKED_AT));
  const stems = new Map<string, string[]>();
  const lexemes = [...words];
  for (const each of read) {
    const key = each.spoken ?? each.word;
    const known = stems.get(key) ?? (languages.length > 0 ? stemsIn(each, languages) : stemsInAny(each, LANGUAGES));
    stems.set(key, known);
    lexemes.push(...known);
  }
  return { lexemes, length: words.length };
}

/** A word that is asked for, in every form in which it may be indexed. */
export interface AskedWord {
  readonly word: string;
  readonly forms: readonly string[];
}

/** What a query asks for: its words, each once, without those that say nothing, unless it has no others. */
export function termsOf(query: string): AskedWord[] {
  const read = readWordsOf(query);
  const words = read.map(({ word }) => word);
  const spoken = languagesOf(words);
  const telling = read.filter(({ word }) => !spoken.some(({ stopWords }) => stopWords.has(word)));
  const languages = stemmedFor(words);
  const asked = new Map<string, string[]>();
  for (const each of telling.length > 0 ? telling : read) {
    if (asked.size === MOST_COUNTED || asked.has(each.word)) continue;
    const forms = [each.word, ...stemsIn(each, languages), ...stemsInAny(each, languages)];
    asked.set(each.word, [...new Set(forms)]);
  }
  return [...asked].map(([word, forms]) => ({ word, forms }));
}

/** A few words that show no language may be in any; of many, which is a list of names, none is guessed. */
function stemmedFor(words: readonly string[]): readonly Language[] {
  const possible = possibleLanguagesOf(words);
  if (possible.length > 0) return possible;
  return words.length <= MOST_TERMS ? LANGUAGES : [];
}

export interface Term extends AskedWord {
  /** In how many chunks of the searched stores it occurs, as far as that was counted. */
  readonly chunks: number;
}

export interface Weighed {
  /** What is looked for, rarest first. */
  readonly terms: readonly (Term & { readonly weight: number })[];
  /** What a chunk would have that holds all of it very often; words that are nowhere count in. */
  readonly most: number;
}

const SATURATION = 1.2;
const OF_LENGTH = 0.75;
/** In a store of a few chunks, a word that is in one of them is no common one. */
const MORE_CHUNKS = 20;

/** As BM25 has them. */
export const RANKING = { saturation: SATURATION, ofLength: OF_LENGTH } as const;

/** How much a word says that is in so many of a store's chunks. */
const weightOf = (chunks: number, all: number): number =>
  Math.log(1 + (Math.max(all, chunks) + MORE_CHUNKS - chunks + 0.5) / (chunks + 0.5));

/**
 * The rarest of the words, those that are in so many chunks together, and one at least. A word that is in nearly every
 * chunk says nothing about any of them, and is what makes a search slow.
 */
export function rarest<Counted extends { readonly chunks: number }>(
  terms: readonly Counted[],
  mostChunks: number,
): Counted[] {
  const kept: Counted[] = [];
  let total = 0;
  for (const term of terms.filter(({ chunks }) => chunks > 0).sort((one, other) => one.chunks - other.chunks)) {
    total += term.chunks;
    if (kept.length > 0 && (total > mostChunks || kept.length === MOST_TERMS)) break;
    kept.push(term);
  }
  return kept;
}

/** What is looked for in stores of so many chunks, and what each word is worth there. */
export function weighed(terms: readonly Term[], chunks: number, mostChunks: number): Weighed {
  const kept = rarest(terms, mostChunks).map((term) => ({ ...term, weight: weightOf(term.chunks, chunks) }));
  const nowhere = Math.min(terms.filter((term) => term.chunks === 0).length, MOST_TERMS - kept.length);
  const worth = kept.reduce((sum, { weight }) => sum + weight, 0) + Math.max(0, nowhere) * weightOf(0, chunks);
  return { terms: kept, most: worth * (SATURATION + 1) };
}

/** What a chunk gets that has every word of a query once and is as long as others. */
const ALL_ONCE = 0.85;
/** Such a chunk has this part of what one would have that holds all of them very often. */
const PART_OF_ALL = 1 / (SATURATION + 1);

/**
 * From 0 to 1: 0.85 for a chunk with every word of a query, about half of that for half of what they are worth, and next to
 * nothing for a tenth: a chance word of many does not make a passage an answer.
 */
export function scoreOf(ranked: number, { most }: Pick<Weighed, 'most'>): number {
  if (most === 0) return 0;
  const part = Math.min(1, ranked / most);
  const held = part / PART_OF_ALL;
  if (held <= 1) return ALL_ONCE * held ** 2 * (3 - 2 * held);
  return ALL_ONCE + ((1 - ALL_ONCE) * (part - PART_OF_ALL)) / (1 - PART_OF_ALL);
}
