import { expect, test } from 'bun:test';
import { type RunChaosOptions, runChaos } from '../chaos/runs.ts';

const common = { runs: 200, limitMs: 540_000, report: (line: string) => console.log(`  ${line}`) };

/** With the leases everybody has: whatever a dead node had is taken over after half a minute. */
async function endured(options: RunChaosOptions) {
  const result = await runChaos(options);
  const { completed, interrupted, extraCalls, repeatedCalls } = result;
  console.log(
    `  ${completed} completed, ${interrupted} interrupted twice; ${extraCalls} extra calls, ${repeatedCalls} counted`,
  );
  expect(result).toMatchObject({ faults: [], uncounted: [] });
  expect(completed + interrupted).toBe(options.runs);
  expect(completed).toBeGreaterThan(options.runs / 2);
  expect(repeatedCalls).toBeGreaterThan(0);
}

test(
  '200 runs on PostgreSQL leave what a clean execution leaves, though nodes are killed and frozen',
  () => endured({ ...common, engine: 'postgres', processes: 3, kills: 3, freezes: 2, everyMs: 2_000 }),
  600_000,
);

test(
  '200 runs on SQLite leave what a clean execution leaves, though their process is killed and frozen',
  () => endured({ ...common, engine: 'sqlite', processes: 1, kills: 4, freezes: 1, everyMs: 700 }),
  600_000,
);
