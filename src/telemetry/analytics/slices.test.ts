import { expect, test } from 'bun:test';
import { seeded } from '../../../test/fuzz.ts';
import { GatewayError } from '../../core/errors.ts';
import { inSlices } from './slices.ts';
import type { TimeRange } from './time-range.ts';

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

/** A store that takes so long for each second of a slice, on a clock of its own. */
async function sliced(range: TimeRange, msPerSecond: number, deadline = Number.POSITIVE_INFINITY, turnMs = () => 0) {
  const slices: TimeRange[] = [];
  let clock = 0;
  const ask = async (slice: TimeRange) => {
    slices.push(slice);
    clock += turnMs() + ((slice.until - slice.from) / 1_000) * msPerSecond;
  };
  const outcome = await inSlices(range, ask, { deadline, now: () => clock }).catch((error: unknown) => error);
  return { slices, outcome };
}

test('slices cover the range once, without a gap', async () => {
  const range = { from: 1_234_567, until: 1_234_567 + 3_600_001 };
  const { slices } = await sliced(range, 0.3);
  expect(slices[0]!.from).toBe(range.from);
  expect(slices.at(-1)!.until).toBe(range.until);
  for (const [index, { from }] of slices.slice(1).entries()) expect(from).toBe(slices[index]!.until);
});

test('a year without entries takes few slices, a busy hour takes many short ones', async () => {
  expect((await sliced({ from: 0, until: YEAR_MS }, 0)).slices.length).toBeLessThan(20);
  const busy = await sliced({ from: 0, until: 3_600_000 }, 10);
  expect(busy.slices.length).toBeGreaterThan(500);
  const settled = busy.slices.slice(5, -1).map(({ from, until }) => until - from);
  expect(Math.max(...settled)).toBeLessThan(10_000);
});

test('what takes longer than it may is given up, and says what to do', async () => {
  const { slices, outcome } = await sliced({ from: 0, until: 3_600_000 }, 10, 2_000);
  expect(outcome).toBeInstanceOf(GatewayError);
  expect((outcome as GatewayError).code).toBe('analytics_too_slow');
  expect((outcome as GatewayError).message).toContain('shorter time');
  expect(slices.length).toBeGreaterThan(10);
});

test('a year comes to its end on a machine on which every slice waits for its turn, and a busy hour still takes many', async () => {
  const random = seeded(7);
  // As processes of tests wait for one another: 50 to 200 ms, whatever is asked.
  const turnMs = () => 50 + random.below(150);
  const { slices, outcome } = await sliced({ from: 0, until: YEAR_MS }, 0, 30_000, turnMs);
  expect(outcome).toBeUndefined();
  expect(slices.length).toBeLessThan(100);
  const busy = await sliced({ from: 0, until: 3_600_000 }, 10, Number.POSITIVE_INFINITY, turnMs);
  expect(busy.slices.length).toBeGreaterThan(50);
});

test('others get their turn between two slices', async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  await inSlices({ from: 0, until: YEAR_MS }, async () => Bun.sleepSync(5), { deadline: Number.POSITIVE_INFINITY });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(1);
});
