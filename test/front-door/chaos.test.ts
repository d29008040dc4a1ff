import { describe, test } from 'bun:test';
import { cutOff, flushed, frozenWhileFlushed, nodeKilled, slow } from '../chaos/harms.ts';
import { acrossRestarts, budgets, underLoad } from '../chaos/scenarios.ts';

/** The short forms; test/long/chaos.test.ts has the long ones. */
const rate = 100;
/** Generous: it only ends what hangs. */
const LIMIT_MS = 300_000;

const withRedis = { nodes: 3, redis: true, database: 'postgres' } as const;
const withoutRedis = { nodes: 3, redis: false, database: 'postgres' } as const;
const alone = { nodes: 1, redis: false, database: 'sqlite' } as const;
const report = process.env.CHAOS_REPORT ? (line: string) => console.log(`  ${line}`) : undefined;

const scenario = (name: string, run: () => Promise<void>) => test(name, run, LIMIT_MS);

describe('limits hold, no row is lost, nobody is refused wrongly, and all recovers by itself', () => {
  scenario('when Redis is flushed', () => underLoad(withRedis, { rate, harm: flushed, degraded: ['redis'], report }));

  scenario('when Redis is gone and comes back', () =>
    underLoad(withRedis, { rate, harm: cutOff('redis', 'reset', 1_500), degraded: ['redis'], report }),
  );

  scenario('when PostgreSQL is gone for 5 seconds and Redis is there', () =>
    underLoad(withRedis, { rate, harm: cutOff('postgres', 'reset', 5_000), degraded: ['store', 'notify'], report }),
  );

  scenario('when PostgreSQL is gone for 5 seconds and there is no Redis', () =>
    underLoad(withoutRedis, { rate, harm: cutOff('postgres', 'reset', 5_000), degraded: ['store', 'notify'], report }),
  );

  scenario('when a node is killed and started again', () => underLoad(withRedis, { rate, harm: nodeKilled, report }));

  scenario('when the only process is killed and started again', () =>
    underLoad(alone, { rate, harm: nodeKilled, report }),
  );

  scenario('when clocks are seconds apart and answers come late', () =>
    underLoad({ ...withRedis, clockSkewsMs: [0, 4_000, -4_000] }, { rate, harm: slow(30, 1_500), report }),
  );

  scenario('when a node freezes until it is taken for dead, and wakes up after Redis was flushed', () =>
    underLoad(withRedis, { rate, harm: frozenWhileFlushed(12_000), degraded: ['limits'], report }),
  );
});

describe('of 200 calls exactly 50 pass across a restart', () => {
  scenario('on one process with the embedded store', () => acrossRestarts(alone, { rounds: 3, report }));
  scenario('on three with Redis', () => acrossRestarts(withRedis, { rounds: 3, report }));
  scenario('on three without Redis', () => acrossRestarts(withoutRedis, { rounds: 3, report }));
});

test(
  'budgets are exceeded by no more than running calls take beyond their estimates, while Redis is flushed',
  () => budgets(withRedis, { rate, harm: flushed, report }),
  LIMIT_MS,
);
