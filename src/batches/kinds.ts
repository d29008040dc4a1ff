import type { Principal } from '../core/principal.ts';
import type { Files } from '../files/files.ts';
import type { CallModel } from '../relay/internal.ts';
import type { Target } from '../relay/target.ts';
import type { BatchRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import type { Gates } from './gates.ts';
import type { BatchTable } from './table.ts';

/** The work that batches are made of, by the names of its kinds. */
export const VALIDATE = 'batch.validate';
export const LINES = 'batch.lines';
export const NATIVE = 'batch.native';
export const FINISH = 'batch.finish';

/** What all of it is done with. */
export interface BatchDeps {
  readonly store: Store;
  readonly table: BatchTable;
  readonly files: Files;
  readonly gates: Gates;
  readonly callModel: CallModel;
  /** The key that made the batch, as it is now; throws when it is gone or expired. */
  readonly principalOf: (keyId: string) => Principal | Promise<Principal>;
  readonly workers: () => Workers;
  /** Writes down what answers cost that did not come through the relay. */
  readonly account?: (batch: BatchRow, answers: readonly { readonly body: unknown }[], target: Target) => Promise<void>;
  /** The most requests of one batch at once, on all nodes together. */
  readonly mostInFlight: number;
  readonly now: () => number;
  /** The first wait before a request is made again. */
  readonly firstWaitMs?: number;
}

/** Writes the output, unless that is under way. The batch's row is locked. */
export async function enqueueFinish(db: Db, batch: { id: string; workspace_id: string }, workers: Workers) {
  const begun = await db
    .selectFrom('work')
    .select('id')
    .where('kind', '=', FINISH)
    .where('ref', '=', batch.id)
    .executeTakeFirst();
  if (!begun) await workers.enqueue(db, { kind: FINISH, tenant: batch.workspace_id, ref: batch.id });
}
