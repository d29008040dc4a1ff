import { BY_SCRIPT, PROFILES } from './language-profiles.ts';
import { scriptsIn } from './scripts.ts';

export const LANGUAGES = [...Object.keys(PROFILES), ...Object.values(BY_SCRIPT)].sort();

export interface DetectedLanguage {
  /** ISO 639-1; null where the text says too little to tell. */
  readonly language: string | null;
  /** The languages it could be, by its script; none where it has no letters. */
  readonly possible: readonly string[];
}

/** Which languages use a word or a letter; what many use says little. */
const WORDS = new Map<string, string[]>();
const LETTERS = new Map<string, string[]>();
for (const [language, { words, letters = '' }] of Object.entries(PROFILES)) {
  for (const word of new Set(words.split(' '))) WORDS.set(word, [...(WORDS.get(word) ?? []), language]);
  for (const letter of letters) LETTERS.set(letter, [...(LETTERS.get(letter) ?? []), language]);
}

const LETTER_WEIGHT = 0.3;
/** One word of one language alone, or some that are shared. */
const LEAST_SCORE = 0.9;
/** By how much the best must be ahead of the next. */
const LEAD = 1.2;

const inScript = (script: string): string[] =>
  Object.keys(PROFILES).filter((language) => PROFILES[language]!.script === script);

/** The language that most of a text is in, by its script, its most frequent words and its rare letters. */
export function detectLanguage(text: string): DetectedLanguage {
  const scripts = scriptsIn(text);
  // Japanese is written with Chinese characters between its own.
  const kana = scripts.get('Kana') ?? 0;
  const han = scripts.get('Han') ?? 0;
  const counts = [...scripts].map(([script, count]): [string, number] => [
    script,
    script === 'Kana' ? kana + han : script === 'Han' && kana * 10 > han ? 0 : count,
  ]);
  // A word of Chinese says as much in two characters as one of Latin letters in six.
  const weighed = counts.map(([script, count]): [string, number] => [script, DENSE.has(script) ? count * 3 : count]);
  const [main] = weighed.toSorted(([, one], [, other]) => other - one)[0] ?? [];
  if (main === undefined) return { language: null, possible: [] };
  const alone = BY_SCRIPT[main];
  if (alone !== undefined) return { language: alone, possible: [alone] };
  const possible = inScript(main);
  return { language: bestOf(text, new Set(possible)), possible };
}

const DENSE = new Set(['Han', 'Kana', 'Hangul']);
const RARE = /[^\0-\x7f]/gu;
const WORD = /[\p{L}\p{M}][\p{L}\p{M}'’]*/gu;

function bestOf(text: string, possible: ReadonlySet<string>): string | null {
  const scores = new Map<string, number>();
  const add = (languages: readonly string[] | undefined, weight: number) => {
    if (!languages) return;
    for (const language of languages)
      if (possible.has(language)) scores.set(language, (scores.get(language) ?? 0) + weight / languages.length);
  };
  const lower = text.toLowerCase();
  for (const [word] of lower.matchAll(WORD)) add(WORDS.get(word.replace('’', "'")), 1);
  for (const [letter] of lower.matchAll(RARE)) add(LETTERS.get(letter), LETTER_WEIGHT);
  const [best, next] = [...scores].toSorted(([, one], [, other]) => other - one);
  if (!best || best[1] < LEAST_SCORE) return null;
  return !next || best[1] >= next[1] * LEAD ? best[0] : null;
}
