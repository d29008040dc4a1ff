import { type RawBuilder, sql } from 'kysely';
import { NANO_DOLLARS } from '../../core/money.ts';
import type { Sum } from '../aggregates/amount.ts';
import type { LogRow } from '../log-columns.ts';
import type { FailedBy } from '../record.ts';
import type { Counted } from './figures.ts';

/** An answer with a status below 400 has failed, too, when its stream broke. */
export const HAS_FAILED = sql<boolean>`(status >= 400 or failed_by is not null)`;

/** What entries amount to, in SQL, and which columns that takes. */
export interface InLog {
  readonly sql: RawBuilder<unknown>;
  readonly columns: readonly (keyof LogRow)[];
}

export const MICROS = 1_000;

/** As a whole number, rounded as `micros` and `nanos` round it when entries are counted. */
export const whole = (column: keyof LogRow, units: number): RawBuilder<unknown> =>
  sql`case when ${sql.ref(column)} < 0 then 0 else floor(${sql.ref(column)} * ${sql.lit(units)} + 0.5) end`;
export const inWhole = (column: keyof LogRow, units: number): InLog => ({
  sql: sql`coalesce(sum(${whole(column, units)}), 0)`,
  columns: [column],
});
/** So that of what was counted nothing is left when all of it is taken away. */
const asCounted = (column: keyof LogRow, units: number): InLog => {
  const { sql: sum, columns } = inWhole(column, units);
  return { sql: sql`${sum} / ${sql.lit(units)}`, columns };
};

const added = (column: keyof LogRow) => ({ sql: sql`coalesce(sum(${sql.ref(column)}), 0)`, columns: [column] });
const counted = (condition: RawBuilder<boolean>, columns: readonly (keyof LogRow)[]) => ({
  sql: sql`coalesce(sum(case when ${condition} then 1 else 0 end), 0)`,
  columns,
});

const from = (origin: FailedBy) => counted(sql<boolean>`failed_by = ${sql.lit(origin)}`, ['failed_by']);

/** What can be added up over entries. */
export const MEASURES = {
  requests: { sql: sql`count(*)`, columns: [] },
  errors: counted(HAS_FAILED, ['status', 'failed_by']),
  client_errors: from('client'),
  gateway_errors: from('gateway'),
  provider_errors: from('provider'),
  cost: asCounted('cost', NANO_DOLLARS),
  /** Calls of our own routes cost nothing, and are not meant. */
  requests_without_cost: counted(sql<boolean>`cost is null and provider is not null`, ['cost', 'provider']),
  input_tokens: added('input_tokens'),
  output_tokens: added('output_tokens'),
  total_tokens: added('total_tokens'),
  cached_tokens: added('cached_tokens'),
  reasoning_tokens: added('reasoning_tokens'),
  request_bytes: added('request_bytes'),
  response_bytes: added('response_bytes'),
  duration_ms: asCounted('duration_ms', MICROS),
} as const satisfies Record<string, InLog>;
export type Measure = keyof typeof MEASURES;

/** The same, of what was counted when entries were logged. */
export const COUNTED: Readonly<Record<Measure, { readonly sum: Sum; readonly unit: number }>> = {
  requests: { sum: 'calls', unit: 1 },
  errors: { sum: 'errors', unit: 1 },
  client_errors: { sum: 'client_errors', unit: 1 },
  gateway_errors: { sum: 'gateway_errors', unit: 1 },
  provider_errors: { sum: 'provider_errors', unit: 1 },
  cost: { sum: 'cost', unit: NANO_DOLLARS },
  requests_without_cost: { sum: 'unpriced', unit: 1 },
  input_tokens: { sum: 'input_tokens', unit: 1 },
  output_tokens: { sum: 'output_tokens', unit: 1 },
  total_tokens: { sum: 'total_tokens', unit: 1 },
  cached_tokens: { sum: 'cached_tokens', unit: 1 },
  reasoning_tokens: { sum: 'reasoning_tokens', unit: 1 },
  request_bytes: { sum: 'request_bytes', unit: 1 },
  response_bytes: { sum: 'response_bytes', unit: 1 },
  duration_ms: { sum: 'duration', unit: MICROS },
};

export const sumsIn = (measures: readonly Measure[]): Sum[] => measures.map((measure) => COUNTED[measure].sum);

export const measured = <Name extends Measure>(measures: readonly Name[], row: Counted): Record<Name, number> =>
  Object.fromEntries(measures.map((measure) => [measure, row[COUNTED[measure].sum] / COUNTED[measure].unit])) as Record<
    Name,
    number
  >;

export const columnsOf = (measures: readonly Measure[]): (keyof LogRow)[] => [
  ...new Set(measures.flatMap((measure): readonly (keyof LogRow)[] => MEASURES[measure].columns)),
];

export const sumsInLog = (measures: readonly Measure[]): Readonly<Record<string, RawBuilder<unknown>>> =>
  Object.fromEntries(measures.map((measure) => [measure, MEASURES[measure].sql]));
