/** Milliseconds since the epoch; `until` is not included. */
export interface TimeRange {
  readonly from: number;
  readonly until: number;
}

/** Whose entries are counted in the log. */
export interface LoggedTime extends TimeRange {
  /** Cells have counted them and they are not meant: they are taken away. */
  readonly isLess?: true;
}

/** Stretches of equal length that cover a time range; their bounds are whole minutes, hours or days of UTC. */
export interface Buckets {
  readonly ms: number;
  /** The number of the first one, counted from the epoch. */
  readonly first: number;
  readonly count: number;
}

export const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
const LENGTHS_MS = [MINUTE_MS, 5 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS];
/** Those that can be asked for. */
export const WISHED_LENGTHS_MS = [
  ...[MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, DAY_MS],
];
export const MOST_BUCKETS = 400;

export const LONGEST_DAYS = 400;
export const LONGEST_RANGE_MS = LONGEST_DAYS * DAY_MS;

/** What buckets are to be like. */
export interface BucketRule {
  /** No figures tell shorter times apart. */
  readonly shortestMs?: number;
  /** The length that was asked for; left out: as short as they can be. */
  readonly wishedMs?: number;
}

/** Of the length that was asked for; else the shortest buckets of which no more than 400 are needed. */
export function bucketsOf(range: TimeRange, { shortestMs = MINUTE_MS, wishedMs }: BucketRule = {}): Buckets {
  if (wishedMs !== undefined && wishedMs >= shortestMs) return cover(range, wishedMs);
  const candidates = LENGTHS_MS.filter((ms) => ms >= shortestMs).map((ms) => cover(range, ms));
  return candidates.find(({ count }) => count <= MOST_BUCKETS) ?? candidates.at(-1)!;
}

export function cover({ from, until }: TimeRange, ms: number): Buckets {
  const first = Math.floor(from / ms);
  return { ms, first, count: Math.floor((until - 1) / ms) - first + 1 };
}
