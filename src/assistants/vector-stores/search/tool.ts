import * as z from 'zod';
import { GatewayError } from '../../../core/errors.ts';
import { schemaOf } from '../../../core/schema.ts';
import type { Db, Store } from '../../../storage/store.ts';
import type { BuiltIn, BuiltInCall, BuiltInResult } from '../../runs/built-in.ts';
import { type Citable, markerOf } from '../../runs/citations.ts';
import { failRun } from '../../runs/failures.ts';
import type { RunBody } from '../../runs/run.ts';
import type { ToolCall } from '../../runs/step.ts';
import type { Tool, ToolResources } from '../../tools.ts';
import { usableStore } from '../rows.ts';
import { whenTakenIn } from '../waiting.ts';
import { toldPlace, withPages } from './locating.ts';
import type { Search, SearchResult } from './search.ts';

export interface FileSearchDeps {
  readonly store: Store;
  readonly search: Search;
  /** Notes that stores were in use: from then on their time to live counts. */
  readonly used: (storeIds: readonly string[]) => Promise<void>;
  readonly now: () => number;
}

export const USUAL_RESULTS = 20;
/** About 16,000 tokens of text: more would crowd out the conversation. */
const MOST_CHARACTERS = 64_000;
export const MOST_QUERIES = 5;
const RANKER = 'default_2024_08_21';
/** So long a run waits for files of its thread; for those of the assistant it does not. */
const WAITS_MS = 60_000;
const LOOK_AGAIN_MS = 250;

/** Models are told one form and sometimes write another. */
const argumentsSchema = () =>
  z.union([
    z.object({ queries: z.array(z.string().trim().min(1)).min(1) }).transform(({ queries }) => queries),
    z.object({ query: z.string().trim().min(1) }).transform(({ query }) => [query]),
    z.object({ queries: z.string().trim().min(1) }).transform(({ queries }) => [queries]),
  ]);

type FileSearchTool = Extract<Tool, { type: 'file_search' }>;

/** What models are told of it. */
export const OFFER = {
  description:
    'Searches the files that were given to this conversation, by words and by meaning, and answers passages of them. ' +
    'Use it whenever the answer may be in these files. Each passage has a marker such as ' +
    `${markerOf(0, 0)}. When you use something from a passage, write its marker, exactly as it is, right behind the ` +
    'statement that comes from it. Write no marker that you were not given, and do not explain them. Behind the name of ' +
    'its file stands where a passage is: pages, headings, lines. A line such as [page 4] in it says where that page begins.',
  parameters: {
    type: 'object',
    properties: {
      queries: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        maxItems: MOST_QUERIES,
        description: 'What to look for, as a question or in key words; several wordings of it find more.',
      },
    },
    required: ['queries'],
    additionalProperties: false,
  },
};

/** Search in the files of an assistant and of its thread, as a tool of runs. */
export const createFileSearch = (deps: FileSearchDeps): BuiltIn => ({
  offer: async () => OFFER,
  carryOut: (call) => carryOut(call, deps),
});

async function carryOut(call: BuiltInCall, deps: FileSearchDeps): Promise<BuiltInResult> {
  const options = optionsOf(call.run);
  const queries = queriesIn(call.arguments);
  if (!queries) return { shown: shownCall(call, options, []), output: MALFORMED };
  const storeIds = await storesOf(call, deps);
  if (storeIds.length === 0) return { shown: shownCall(call, options, []), output: NO_FILES };
  const startedAt = deps.now();
  const asked = queries.slice(0, MOST_QUERIES);
  const { results } = await deps.search({
    workspaceId: call.workspaceId,
    storeIds,
    queries: asked,
    most: options.most,
    scoreThreshold: options.scoreThreshold,
    filter: null,
    rerankFor: call.caller,
    proven: call.proven,
    signal: call.signal,
  });
  const kept = within(results);
  const citables = kept.map(({ fileId }, index): Citable => {
    return { marker: markerOf(call.ordinal, index), file_id: fileId };
  });
  const output =
    kept.length === 0 ? NOTHING : kept.map((result, index) => passage(result, citables[index]!)).join('\n\n');
  const found = kept.map(({ fileId, score }) => ({ id: fileId, score }));
  const searched = { storeIds, queries: asked, most: options.most, found, startedAt, endedAt: deps.now() };
  return { shown: shownCall(call, options, kept), output, citables, searched };
}

interface Options {
  readonly most: number;
  readonly scoreThreshold: number;
  readonly ranker: string;
}

function optionsOf({ tools }: RunBody): Options {
  const asked = tools.find((tool): tool is FileSearchTool => tool.type === 'file_search')?.file_search;
  const ranker = asked?.ranking_options?.ranker ?? 'auto';
  return {
    most: asked?.max_num_results ?? USUAL_RESULTS,
    scoreThreshold: asked?.ranking_options?.score_threshold ?? 0,
    ranker: ranker === 'auto' ? RANKER : ranker,
  };
}

export function queriesIn(text: string): string[] | null {
  try {
    return schemaOf(argumentsSchema).safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** The assistant's store as it was when the run began, and the thread's as it is. One that is gone is passed over. */
async function storesOf(call: BuiltInCall, { store, used, now }: FileSearchDeps): Promise<string[]> {
  const ofThread = await threadStores(store.db, call.threadId);
  await untilTakenIn(store.db, ofThread, call.signal);
  await whenTakenIn(store.db, ofThread, { signal: call.signal });
  const asked = new Set([...(call.run.tool_resources.file_search?.vector_store_ids ?? []), ...ofThread]);
  const usable: string[] = [];
  for (const id of asked) {
    const row = await usableStore(store.db, call.workspaceId, id, now()).catch(passOver);
    if (row) usable.push(row.id);
  }
  if (usable.length > 0) await used(usable);
  return usable;
}

/** A store that was deleted has nothing to say; one that has expired ends the run, as it did at the vendor's. */
function passOver(error: unknown): null {
  if (!(error instanceof GatewayError)) throw error;
  if (error.code === 'object_not_found') return null;
  if (error.code === 'vector_store_expired') return failRun('server_error', error.message);
  throw error;
}

/** What was attached to a message just now is to be found by the run that follows it. */
async function untilTakenIn(db: Db, storeIds: readonly string[], signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + WAITS_MS;
  while (performance.now() < deadline && (await isTakingIn(db, storeIds))) {
    await Bun.sleep(LOOK_AGAIN_MS);
    signal.throwIfAborted();
  }
}

async function isTakingIn(db: Db, storeIds: readonly string[]): Promise<boolean> {
  if (storeIds.length === 0) return false;
  const row = await db
    .selectFrom('vector_store_files')
    .select('file_id')
    .where('store_id', 'in', storeIds)
    .where('status', '=', 'in_progress')
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}

async function threadStores(db: Db, threadId: string): Promise<readonly string[]> {
  const row = await db.selectFrom('threads').select('tool_resources').where('id', '=', threadId).executeTakeFirst();
  const resources = row ? (JSON.parse(row.tool_resources) as ToolResources) : {};
  return resources.file_search?.vector_store_ids ?? [];
}

/** As many of the best as a conversation can take; the first one always. */
export function within(results: readonly SearchResult[]): SearchResult[] {
  let characters = 0;
  return results.filter(({ text }, index) => {
    characters += text.length;
    return index === 0 || characters <= MOST_CHARACTERS;
  });
}

export const passage = (result: SearchResult, { marker }: Pick<Citable, 'marker'>): string =>
  `${marker} ${JSON.stringify(result.filename)}${toldPlace(result)}\n${withPages(result)}`;

function shownCall(
  { id }: BuiltInCall,
  { ranker, scoreThreshold }: Options,
  results: readonly SearchResult[],
): ToolCall {
  return {
    id,
    type: 'file_search',
    file_search: {
      ranking_options: { ranker, score_threshold: scoreThreshold },
      results: results.map(({ fileId, filename, score, text }) => ({
        file_id: fileId,
        file_name: filename,
        score,
        content: [{ type: 'text', text }],
      })),
    },
  };
}

export const MALFORMED =
  'The search was not carried out: give arguments of the form {"queries": ["what to look for"]}.';
const NO_FILES = 'There are no files to search: neither the assistant nor this conversation has any.';
export const NOTHING = 'Nothing in the files fits this search. Other words may find something.';
