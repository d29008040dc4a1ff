import type { WorkspaceId } from '../../core/ids.ts';
import type { VectorStoreRow } from '../../storage/schema.ts';
import type { Db } from '../../storage/store.ts';
import { findThread } from '../thread.ts';
import type { NewToolResources, ToolResources } from '../tools.ts';
import { type AddingDeps, addFiles, type FileGiver } from './adding.ts';
import { USUAL_CHUNKING } from './chunking.ts';
import { lockStore, storeById, usableStore } from './rows.ts';
import { isExpired } from './store.ts';
import type { Stores } from './stores.ts';

/** So long a store lives that was made for a thread, after it was last used. */
export const THREAD_STORE_DAYS = 7;

export interface ToolStoresDeps extends AddingDeps {
  readonly stores: Pick<Stores, 'insert'>;
}

/** Vector stores as the resources of tools: named, made on the way, or made of what is attached to messages. */
export function createToolStores(deps: ToolStoresDeps) {
  const { store, stores, now } = deps;

  const expiring = (days: number | null) => (days === null ? null : { anchor: 'last_active_at' as const, days });

  /** The store in which a thread's attachments are, if it can take another. */
  const storeOf = async (
    db: Db,
    workspaceId: WorkspaceId,
    { file_search }: ToolResources,
  ): Promise<VectorStoreRow | null> => {
    const id = file_search?.vector_store_ids?.[0];
    if (id === undefined) return null;
    await lockStore(store, db, id);
    const row = await storeById(db, workspaceId, id);
    return row && !isExpired(row, now()) ? row : null;
  };

  return {
    /** Throws unless the workspace has these stores and they can be searched. */
    async check(db: Db, workspaceId: WorkspaceId, ids: readonly string[]): Promise<void> {
      for (const id of ids) await usableStore(db, workspaceId, id, now());
    },

    /** Makes the stores that are asked for by what is to be in them. A thread's live for a week, an assistant's for ever. */
    async settle(
      db: Db,
      giver: FileGiver,
      resources: NewToolResources | null | undefined,
      days: number | null,
    ): Promise<ToolResources> {
      const { file_search, ...others } = resources ?? {};
      if (!file_search) return others;
      const { vector_stores = [], vector_store_ids = [] } = file_search;
      const ids: string[] = [...vector_store_ids];
      for (const asked of vector_stores) {
        const made = await stores.insert(db, giver, {
          file_ids: asked.file_ids,
          chunking_strategy: asked.chunking_strategy,
          metadata: asked.metadata,
          expires_after: expiring(days),
        });
        ids.push(made.id);
      }
      return { ...others, file_search: { vector_store_ids: ids } };
    },

    /** Files that were attached for search go into the thread's store; a thread without one gets one. */
    async attach(db: Db, giver: FileGiver, threadId: string, fileIds: readonly string[]): Promise<void> {
      if (fileIds.length === 0) return;
      const { workspaceId, proofs } = giver;
      const thread = await findThread(db, workspaceId, threadId);
      const resources = JSON.parse(thread.tool_resources) as ToolResources;
      const there = await storeOf(db, workspaceId, resources);
      if (there) {
        const files = fileIds.map((fileId) => ({ fileId, attributes: null, chunking: USUAL_CHUNKING }));
        return addFiles(db, there, { files, proofs }, deps);
      }
      const { id } = await stores.insert(db, giver, {
        file_ids: [...fileIds],
        expires_after: expiring(THREAD_STORE_DAYS),
        metadata: {},
      });
      const next: ToolResources = { ...resources, file_search: { vector_store_ids: [id] } };
      await db
        .updateTable('threads')
        .set({ tool_resources: JSON.stringify(next) })
        .where('id', '=', threadId)
        .execute();
    },
  };
}

export type ToolStores = ReturnType<typeof createToolStores>;
