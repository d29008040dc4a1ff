import type { Db, Store } from '../../storage/store.ts';
import type { Kind, Work } from '../../work/work.ts';
import { type Ending, endRun, failure } from './ending.ts';
import { forgetEvents } from './events.ts';
import { Execution, type ExecutionDeps } from './execution.ts';
import { record } from './journal.ts';
import { runById } from './rows.ts';
import { ACTIVE, isActive } from './run.ts';
import { RUN, type Runs } from './runs.ts';
import { runSpan } from './tracing.ts';

export interface RunKindDeps extends ExecutionDeps {
  readonly runs: () => Runs;
}

/** Runs mostly wait for models: many fit on one node. */
const CONCURRENCY = 2_000;
const AT_ONCE = 100;
/** So long can a run that has ended be watched from its beginning. */
const EVENTS_LIVE_MS = 3_600_000;
const GIVEN_UP = 'Something failed inside the gateway while it carried out this run.';

/** Runs as leased work: whichever node has the lease carries the run out. */
export const runKind = (deps: RunKindDeps): Kind => {
  const end = async (db: Db, { ref }: Work, ending: Ending) => {
    const run = await runById(db, ref);
    if (!run || !isActive(run)) return;
    const how = run.status === 'cancelling' ? ({ status: 'cancelled' } as const) : ending;
    const ended = await record(db, ref, deps.bus, (tell) => endRun(db, run, how, { tell, now: deps.now() }));
    const span = deps.addSpan && runSpan(ended);
    if (span) deps.addSpan?.(span);
  };
  return {
    name: RUN,
    concurrency: CONCURRENCY,
    backoff: { firstMs: 250, mostMs: 5_000 },
    run: (lease) => new Execution(lease, deps).carryOut(),
    failed: (db, work) => end(db, work, failure('server_error', GIVEN_UP)),
    cancelled: (db, work) => end(db, work, { status: 'cancelled' }),
    sweep: async (db, now) => {
      for (const id of await overdue(db, now)) await deps.runs().expire(db, id);
      await pruneEvents(deps.store, db, now - EVENTS_LIVE_MS);
    },
  };
};

/** By id, so that nodes which sweep at once lock them in one order. */
async function overdue(db: Db, now: number): Promise<string[]> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('status', 'in', ACTIVE)
    .where('expires_at', '<=', now)
    .orderBy('id')
    .limit(AT_ONCE)
    .execute();
  return rows.map(({ id }) => id);
}

async function pruneEvents(store: Store, db: Db, endedBefore: number): Promise<void> {
  const rows = await db
    .selectFrom('runs')
    .select('id')
    .where('keeps_events', '=', 1)
    .where('ended_at', '<', endedBefore)
    .orderBy('id')
    .limit(AT_ONCE)
    .execute();
  const ids = rows.map(({ id }) => id);
  await forgetEvents(store, db, ids);
}
