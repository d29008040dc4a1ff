import { describe, test } from 'bun:test';
import {
  cutOff,
  flushed,
  frozenWhileFlushed,
  nodeKilled,
  oneCutOff,
  redisKilled,
  slow,
  unharmed,
} from '../chaos/harms.ts';
import { ledgerComplete, nobodyWaits } from '../chaos/invariants.ts';
import { acrossRestarts, budgets, killedWriters, underLoad } from '../chaos/scenarios.ts';

const rate = 200;
const report = (line: string) => console.log(`  ${line}`);

const withRedis = { nodes: 3, redis: true, database: 'postgres' } as const;
const withoutRedis = { nodes: 3, redis: false, database: 'postgres' } as const;
const alone = { nodes: 1, redis: false, database: 'sqlite' } as const;

const scenario = (name: string, run: () => Promise<void>) => test(name, run, 600_000);

describe('no limit leaks, no row is lost, nobody is refused wrongly, and all recovers without a restart', () => {
  for (const [name, options] of [
    ['with Redis', withRedis],
    ['without Redis', withoutRedis],
  ] as const) {
    for (const how of ['reset', 'blackhole'] as const) {
      scenario(`when PostgreSQL is gone for 30 seconds (${how}), ${name}`, () =>
        underLoad(options, {
          rate,
          harm: cutOff('postgres', how, 30_000),
          degraded: ['store', 'notify'],
          invariants: [nobodyWaits],
          report,
        }),
      );
    }
    scenario(`when clocks are seconds apart and everything answers late, ${name}`, () =>
      underLoad({ ...options, clockSkewsMs: [0, 4_000, -4_000] }, { rate, harm: slow(50, 5_000), report }),
    );
  }

  for (const [name, options] of [
    ['of three with Redis', withRedis],
    ['of three without Redis', withoutRedis],
    ['that is alone', alone],
  ] as const) {
    scenario(`when a node ${name} is killed; what it had under way is in the ledger when its holds end`, () =>
      underLoad(
        { ...options, answerAfterMs: 200 },
        { rate, harm: nodeKilled, invariants: [ledgerComplete({ afterHolds: true })], report },
      ),
    );
  }

  for (const [name, harm] of [
    ['is flushed', flushed],
    ['is gone for 10 seconds (reset)', cutOff('redis', 'reset', 10_000)],
    ['is gone for 10 seconds (blackhole)', cutOff('redis', 'blackhole', 10_000)],
    ['dies and comes back empty', redisKilled(3_000)],
    ['is out of reach for one node', oneCutOff('redis', 'reset', 5_000)],
  ] as const) {
    scenario(`when Redis ${name}`, () => underLoad(withRedis, { rate, harm, degraded: ['redis'], report }));
  }

  for (let round = 1; round <= 5; round++) {
    scenario(`when a node freezes until it is taken for dead, and wakes up after Redis was flushed (${round})`, () =>
      underLoad(withRedis, { rate, harm: frozenWhileFlushed(12_000), degraded: ['limits'], report }),
    );
  }
});

describe('of 200 calls against a limit of 50 exactly 50 pass, 20 times in a row, each across a restart', () => {
  scenario('on one process with the embedded store', () => acrossRestarts(alone, { rounds: 20, report }));
  scenario('on three with Redis', () => acrossRestarts(withRedis, { rounds: 20, report }));
  scenario('on three without Redis', () => acrossRestarts(withoutRedis, { rounds: 20, report }));
});

describe('budgets are exceeded by no more than running calls take beyond their estimates', () => {
  scenario('on one process', () => budgets(alone, { harm: unharmed, report }));
  scenario('on three while Redis is flushed', () => budgets(withRedis, { harm: flushed, report }));
  scenario('on three while PostgreSQL is gone', () =>
    budgets(withoutRedis, { harm: cutOff('postgres', 'reset', 2_000), report }),
  );
});

describe('figures, log, ledger and provider count the same when processes are killed again and again', () => {
  const kills = { rate, kills: 10, report };
  scenario('a single one', () => killedWriters(alone, kills));
  scenario('nodes on PostgreSQL', () => killedWriters({ ...withoutRedis, nodes: 2 }, kills));
});
