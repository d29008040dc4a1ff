import { sql } from 'kysely';
import { SUMS } from '../aggregates/amount.ts';
import type { Entries, Selection } from './entries.ts';
import { everything } from './everything.ts';
import { type Counted, HISTOGRAMS, type Figures as Kept, type Looked } from './figures.ts';
import { drawGraph, type Graph } from './graph.ts';
import { bucketOf, countedIn, type LoggedRow, loggedBy } from './logged.ts';
import { columnsOf, HAS_FAILED, type Measure, measured, sumsIn, sumsInLog } from './measures.ts';
import type { GraphQuestion, LogGraphName } from './question.ts';
import type { Slices } from './slices.ts';
import { durations, type Figures, occurrences, ratio, sumsOf, type Tally } from './tallies.ts';
import { type LoggedTime, MINUTE_MS } from './time-range.ts';
import { drawUsers, isUserGraph, type UserGraphName } from './user-graphs.ts';

export interface Sources {
  readonly entries: Entries;
  readonly figures: Kept;
  readonly slices: Slices;
}

/** What is read of the entries, and how it is taken together. */
interface Drawing<Row> {
  readonly selection: (bucketMs: number) => Selection;
  readonly tally: () => Tally<Row>;
  /** The same of what was counted when entries were logged: what is asked, and rows of the answer. */
  readonly counted: Pick<Looked, 'by' | 'sums' | 'histograms'>;
  readonly taken: (row: Counted) => Row | null;
  /** What a row of the log is; left out: what is taken in. */
  readonly read?: (row: LoggedRow) => Row;
}

const adding = <Name extends Measure>(
  measures: readonly Name[],
  shown?: (sums: Record<Name, number>) => Figures,
): Drawing<Record<Name, number>> => ({
  selection: (bucketMs) => ({
    columns: ['created_at', ...columnsOf(measures)],
    names: [bucketOf(bucketMs)],
    sums: sumsInLog(measures),
  }),
  tally: sumsOf(measures, shown),
  counted: { by: null, sums: sumsIn(measures) },
  taken: (row) => measured(measures, row),
});

/** What the log has is added up as cells are. */
const counting = <Row>(
  { sums, histograms }: Required<Pick<Looked, 'sums' | 'histograms'>>,
  taken: (row: Counted) => Row,
) => ({
  selection: (bucketMs: number) => loggedBy({ by: [], sums, histograms, bucketMs }),
  counted: { by: null, sums, histograms },
  taken,
  read: (row: LoggedRow) => taken(countedIn(row, histograms)),
});

// biome-ignore lint/suspicious/noExplicitAny: each drawing takes in rows of its own
const DRAWINGS: Readonly<Record<Exclude<LogGraphName, UserGraphName>, Drawing<any>>> = {
  all: {
    ...counting({ sums: SUMS, histograms: HISTOGRAMS }, (row) => row),
    tally: everything,
  },
  requests: adding(['requests']),
  cost: adding(['requests', 'cost', 'requests_without_cost']),
  latency: {
    ...counting({ sums: ['calls', 'duration'], histograms: ['durations'] }, (row) => row),
    tally: durations,
  },
  'first-byte': {
    ...counting({ sums: ['first_bytes', 'first_byte'], histograms: ['firstBytes'] }, (row) => ({
      calls: row.first_bytes,
      duration: row.first_byte,
      durations: row.firstBytes,
    })),
    tally: durations,
  },
  tokens: adding(['requests', 'input_tokens', 'output_tokens', 'total_tokens', 'cached_tokens', 'reasoning_tokens']),
  bytes: adding(['requests', 'request_bytes', 'response_bytes']),
  errors: adding(['errors']),
  'errors/rate': adding(['requests', 'errors'], ({ requests, errors }) => ({
    requests,
    errors,
    error_rate: ratio(errors, requests),
  })),
  'errors/origins': adding(['errors', 'client_errors', 'gateway_errors', 'provider_errors']),
  'errors/status-codes': {
    selection: (bucketMs) => ({
      columns: ['created_at', 'status', 'failed_by'],
      names: [bucketOf(bucketMs), sql`status as value`],
      sums: { times: sql`count(*)` },
      where: HAS_FAILED,
    }),
    tally: occurrences({ total: 'errors', each: 'status_codes' }),
    counted: { by: 'status', sums: ['errors'] },
    taken: ({ name, errors }) => (errors === 0 ? null : { value: Number(name), times: errors }),
  },
};

export async function drawLogGraph(question: GraphQuestion, sources: Sources, deadline: number): Promise<Graph> {
  const { name, filter, range: asked, bucketMs: wishedMs } = question;
  const { entries, figures, slices } = sources;
  if (isUserGraph(name)) return drawUsers(name, question, sources, deadline);
  const { selection, tally, counted, taken, read } = DRAWINGS[name];
  const found = await figures.find(
    { filter, range: asked, isOverTime: true, bucketMs: wishedMs, ...counted },
    deadline,
  );
  const { range, shortestMs, log: asks } = found;
  const known: [row: unknown, bucket: number][] = [];
  for (const row of found.rows) {
    const each = taken(row);
    if (each !== null) known.push([each, row.bucket]);
  }
  const rows = async (slice: LoggedTime, bucketMs: number) => {
    const logged = await entries<LoggedRow>(selection(bucketMs), slice, found.workspaces);
    return read ? logged.map((row) => ({ ...read(row), bucket: row.bucket })) : logged;
  };
  const lengths = { shortestMs: Math.max(shortestMs, MINUTE_MS), wishedMs };
  return drawGraph({ range, ...lengths, tally, rows, known, asks, slices, deadline });
}
