/** Milliseconds since the epoch; `until` is not included. */
export interface TimeRange {
  readonly from: number;
  readonly until: number;
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
const DAY_MS = 24 * HOUR_MS;
const LENGTHS_MS = [MINUTE_MS, 5 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS];
const MOST_BUCKETS = 400;

export const LONGEST_DAYS = 400;
export const LONGEST_RANGE_MS = LONGEST_DAYS * DAY_MS;

/** The shortest buckets, but no shorter ones than said, of which no more than 400 are needed. */
export function bucketsOf(range: TimeRange, shortestMs = MINUTE_MS): Buckets {
  const candidates = LENGTHS_MS.filter((ms) => ms >= shortestMs).map((ms) => cover(range, ms));
  return candidates.find(({ count }) => count <= MOST_BUCKETS) ?? candidates.at(-1)!;
}

function cover({ from, until }: TimeRange, ms: number): Buckets {
  const first = Math.floor(from / ms);
  return { ms, first, count: Math.floor((until - 1) / ms) - first + 1 };
}
