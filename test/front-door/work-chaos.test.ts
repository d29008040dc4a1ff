import { expect, test } from 'bun:test';
import { workChaos } from '../chaos/work.ts';

/** Leases are short, so that a takeover is, too. */
const timing = { leaseMs: 2_000, heartbeatMs: 500, abortAfterMs: 1_300, pollMs: 200, sweepMs: 300 };

test('three processes on PostgreSQL, killed and frozen at random, do everything exactly once', async () => {
  const result = await workChaos({
    engine: 'postgres',
    items: 300,
    processes: 3,
    concurrency: 8,
    pauseMs: 400,
    timing,
    kills: 2,
    freezes: 2,
    everyMs: 500,
    limitMs: 120_000,
  });

  expect(result).toMatchObject({ done: 300, twice: [], lateWrites: [], left: 0 });
  expect(result.exits.every((code) => code === 0)).toBe(true);
  // A worker was in the middle of something, or the test has shown nothing.
  expect(result.lost).toBeGreaterThan(0);
  expect(result.takeoversMs.length).toBeGreaterThan(0);
  expect(Math.max(...result.takeoversMs)).toBeLessThan(60_000);
});
