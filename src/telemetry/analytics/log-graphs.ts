import { sql } from 'kysely';
import type { Entries, Selection } from './entries.ts';
import { type Bucketed, drawGraph, type Graph } from './graph.ts';
import { columnsOf, HAS_FAILED, type Measure, selected } from './measures.ts';
import type { GraphQuestion, LogGraphName } from './question.ts';
import { durations, type Figures, occurrences, ratio, sumsOf, type Tally, users } from './tallies.ts';

/** What is read of the entries, and how it is taken together. */
interface Drawing<Row> {
  readonly selection: (bucketMs: number) => Selection;
  readonly tally: () => Tally<Row>;
}

// Written into the text: a number that is bound is a fraction to SQLite, and so would be what it divides.
const bucketOf = (bucketMs: number) => sql`created_at / ${sql.lit(bucketMs)} as bucket`;

const adding = <Name extends Measure>(
  measures: readonly Name[],
  shown?: (sums: Record<Name, number>) => Figures,
): Drawing<Record<Name, number>> => ({
  selection: (bucketMs) => ({
    columns: ['created_at', ...columnsOf(measures)],
    select: sql`${bucketOf(bucketMs)}, ${selected(measures)}`,
    groups: 1,
  }),
  tally: sumsOf(measures, shown),
});

const byUser = (bucketMs: number): Selection => ({
  columns: ['created_at', 'user_id'],
  select: sql`${bucketOf(bucketMs)}, user_id, count(*) as requests`,
  where: sql`user_id is not null`,
  groups: 2,
});

// biome-ignore lint/suspicious/noExplicitAny: each drawing takes in rows of its own
const DRAWINGS: Readonly<Record<LogGraphName, Drawing<any>>> = {
  requests: adding(['requests']),
  cost: adding(['requests', 'cost', 'requests_without_cost']),
  latency: {
    selection: (bucketMs) => ({
      columns: ['created_at', 'duration_ms'],
      select: sql`${bucketOf(bucketMs)}, duration_ms`,
      groups: 0,
    }),
    tally: durations,
  },
  tokens: adding(['requests', 'input_tokens', 'output_tokens', 'total_tokens', 'cached_tokens', 'reasoning_tokens']),
  users: { selection: byUser, tally: users((seen) => ({ users: seen.users })) },
  'users/requests': {
    selection: byUser,
    tally: users((seen) => ({ ...seen, requests_per_user: ratio(seen.requests, seen.users) })),
  },
  errors: adding(['errors']),
  'errors/rate': adding(['requests', 'errors'], ({ requests, errors }) => ({
    requests,
    errors,
    error_rate: ratio(errors, requests),
  })),
  'errors/status-codes': {
    selection: (bucketMs) => ({
      columns: ['created_at', 'status', 'failed_by'],
      select: sql`${bucketOf(bucketMs)}, status as value, count(*) as times`,
      where: HAS_FAILED,
      groups: 2,
    }),
    tally: occurrences({ total: 'errors', each: 'status_codes' }),
  },
};

export function drawLogGraph({ name, range }: GraphQuestion, entries: Entries, deadline: number): Promise<Graph> {
  const { selection, tally } = DRAWINGS[name];
  const rows = (slice: typeof range, bucketMs: number) => entries<Bucketed<unknown>>(selection(bucketMs), slice);
  return drawGraph({ range, tally, rows, deadline });
}
