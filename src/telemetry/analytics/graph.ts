import type { Slices } from './slices.ts';
import type { Figures, Tally } from './tallies.ts';
import { type BucketRule, bucketsOf, type LoggedTime, type TimeRange } from './time-range.ts';

export interface Graph {
  readonly object: 'analytics-graph';
  readonly bucket_seconds: number;
  readonly summary: Figures;
  /** One for every bucket, also where nothing happened: its `timestamp`, and figures as in the summary. */
  readonly data_points: readonly Readonly<Record<string, string | Figures[string]>>[];
}

/** A row says to which bucket it belongs, counted from the epoch. */
export type Bucketed<Row> = Row & { readonly bucket: number };

export interface GraphSource<Row> extends BucketRule {
  readonly range: TimeRange;
  /** Of a bucket; null: of all of the time. */
  readonly tally: (bucket: number | null) => Tally<Row>;
  /** The rows of a slice. A bucket may come in several rows and in several slices. */
  readonly rows: (slice: LoggedTime, bucketMs: number) => Promise<readonly Bucketed<Row>[]>;
  /** What is known without asking for rows: these and their buckets, one after the other. */
  readonly known?: Iterable<readonly [row: Row, bucket: number]>;
  /** For which time rows are asked for, when that is not the whole range. */
  readonly asks?: readonly LoggedTime[];
  readonly slices: Slices;
  readonly deadline: number;
}

export async function drawGraph<Row>(source: GraphSource<Row>): Promise<Graph> {
  const { range, tally, rows, known = [], asks = [range], slices, deadline } = source;
  const { ms, first, count } = bucketsOf(range, source);
  const summary = tally(null);
  const points = Array.from({ length: count }, (_, at) => tally(first + at));
  const add = (row: Row, bucket: number) => {
    summary.add(row);
    points[bucket - first]!.add(row);
  };
  for (const [row, bucket] of known) add(row, bucket);
  const addSlice = async (slice: LoggedTime) => {
    for (const row of await rows(slice, ms)) add(row, row.bucket);
  };
  await slices(asks, addSlice, deadline);
  return {
    object: 'analytics-graph',
    bucket_seconds: ms / 1_000,
    summary: summary.figures(),
    data_points: points.map((point, index) => ({
      timestamp: new Date((first + index) * ms).toISOString(),
      ...point.figures(),
    })),
  };
}
