import { sql } from 'kysely';
import type { Countable } from '../aggregates/amount.ts';
import { cacheStatusOf, endpointOf, micros, nanos, type Value, verdictOf } from '../aggregates/fact.ts';
import type { LogRow } from '../log-columns.ts';
import { labelsOf } from '../log-labels.ts';
import type { Selection } from './entries.ts';
import type { By } from './kinds.ts';

/** What is read of an entry that is not counted yet. */
export const COUNTABLE_COLUMNS = [
  'status',
  'failed_by',
  'provider',
  'cost',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'request_bytes',
  'response_bytes',
  'duration_ms',
  'first_byte_ms',
] as const satisfies readonly (keyof LogRow)[];

export type CountableRow = Pick<LogRow, (typeof COUNTABLE_COLUMNS)[number]>;

export const countableIn = ({ duration_ms, first_byte_ms, cost, ...row }: CountableRow): Countable => ({
  ...row,
  at: 0,
  times: 1,
  cost: nanos(cost),
  duration: micros(duration_ms)!,
  first_byte: micros(first_byte_ms),
});

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

export type LoggedRow = CountableRow & Pick<LogRow, 'created_at'> & Readonly<Record<string, unknown>>;

/** Entries one by one, with no more of each than it adds and is called by: the hour that a month begins in may have many. */
export function loggedBy(by: readonly By[]): Selection & { readonly namesOf: (row: LoggedRow) => Value[] } {
  const namings = by.map(inLog);
  const columns = [
    ...new Set<keyof LogRow>(['created_at', ...COUNTABLE_COLUMNS, ...namings.map((each) => each.column)]),
  ];
  return {
    columns,
    select: sql.raw(columns.join(', ')),
    groups: 0,
    namesOf: (row) => namings.map(({ column, nameOf }) => nameOf(row[column] as Value)),
  };
}
