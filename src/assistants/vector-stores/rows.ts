import { sql } from 'kysely';
import { fail } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { VectorStoreBatchRow, VectorStoreFileRow, VectorStoreRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { type Contents, type FileCounts, isExpired } from './store.ts';

const NO_FILES: FileCounts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 };

export const storeById = (db: Db, workspaceId: WorkspaceId, id: string): Promise<VectorStoreRow | undefined> =>
  db
    .selectFrom('vector_stores')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();

/** The row of a store that is there, expired or not. */
export const findStore = async (db: Db, workspaceId: WorkspaceId, id: string): Promise<VectorStoreRow> =>
  (await storeById(db, workspaceId, id)) ?? fail('object_not_found', 'vector store', id);

/** The row of a store that can be searched and take files. */
export async function usableStore(db: Db, workspaceId: WorkspaceId, id: string, now: number): Promise<VectorStoreRow> {
  const row = await findStore(db, workspaceId, id);
  if (isExpired(row, now)) fail('vector_store_expired', id);
  return row;
}

/**
 * Until the transaction ends, no other one adds files to the store, takes them out, or deletes it. A transaction that
 * locks more than this locks work first, then the store, then batches, then files.
 */
export async function lockStore({ engine }: Pick<Store, 'engine'>, db: Db, id: string): Promise<void> {
  if (engine === 'postgres')
    await db.selectFrom('vector_stores').select('id').where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export const filesOf = (db: Db, storeId: string) =>
  db.selectFrom('vector_store_files').selectAll().where('store_id', '=', storeId);

export async function findFile(db: Db, storeId: string, fileId: string): Promise<VectorStoreFileRow> {
  const row = await filesOf(db, storeId)
    .where('file_id', '=', fileId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row ?? fail('vector_store_file_not_found', fileId, storeId);
}

export async function changeFile(
  db: Db,
  { store_id, file_id }: Pick<VectorStoreFileRow, 'store_id' | 'file_id'>,
  change: Partial<VectorStoreFileRow>,
): Promise<void> {
  await db
    .updateTable('vector_store_files')
    .set(change)
    .where('store_id', '=', store_id)
    .where('file_id', '=', file_id)
    .execute();
}

/** What the files of stores come to, by the stores' ids. */
export async function contentsOf(db: Db, storeIds: readonly string[]): Promise<Map<string, Contents>> {
  const contents = new Map<string, Contents>(storeIds.map((id) => [id, { counts: NO_FILES, usageBytes: 0 }]));
  if (storeIds.length === 0) return contents;
  const groups = await db
    .selectFrom('vector_store_files')
    .select(['store_id', 'status', (select) => select.fn.countAll<number>().as('files')])
    .select(sql<number>`cast(sum(usage_bytes) as bigint)`.as('bytes'))
    .where('store_id', 'in', storeIds)
    .where('deleted_at', 'is', null)
    .groupBy(['store_id', 'status'])
    .execute();
  for (const { store_id, status, files, bytes } of groups) {
    const { counts, usageBytes } = contents.get(store_id)!;
    contents.set(store_id, {
      counts: { ...counts, [status]: Number(files), total: counts.total + Number(files) },
      usageBytes: usageBytes + Number(bytes),
    });
  }
  return contents;
}

export async function findBatch(db: Db, storeId: string, id: string): Promise<VectorStoreBatchRow> {
  const row = await db
    .selectFrom('vector_store_batches')
    .selectAll()
    .where('store_id', '=', storeId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row ?? fail('object_not_found', 'vector store file batch', id);
}

/** Until the transaction ends, no other transaction ends the batch. */
export function lockBatch(
  { engine }: Pick<Store, 'engine'>,
  db: Db,
  id: string,
): Promise<VectorStoreBatchRow | undefined> {
  const query = db.selectFrom('vector_store_batches').selectAll().where('id', '=', id);
  return (engine === 'postgres' ? query.forNoKeyUpdate() : query).executeTakeFirst();
}

/** What became of its files: as it was when it ended, or as it is now. What was taken out meanwhile was cancelled. */
export async function countsOfBatch(db: Db, batch: VectorStoreBatchRow): Promise<FileCounts> {
  const { total } = batch;
  if (batch.completed !== null && batch.failed !== null) {
    const { completed, failed } = batch;
    return { in_progress: 0, completed, failed, cancelled: total - completed - failed, total };
  }
  const groups = await db
    .selectFrom('vector_store_files')
    .select(['status', (select) => select.fn.countAll<number>().as('files')])
    .where('batch_id', '=', batch.id)
    .where('deleted_at', 'is', null)
    .groupBy('status')
    .execute();
  const counts = new Map(groups.map(({ status, files }) => [status, Number(files)]));
  const [in_progress, completed, failed] = (['in_progress', 'completed', 'failed'] as const).map(
    (status) => counts.get(status) ?? 0,
  ) as [number, number, number];
  return { in_progress, completed, failed, cancelled: total - in_progress - completed - failed, total };
}

/** Writes down what became of a batch once none of its files is in progress. Its row is locked. */
export async function endBatch(
  db: Db,
  batch: VectorStoreBatchRow,
  status: 'completed' | 'cancelled' = 'completed',
): Promise<void> {
  if (batch.status !== 'in_progress') return;
  const { in_progress, completed, failed } = await countsOfBatch(db, batch);
  if (in_progress > 0) return;
  await db.updateTable('vector_store_batches').set({ status, completed, failed }).where('id', '=', batch.id).execute();
}
