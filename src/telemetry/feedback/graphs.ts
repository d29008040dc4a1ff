import { sql } from 'kysely';
import type { Reader } from '../../storage/reader.ts';
import type { Store } from '../../storage/store.ts';
import { type Bucketed, drawGraph, type Graph } from '../analytics/graph.ts';
import { ANSWER_WITHIN_MS, allInSlices } from '../analytics/slices.ts';
import { occurrences, ratio, sumsOf, type Tally } from '../analytics/tallies.ts';
import type { TimeRange } from '../analytics/time-range.ts';
import type { LogFilter } from '../log-query.ts';

/** Graphs that are drawn from feedback. */
export const FEEDBACK_GRAPHS = ['feedbacks', 'feedbacks/scores', 'feedbacks/weighted'] as const;
export type FeedbackGraphName = (typeof FEEDBACK_GRAPHS)[number];

/** What of a log filter can be asked of feedback, too. */
export type FeedbackFilter = Pick<LogFilter, 'organisationId' | 'workspaceId' | 'apiKeyId' | 'traceId' | 'metadata'>;

export interface FeedbackQuestion {
  readonly name: FeedbackGraphName;
  readonly filter: FeedbackFilter;
  readonly range: TimeRange;
}

/** All feedback of one value. */
interface ScoreRow {
  readonly value: number;
  readonly times: number;
  readonly weights: number;
}

const TALLIES: Readonly<Record<FeedbackGraphName, () => Tally<ScoreRow>>> = {
  feedbacks: sumsOf(['times'], ({ times }) => ({ feedbacks: times })),
  'feedbacks/scores': occurrences({ total: 'feedbacks', each: 'scores' }),
  'feedbacks/weighted': weighted,
};

function weighted(): Tally<ScoreRow> {
  const sums = sumsOf(['times', 'weights', 'scores'], ({ times, weights, scores }) => ({
    feedbacks: times,
    weighted_score: ratio(scores, weights),
  }))();
  return { ...sums, add: (row) => sums.add({ ...row, scores: row.value * row.weights }) };
}

export interface FeedbackGraphsDeps {
  readonly store: Store;
  /** On the embedded store, in a thread of its own. */
  readonly reader: Reader;
}

export function createFeedbackGraphs({ store, reader }: FeedbackGraphsDeps) {
  const rowsOf = (filter: FeedbackFilter) => (slice: TimeRange, bucketMs: number) => {
    const query = scores(store, filter, slice)
      .select(({ fn }) => [
        // Written into the text: a number that is bound is a fraction to SQLite, and so would be what it divides.
        sql<number>`created_at / ${sql.lit(bucketMs)}`.as('bucket'),
        'value',
        fn.countAll<number>().as('times'),
        fn.sum<number>('weight').as('weights'),
      ])
      .groupBy(['bucket', 'value']);
    return reader.all<Bucketed<ScoreRow>>(query);
  };
  return {
    draw: ({ name, filter, range }: FeedbackQuestion): Promise<Graph> =>
      drawGraph({
        range,
        tally: TALLIES[name],
        rows: rowsOf(filter),
        slices: allInSlices,
        deadline: performance.now() + ANSWER_WITHIN_MS,
      }),
  };
}

export type FeedbackGraphs = ReturnType<typeof createFeedbackGraphs>;

function scores({ db, engine }: Store, filter: FeedbackFilter, { from, until }: TimeRange) {
  const { organisationId, workspaceId, apiKeyId, traceId, metadata = {} } = filter;
  const workspaces = db.selectFrom('workspaces').select('id').where('organisation_id', '=', organisationId);
  let query = db
    .selectFrom('feedbacks')
    .where('created_at', '>=', from)
    .where('created_at', '<', until)
    .where('workspace_id', 'in', workspaceId === null ? workspaces : workspaces.where('id', '=', workspaceId));
  if (apiKeyId !== undefined) query = query.where('api_key_id', '=', apiKeyId);
  if (traceId !== undefined) query = query.where('trace_id', '=', traceId);
  for (const [key, value] of Object.entries(metadata))
    query = query.where(
      engine === 'postgres'
        ? sql<boolean>`metadata::json ->> ${key} = ${value}`
        : sql<boolean>`exists (select 1 from json_each(metadata) as pair where pair.key = ${key} and pair.value = ${value})`,
    );
  return query;
}
