import { fail } from '../../../core/errors.ts';
import { Fields, fault } from '../../../dialects/fields.ts';
import type { JsonObject } from '../../../dialects/ir.ts';
import { FILE_SEARCH } from '../../../dialects/responses/hosted-items.ts';
import { markerOf } from '../../../relay/hosted/cited-text.ts';
import type { HostedCall, HostedCaller, HostedTool, OpenTool, Ran } from '../../../relay/hosted/hosted-tool.ts';
import { storeById, usableStore } from '../rows.ts';
import { type Filter, readFilter } from './filter.ts';
import { locatorOf } from './locating.ts';
import type { SearchResult } from './search.ts';
import type { SearchCaller } from './served-model.ts';
import {
  type FileSearchDeps,
  MALFORMED,
  MOST_QUERIES,
  NOTHING,
  OFFER,
  passage,
  queriesIn,
  USUAL_RESULTS,
  within,
} from './tool.ts';

/** `file_search` of the Responses API, over the vector stores of the caller's workspace. */
export const createHostedFileSearch = (deps: FileSearchDeps): HostedTool => ({
  open: async (tool, at, caller) => {
    const asked = await readTool(tool, at, caller, deps);
    return asked && openTool(asked, caller, deps);
  },
});

interface Asked {
  readonly storeIds: readonly string[];
  readonly most: number;
  readonly scoreThreshold: number;
  readonly filter: Filter | null;
  /** Whether a model may put the passages in order. */
  readonly isReranked: boolean;
}

const MOST_STORES = 10;
const MOST_RESULTS = 50;

/** Null: none of the stores is ours, so they are the provider's. */
async function readTool(
  tool: JsonObject,
  at: string,
  { who, isWanted }: HostedCaller,
  { store, now }: FileSearchDeps,
): Promise<Asked | null> {
  const fields = new Fields(tool, at);
  const ids = [...new Set(fields.strings('vector_store_ids') ?? [])];
  const path = fields.pathOf('vector_store_ids');
  if (ids.length === 0) fault(path, 'a list of ids of vector stores', fields.take('vector_store_ids'));
  if (ids.length > MOST_STORES) fail('invalid_request', path, `names more than ${MOST_STORES} vector stores`);
  const known = await Promise.all(ids.map((id) => storeById(store.db, who.workspaceId, id)));
  if (!isWanted && known.every((row) => row === undefined)) return null;
  for (const id of ids) await usableStore(store.db, who.workspaceId, id, now());
  const most = fields.integer('max_num_results', 1) ?? USUAL_RESULTS;
  if (most > MOST_RESULTS) fault(fields.pathOf('max_num_results'), `a whole number up to ${MOST_RESULTS}`, most);
  const ranking = fields.fields('ranking_options');
  const scoreThreshold = ranking?.number('score_threshold') ?? 0;
  if (scoreThreshold < 0 || scoreThreshold > 1)
    fault(ranking!.pathOf('score_threshold'), 'a number from 0 to 1', scoreThreshold);
  const filter = fields.take('filters');
  return {
    storeIds: ids,
    most,
    scoreThreshold,
    isReranked: ranking?.take('ranker') !== 'none',
    filter: filter === undefined ? null : readFilter(filter, fields.pathOf('filters')),
  };
}

const event = (name: string) => ({ type: `response.file_search_call.${name}` });

const openTool = (asked: Asked, caller: HostedCaller, deps: FileSearchDeps): OpenTool => ({
  functions: [
    {
      ...OFFER,
      name: FILE_SEARCH,
      item: 'file_search_call',
      isChosenBy: ({ type }) => type === FILE_SEARCH,
      begins: ({ id }) => ({
        item: { id, type: 'file_search_call', status: 'in_progress', queries: [], results: null },
        events: [event('in_progress'), event('searching')],
      }),
      runs: (call) => searched(call, asked, caller, deps),
    },
  ],
});

async function searched(call: HostedCall, asked: Asked, caller: HostedCaller, deps: FileSearchDeps): Promise<Ran> {
  const queries = queriesIn(call.arguments)?.slice(0, MOST_QUERIES) ?? null;
  const item = { id: call.id, type: 'file_search_call', status: 'completed', queries: queries ?? [] };
  if (!queries) return { item: { ...item, results: [] }, events: [event('completed')], output: MALFORMED };
  const { who, proven, signal } = caller;
  await deps.used(asked.storeIds);
  const { isReranked, ...wanted } = asked;
  const rerankFor = isReranked ? callerOf(caller) : undefined;
  const { results } = await deps.search({
    workspaceId: who.workspaceId,
    queries,
    ...wanted,
    rerankFor,
    proven,
    signal,
  });
  const kept = within(results);
  const citables = kept.map(({ fileId, filename }, index) => {
    return { marker: markerOf(call.ordinal, index), file_id: fileId, filename };
  });
  const output = kept.map((result, index) => passage(result, citables[index]!)).join('\n\n') || NOTHING;
  return { item: { ...item, results: kept.map(shownResult) }, events: [event('completed')], output, citables };
}

const callerOf = ({ who, whoNow, headers, proven, traceId, trace }: HostedCaller): SearchCaller => ({
  ...{ headers, proven, traceId, trace },
  who: whoNow ?? (async () => who),
  route: '/v1/responses',
});

const shownResult = ({ fileId, filename, score, text, attributes, locator }: SearchResult): JsonObject => ({
  file_id: fileId,
  filename,
  score,
  text,
  attributes,
  locator: locatorOf({ locator }),
});
