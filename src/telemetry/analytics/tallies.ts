import { addAll, type Histogram, percentileOf, Spectrum } from '../aggregates/histogram.ts';

/** What a graph says of one stretch of time, or of all of it. */
export type Figures = Readonly<Record<string, number | null | Readonly<Record<string, number>>>>;

/** Takes in rows one by one and says at the end what they amount to. */
export interface Tally<Row> {
  add(row: Row): void;
  figures(): Figures;
}

/** Nothing that is counted is smaller; what is, is left of numbers that were added and taken away. */
const SMALLEST = 1e-10;

/** Whole numbers have no more digits than mean anything, up to this. */
const LONGEST = 1e12;

/** Sums come in another order each time; what differs then is behind the last digit that means anything. */
export function tidy(value: number): number {
  const size = Math.abs(value);
  if (size < SMALLEST) return 0;
  // Most are counts; to write a number takes longer than to add it up.
  return size < LONGEST && Number.isInteger(value) ? value : Number(value.toPrecision(12));
}

/** Null where there is nothing to divide by. */
export const ratio = (value: number, by: number): number | null => (by === 0 ? null : tidy(value / by));

type Sums<Name extends string> = Record<Name, number>;

const noSums = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, 0])) as Sums<Name>;

const tidySums = <Name extends string>(sums: Sums<Name>): Figures =>
  Object.fromEntries(Object.entries<number>(sums).map(([name, sum]) => [name, tidy(sum)]));

export const sumsOf =
  <Name extends string>(names: readonly Name[], shown: (sums: Sums<Name>) => Figures = tidySums) =>
  (): Tally<Sums<Name>> => {
    const sums = noSums(names);
    return {
      add: (row) => {
        for (const name of names) sums[name] += row[name];
      },
      figures: () => shown(sums),
    };
  };

const PERCENTILES = [50, 90, 99] as const;

/** Durations that were counted together: their sum in microseconds. */
export interface DurationRow {
  readonly calls: number;
  readonly duration: number;
  readonly durations: Histogram;
}

/** Percentiles are the nearest rank: the smallest duration that so many hundredths of all do not exceed, within 1 %. */
export function durations(): Tally<DurationRow> {
  const histogram = new Spectrum();
  let requests = 0;
  let sum = 0;
  return {
    add: (row) => {
      requests += row.calls;
      sum += row.duration;
      addAll(histogram, row.durations);
    },
    figures: () => {
      const percentile = (hundredths: number) => {
        const micros = percentileOf(histogram, hundredths);
        return micros === null ? null : Number((micros / 1_000).toPrecision(4));
      };
      const percentiles = PERCENTILES.map((hundredths) => [`p${hundredths}`, percentile(hundredths)] as const);
      return { requests, avg: ratio(sum / 1_000, requests), ...Object.fromEntries(percentiles) };
    },
  };
}

export interface CountedRow {
  readonly value: number;
  readonly times: number;
}

/** How often each value occurs, and how often any does. */
export const occurrences =
  ({ total, each }: { readonly total: string; readonly each: string }) =>
  (): Tally<CountedRow> => {
    const counts = new Map<number, number>();
    return {
      add: ({ value, times }) => void counts.set(value, (counts.get(value) ?? 0) + times),
      figures: () => ({
        [total]: counts.values().reduce((sum, times) => sum + times, 0),
        [each]: Object.fromEntries([...counts].filter(([, times]) => times > 0).sort(([one], [other]) => one - other)),
      }),
    };
  };
