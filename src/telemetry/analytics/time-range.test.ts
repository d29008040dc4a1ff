import { expect, test } from 'bun:test';
import { bucketsOf } from './time-range.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 5, 7, 31, 12, 345);

for (const [name, length, ms] of [
  ['a second', 1_000, MINUTE],
  ['six hours', 6 * HOUR, MINUTE],
  ['a day', DAY, 5 * MINUTE],
  ['a week', 7 * DAY, HOUR],
  ['a month', 30 * DAY, 6 * HOUR],
  ['a year', 365 * DAY, DAY],
  ['400 days', 400 * DAY, DAY],
] as const) {
  test(`${name} is shown in buckets of ${ms / MINUTE} minutes that cover it, and nothing else`, () => {
    const range = { from: START, until: START + length };
    const buckets = bucketsOf(range);
    expect(buckets.ms).toBe(ms);
    expect(buckets.count).toBeWithin(1, 402);
    expect(buckets.first * ms).toBeLessThanOrEqual(range.from);
    expect((buckets.first + 1) * ms).toBeGreaterThan(range.from);
    const end = (buckets.first + buckets.count) * ms;
    expect(end).toBeGreaterThanOrEqual(range.until);
    expect(end - ms).toBeLessThan(range.until);
  });
}

test('a length that is asked for is taken, unless what is left tells only longer times apart', () => {
  const range = { from: 0, until: DAY };
  expect(bucketsOf(range, { wishedMs: 15 * MINUTE })).toEqual({ ms: 15 * MINUTE, first: 0, count: 96 });
  expect(bucketsOf(range, { wishedMs: 15 * MINUTE, shortestMs: HOUR }).ms).toBe(HOUR);
  expect(bucketsOf(range, { wishedMs: 12 * HOUR, shortestMs: 6 * HOUR }).count).toBe(2);
});

test('a range that ends where a bucket begins does not have that bucket', () => {
  expect(bucketsOf({ from: 0, until: HOUR })).toEqual({ ms: MINUTE, first: 0, count: 60 });
});
