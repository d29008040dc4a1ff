import { type Amount, nothingYet, SUMS, type Sum } from '../aggregates/amount.ts';
import type { Value } from '../aggregates/fact.ts';
import { type Histogram, percentileOf } from '../aggregates/histogram.ts';
import { HISTOGRAMS } from './figures.ts';
import type { Sources } from './log-graphs.ts';
import { countedIn, type LoggedRow, loggedBy } from './logged.ts';
import type { SumsQuestion } from './question.ts';
import { addCounted } from './series.ts';
import type { LoggedTime } from './time-range.ts';

const ALL = { sums: SUMS, histograms: HISTOGRAMS };
const PERCENTILES = [50, 90, 95, 99] as const;
/** In milliseconds, within 1 %; null: there is nothing to tell. */
export type Percentiles = Readonly<Record<`p${(typeof PERCENTILES)[number]}`, number | null>>;

/** What entries of one name amount to; without `by`, all of them are called null. */
export interface Summed {
  readonly name: Value;
  /** Cost in billionths of a US dollar, durations in microseconds: whole numbers. */
  readonly sums: Readonly<Record<Sum, number>>;
  readonly latency: Percentiles;
  readonly firstByte: Percentiles;
}

/** Those that made calls, in no order. */
export async function sumUp(
  { by, filter, range }: SumsQuestion,
  { entries, figures, slices }: Sources,
  deadline: number,
): Promise<Summed[]> {
  const amounts = new Map<Value, Amount>();
  const amountOf = (name: Value) => {
    const amount = amounts.get(name) ?? nothingYet();
    amounts.set(name, amount);
    return amount;
  };
  const found = await figures.find({ filter, range, by, isOverTime: false, ...ALL }, deadline);
  for (const row of found.rows) addCounted(amountOf(row.name), row, ALL);
  const selection = loggedBy({ ...ALL, by: by === null ? [] : [by], bucketMs: null });
  const addSlice = async (slice: LoggedTime) => {
    for (const row of await entries<LoggedRow>(selection, slice, found.workspaces))
      addCounted(amountOf(selection.namesOf(row)[0] ?? null), countedIn(row, HISTOGRAMS), ALL);
  };
  await slices(found.log, addSlice, deadline);
  return [...amounts].filter(([, { sums }]) => sums.calls !== 0).map(([name, amount]) => shown(name, amount));
}

const shown = (name: Value, { sums, durations, firstBytes }: Amount): Summed => ({
  name,
  sums,
  latency: percentilesOf(durations),
  firstByte: percentilesOf(firstBytes),
});

const percentilesOf = (histogram: Histogram): Percentiles =>
  Object.fromEntries(
    PERCENTILES.map((hundredths) => {
      const micros = percentileOf(histogram, hundredths);
      return [`p${hundredths}`, micros === null ? null : micros / 1_000];
    }),
  ) as Percentiles;
