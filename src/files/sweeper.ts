import { toIso } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Db } from '../storage/store.ts';
import { type SweepDeps, sweepFiles, sweepOrphans } from './sweep.ts';

export interface SweeperOptions extends SweepDeps {
  readonly everyMs?: number;
  readonly report?: (problem: string) => void;
}

export interface Sweeper {
  /** Resolves when a sweep under way is over. */
  stop(): Promise<void>;
}

const EVERY_MS = 60_000;
/** Looking for orphans reads the names of all blobs, so one node does it, and seldom. */
const ORPHANS_EVERY_MS = 6 * 3_600_000;
const ORPHANS_SWEPT_AT = 'files.orphans_swept_at';

/** Sweeps now and then, for as long as the process lives. */
export function startSweeper({ everyMs = EVERY_MS, report = toStderr, ...deps }: SweeperOptions): Sweeper {
  const { store, now = Date.now } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let sweeping: Promise<void> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const sweep = async () => {
    try {
      await sweepFiles({ ...deps, signal });
      if (await takesOrphans(store.db, now())) await sweepOrphans({ ...deps, signal });
    } catch (error) {
      // A store that is away is reported where it is watched; the next sweep does what this one did not.
      if (!(error instanceof GatewayError)) report(error instanceof Error ? error.message : String(error));
    }
    later();
  };
  const later = () => {
    if (signal.aborted) return;
    timer = setTimeout(() => {
      sweeping = sweep();
    }, everyMs);
    timer.unref?.();
  };
  later();
  return {
    stop: async () => {
      stopping.abort();
      clearTimeout(timer);
      await sweeping;
    },
  };
}

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

const toStderr = (problem: string) => void process.stderr.write(`files: sweeping failed: ${problem}\n`);
