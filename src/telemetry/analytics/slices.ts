import { fail } from '../../core/errors.ts';
import type { LoggedTime } from './time-range.ts';

/** How long a question may take, the time it waits for its turn included. */
export const ANSWER_WITHIN_MS = 30_000;

const FIRST_MS = 60_000;
/** PostgreSQL answers beside this process: most of what it takes about a short time is to be asked. */
const FIRST_OF_SERVER_MS = 15 * 60_000;
const SHORTEST_MS = 1_000;
/** What one slice should take. A client that asks for a log entry meanwhile waits that long at most. */
const TARGET_MS = 40;
const MOST_CHANGE = 4;

interface SliceOptions {
  readonly deadline: number;
  readonly firstMs?: number;
  readonly now?: () => number;
}

interface Taken {
  readonly length: number;
  readonly ms: number;
}

/**
 * Whether a slice of another length took about as long: then it is not entries that take the time but waiting for a turn, on a machine
 * that has none. Shorter slices would only wait more often, and a year would never come to an end.
 */
const takesTurns = (before: Taken, { length, ms }: Taken): boolean =>
  2 * Math.abs(Math.log(ms / before.ms)) < Math.abs(Math.log(length / before.length));

/**
 * Asks about a time range piece by piece. The embedded store cannot be interrupted in the middle of a statement, and
 * other questions wait for the thread: they get their turn between two slices, and the deadline is checked there. Each
 * slice is as long as the one before says it may be, so an empty year takes few of them and a busy minute many.
 */
export async function inSlices(
  { from, until, ...whose }: LoggedTime,
  ask: (slice: LoggedTime) => Promise<void>,
  { deadline, firstMs = FIRST_MS, now = () => performance.now() }: SliceOptions,
): Promise<void> {
  let length = firstMs;
  let before: Taken | null = null;
  for (let at = from; at < until; ) {
    const startedAt = now();
    if (startedAt > deadline) fail('analytics_too_slow', ANSWER_WITHIN_MS / 1_000);
    const end = Math.min(at + length, until);
    await ask({ ...whose, from: at, until: end });
    const taken = { length: end - at, ms: Math.max(now() - startedAt, 1) };
    const change = before && takesTurns(before, taken) ? MOST_CHANGE : TARGET_MS / taken.ms;
    before = taken;
    length = Math.max(SHORTEST_MS, Math.round(length * Math.min(MOST_CHANGE, Math.max(1 / MOST_CHANGE, change))));
    at = end;
    await new Promise(setImmediate);
  }
}

/** Asks about times, each in slices. */
export type Slices = (
  times: readonly LoggedTime[],
  ask: (slice: LoggedTime) => Promise<void>,
  deadline: number,
) => Promise<void>;

/** One after the other: the embedded store has one thread. */
export const allInSlices: Slices = async (times, ask, deadline) => {
  for (const time of times) await inSlices(time, ask, { deadline });
};

/** What lies at both ends of a time at once. */
export const allOfServer: Slices = async (times, ask, deadline) => {
  await Promise.all(times.map((time) => inSlices(time, ask, { deadline, firstMs: FIRST_OF_SERVER_MS })));
};
