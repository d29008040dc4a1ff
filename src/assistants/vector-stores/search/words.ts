/**
 * The words of a text, as both stores index them: lower case and without accents, so that people who search need not
 * know how the author wrote; names in code both whole and in their parts; and pairs of characters where a script puts
 * no spaces between words. No language is assumed: stores hold many at once, and code.
 */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [run] of text.normalize('NFKC').matchAll(RUN)) {
    for (const [part] of run.matchAll(SAME_KIND)) {
      if (UNSPACED.test(part)) words.push(...pairsOf(part));
      else words.push(...namesIn(part));
    }
  }
  return words;
}

const RUN = /[\p{L}\p{M}\p{N}]+/gu;
const SCRIPTS = '\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}ー々';
const UNSPACED = new RegExp(`^[${SCRIPTS}]`, 'u');
const SAME_KIND = new RegExp(`[${SCRIPTS}]+|[^${SCRIPTS}]+`, 'gu');
const ACCENTS = /[\u0300-\u036f]+/g;
/** `parseHTTPHeader2` is parse, HTTP, Header, 2. */
const PARTS_OF_NAMES = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|[^\p{Lu}\p{Ll}\p{N}]+/gu;
/** Longer ones are hashes and encoded bytes; their beginning is enough to find them by. */
const LONGEST = 64;

const folded = (word: string): string =>
  word.normalize('NFKD').replace(ACCENTS, '').normalize('NFKC').toLowerCase().slice(0, LONGEST);

function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

function namesIn(word: string): string[] {
  const whole = folded(word);
  const parts = word.match(PARTS_OF_NAMES) ?? [];
  const isName = parts.length > 1 && parts.length <= 8;
  return [whole, ...(isName ? parts.map(folded) : [])].filter(Boolean);
}

/** A word that all chunks of a store have, so that a search does not wade through those of all others. */
export const scopeWord = (storeId: string): string => `s${Bun.hash(storeId).toString(36)}`;

/** More words than this make a search slower, not better. */
const MOST_TERMS = 32;

/** What a query asks for: its words, each once. */
export const termsOf = (query: string): string[] => [...new Set(wordsOf(query))].slice(0, MOST_TERMS);

export interface Term {
  readonly word: string;
  /** In how many chunks it occurs, as far as that was counted. */
  readonly chunks: number;
}

/**
 * The rarest of the words, those that are in so many chunks together, and one at least. A word that is in nearly every
 * chunk says nothing about any of them, and is what makes a search slow.
 */
export function rarest(terms: readonly Term[], mostChunks: number): Term[] {
  const kept: Term[] = [];
  let total = 0;
  for (const term of terms.filter(({ chunks }) => chunks > 0).sort((one, other) => one.chunks - other.chunks)) {
    total += term.chunks;
    if (kept.length > 0 && total > mostChunks) break;
    kept.push(term);
  }
  return kept;
}
