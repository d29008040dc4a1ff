import { expect, test } from 'bun:test';
import { type RunChaosOptions, runChaos } from '../chaos/runs.ts';

/** Leases are short, so that a takeover is, too. */
const timing = { leaseMs: 1_500, heartbeatMs: 300, abortAfterMs: 1_000, pollMs: 100, sweepMs: 200 };
const report = process.env.CHAOS_REPORT ? (line: string) => console.log(`  ${line}`) : undefined;
const common = { runs: 20, timing, limitMs: 120_000, report };

/** Afterwards, every run has ended, and what it left is what one clean execution leaves. */
async function endured(options: RunChaosOptions) {
  const result = await runChaos(options);
  report?.(JSON.stringify(result));
  expect(result).toMatchObject({ faults: [], uncounted: [] });
  expect(result.completed + result.interrupted).toBe(options.runs);
  expect(result.completed).toBeGreaterThan(0);
  // A node was in the middle of a call, or the test has shown nothing.
  expect(result.repeatedCalls).toBeGreaterThan(0);
}

test('20 runs on PostgreSQL leave what a clean execution leaves, though nodes are killed and frozen', () =>
  endured({ ...common, engine: 'postgres', processes: 3, kills: 2, freezes: 1, everyMs: 400 }));
