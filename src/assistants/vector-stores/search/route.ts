import * as z from 'zod';
import type { Checked } from '../../../core/schema.ts';
import { NOTHING_PROVEN, type Proven } from '../../../guardrails/proof.ts';
import { GuardrailDenied } from '../../../guardrails/verdict.ts';
import { json } from '../../../http/reply.ts';
import { type Call, post, type Route } from '../../../http/route.ts';
import type { WorkProofs } from '../../../relay/work-proofs.ts';
import type { Store } from '../../../storage/store.ts';
import { provenToWorkspace } from '../../file-proofs.ts';
import { retrieval } from '../../runs/tracing.ts';
import { workspaceOf, writes } from '../../shared-route.ts';
import { usableStore } from '../rows.ts';
import { readFilter } from './filter.ts';
import { locatorOf, shownLocator } from './locating.ts';
import type { Rewrite } from './rewriting.ts';
import type { Search, SearchResult } from './search.ts';
import type { SearchCaller } from './served-model.ts';

const LONGEST_QUERY = 16_384;
const MOST_QUERIES = 16;
const query = () => z.string().min(1).max(LONGEST_QUERY);

export const searchInput = () =>
  z.strictObject({
    query: z.union([query(), z.array(query()).min(1).max(MOST_QUERIES)]),
    rewrite_query: z.boolean().default(false),
    max_num_results: z.int().min(1).max(50).default(10),
    filters: z.unknown().optional().describe('A comparison with an attribute, or several joined by `and` and `or`.'),
    ranking_options: z
      .strictObject({
        ranker: z.enum(['none', 'auto', 'default-2024-11-15']).default('auto'),
        score_threshold: z.number().min(0).max(1).default(0),
      })
      .prefault({}),
  });

export const searchPage = () =>
  z
    .object({
      object: z.literal('vector_store.search_results.page'),
      search_query: z.array(z.string()),
      data: z.array(
        z.object({
          file_id: z.string(),
          filename: z.string(),
          score: z.number().min(0).max(1),
          attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).nullable(),
          content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
          locator: shownLocator().nullable(),
        }),
      ),
      has_more: z.boolean(),
      next_page: z.string().nullable(),
    })
    .meta({ id: 'VectorStoreSearchResults' });

export interface SearchRouteParts {
  readonly store: Store;
  readonly search: Search;
  /** Null: queries are searched for as they are. */
  readonly rewrite: Rewrite | null;
  readonly proofs: Pick<WorkProofs, 'prove'>;
  /** Notes that a store was in use: from then on its time to live counts. */
  readonly used: (storeIds: readonly string[]) => Promise<void>;
}

/** What was asked for, in the words of a model where it is wanted and can be had. */
async function rewritten(
  queries: readonly string[],
  caller: SearchCaller,
  signal: AbortSignal,
  rewrite: Rewrite | null,
) {
  const served = rewrite ? await rewrite({ caller, queries, signal }) : ({ kind: 'off' } as const);
  return served.kind === 'answered' ? { by: 'model', queries: served.answer } : { by: served.kind, queries };
}

/**
 * Searching a vector store. Headers say how it was done: by words and meaning or by words alone, by whose ranking, and whether a
 * model has rewritten the query.
 */
export const searchRoute = ({ store, search, rewrite, proofs, used }: SearchRouteParts): Route =>
  post(
    '/v1/vector_stores/:vector_store_id/search',
    {
      ...writes,
      scopes: ['assistants.read'],
      summary: 'Search a vector store',
      body: searchInput,
      response: searchPage,
    },
    async (call) => {
      const { body, params, request } = call;
      const workspaceId = workspaceOf(call);
      const filter = body.filters === undefined || body.filters === null ? null : readFilter(body.filters);
      const { id } = await usableStore(store.db, workspaceId, params.vector_store_id, call.now);
      const asked = typeof body.query === 'string' ? [body.query] : body.query;
      await used([id]);
      const begun = performance.now();
      const caller = callerOf(call);
      const { by, queries } = body.rewrite_query
        ? await rewritten(asked, caller, request.signal, rewrite)
        : { by: null, queries: asked };
      const { mode, ranker, results } = await search({
        workspaceId,
        storeIds: [id],
        queries,
        most: body.max_num_results,
        scoreThreshold: body.ranking_options.score_threshold,
        filter,
        rerankFor: body.ranking_options.ranker === 'none' ? undefined : caller,
        proven: await provenBy(call, proofs),
        signal: request.signal,
      });
      const found = results.map(({ fileId, score }) => ({ id: fileId, score }));
      const most = body.max_num_results;
      const times = { startedAt: call.now, endedAt: call.now + performance.now() - begun };
      call.log.didStep(retrieval({ storeIds: [id], queries, most, found, ...times }));
      const page: Checked<typeof searchPage> = {
        object: 'vector_store.search_results.page',
        search_query: [...queries],
        data: results.map(shown),
        has_more: false,
        next_page: null,
      };
      const response = json(page);
      response.headers.set('x-gateway-search', mode);
      response.headers.set('x-gateway-ranker', ranker);
      if (by !== null) response.headers.set('x-gateway-query-rewrite', by);
      return response;
    },
  );

const callerOf = ({ principal, headers, log }: Call): SearchCaller => ({
  who: async () => principal,
  headers,
  trace: log.callTrace(),
  route: '/v1/vector_stores/:vector_store_id/search',
});

async function provenBy(call: Call, proofs: SearchRouteParts['proofs']): Promise<Proven> {
  try {
    return { kept: await provenToWorkspace(call, proofs) };
  } catch (error) {
    // Then the call of the model is denied, and words are searched without it.
    if (error instanceof GuardrailDenied) return NOTHING_PROVEN;
    throw error;
  }
}

const shown = ({ fileId, filename, score, attributes, text, locator }: SearchResult) => ({
  file_id: fileId,
  filename,
  score,
  attributes: { ...attributes },
  content: [{ type: 'text' as const, text }],
  locator: locatorOf({ locator }),
});
