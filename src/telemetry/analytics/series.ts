import { NANO_DOLLARS } from '../../core/money.ts';
import { type Amount, addAmount, nothing, nothingYet, type Sum } from '../aggregates/amount.ts';
import type { Value } from '../aggregates/fact.ts';
import { addAll, percentileOf } from '../aggregates/histogram.ts';
import type { LogFilter } from '../log-query.ts';
import type { Entries } from './entries.ts';
import { type Counted, type Figures, HISTOGRAMS, type HistogramName, type Look, type Wish } from './figures.ts';
import { countedIn, type LoggedRow, type LoggedWish, loggedBy } from './logged.ts';
import type { SeriesQuestion } from './question.ts';
import type { Slices } from './slices.ts';
import { ratio, tidy } from './tallies.ts';
import { bucketsOf, DAY_MS, type LoggedTime, MINUTE_MS } from './time-range.ts';

export interface SeriesSources {
  readonly figures: Figures;
  readonly entriesFor: (filter: LogFilter) => Entries;
  readonly slices: Slices;
}

interface Metric {
  readonly of: (amount: Amount) => number | null;
  /** What it is made of. */
  readonly sums: readonly Sum[];
  readonly histogram?: HistogramName;
}

const sum = (name: Sum, unit = 1): Metric => ({ of: ({ sums }) => tidy(sums[name] / unit), sums: [name] });
const share = (name: Sum, by: Sum, unit = 1): Metric => ({
  of: ({ sums }) => ratio(sums[name] / unit, sums[by]),
  sums: [name, by],
});
const percentile = (histogram: HistogramName, hundredths: number): Metric => ({
  of: (amount) => {
    const micros = percentileOf(amount[histogram], hundredths);
    return micros === null ? null : Number((micros / 1_000).toPrecision(4));
  },
  sums: [],
  histogram,
});
const MICROS = 1_000;

/** What can be shown over time and ranked by. */
export const METRICS = {
  requests: sum('calls'),
  errors: sum('errors'),
  error_rate: share('errors', 'calls'),
  client_errors: sum('client_errors'),
  gateway_errors: sum('gateway_errors'),
  provider_errors: sum('provider_errors'),
  cost: sum('cost', NANO_DOLLARS),
  requests_without_cost: sum('unpriced'),
  total_tokens: sum('total_tokens'),
  input_tokens: sum('input_tokens'),
  output_tokens: sum('output_tokens'),
  cached_tokens: sum('cached_tokens'),
  reasoning_tokens: sum('reasoning_tokens'),
  request_bytes: sum('request_bytes'),
  response_bytes: sum('response_bytes'),
  latency_avg: share('duration', 'calls', MICROS),
  latency_p50: percentile('durations', 50),
  latency_p90: percentile('durations', 90),
  latency_p99: percentile('durations', 99),
  first_byte_avg: share('first_byte', 'first_bytes', MICROS),
  first_byte_p50: percentile('firstBytes', 50),
  first_byte_p90: percentile('firstBytes', 90),
  first_byte_p99: percentile('firstBytes', 99),
} as const;
export type MetricName = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as [MetricName, ...MetricName[]];

/** What is said of every group beside its points. */
const SHOWN = [
  'requests',
  'errors',
  'error_rate',
  'cost',
  'requests_without_cost',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_tokens',
  'reasoning_tokens',
  'latency_avg',
  'first_byte_avg',
] as const satisfies readonly MetricName[];

export interface Line {
  readonly value: number | null;
  readonly figures: Readonly<Record<(typeof SHOWN)[number], number | null>>;
  readonly points: readonly (number | null)[];
}

export interface Series {
  readonly object: 'analytics-series';
  readonly bucket_seconds: number;
  readonly timestamps: readonly string[];
  readonly total: Line;
  readonly series: readonly (Line & { readonly group: Value; readonly subgroup?: Value })[];
  /** Everything that is not among the series; null where nothing is. */
  readonly others: (Line & { readonly groups: number }) | null;
}

const sumsOf = (...names: MetricName[]): Sum[] => [...new Set(names.flatMap((name) => METRICS[name].sums))];
const histogramsOf = (...names: MetricName[]): HistogramName[] =>
  HISTOGRAMS.filter((each) => names.some((name) => METRICS[name].histogram === each));

/** A figure over time, told apart by one or two things: those that have most of it, and all others together. */
export async function drawSeries(question: SeriesQuestion, sources: SeriesSources, deadline: number): Promise<Series> {
  const { by, then, limit, filter, range, bucketMs, metric, rankBy } = question;
  const histograms = histogramsOf(metric, rankBy);
  const sums = sumsOf(...SHOWN, metric, rankBy);
  const looked = { filter, range, by, then, bucketMs, sums, histograms };
  // Without histograms, to read more cells takes longer than to add the same ones up twice.
  const isLookedAtTwice = histograms.length > 0 && range.until - range.from > DAY_MS;
  const looks = await sources.figures.lookAtAll(
    (isLookedAtTwice ? [true, false] : [true]).map((isOverTime) => ({ ...looked, isOverTime })),
    deadline,
  );
  const look = looks[0]!;
  const shortestMs = Math.max(look.shortestMs, MINUTE_MS);
  const buckets = bucketsOf(look.range, { shortestMs, wishedMs: bucketMs });

  const named = new NamedEntries();
  const whole = { sums, histograms: histogramsOf(rankBy) };
  for (const row of togetherOf(looks).count({ ...whole, isTogether: true }))
    addCounted(named.of(row).amount, row, whole);
  await named.addLogged(look, {
    wish: { by: then === null ? [by] : [by, then], sums, histograms, bucketMs: buckets.ms },
    deadline,
    entries: sources.entriesFor(filter),
    slices: sources.slices,
  });
  const ranked = inOrder(named.all(), METRICS[rankBy]);

  const [shown, others] = [ranked.slice(0, limit), ranked.slice(limit)];
  const lines = [others, ...shown.map((each) => [each])];
  const places = new Map(shown.map((each, at) => [each, at + 1]));
  const points = lines.map(() => Array.from({ length: buckets.count }, nothingYet));
  const wish = { sums: sumsOf(metric), histograms: histogramsOf(metric) };
  const lineOf = (name: Value, then: Value) => places.get(named.of({ name, then })) ?? 0;
  for (const row of look.count({ ...wish, lines: { count: lines.length, of: lineOf } }))
    addCounted(points[Number(row.name)]![row.bucket - buckets.first]!, row, wish);
  for (const [line, members] of lines.entries())
    for (const { logged } of members)
      for (const [bucket, amount] of logged) addAmount(points[line]![bucket - buckets.first]!, amount);

  const draw = (members: readonly Named[], of: readonly Amount[]) => lineThrough(members, of, METRICS[metric]);
  const everything = Array.from({ length: buckets.count }, (_, at) => together(points.map((line) => line[at]!)));
  return {
    object: 'analytics-series',
    bucket_seconds: buckets.ms / 1_000,
    timestamps: Array.from({ length: buckets.count }, (_, at) =>
      new Date((buckets.first + at) * buckets.ms).toISOString(),
    ),
    total: draw(ranked, everything),
    series: shown.map((each, at) => ({
      group: each.group,
      ...(then !== null && { subgroup: each.subgroup }),
      ...draw([each], points[at + 1]!),
    })),
    others: others.length === 0 ? null : { groups: others.length, ...draw(others, points[0]!) },
  };
}

/**
 * All of a long time is in fewer and longer buckets than its points are. Not where the log has another rest of these: what it says is added
 * to both.
 */
const togetherOf = ([overTime, atOnce]: readonly Look[]): Look =>
  atOnce && JSON.stringify(atOnce.log) === JSON.stringify(overTime!.log) ? atOnce : overTime!;

/** Entries that are called the same. */
interface Named {
  readonly group: Value;
  readonly subgroup: Value;
  /** All of them. */
  readonly amount: Amount;
  /** Those that were counted in the log, by bucket. */
  readonly logged: Map<number, Amount>;
}

interface Logging {
  readonly wish: LoggedWish;
  readonly entries: Entries;
  readonly slices: Slices;
  readonly deadline: number;
}

class NamedEntries {
  readonly #named = new Map<Value, Map<Value, Named>>();

  of({ name, then }: Pick<Counted, 'name' | 'then'>): Named {
    const group = this.#named.get(name) ?? new Map<Value, Named>();
    this.#named.set(name, group);
    const named = group.get(then) ?? { group: name, subgroup: then, amount: nothingYet(), logged: new Map() };
    group.set(then, named);
    return named;
  }

  /** What was erased since is taken away: some may have none left. */
  all(): Named[] {
    const all = [...this.#named.values()].flatMap((group) => [...group.values()]);
    return all.filter(({ amount }) => amount.sums.calls !== 0);
  }

  async addLogged({ log, workspaces }: Look, { wish, entries, slices, deadline }: Logging): Promise<void> {
    const selection = loggedBy(wish);
    const addSlice = async (slice: LoggedTime) => {
      for (const row of await entries<LoggedRow>(selection, slice, workspaces)) {
        const [name = null, second = null] = selection.namesOf(row);
        const { amount, logged } = this.of({ name, then: second });
        const inBucket = logged.get(row.bucket) ?? nothing();
        logged.set(row.bucket, inBucket);
        const counted = countedIn(row, wish.histograms);
        addCounted(inBucket, counted, wish);
        addCounted(amount, counted, wish);
      }
    };
    await slices(log, addSlice, deadline);
  }
}

export function addCounted(amount: Amount, row: Counted, { sums, histograms = [] }: Wish): void {
  for (const name of sums) amount.sums[name] += row[name];
  for (const name of histograms) addAll(amount[name], row[name]);
}

const inOrder = (named: readonly Named[], { of }: Metric): Named[] =>
  named
    .map((each) => ({ each, rank: of(each.amount) ?? Number.NEGATIVE_INFINITY }))
    .sort((one, other) => other.rank - one.rank || compare(one.each, other.each))
    .map(({ each }) => each);

const textOf = ({ group, subgroup }: Named) => JSON.stringify([group, subgroup]);
const compare = (one: Named, other: Named) => (textOf(one) < textOf(other) ? -1 : 1);

function together(amounts: Iterable<Amount>): Amount {
  const whole = nothingYet();
  for (const amount of amounts) addAmount(whole, amount);
  return whole;
}

function lineThrough(members: readonly Named[], points: readonly Amount[], { of }: Metric): Line {
  const whole = together(members.map(({ amount }) => amount));
  return {
    value: of(together(points)),
    figures: Object.fromEntries(SHOWN.map((name) => [name, METRICS[name].of(whole)])) as Line['figures'],
    points: points.map(of),
  };
}
