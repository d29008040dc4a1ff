import { fail } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { List } from '../../core/list.ts';
import { newObjectId } from '../../core/object-ids.ts';
import type { Proofs } from '../../guardrails/proof.ts';
import type { VectorStoreBatchRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { type AddingDeps, addFiles, type FileToAdd, INGEST } from './adding.ts';
import type { ChunkIndex } from './chunk-index.ts';
import { chunkingOf } from './chunking.ts';
import { type FileBatch, type NewFileBatch, type StoreFile, shownBatch } from './file.ts';
import { countsOfBatch, endBatch, findBatch, findStore, lockBatch, lockStore, usableStore } from './rows.ts';
import { filesPage, type StoreFilesQuery } from './store-files.ts';

export interface FileBatchesDeps extends AddingDeps {
  readonly index: ChunkIndex;
}

/** Files that are added to a vector store together. */
export function createFileBatches(deps: FileBatchesDeps) {
  const { store, workers, index, now } = deps;

  const find = async (db: Db, workspaceId: WorkspaceId, storeId: string, id: string) => {
    await findStore(db, workspaceId, storeId);
    return findBatch(db, storeId, id);
  };
  const shown = async (db: Db, batch: VectorStoreBatchRow): Promise<FileBatch> =>
    shownBatch(batch, await countsOfBatch(db, batch));

  return {
    async create(workspaceId: WorkspaceId, storeId: string, input: NewFileBatch, proofs?: Proofs): Promise<FileBatch> {
      const files = askedFor(input);
      return store.transaction(async (db) => {
        await lockStore(store, db, storeId);
        const row = await usableStore(db, workspaceId, storeId, now());
        const batch: VectorStoreBatchRow = {
          id: newObjectId('vectorStoreFileBatch', now()),
          store_id: storeId,
          status: 'in_progress',
          total: new Set(files.map(({ fileId }) => fileId)).size,
          completed: null,
          failed: null,
          created_at: now(),
        };
        await db.insertInto('vector_store_batches').values(batch).execute();
        await addFiles(db, row, { files, batchId: batch.id, proofs }, deps);
        // All of it may have been there before.
        await endBatch(db, batch);
        return shown(db, await findBatch(db, storeId, batch.id));
      });
    },

    read: async (workspaceId: WorkspaceId, storeId: string, id: string): Promise<FileBatch> =>
      shown(store.db, await find(store.db, workspaceId, storeId, id)),

    async listFiles(
      workspaceId: WorkspaceId,
      storeId: string,
      id: string,
      query: StoreFilesQuery,
    ): Promise<List<StoreFile>> {
      await find(store.db, workspaceId, storeId, id);
      return filesPage(query, () =>
        store.db
          .selectFrom('vector_store_files')
          .selectAll()
          .where('store_id', '=', storeId)
          .where('batch_id', '=', id),
      );
    },

    /** What is in the store stays; the rest does not come in any more. */
    async cancel(workspaceId: WorkspaceId, storeId: string, id: string): Promise<FileBatch> {
      await find(store.db, workspaceId, storeId, id);
      return store.transaction(async (db) => {
        // Before the batch's own row: those who do the work lock in this order, too.
        await workers().discard(db, { kind: INGEST, ref: id });
        const batch = await lockBatch(store, db, id);
        if (!batch) return fail('object_not_found', 'vector store file batch', id);
        if (batch.status === 'completed') fail('file_batch_not_cancellable', id, batch.status);
        const stopped = await db
          .updateTable('vector_store_files')
          .set({ status: 'cancelled', usage_bytes: 0 })
          .where('batch_id', '=', id)
          .where('status', '=', 'in_progress')
          .where('deleted_at', 'is', null)
          .returning('file_id')
          .execute();
        for (const { file_id } of stopped) await index.remove(db, storeId, file_id);
        await endBatch(db, batch, 'cancelled');
        return shown(db, await findBatch(db, storeId, id));
      });
    },
  };
}

export type FileBatches = ReturnType<typeof createFileBatches>;

/**
 * Either ids, which share what is said beside them, or files that each say it for themselves: then what is said beside
 * them counts for none, as the vendor documents it, whose own example sends both.
 */
function askedFor({ file_ids, files, attributes, chunking_strategy }: NewFileBatch): FileToAdd[] {
  const refuse = (param: string, why: string) => fail('invalid_value', param, `Invalid '${param}': ${why}.`);
  if (file_ids && files) refuse('files', "give either 'file_ids' or 'files', not both");
  if (!file_ids && !files) return fail('missing_required_parameter', 'file_ids');
  if (file_ids) {
    const shared = { attributes: attributes ?? null, chunking: chunkingOf(chunking_strategy) };
    return file_ids.map((fileId) => ({ fileId, ...shared }));
  }
  return files!.map((file) => ({
    fileId: file.file_id,
    attributes: file.attributes ?? null,
    chunking: chunkingOf(file.chunking_strategy),
  }));
}
