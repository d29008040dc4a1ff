import { Client } from 'pg';
import { createDatabase } from '../postgres.ts';

/**
 * What search is held against: plain BM25 with the Snowball stemmers and stop words that PostgreSQL brings along, told in which
 * language each text and each question is. It shares no line with the gateway's own search.
 */
export interface Judge {
  /** Keys of the documents that a question is answered by, best first. */
  ask(question: string, language: string): readonly string[];
}

export interface JudgedText {
  readonly key: string;
  readonly language: string;
  readonly text: string;
}

/** PostgreSQL's dictionaries; a language without one keeps its words as they are. */
const DICTIONARIES: Readonly<Record<string, string>> = {
  eng: 'english_stem',
  deu: 'german_stem',
  fra: 'french_stem',
  spa: 'spanish_stem',
  ita: 'italian_stem',
  por: 'portuguese_stem',
  nld: 'dutch_stem',
  swe: 'swedish_stem',
  dan: 'danish_stem',
  rus: 'russian_stem',
  tur: 'turkish_stem',
  fin: 'finnish_stem',
  ell: 'greek_stem',
  arb: 'arabic_stem',
};

const [K1, B] = [1.2, 0.75];
const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}ー]+/gu;

/** Words, and pairs of characters where there are no spaces. */
function plainWords(text: string): string[] {
  const words: string[] = [];
  for (const [run] of text
    .normalize('NFKC')
    .toLowerCase()
    .matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    words.push(...run.replace(UNSPACED, ' ').split(' ').filter(Boolean));
    for (const [part] of run.matchAll(UNSPACED)) {
      const characters = [...part];
      if (characters.length === 1) words.push(part);
      for (let at = 1; at < characters.length; at++) words.push(characters[at - 1]! + characters[at]!);
    }
  }
  return words;
}

type Stems = (language: string, words: readonly string[]) => string[];

/** The stems of all words that will be asked for; a stop word has none. */
async function loadStems(texts: readonly { readonly language: string; readonly text: string }[]): Promise<Stems> {
  const client = new Client({ connectionString: await createDatabase() });
  await client.connect();
  const known = new Map<string, Map<string, string[]>>();
  for (const [language, group] of Map.groupBy(texts, (each) => each.language)) {
    const dictionary = DICTIONARIES[language];
    const stems = new Map<string, string[]>();
    known.set(language, stems);
    if (!dictionary) continue;
    const words = [...new Set(group.flatMap(({ text }) => plainWords(text)))];
    const { rows } = await client.query<{ word: string; stems: string[] | null }>(
      'select word, ts_lexize($1, word) as stems from unnest($2::text[]) as word',
      [dictionary, words],
    );
    for (const { word, stems: found } of rows) stems.set(word, found ?? [word]);
  }
  await client.end();
  return (language, words) => words.flatMap((word) => known.get(language)?.get(word) ?? [word]);
}

export interface Judged {
  /** Of pieces; a document is as good as its best one. */
  readonly texts: readonly JudgedText[];
  readonly questions: readonly { readonly question: string; readonly language: string }[];
}

export async function openJudge({ texts, questions }: Judged): Promise<Judge> {
  const asked = questions.map(({ question, language }) => ({ text: question, language }));
  const stems = await loadStems([...texts, ...asked]);
  const pieces = texts.map(({ key, language, text }) => {
    const counts = new Map<string, number>();
    const words = stems(language, plainWords(text));
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { key, counts, length: words.length };
  });
  const usual = pieces.reduce((sum, { length }) => sum + length, 0) / pieces.length;
  const holding = new Map<string, number>();
  for (const { counts } of pieces) for (const word of counts.keys()) holding.set(word, (holding.get(word) ?? 0) + 1);

  return {
    ask: (question, language) => {
      const words = new Set(stems(language, plainWords(question)));
      const best = new Map<string, number>();
      for (const { key, counts, length } of pieces) {
        let score = 0;
        for (const word of words) {
          const times = counts.get(word) ?? 0;
          if (times === 0) continue;
          const held = holding.get(word)!;
          const rarity = Math.log(1 + (pieces.length - held + 0.5) / (held + 0.5));
          score += (rarity * times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / usual));
        }
        if (score > (best.get(key) ?? 0)) best.set(key, score);
      }
      return [...best].sort(([, one], [, other]) => other - one).map(([key]) => key);
    },
  };
}
