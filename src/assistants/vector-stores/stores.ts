import { fail } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { type List, type ListQuery, listPage } from '../../core/list.ts';
import { changedMetadata } from '../../core/metadata-rule.ts';
import { newObjectId } from '../../core/object-ids.ts';
import type { Checked } from '../../core/schema.ts';
import type { Proofs } from '../../guardrails/proof.ts';
import { withinBounds } from '../../storage/keyset.ts';
import type { VectorStoreRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { type AddingDeps, addFiles, type FileGiver } from './adding.ts';
import { chunkingOf } from './chunking.ts';
import { discardIngestions, enqueueClearing } from './clearing.ts';
import { contentsOf, findStore, lockStore } from './rows.ts';
import {
  bodyOf,
  expiryAfter,
  isExpired,
  type NewStore,
  type StoreBody,
  type StoreObject,
  shownStore,
  type updateStore,
} from './store.ts';

/** So often at most the use of a store is written down: its life is counted in days. */
const TOUCH_MS = 60_000;

/** Vector stores of workspaces: made, read, changed and deleted. */
export function createStores(deps: AddingDeps) {
  const { store, workers, now } = deps;
  const living = (db: Db, workspaceId: WorkspaceId) =>
    db.selectFrom('vector_stores').selectAll().where('workspace_id', '=', workspaceId).where('deleted_at', 'is', null);

  const shown = async (db: Db, rows: readonly VectorStoreRow[]): Promise<StoreObject[]> => {
    const contents = await contentsOf(
      db,
      rows.map(({ id }) => id),
    );
    return rows.map((row) => shownStore(row, contents.get(row.id)!, now()));
  };
  const shownOne = async (db: Db, row: VectorStoreRow): Promise<StoreObject> => (await shown(db, [row]))[0]!;

  /** A store with its files, in whatever transaction it belongs to. */
  const insert = async (db: Db, { workspaceId, proofs }: FileGiver, input: NewStore): Promise<VectorStoreRow> => {
    const at = now();
    const days = input.expires_after?.days ?? null;
    const body: StoreBody = {
      name: input.name ?? '',
      description: input.description ?? null,
      metadata: input.metadata,
    };
    const row: VectorStoreRow = {
      id: newObjectId('vectorStore', at),
      workspace_id: workspaceId,
      body: JSON.stringify(body),
      expires_days: days,
      last_active_at: at,
      expires_at: expiryAfter(days, at),
      expired_at: null,
      created_at: at,
      deleted_at: null,
      sync: null,
    };
    await db.insertInto('vector_stores').values(row).execute();
    const chunking = chunkingOf(input.chunking_strategy);
    const files = (input.file_ids ?? []).map((fileId) => ({ fileId, attributes: null, chunking }));
    await addFiles(db, row, { files, proofs }, deps);
    return row;
  };

  return {
    insert,

    create: (workspaceId: WorkspaceId, input: NewStore, proofs?: Proofs): Promise<StoreObject> =>
      store.transaction(async (db) => shownOne(db, await insert(db, { workspaceId, proofs }, input))),

    read: async (workspaceId: WorkspaceId, id: string): Promise<StoreObject> =>
      shownOne(store.db, await findStore(store.db, workspaceId, id)),

    async list(workspaceId: WorkspaceId, query: ListQuery): Promise<List<StoreObject>> {
      const all = () => store.db.selectFrom('vector_stores').select('id').where('workspace_id', '=', workspaceId);
      const page = await listPage(query, 'vectorStore', {
        has: async (id) => (await all().where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) => withinBounds(living(store.db, workspaceId), bounds).execute(),
      });
      return { ...page, data: await shown(store.db, page.data) };
    },

    update(workspaceId: WorkspaceId, id: string, input: Checked<typeof updateStore>): Promise<StoreObject> {
      return store.transaction(async (db) => {
        await lockStore(store, db, id);
        const row = await findStore(db, workspaceId, id);
        // What has expired is being removed: another date would not bring it back.
        if (input.expires_after !== undefined && isExpired(row, now())) fail('vector_store_expired', id);
        const old = bodyOf(row);
        const days = input.expires_after === undefined ? row.expires_days : (input.expires_after?.days ?? null);
        const body: StoreBody = {
          ...old,
          name: input.name === undefined ? old.name : (input.name ?? ''),
          metadata: changedMetadata(old.metadata, input.metadata),
        };
        const change = {
          body: JSON.stringify(body),
          expires_days: days,
          expires_at: isExpired(row, now()) ? row.expires_at : expiryAfter(days, row.last_active_at),
        };
        await db.updateTable('vector_stores').set(change).where('id', '=', id).execute();
        return shownOne(db, { ...row, ...change });
      });
    },

    /** From here on no caller finds it. Its files stay; what was made of them goes bit by bit. */
    async delete(workspaceId: WorkspaceId, id: string) {
      await findStore(store.db, workspaceId, id);
      await store.transaction(async (db) => {
        await discardIngestions(db, id, workers());
        await lockStore(store, db, id);
        await findStore(db, workspaceId, id);
        await db.updateTable('vector_stores').set({ deleted_at: now() }).where('id', '=', id).execute();
        await enqueueClearing(db, { id, workspace_id: workspaceId }, workers());
      });
      return { id, object: 'vector_store.deleted' as const, deleted: true as const };
    },

    /** Notes that a run or a search uses these stores: their lives begin anew. One that has expired stays so. */
    async touch(ids: readonly string[]): Promise<void> {
      if (ids.length === 0) return;
      const at = now();
      const stale = await store.db
        .selectFrom('vector_stores')
        .selectAll()
        .where('id', 'in', ids)
        .where('last_active_at', '<', at - TOUCH_MS)
        .execute();
      for (const row of stale)
        if (!isExpired(row, at))
          await store.db
            .updateTable('vector_stores')
            .set({ last_active_at: at, expires_at: expiryAfter(row.expires_days, at) })
            .where('id', '=', row.id)
            .where('expired_at', 'is', null)
            // A policy that was changed meanwhile is not to be undone.
            .where('expires_days', row.expires_days === null ? 'is' : '=', row.expires_days)
            .execute();
    },
  };
}

export type Stores = ReturnType<typeof createStores>;
