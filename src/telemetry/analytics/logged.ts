import { sql } from 'kysely';
import { NANO_DOLLARS } from '../../core/money.ts';
import type { Sum } from '../aggregates/amount.ts';
import { cacheStatusOf, endpointOf, type Value, verdictOf } from '../aggregates/fact.ts';
import { type Histogram, bucketOf as histogramBucketOf, Spectrum } from '../aggregates/histogram.ts';
import type { LogRow } from '../log-columns.ts';
import { labelsOf } from '../log-labels.ts';
import { LESS, type Selection } from './entries.ts';
import type { Counted, HistogramName } from './figures.ts';
import type { By } from './kinds.ts';
import { type InLog, inWhole, MEASURES, MICROS, whole } from './measures.ts';

interface Naming {
  readonly column: keyof LogRow;
  readonly nameOf: (value: Value) => Value;
}

/** Where the log has what entries are told apart by, and what is made of that. */
export function inLog(by: By): Naming {
  if (typeof by !== 'string') return { column: 'metadata', nameOf: valueUnder(by.metadata) };
  if (by === 'endpoint') return { column: 'path', nameOf: (path) => endpointOf(String(path)) };
  if (by === 'verdict') return { column: 'hook_results', nameOf: (results) => verdictOf(results as string | null) };
  if (by === 'cache_status') return { column: 'attempts', nameOf: (tried) => cacheStatusOf(tried as string | null) };
  if (by === 'is_stream') return { column: by, nameOf: Number };
  return { column: by, nameOf: (name) => name };
}

/** Metadata come as they are stored: PostgreSQL cannot look into all that clients may have written there. */
const valueUnder = (key: string) => (metadata: Value) =>
  labelsOf({ metadata: metadata as string | null }).find(([name]) => name === key)?.[1] ?? null;

/** What entries of one name, and of one bucket, amount to: the sums that were wished for, and the values of histograms as text. */
export type LoggedRow = Readonly<Record<Sum, number>> &
  Readonly<Record<HistogramName, string | null>> & { readonly bucket: number } & Readonly<Record<string, unknown>>;

export interface LoggedWish {
  readonly by: readonly By[];
  readonly sums: readonly Sum[];
  readonly histograms: readonly HistogramName[];
  /** Null: all buckets as one. */
  readonly bucketMs: number | null;
}

// Written into the text: a number that is bound is a fraction to SQLite, and so would be what it divides.
export const bucketOf = (bucketMs: number) => sql`created_at / ${sql.lit(bucketMs)} as bucket`;

/** Added up by the store: the hour that a month begins in may have many entries, and each would be put together here. */
export function loggedBy({ by, sums, histograms, bucketMs }: LoggedWish): Selection & {
  readonly namesOf: (row: LoggedRow) => Value[];
} {
  const namings = by.map(inLog);
  const told = [...new Set(namings.map((each) => each.column))];
  const columns: (keyof LogRow)[] = ['created_at', ...told, ...sums.flatMap((name) => SUMMED[name].columns)];
  return {
    columns: [...new Set([...columns, ...histograms.map((name) => VALUES[name])])],
    names: [...(bucketMs === null ? [] : [bucketOf(bucketMs)]), ...told.map((column) => sql.ref(column))],
    sums: Object.fromEntries(sums.map((name) => [name, SUMMED[name].sql])),
    lists: Object.fromEntries(histograms.map((name) => [name, listed(VALUES[name])])),
    namesOf: (row) => namings.map(({ column, nameOf }) => nameOf(row[column] as Value)),
  };
}

/** What can be added up over entries, as it is counted in cells (`aggregates/amount.ts`). */
const SUMMED: Readonly<Record<Sum, InLog>> = {
  calls: MEASURES.requests,
  errors: MEASURES.errors,
  client_errors: MEASURES.client_errors,
  gateway_errors: MEASURES.gateway_errors,
  provider_errors: MEASURES.provider_errors,
  unpriced: MEASURES.requests_without_cost,
  cost: inWhole('cost', NANO_DOLLARS),
  input_tokens: MEASURES.input_tokens,
  output_tokens: MEASURES.output_tokens,
  total_tokens: MEASURES.total_tokens,
  cached_tokens: MEASURES.cached_tokens,
  reasoning_tokens: MEASURES.reasoning_tokens,
  request_bytes: MEASURES.request_bytes,
  response_bytes: MEASURES.response_bytes,
  duration: inWhole('duration_ms', MICROS),
  first_byte: inWhole('first_byte_ms', MICROS),
  first_bytes: { sql: sql`count(first_byte_ms)`, columns: ['first_byte_ms'] },
};

/** Microseconds, one after the other. */
const listed = (column: keyof LogRow) => sql`string_agg(cast(cast(${whole(column, MICROS)} as bigint) as text), ',')`;
const VALUES = { durations: 'duration_ms', firstBytes: 'first_byte_ms' } as const;

/** The same as rows of cells are. */
export const countedIn = (row: LoggedRow, histograms: readonly HistogramName[]): Counted => {
  const counted = { ...row, name: null, then: null } as Record<string, unknown>;
  for (const name of histograms) counted[name] = histogramOf(row[name]);
  return counted as Counted;
};

const ZERO = '0'.charCodeAt(0);

/** Of microseconds as text, with commas between them; null: there are none. */
function histogramOf(values: string | null): Histogram {
  const histogram = new Spectrum();
  if (values === null) return histogram;
  const isLess = values.startsWith(LESS);
  const add = (value: number) => histogram.add(histogramBucketOf(value), isLess ? -1 : 1);
  // Digit by digit: thousands of texts of their own would take ten times as long where this is asked now and then.
  let value = 0;
  for (let at = isLess ? LESS.length : 0; at < values.length; at++) {
    const digit = values.charCodeAt(at) - ZERO;
    if (digit >= 0) value = value * 10 + digit;
    else {
      add(value);
      value = 0;
    }
  }
  add(value);
  return histogram;
}
