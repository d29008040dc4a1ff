import type { Notify } from '../area/notify.ts';
import { fail } from '../core/errors.ts';
import type { Principal, WorkCaller } from '../core/principal.ts';
import type { Files } from '../files/files.ts';
import type { CallModel } from '../relay/internal.ts';
import type { Target } from '../relay/target.ts';
import type { WorkProofs } from '../relay/work-proofs.ts';
import type { BatchRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import { type BatchFault, type BatchStatus, entered } from './batch.ts';
import type { Gates } from './gates.ts';
import type { Litter } from './litter.ts';
import type { BatchTable } from './table.ts';

/** The work that batches are made of, by the names of its kinds. */
export const VALIDATE = 'batch.validate';
export const LINES = 'batch.lines';
export const NATIVE = 'batch.native';
export const FINISH = 'batch.finish';
export const TIDY = 'batch.tidy';

/** What all of it is done with. */
export interface BatchDeps {
  readonly store: Store;
  readonly table: BatchTable;
  readonly files: Files;
  readonly gates: Gates;
  readonly litter: Litter;
  readonly callModel: CallModel;
  /** What callers have proven to guardrails, for requests that are made without them. */
  readonly proofs: Pick<WorkProofs, 'seal' | 'open'>;
  /** Who made the batch, as they are now; throws 401 when they are gone or have expired. */
  readonly principalOf: (caller: WorkCaller) => Promise<Principal>;
  readonly workers: () => Workers;
  /** Writes down what answers cost that did not come through the relay. */
  readonly account?: (
    batch: BatchRow,
    answers: readonly { readonly body: unknown }[],
    payer: { readonly who: Principal; readonly target: Target },
  ) => Promise<void>;
  /** Gives back what is held of limits for a batch that has ended; again where a process died in between. */
  readonly settleHold?: (batch: BatchRow) => void;
  /** Told in the transaction in which a batch ends. */
  readonly notify: Notify;
  /** The most requests of one batch at once, on all nodes together. */
  readonly mostInFlight: number;
  readonly now: () => number;
  /** The first wait before a request is made again. */
  readonly firstWaitMs?: number;
}

/** Who pays for the requests. Throws 401 when the key that made the batch is gone, or belongs elsewhere by now. */
export async function callerOf(batch: BatchRow, { principalOf }: Pick<BatchDeps, 'principalOf'>): Promise<Principal> {
  const who = await principalOf(batch);
  return (who.workspaceId as string) === batch.workspace_id ? who : fail('invalid_api_key');
}

/** The last status of a batch, whatever else is known by then, and the news of it: all or nothing. */
export async function end(
  db: Db,
  batch: BatchRow,
  status: Extract<BatchStatus, 'completed' | 'failed' | 'expired' | 'cancelled'>,
  { table, notify, now }: Pick<BatchDeps, 'table' | 'notify' | 'now'>,
  change: Partial<BatchRow> = {},
): Promise<void> {
  // The proofs go: no later call of this batch will be judged by them.
  await table.change(db, batch.id, { ...change, ...entered(batch, status, now()), proofs: null });
  await notify(db, { workspaceId: batch.workspace_id, type: `batch.${status}`, id: batch.id });
}

/** It has no output, and what was noted of its lines goes. */
export async function failWith(
  db: Db,
  batch: BatchRow,
  faults: readonly BatchFault[],
  deps: Pick<BatchDeps, 'table' | 'notify' | 'now' | 'workers'>,
): Promise<void> {
  await end(db, batch, 'failed', deps, { errors: JSON.stringify(faults) });
  await enqueueFinish(db, batch, deps.workers());
}

/** Has the output written and the lines forgotten, unless that is under way. The batch's row is locked. */
export async function enqueueFinish(db: Db, batch: { id: string; workspace_id: string }, workers: Workers) {
  const begun = await db
    .selectFrom('work')
    .select('id')
    .where('kind', '=', FINISH)
    .where('ref', '=', batch.id)
    .executeTakeFirst();
  if (!begun) await workers.enqueue(db, { kind: FINISH, tenant: batch.workspace_id, ref: batch.id });
}
