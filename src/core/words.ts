/**
 * The words of a text, as whatever is searched is indexed: lower case and without accents, so that people who search need not
 * know how the author wrote; names in code both whole and in their parts; and pairs of characters where a script puts
 * no spaces between words. No language is assumed: what is searched holds many at once, and code.
 */
export const wordsOf = (text: string): string[] => readWordsOf(text).map(({ word }) => word);

export interface ReadWord {
  readonly word: string;
  /** As it is written, in lower case and with its accents: what a language's rules are about. None for pairs of characters. */
  readonly spoken: string | null;
}

/** The same words, and beside each how its author wrote it. */
export function readWordsOf(text: string): ReadWord[] {
  const words: ReadWord[] = [];
  for (const [run] of text.normalize('NFKC').matchAll(RUN)) {
    for (const [part] of run.matchAll(SAME_KIND)) {
      if (UNSPACED.test(part)) for (const word of pairsOf(part)) words.push({ word, spoken: null });
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

/** Without case and accents. */
export const folded = (word: string): string =>
  word.normalize('NFKD').replace(ACCENTS, '').normalize('NFKC').toLowerCase().slice(0, LONGEST);

function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => characters[index]! + character);
}

function namesIn(name: string): ReadWord[] {
  const parts = name.match(PARTS_OF_NAMES) ?? [];
  const isName = parts.length > 1 && parts.length <= 8;
  return [name, ...(isName ? parts : [])].flatMap((part) => {
    const word = folded(part);
    return word ? [{ word, spoken: part.toLowerCase().slice(0, LONGEST) }] : [];
  });
}
