import { addFact, type Countable, nothingYet, SUMS } from '../aggregates/amount.ts';
import { micros, nanos } from '../aggregates/fact.ts';
import type { LogRow } from '../log-columns.ts';
import { type Counted, HISTOGRAMS } from './figures.ts';
import { addCounted, METRIC_NAMES, METRICS } from './series.ts';
import type { Tally } from './tallies.ts';

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

type CountableRow = Pick<LogRow, (typeof COUNTABLE_COLUMNS)[number]>;

const factOf = ({ duration_ms, first_byte_ms, cost, ...row }: CountableRow): Countable => ({
  ...row,
  at: 0,
  times: 1,
  cost: nanos(cost),
  duration: micros(duration_ms)!,
  first_byte: micros(first_byte_ms),
});

const ALL = { sums: SUMS, histograms: HISTOGRAMS };

/** Every figure at once: what they are made of is read once for all of them. */
export function everything(): Tally<Counted | CountableRow> {
  const amount = nothingYet();
  return {
    add: (row) => ('durations' in row ? addCounted(amount, row, ALL) : addFact(amount, factOf(row as CountableRow))),
    figures: () => Object.fromEntries(METRIC_NAMES.map((name) => [name, METRICS[name].of(amount)])),
  };
}
