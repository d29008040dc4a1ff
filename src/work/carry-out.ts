import type { Db } from '../storage/store.ts';
import type { Ending, HeldLease } from './lease.ts';
import type { WorkTable } from './table.ts';
import { backoffOf, type Kind, LeaseLost, maxAttemptsOf, ShuttingDown, WorkCancelled } from './work.ts';

/** What became of one attempt. */
export type Outcome = Ending | 'cancelled' | 'failed' | 'retried' | 'lost';

export interface CarryOutDeps {
  readonly db: Db;
  readonly table: WorkTable;
  readonly random: () => number;
  readonly onError: (what: string, error: unknown) => void;
}

const LONGEST_ERROR = 500;

/** One attempt, from the claim to whatever ends it. Never throws. */
export async function carryOut(kind: Kind, lease: HeldLease, deps: CarryOutDeps): Promise<Outcome> {
  const { work } = lease;
  const name = `${work.kind} ${work.id} (attempt ${work.attempts} of ${maxAttemptsOf(kind)})`;
  const report = (error: unknown) => deps.onError(name, error);
  try {
    if (work.isCancelled) lease.cancel();
    lease.signal.throwIfAborted();
    // It was begun often enough and its end was never written: perhaps it kills the process that tries.
    if (work.attempts > maxAttemptsOf(kind))
      throw new Error(work.lastError ?? `Begun ${maxAttemptsOf(kind)} times and never ended.`);
    await kind.run(lease);
    if (!lease.ending) throw new Error('The handler ended without done, reschedule or release.');
  } catch (error) {
    if (!lease.ending) return conclude(error);
    report(error);
  }
  return lease.ending;

  async function conclude(error: unknown): Promise<Outcome> {
    if (lease.isLost || error instanceof LeaseLost) return 'lost';
    try {
      if (lease.signal.reason instanceof ShuttingDown) {
        await lease.transaction((db) => lease.release(db));
        return 'released';
      }
      if (!(lease.signal.reason instanceof WorkCancelled)) report(error);
      const isLast = lease.work.attempts >= maxAttemptsOf(kind);
      if (lease.signal.aborted || isLast) return await end(error);
    } catch (failure) {
      if (failure instanceof LeaseLost) return 'lost';
      report(failure);
      return letGo(failure, false);
    }
    return letGo(error, true);
  }

  /** The last word goes to the kind, in the transaction in which the row goes. */
  function end(error: unknown): Promise<Outcome> {
    return lease.transaction(async (db) => {
      // Only inside the transaction is it certain whether a caller has cancelled it meanwhile.
      const isCancelled = lease.signal.reason instanceof WorkCancelled;
      if (isCancelled) await kind.cancelled(db, lease.work);
      else await kind.failed(db, lease.work, error);
      await lease.done(db);
      return isCancelled ? 'cancelled' : 'failed';
    });
  }

  async function letGo(error: unknown, hurriesWhenCancelled: boolean): Promise<Outcome> {
    const { attempts } = lease.work;
    const runAt = { afterMs: backoffOf(kind, attempts, deps.random) };
    const change = { runAt, attempts, lastError: describe(error), hurriesWhenCancelled };
    try {
      return (await deps.table.letGo(deps.db, lease.work, change)) ? 'retried' : 'lost';
    } catch (failure) {
      // The store is away: the lease ends by itself.
      report(failure);
      return 'lost';
    }
  }
}

const describe = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error))
    // PostgreSQL stores every character but this.
    .replaceAll('\0', '')
    .slice(0, LONGEST_ERROR);
