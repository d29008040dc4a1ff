import type { eld } from 'eld/medium';
import { scriptsIn } from './scripts.ts';

/** Languages that are alone in their script, as far as they are told apart, and known by it. */
const BY_SCRIPT: Readonly<Record<string, string>> = {
  Kana: 'ja',
  Han: 'zh',
  Hangul: 'ko',
  Greek: 'el',
  Hebrew: 'he',
  Armenian: 'hy',
  Bengali: 'bn',
  Gurmukhi: 'pa',
  Gujarati: 'gu',
  Oriya: 'or',
  Tamil: 'ta',
  Telugu: 'te',
  Kannada: 'kn',
  Malayalam: 'ml',
  Sinhala: 'si',
  Thai: 'th',
  Lao: 'lo',
  Burmese: 'my',
  Georgian: 'ka',
  Ethiopic: 'am',
  Khmer: 'km',
};

/** Languages that share their script with others; `eld` tells them apart. */
const SHARING: Readonly<Record<string, readonly string[]>> = {
  Latin: 'az ca cs da de en es et eu fi fr hr hu id is it lt lv nl no pl pt ro sk sl sq sv tl tr vi yo'.split(' '),
  Cyrillic: ['be', 'bg', 'ru', 'sr', 'uk'],
  Arabic: ['ar', 'fa', 'ku', 'ur'],
  Devanagari: ['hi', 'mr'],
};

/** Malay and Indonesian are too close to tell apart in a few words: both are found as `id`. */
const SAME: Readonly<Record<string, string>> = { ms: 'id' };

export const LANGUAGES: readonly string[] = [
  ...Object.values(BY_SCRIPT),
  ...Object.values(SHARING).flat(),
  ...Object.keys(SAME),
].sort();

/** The name under which a language is found. */
export const foundAs = (language: string): string => SAME[language] ?? language;

export interface DetectedLanguage {
  /** ISO 639-1; null where the text says too little to tell. */
  readonly language: string | null;
  /** The languages it could be, by its script; none where it has no letters. */
  readonly possible: readonly string[];
}

/** Says which language most of a text is in. */
export type DetectLanguage = (text: string) => DetectedLanguage;

let loaded: Promise<DetectLanguage> | null = null;

/** Loads the figures of all languages, tens of megabytes in memory, when they are first asked for. */
export const loadLanguages = (): Promise<DetectLanguage> =>
  (loaded ??= import('eld/medium').then(({ eld: detector }) => detectorWith(detector)));

const DENSE = new Set(['Han', 'Kana', 'Hangul']);

const detectorWith =
  (detector: typeof eld): DetectLanguage =>
  (text) => {
    const main = mainScript(text);
    if (main === null) return { language: null, possible: [] };
    const alone = BY_SCRIPT[main];
    if (alone !== undefined) return { language: alone, possible: [alone] };
    const possible = SHARING[main]!;
    return { language: mostOf(text, main, detector), possible };
  };

function mainScript(text: string): string | null {
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
  return weighed.toSorted(([, one], [, other]) => other - one)[0]?.[0] ?? null;
}

/** By how much the best must be ahead of the next. */
const LEAD = 1.2;

/**
 * The detector reads only the beginning of a text, so the text is judged piece by piece, and what most of it is in
 * decides: a beginning in one language does not hide what follows.
 */
function mostOf(text: string, script: string, detector: typeof eld): string | null {
  const letters = new Map<string, number>();
  for (const piece of piecesOf(wordsIn(text, script))) {
    const found = detector.detect(piece);
    if (!found.isReliable()) continue;
    const language = foundAs(found.language);
    letters.set(language, (letters.get(language) ?? 0) + piece.length);
  }
  const [best, next] = [...letters].toSorted(([, one], [, other]) => other - one);
  if (!best || !SHARING[script]!.includes(best[0])) return null;
  return !next || best[1] >= next[1] * LEAD ? best[0] : null;
}

const OTHERS: Readonly<Record<string, RegExp>> = {
  Latin: /[^\p{Script=Latin}'’]+/gu,
  Cyrillic: /[^\p{Script=Cyrillic}'’]+/gu,
  Arabic: /[^\p{Script=Arabic}]+/gu,
  Devanagari: /[^\p{Script=Devanagari}]+/gu,
};

/** Without what is in another script: numbers, marks, and words that belong to another language anyway. */
const wordsIn = (text: string, script: string): string => text.normalize('NFC').replace(OTHERS[script]!, ' ').trim();

/** The detector leaves off at the first space after 350 bytes. */
const PIECE_BYTES = 340;

/** Pieces of about equal length, cut between words, that the detector reads whole. */
function* piecesOf(words: string): Generator<string> {
  const size = Buffer.byteLength(words);
  const most = Math.ceil(size / Math.ceil(size / PIECE_BYTES));
  let [start, space, bytes] = [0, 0, 0];
  for (let index = 0; index < words.length; index++) {
    const code = words.charCodeAt(index);
    if (code === 32) space = index;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    if (bytes <= most) continue;
    const end = space > start ? space : index;
    yield words.slice(start, end);
    start = end;
    bytes = Buffer.byteLength(words.slice(start, index + 1));
  }
  if (start < words.length) yield words.slice(start);
}
