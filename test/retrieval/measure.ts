import { extract } from '../../src/assistants/documents/extract-text.ts';
import type { client } from '../gateway.ts';
import { eventually } from '../process.ts';
import type { Corpus, CorpusDocument, Question } from './corpus.ts';
import { brokenRows, gluedNumbers, textsIn, wordsFound } from './extraction.ts';
import { FORMATS } from './formats.ts';
import { openJudge } from './judge.ts';

export type Api = Pick<ReturnType<typeof client>, 'get' | 'post'>;

export interface Stored {
  readonly storeId: string;
  /** The keys of documents by the ids of their files. */
  readonly keys: ReadonlyMap<string, string>;
  /** The chunks that were made of each. */
  readonly chunks: ReadonlyMap<string, readonly string[]>;
}

const PER_BATCH = 500;
export const PATIENCE_MS = 1_800_000;

/** Puts the documents into a store of the gateway, as a client does. */
export async function stored(api: Api, documents: readonly CorpusDocument[]): Promise<Stored> {
  const made = async (path: string, body: unknown) => {
    const reply = await api.post(path, body);
    if (reply.status !== 200) throw new Error(`${path} was answered with ${reply.status}: ${reply.text}`);
    return reply.json;
  };
  const { id: storeId } = await made('/v1/vector_stores', { name: 'corpus' });
  const keys = new Map<string, string>();
  for (const { key, filename, format, content } of documents) {
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new File([FORMATS[format].write(content) as Uint8Array<ArrayBuffer>], filename));
    keys.set((await made('/v1/files', form)).id, key);
  }
  const ids = [...keys.keys()];
  for (let at = 0; at < ids.length; at += PER_BATCH) {
    const path = `/v1/vector_stores/${storeId}/file_batches`;
    const { id } = await made(path, { file_ids: ids.slice(at, at + PER_BATCH) });
    const isDone = async () => (await api.get(`${path}/${id}`)).json.status !== 'in_progress';
    await eventually('the corpus is taken in', isDone, PATIENCE_MS);
  }
  const chunks = new Map<string, string[]>();
  for (const [id, key] of keys) {
    const { json } = await api.get(`/v1/vector_stores/${storeId}/files/${id}/content`);
    chunks.set(
      key,
      (json.data as { text: string }[]).map(({ text }) => text),
    );
  }
  return { storeId, keys, chunks };
}

export interface Found {
  /** Keys of documents, best first, each once. */
  readonly keys: readonly string[];
  /** Of the best passage; zero where there is none. */
  readonly score: number;
}

export async function found(api: Api, { storeId, keys }: Stored, query: string): Promise<Found> {
  const reply = await api.post(`/v1/vector_stores/${storeId}/search`, { query, max_num_results: 50 });
  if (reply.status !== 200) throw new Error(`a search was answered with ${reply.status}: ${reply.text}`);
  const results = reply.json.data as { file_id: string; score: number }[];
  return { keys: [...new Set(results.map(({ file_id }) => keys.get(file_id)!))], score: results[0]?.score ?? 0 };
}

export interface Quality {
  readonly questions: number;
  readonly hit1: number;
  readonly hit5: number;
  readonly mrr: number;
}

/** Of the places at which the right documents stand; 0 for one that does not, 1 for the first. */
export function qualityOf(places: readonly number[]): Quality {
  const share = (isRight: (place: number) => boolean) => places.filter(isRight).length / places.length;
  return {
    questions: places.length,
    hit1: share((place) => place === 1),
    hit5: share((place) => place >= 1 && place <= 5),
    mrr: places.reduce((sum, place) => sum + (place > 0 && place <= 10 ? 1 / place : 0), 0) / places.length,
  };
}

export interface Answered extends Question {
  readonly ours: number;
  readonly chunks: number;
  readonly files: number;
  readonly score: number;
}

/** At which place the right document stands: in ours, in BM25 over the same chunks, and in BM25 over whole files. */
export async function answered(api: Api, { documents, questions }: Corpus, store: Stored): Promise<Answered[]> {
  const pieces = documents.map(({ key, language }) => ({ key, language, texts: store.chunks.get(key) ?? [] }));
  const overChunks = await openJudge({
    texts: pieces.flatMap(({ key, language, texts }) => texts.map((text) => ({ key, language, text }))),
    questions,
  });
  const overFiles = await openJudge({
    texts: pieces.map(({ key, language, texts }) => ({ key, language, text: texts.join('\n') })),
    questions,
  });
  const all: Answered[] = [];
  for (const each of questions) {
    const { keys, score } = await found(api, store, each.question);
    const place = (list: readonly string[]) => list.indexOf(each.key) + 1;
    const chunks = place(overChunks.ask(each.question, each.language));
    const files = place(overFiles.ask(each.question, each.language));
    all.push({ ...each, ours: place(keys), chunks, files, score });
  }
  return all;
}

export interface Extraction {
  readonly format: string;
  readonly documents: number;
  readonly words: number;
  readonly found: number;
  readonly glued: number;
  readonly rows: number;
  readonly broken: number;
}

/** What is read of the documents of each format, and how much of what was written. */
export async function extractions(documents: readonly CorpusDocument[]): Promise<Extraction[]> {
  const all: Extraction[] = [];
  for (const [format, group] of Map.groupBy(documents, (each) => each.format)) {
    const sums = { documents: group.length, words: 0, found: 0, glued: 0, rows: 0, broken: 0 };
    for (const { filename, content } of group) {
      const { text } = await extract(filename, FORMATS[format].write(content));
      const written = textsIn(content, 'isTable' in FORMATS[format]);
      const { words, found: held } = wordsFound(written, text);
      sums.words += words;
      sums.found += held;
      sums.glued += format === 'eml' ? 0 : gluedNumbers([...written, '1'], text).length;
      sums.rows += content.blocks.flatMap((block) => ('rows' in block ? block.rows : [])).length;
      sums.broken += format === 'json' ? 0 : brokenRows(content, text);
    }
    all.push({ format, ...sums });
  }
  return all;
}
