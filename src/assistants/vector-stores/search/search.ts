import { GatewayError } from '../../../core/errors.ts';
import type { Health } from '../../../core/health.ts';
import type { WorkspaceId } from '../../../core/ids.ts';
import type { Proven } from '../../../guardrails/proof.ts';
import type { Store } from '../../../storage/store.ts';
import type { Locator } from '../../documents/locators.ts';
import type { Attributes } from '../chunk-index.ts';
import type { ChunkStore } from './chunk-store.ts';
import { type EmbeddingModel, type Embeddings, EmbeddingsFailed } from './embeddings.ts';
import type { Filter } from './filter.ts';
import { best, fused, meaningOf, type Scale, USUAL_SCALE } from './fusion.ts';
import { OWN_MODEL, OWN_SCALE } from './own/own-model.ts';
import { MOST_RANKED, type Rerank } from './reranking.ts';
import type { SearchCaller } from './served-model.ts';
import type { NearPlace, Place } from './thread/requests.ts';

export interface SearchDeps {
  readonly store: Store;
  readonly chunks: ChunkStore;
  readonly embeddings: Embeddings;
  /** Null: no model puts passages in order. */
  readonly rerank: Rerank | null;
  readonly health: Pick<Health, 'degraded' | 'well'>;
}

/** Of stores that are there and the workspace's. */
export interface SearchRequest {
  readonly workspaceId: WorkspaceId;
  readonly storeIds: readonly string[];
  /** In several wordings, if need be: a chunk that answers one of them is found. */
  readonly queries: readonly string[];
  readonly most: number;
  readonly scoreThreshold: number;
  readonly filter: Filter | null;
  /** Left out: no model of the caller's is asked to put the passages in order. */
  readonly rerankFor?: SearchCaller;
  /** What the searching caller has proven to guardrails, which judge the call of the embedding model. */
  readonly proven?: Proven;
  readonly signal: AbortSignal;
}

export interface SearchResult {
  readonly fileId: string;
  readonly filename: string;
  readonly attributes: Attributes;
  /** From 0 to 1: how much of what was asked for the passage has, by its words and its meaning, or by the model that ranks. */
  readonly score: number;
  readonly text: string;
  /** Where in the file it is; null: that is not known. */
  readonly locator: Locator | null;
}

export interface SearchAnswer {
  /** Whether meaning was looked at, or words alone. */
  readonly mode: 'hybrid' | 'full-text';
  /** By what passages are in this order; `failed`: by our own ranking, because the model that should have ranked them did not. */
  readonly ranker: 'own' | 'model' | 'failed';
  readonly results: readonly SearchResult[];
}

export type Search = (request: SearchRequest) => Promise<SearchAnswer>;

/** So deep are lists looked at that are put together. */
const LIST = 100;

const NO_EMBEDDINGS = 'The embedding model cannot be reached: files are searched by their words alone.';
const TOO_MANY =
  'A vector store holds more vectors than can be scanned: it is searched by words alone. PostgreSQL with pgvector has no such limit.';

/** What one model finds: a list for each query. */
interface Meant {
  readonly lists: readonly (readonly NearPlace[])[];
  readonly scale: Scale;
}

const keyOf = ({ source, number }: Place): string => `${source} ${number}`;

function placeOf(key: string): Place {
  const [source, number] = key.split(' ') as [string, string];
  return { source, number: Number(number) };
}

/** Finds chunks by their words and, where there are vectors, by their meaning, and puts both together. */
export function createSearch({ store, chunks, embeddings, rerank, health }: SearchDeps): Search {
  const { db } = store;

  return async (request) => {
    const { storeIds, queries, most, scoreThreshold, filter } = request;
    const scope = { storeIds, filter };
    // Words are looked up while the model thinks about the meaning.
    const [byMeaning, byWords] = await Promise.all([
      meaningLists(request),
      Promise.all(queries.map((query) => chunks.byWords(scope, query, LIST))),
    ]);
    const scores = byWords.map((words, index) =>
      fused([
        words.map((place) => [keyOf(place), place.score] as const),
        ...byMeaning.map(({ lists, scale }) =>
          lists[index]!.map((place) => [keyOf(place), meaningOf(place.similarity, scale)] as const),
        ),
      ]),
    );
    const mode = byMeaning.length > 0 ? 'hybrid' : 'full-text';
    const found = best(scores).filter(([, score]) => score > 0);
    const byModel = await reranked(request, found.slice(0, MOST_RANKED));
    if (Array.isArray(byModel))
      return { mode, ranker: 'model', results: byModel.filter(({ score }) => score >= scoreThreshold).slice(0, most) };
    const kept = found.filter(([, score]) => score >= scoreThreshold).slice(0, most);
    return { mode, ranker: byModel, results: await shown(kept) };
  };

  /** The passages in the order of the model that ranks, with its scores; else who has ranked them instead. */
  async function reranked(
    { queries, rerankFor: caller, signal }: SearchRequest,
    found: readonly [key: string, score: number][],
  ): Promise<SearchResult[] | 'own' | 'failed'> {
    if (!rerank || !caller || found.length === 0) return 'own';
    const passages = await shown(found);
    const served = await rerank({ caller, queries, texts: passages.map(({ text }) => text), signal });
    if (served.kind !== 'answered') return served.kind === 'off' ? 'own' : 'failed';
    return served.answer.map(({ index, score }) => ({ ...passages[index]!, score }));
  }

  /** For each model that a store was made with, a list for each query. None for a model that does not answer. */
  async function meaningLists(request: SearchRequest): Promise<Meant[]> {
    const all: Meant[] = [];
    if (!(await hasEmbeddings(request.workspaceId))) return all;
    for (const { model, storeIds } of await modelsOf(request.storeIds)) {
      const lists = await listsOf(request, model, storeIds);
      if (lists) all.push({ lists, scale: model.name === OWN_MODEL ? OWN_SCALE : USUAL_SCALE });
    }
    return all;
  }

  async function hasEmbeddings(workspaceId: WorkspaceId): Promise<boolean> {
    try {
      return (await embeddings.modelFor(workspaceId)) !== null;
    } catch (error) {
      // A virtual key that has expired, for one.
      if (!(error instanceof GatewayError) || error.status >= 500) throw error;
      health.degraded('search', NO_EMBEDDINGS);
      return false;
    }
  }

  async function listsOf(
    { workspaceId, queries, filter, proven, signal }: SearchRequest,
    model: EmbeddingModel,
    storeIds: readonly string[],
  ): Promise<(readonly NearPlace[])[] | null> {
    chunks.expectVector({ storeIds, filter });
    const vectors = await embedded({ workspaceId, model, texts: queries, isWaitedFor: true, proven, signal });
    if (!vectors) return null;
    const lists: (readonly NearPlace[])[] = [];
    for (const vector of vectors) {
      const list = vector ? await chunks.byVector({ storeIds, filter }, vector, LIST) : [];
      if (!list) {
        health.degraded('search', TOO_MANY);
        return null;
      }
      lists.push(list);
    }
    health.well('search');
    return lists;
  }

  async function embedded(request: Parameters<Embeddings['embed']>[0]) {
    try {
      return await embeddings.embed(request);
    } catch (error) {
      if (!(error instanceof EmbeddingsFailed) || request.signal.aborted) throw error;
      health.degraded('search', NO_EMBEDDINGS);
      return null;
    }
  }

  async function modelsOf(storeIds: readonly string[]) {
    const rows = await db
      .selectFrom('indexed_stores')
      .selectAll()
      .where('store_id', 'in', [...storeIds])
      .execute();
    const groups = Map.groupBy(rows, ({ model, dimensions }) => JSON.stringify([model, dimensions]));
    return [...groups.values()].map((group) => ({
      model: { name: group[0]!.model, dimensions: group[0]!.dimensions },
      storeIds: group.map(({ store_id }) => store_id),
    }));
  }

  async function shown(found: readonly [key: string, score: number][]): Promise<SearchResult[]> {
    if (found.length === 0) return [];
    const places = found.map(([key]) => placeOf(key));
    const files = db
      .selectFrom('indexed_files as indexed')
      .innerJoin('vector_store_files as file', (join) =>
        join.onRef('file.store_id', '=', 'indexed.store_id').onRef('file.file_id', '=', 'indexed.file_id'),
      )
      .innerJoin('files', 'files.id', 'indexed.file_id')
      .select(['indexed.id', 'indexed.file_id', 'files.filename', 'file.attributes'])
      .where('indexed.id', 'in', [...new Set(places.map(({ source }) => source))]);
    const [texts, shownFiles] = await Promise.all([chunks.read(places), files.execute()]);
    const read = new Map(texts.map((chunk) => [keyOf(chunk), chunk]));
    const bySource = new Map(shownFiles.map((file) => [file.id, file]));
    return found.flatMap(([key, score]) => {
      const file = bySource.get(placeOf(key).source);
      const chunk = read.get(key);
      if (!file || !chunk) return [];
      const attributes = JSON.parse(file.attributes) as Attributes;
      const locator = chunk.locator === null ? null : (JSON.parse(chunk.locator) as Locator);
      return [{ fileId: file.file_id, filename: file.filename, attributes, score, text: chunk.text, locator }];
    });
  }
}
