import { toIso } from '../core/clock.ts';
import { SELDOM_SECONDS } from '../core/runtime/seconds.ts';
import { type Sweeper, startSweeper } from '../core/sweeper.ts';
import type { Db } from '../storage/store.ts';
import { type SweepDeps, sweepFiles, sweepOrphans } from './sweep.ts';

const EVERY_MS = 60_000;
/** Looking for orphans reads the names of all blobs, so one node does it, and seldom. */
const ORPHANS_EVERY_MS = 6 * 3_600_000;
const ORPHANS_SWEPT_AT = 'files.orphans_swept_at';

/** Removes files that were deleted or have expired, and blobs that no row names. */
export const startFileSweeper = (deps: Pick<SweepDeps, 'store' | 'blobs'>): Sweeper =>
  startSweeper({
    what: 'files',
    everyMs: EVERY_MS,
    quietMs: SELDOM_SECONDS * 1_000,
    sweep: async (signal) => {
      await sweepFiles({ ...deps, signal });
      if (await takesOrphans(deps.store.db, Date.now())) await sweepOrphans({ ...deps, signal });
    },
  });

/** Whether it is time to look for orphans, and this node is the one to do it. */
export async function takesOrphans(db: Db, now: number): Promise<boolean> {
  const taken = await db
    .insertInto('facts')
    .values({ name: ORPHANS_SWEPT_AT, value: toIso(now) })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({ value: toIso(now) })
        .where('facts.value', '<=', toIso(now - ORPHANS_EVERY_MS)),
    )
    .returning('name')
    .execute();
  return taken.length > 0;
}
