import { test } from 'bun:test';
import { cutOff, flushed, frozenWhileFlushed } from '../chaos/harms.ts';
import { acrossRestarts, budgets, underLoad } from '../chaos/scenarios.ts';

/**
 * Some of test/long/chaos.test.ts, in short. What holds in each: no limit leaks, every call that reached the provider is
 * one row of the ledger, no caller gets anything but 200, 429, 412 and 503, and all recovers without a restart.
 * CHAOS_REPORT=1 prints what happened.
 */
const rate = 50;
const report = process.env.CHAOS_REPORT ? (line: string) => console.log(`  ${line}`) : undefined;

const withRedis = { nodes: 3, redis: true, database: 'postgres' } as const;
const withoutRedis = { nodes: 3, redis: false, database: 'postgres' } as const;

/** Only ends what hangs. */
const LIMIT_MS = 300_000;
/** Mostly waits, so these wait together, before the busy ones begin. */
const waiting = (name: string, run: () => Promise<void>) => test.concurrent(name, run, LIMIT_MS);
const busy = (name: string, run: () => Promise<void>) => test(name, run, LIMIT_MS);

waiting('everything holds when PostgreSQL is gone for 5 seconds and Redis is there', () =>
  underLoad(
    { ...withRedis, nodes: 2 },
    { rate, harm: cutOff('postgres', 'reset', 5_000), degraded: ['store'], report },
  ),
);
waiting('everything holds when Redis is gone and comes back', () =>
  underLoad({ ...withRedis, nodes: 2 }, { rate, harm: cutOff('redis', 'reset', 1_500), degraded: ['redis'], report }),
);
waiting('everything holds when a node freezes until it is taken for dead, and wakes up after Redis was flushed', () =>
  underLoad(withRedis, { rate, harm: frozenWhileFlushed(11_500), degraded: ['limits'], report }),
);

busy('of 200 calls against a limit of 50 exactly 50 pass across a restart of one of three nodes without Redis', () =>
  acrossRestarts(withoutRedis, { rounds: 2, report }),
);
busy('budgets are exceeded by no more than running calls take beyond their estimates, although Redis is flushed', () =>
  budgets({ ...withRedis, nodes: 2 }, { harm: flushed, report }),
);
