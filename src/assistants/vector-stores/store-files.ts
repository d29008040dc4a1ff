import { fail } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { type Bounds, type List, type ListQuery, listPage } from '../../core/list.ts';
import type { Checked } from '../../core/schema.ts';
import type { Proofs } from '../../guardrails/proof.ts';
import type { VectorStoreFileRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { type AddingDeps, addFiles } from './adding.ts';
import type { ChunkIndex } from './chunk-index.ts';
import { chunkingOf } from './chunking.ts';
import { type AddedFile, type StoreFile, shownFile, type updateFile } from './file.ts';
import { changeFile, endBatch, filesOf, findFile, findStore, lockBatch, lockStore, usableStore } from './rows.ts';

export interface StoreFilesDeps extends AddingDeps {
  readonly index: ChunkIndex;
}

export interface StoreFilesQuery extends ListQuery {
  readonly filter?: StoreFile['status'];
}

/** The files in vector stores. */
export function createStoreFiles(deps: StoreFilesDeps) {
  const { store, index, now } = deps;
  return {
    add: (workspaceId: WorkspaceId, storeId: string, input: AddedFile, proofs?: Proofs): Promise<StoreFile> =>
      store.transaction(async (db) => {
        await lockStore(store, db, storeId);
        const row = await usableStore(db, workspaceId, storeId, now());
        const file = {
          fileId: input.file_id,
          attributes: input.attributes ?? null,
          chunking: chunkingOf(input.chunking_strategy),
        };
        await addFiles(db, row, { files: [file], proofs }, deps);
        return shownFile(await findFile(db, storeId, input.file_id));
      }),

    async read(workspaceId: WorkspaceId, storeId: string, fileId: string): Promise<StoreFile> {
      await findStore(store.db, workspaceId, storeId);
      return shownFile(await findFile(store.db, storeId, fileId));
    },

    async list(workspaceId: WorkspaceId, storeId: string, query: StoreFilesQuery): Promise<List<StoreFile>> {
      await findStore(store.db, workspaceId, storeId);
      return filesPage(query, () => filesOf(store.db, storeId));
    },

    update: (
      workspaceId: WorkspaceId,
      storeId: string,
      fileId: string,
      { attributes }: Checked<typeof updateFile>,
    ): Promise<StoreFile> =>
      store.transaction(async (db) => {
        await lockStore(store, db, storeId);
        await findStore(db, workspaceId, storeId);
        const row = await findFile(db, storeId, fileId);
        const change = { attributes: JSON.stringify(attributes ?? {}) };
        await changeFile(db, row, change);
        return shownFile({ ...row, ...change });
      }),

    /** Out of the store; the file itself stays. */
    async remove(workspaceId: WorkspaceId, storeId: string, fileId: string) {
      await store.transaction(async (db) => {
        await lockStore(store, db, storeId);
        await findStore(db, workspaceId, storeId);
        await takeOut(db, await findFile(db, storeId, fileId), { store, index, now });
      });
      return { id: fileId, object: 'vector_store.file.deleted' as const, deleted: true as const };
    },

    /** The file is being deleted, in this transaction: it leaves every store. */
    detach: (db: Db, fileId: string): Promise<void> => takeOutEverywhere(db, fileId, { store, index, now }),

    async content(workspaceId: WorkspaceId, storeId: string, fileId: string) {
      await usableStore(store.db, workspaceId, storeId, now());
      const { status } = await findFile(store.db, storeId, fileId);
      if (status !== 'completed') fail('vector_store_file_unread', fileId, status);
      const texts = await index.content(storeId, fileId);
      return {
        object: 'vector_store.file_content.page' as const,
        data: texts.map((text) => ({ type: 'text' as const, text })),
        has_more: false,
        next_page: null,
      };
    },
  };
}

export type StoreFiles = ReturnType<typeof createStoreFiles>;

type FileQuery = ReturnType<typeof filesOf>;

/** A page of files in the order in which they were added; their ids are in another. */
export async function filesPage(query: StoreFilesQuery, all: () => FileQuery): Promise<List<StoreFile>> {
  const positions = new Map<string, string>();
  const page = await listPage(query, 'file', {
    has: async (id) => {
      const row = await all().where('file_id', '=', id).executeTakeFirst();
      if (row) positions.set(id, row.position);
      return row !== undefined;
    },
    between: async (bounds) => {
      const living = all().where('deleted_at', 'is', null);
      const some = query.filter ? living.where('status', '=', query.filter) : living;
      const rows = await withinPositions(some, bounds, positions).execute();
      return rows.map((row) => ({ ...row, id: row.file_id }));
    },
  });
  return { ...page, data: page.data.map(shownFile) };
}

function withinPositions(query: FileQuery, bounds: Bounds, positions: ReadonlyMap<string, string>): FileQuery {
  const { above, below, sort, limit } = bounds;
  const from = above === undefined ? query : query.where('position', '>', positions.get(above)!);
  const to = below === undefined ? from : from.where('position', '<', positions.get(below)!);
  return to.orderBy('position', sort).limit(limit);
}

export interface TakingOutDeps {
  readonly store: Pick<Store, 'engine'>;
  readonly index: Pick<ChunkIndex, 'remove'>;
  readonly now: () => number;
}

/** A file leaves a store, whose row is locked. A worker that is taking it in finds out with its next transaction. */
export async function takeOut(db: Db, row: VectorStoreFileRow, { store, index, now }: TakingOutDeps): Promise<void> {
  const batch = row.batch_id === null ? undefined : await lockBatch(store, db, row.batch_id);
  await changeFile(db, row, { deleted_at: now(), usage_bytes: 0 });
  await index.remove(db, row.store_id, row.file_id);
  if (batch) await endBatch(db, batch);
}

/** A file that is deleted leaves every store. */
export async function takeOutEverywhere(db: Db, fileId: string, deps: TakingOutDeps): Promise<void> {
  const places = await db
    .selectFrom('vector_store_files')
    .select('store_id')
    .where('file_id', '=', fileId)
    .where('deleted_at', 'is', null)
    .orderBy('store_id')
    .execute();
  for (const { store_id } of places) {
    await lockStore(deps.store, db, store_id);
    const row = await filesOf(db, store_id)
      .where('file_id', '=', fileId)
      .where('deleted_at', 'is', null)
      .executeTakeFirst();
    if (row) await takeOut(db, row, deps);
  }
}
