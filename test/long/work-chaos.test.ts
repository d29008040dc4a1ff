import { expect, test } from 'bun:test';
import { workChaos } from '../chaos/work.ts';

/** The longest that work may lie idle because a node died or froze, with the leases everybody has. */
const TAKEOVER_MS = 45_000;

test('10,000 items on PostgreSQL are done exactly once by three processes that are killed and frozen', async () => {
  const result = await workChaos({
    engine: 'postgres',
    items: 10_000,
    processes: 3,
    concurrency: 20,
    pauseMs: 1_500,
    kills: 12,
    freezes: 4,
    everyMs: 12_000,
    limitMs: 540_000,
    report: (line) => console.log(`  ${line}`),
  });
  const longest = Math.max(...result.takeoversMs);
  console.log(`  ${result.takeoversMs.length} taken over, after ${longest} ms at most; ${result.lost} leases lost`);

  expect(result).toMatchObject({ done: 10_000, twice: [], lateWrites: [], left: 0 });
  expect(result.exits.every((code) => code === 0)).toBe(true);
  expect(result.lost).toBeGreaterThan(0);
  expect(longest).toBeLessThan(TAKEOVER_MS);
}, 600_000);

test('10,000 items on SQLite are done exactly once by a process that is killed, frozen and started again', async () => {
  const result = await workChaos({
    engine: 'sqlite',
    items: 10_000,
    processes: 1,
    concurrency: 100,
    pauseMs: 1_500,
    kills: 12,
    freezes: 2,
    everyMs: 8_000,
    limitMs: 540_000,
    report: (line) => console.log(`  ${line}`),
  });
  const longest = Math.max(...result.takeoversMs);
  console.log(`  ${result.takeoversMs.length} taken over, after ${longest} ms at most`);

  expect(result).toMatchObject({ done: 10_000, twice: [], lateWrites: [], left: 0 });
  expect(result.exits.every((code) => code === 0)).toBe(true);
}, 600_000);
