import { type RawBuilder, sql } from 'kysely';
import type { LogRow } from '../log-columns.ts';

/** An answer with a status below 400 has failed, too, when its stream broke. */
export const HAS_FAILED = sql<boolean>`(status >= 400 or failed_by is not null)`;

const added = (column: keyof LogRow) => ({ sql: sql`coalesce(sum(${sql.ref(column)}), 0)`, columns: [column] });
const counted = (condition: RawBuilder<boolean>, columns: readonly (keyof LogRow)[]) => ({
  sql: sql`coalesce(sum(case when ${condition} then 1 else 0 end), 0)`,
  columns,
});

/** What can be added up over entries. */
const MEASURES = {
  requests: { sql: sql`count(*)`, columns: [] },
  errors: counted(HAS_FAILED, ['status', 'failed_by']),
  cost: added('cost'),
  /** Calls of our own routes cost nothing, and are not meant. */
  requests_without_cost: counted(sql<boolean>`cost is null and provider is not null`, ['cost', 'provider']),
  input_tokens: added('input_tokens'),
  output_tokens: added('output_tokens'),
  total_tokens: added('total_tokens'),
  cached_tokens: added('cached_tokens'),
  reasoning_tokens: added('reasoning_tokens'),
  duration_ms: added('duration_ms'),
} as const satisfies Record<string, { sql: RawBuilder<unknown>; columns: readonly (keyof LogRow)[] }>;
export type Measure = keyof typeof MEASURES;

export const columnsOf = (measures: readonly Measure[]): (keyof LogRow)[] => [
  ...new Set(measures.flatMap((measure): readonly (keyof LogRow)[] => MEASURES[measure].columns)),
];

export const selected = (measures: readonly Measure[]): RawBuilder<unknown> =>
  sql.join(measures.map((measure) => sql`${MEASURES[measure].sql} as ${sql.ref(measure)}`));
