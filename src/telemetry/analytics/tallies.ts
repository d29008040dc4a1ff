/** What a graph says of one stretch of time, or of all of it. */
export type Figures = Readonly<Record<string, number | null | Readonly<Record<string, number>>>>;

/** Takes in rows one by one and says at the end what they amount to. */
export interface Tally<Row> {
  add(row: Row): void;
  figures(): Figures;
}

/** Sums come in another order each time; what differs then is behind the last digit that means anything. */
export const tidy = (value: number): number => Number(value.toPrecision(12));

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

/** Percentiles are the nearest rank: the smallest duration that so many hundredths of all do not exceed. */
export function durations(): Tally<{ readonly duration_ms: number }> {
  const values: number[] = [];
  return {
    add: ({ duration_ms }) => void values.push(duration_ms),
    figures: () => {
      const sorted = Float64Array.from(values).sort();
      const { length } = sorted;
      const sum = sorted.reduce((total, value) => total + value, 0);
      // In whole numbers: 0.99 × 300 is not 297 in binary fractions.
      const percentile = (hundredths: number) => sorted[Math.ceil((hundredths * length) / 100) - 1] ?? null;
      const percentiles = PERCENTILES.map((hundredths) => [`p${hundredths}`, percentile(hundredths)] as const);
      return { requests: length, avg: ratio(sum, length), ...Object.fromEntries(percentiles) };
    },
  };
}

export interface UserRow {
  readonly user_id: string;
  readonly requests: number;
}

export const users =
  (shown: (seen: { readonly users: number; readonly requests: number }) => Figures) => (): Tally<UserRow> => {
    const ids = new Set<string>();
    let requests = 0;
    return {
      add: (row) => {
        ids.add(row.user_id);
        requests += row.requests;
      },
      figures: () => shown({ users: ids.size, requests }),
    };
  };

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
        [each]: Object.fromEntries([...counts].sort(([one], [other]) => one - other)),
      }),
    };
  };
