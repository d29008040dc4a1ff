import { nothingYet, SUMS } from '../aggregates/amount.ts';
import { type Counted, HISTOGRAMS } from './figures.ts';
import { addCounted, METRIC_NAMES, METRICS } from './series.ts';
import type { Tally } from './tallies.ts';

const ALL = { sums: SUMS, histograms: HISTOGRAMS };

/** Every figure at once: what they are made of is read once for all of them. */
export function everything(): Tally<Counted> {
  const amount = nothingYet();
  return {
    add: (row) => addCounted(amount, row, ALL),
    figures: () => Object.fromEntries(METRIC_NAMES.map((name) => [name, METRICS[name].of(amount)])),
  };
}
