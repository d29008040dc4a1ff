import type { VectorStoreRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { Kind } from '../../work/work.ts';
import type { Workers } from '../../work/workers.ts';
import { INGEST } from './adding.ts';
import type { ChunkIndex } from './chunk-index.ts';
import { endBatch, filesOf, lockBatch, lockStore } from './rows.ts';
import { takeOutEverywhere } from './store-files.ts';

/** The name of the work that removing a store's chunks is. */
export const CLEAR = 'vector-store.clear';

const DAY_MS = 86_400_000;
/** So long the row of what was deleted stays, for lists that are being paged. */
const TOMBSTONE_MS = DAY_MS;
const FILES_AT_ONCE = 50;
const SWEPT_AT_ONCE = 20;
/** So often what was deleted is looked at: a deleted file has left its stores by then, unless a process was killed. */
const LOOK_MS = 60_000;

export interface ClearingDeps {
  readonly store: Store;
  readonly index: ChunkIndex;
  readonly workers: () => Workers;
  readonly now: () => number;
}

export const enqueueClearing = (
  db: Db,
  { id, workspace_id }: Pick<VectorStoreRow, 'id' | 'workspace_id'>,
  workers: Workers,
): Promise<string> => workers.enqueue(db, { kind: CLEAR, tenant: workspace_id, ref: id });

/** Nothing more is taken into a store. Locks work: call it before the transaction touches anything else. */
export async function discardIngestions(db: Db, storeId: string, workers: Workers): Promise<void> {
  const underWay = await db
    .selectFrom('vector_store_files')
    .select('batch_id')
    .distinct()
    .where('store_id', '=', storeId)
    .where('status', '=', 'in_progress')
    .where('batch_id', 'is not', null)
    .execute();
  const refs = [storeId, ...underWay.map(({ batch_id }) => batch_id!)].sort();
  for (const ref of refs) await workers.discard(db, { kind: INGEST, ref });
}

/**
 * Removes what was made of a store's files, when it was deleted or has expired; of a deleted one, the rows of its files,
 * too. And looks every few seconds what has expired, and now and then which files are gone.
 */
export function clearKind(deps: ClearingDeps): Kind {
  const { index, now } = deps;
  let lookedAt = Number.NEGATIVE_INFINITY;

  /** The next files, and whether there are more. */
  const clearSome = async (db: Db, storeId: string, after: string): Promise<string | null> => {
    const row = await db.selectFrom('vector_stores').selectAll().where('id', '=', storeId).executeTakeFirst();
    if (!row) return null;
    const files = await filesOf(db, storeId)
      .where('position', '>', after)
      .orderBy('position')
      .limit(FILES_AT_ONCE)
      .execute();
    for (const { file_id } of files) await index.remove(db, storeId, file_id);
    const ids = files.map(({ file_id }) => file_id);
    if (ids.length > 0) {
      const these = db.updateTable('vector_store_files').set({ usage_bytes: 0 }).where('store_id', '=', storeId);
      if (row.deleted_at === null) await these.where('file_id', 'in', ids).execute();
      else
        await db.deleteFrom('vector_store_files').where('store_id', '=', storeId).where('file_id', 'in', ids).execute();
    }
    if (files.length === FILES_AT_ONCE) return files.at(-1)!.position;
    await index.removeStore(db, storeId);
    if (row.deleted_at !== null) await db.deleteFrom('vector_store_batches').where('store_id', '=', storeId).execute();
    return null;
  };

  return {
    name: CLEAR,
    concurrency: 1,
    // This kind alone removes what is left, so it never gives up.
    maxAttempts: Number.POSITIVE_INFINITY,
    run: async (lease) => {
      const storeId = lease.work.ref;
      for (let isMore = true; isMore; ) {
        lease.signal.throwIfAborted();
        isMore = await lease.transaction(async (db) => {
          const { after = '' } = (lease.work.payload ?? {}) as { after?: string };
          const next = await clearSome(db, storeId, after);
          if (next === null) await lease.done(db);
          else await lease.checkpoint(db, { after: next });
          return next !== null;
        });
      }
    },
    failed: async () => {},
    cancelled: async () => {},
    sweep: async (db) => {
      await expireStores(db, deps);
      if (performance.now() < lookedAt + LOOK_MS) return;
      lookedAt = performance.now();
      await dropDeletedFiles(db, deps);
      await forget(db, now() - TOMBSTONE_MS);
    },
  };
}

async function expireStores(db: Db, { store, workers, now }: ClearingDeps): Promise<void> {
  const due = await db
    .selectFrom('vector_stores')
    .select(['id', 'workspace_id'])
    .where('expires_at', '<=', now())
    .where('expired_at', 'is', null)
    .where('deleted_at', 'is', null)
    .orderBy('id')
    .limit(SWEPT_AT_ONCE)
    .execute();
  for (const row of due) {
    await discardIngestions(db, row.id, workers());
    await lockStore(store, db, row.id);
    const expired = await db
      .updateTable('vector_stores')
      .set({ expired_at: now() })
      .where('id', '=', row.id)
      // A caller may have used it, or another node swept it, a moment ago.
      .where('expires_at', '<=', now())
      .where('expired_at', 'is', null)
      .where('deleted_at', 'is', null)
      .returning('id')
      .execute();
    if (expired.length === 0) continue;
    await cancelFiles(db, row.id, store);
    await enqueueClearing(db, row, workers());
  }
}

/** What was on its way into a store that has expired does not arrive. */
async function cancelFiles(db: Db, storeId: string, store: Store): Promise<void> {
  const open = await db
    .selectFrom('vector_store_batches')
    .select('id')
    .where('store_id', '=', storeId)
    .where('status', '=', 'in_progress')
    .orderBy('id')
    .execute();
  const batches = [];
  for (const { id } of open) batches.push(await lockBatch(store, db, id));
  await db
    .updateTable('vector_store_files')
    .set({ status: 'cancelled', usage_bytes: 0 })
    .where('store_id', '=', storeId)
    .where('status', '=', 'in_progress')
    .execute();
  for (const batch of batches) if (batch) await endBatch(db, batch, 'cancelled');
}

/** Files that have expired, and those that were added somewhere in the moment in which they were deleted. */
async function dropDeletedFiles(db: Db, { store, index, now }: ClearingDeps): Promise<void> {
  const gone = await db
    .selectFrom('files')
    .select('id')
    .where('deleted_at', 'is not', null)
    .where((where) =>
      where.exists(
        where
          .selectFrom('vector_store_files')
          .select('file_id')
          .whereRef('vector_store_files.file_id', '=', 'files.id')
          .where('vector_store_files.deleted_at', 'is', null),
      ),
    )
    .limit(SWEPT_AT_ONCE)
    .execute();
  for (const { id } of gone) await takeOutEverywhere(db, id, { store, index, now });
}

async function forget(db: Db, before: number): Promise<void> {
  await db.deleteFrom('vector_store_files').where('deleted_at', '<', before).execute();
  await db
    .deleteFrom('vector_stores')
    .where('deleted_at', '<', before)
    .where((where) =>
      where.not(
        where.exists(
          where.selectFrom('vector_store_files').select('file_id').whereRef('store_id', '=', 'vector_stores.id'),
        ),
      ),
    )
    .where((where) =>
      where.not(
        where.exists(
          where.selectFrom('vector_store_batches').select('id').whereRef('store_id', '=', 'vector_stores.id'),
        ),
      ),
    )
    .execute();
}
