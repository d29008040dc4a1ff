import { expect, test } from 'bun:test';
import type { Span } from '../load/job.ts';
import { measured } from './undisturbed.ts';

const GAP_MS = 5;
/** Calls of 2 ms each; those that are due while the machine stands still end with it. */
const calls = (count: number, stall: Span): Span[] =>
  Array.from({ length: count }, (_, at) => {
    const from = at * GAP_MS;
    const isHeld = from >= stall.from && from < stall.to;
    return { from, to: (isHeld ? stall.to : from) + 2 };
  });

test('one moment in which the machine stood still makes the p99 of all calls, and not of those outside of it', () => {
  // The generator learns of it when it is over, so what it tells is the end of it.
  const stall = { from: 5_000, to: 5_300 };
  const { all, undisturbed } = measured(calls(4_800, stall), [{ from: stall.to - 20, to: stall.to }]);
  expect(all.p99).toBeGreaterThan(50);
  expect(undisturbed.p99).toBe(2);
  expect(all.calls - undisturbed.calls).toBeLessThan(80);
});

test('where most calls were disturbed, all of them count', () => {
  const stall = { from: 0, to: 300 };
  const { all, undisturbed } = measured(calls(80, stall), [stall]);
  expect(undisturbed).toEqual(all);
});
