import { test } from 'bun:test';
import { killedWriters } from '../chaos/scenarios.ts';

/** The short form of one in test/long/chaos.test.ts; a single process is killed in books.test.ts. CHAOS_REPORT=1 prints what happened. */
const report = process.env.CHAOS_REPORT ? (line: string) => console.log(`  ${line}`) : undefined;
const kills = { rate: 50, kills: 2, report };
/** Only ends what hangs. */
const LIMIT_MS = 300_000;

test(
  'figures, log, ledger and provider count the same when nodes on PostgreSQL are killed again and again',
  () => killedWriters({ nodes: 2, redis: false, database: 'postgres' }, kills),
  LIMIT_MS,
);
