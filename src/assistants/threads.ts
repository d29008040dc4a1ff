import * as z from 'zod';
import type { WorkspaceId } from '../core/ids.ts';
import { type List, type ListQuery, listPage } from '../core/list.ts';
import { changedMetadata, metadataRule, newMetadata } from '../core/metadata-rule.ts';
import { newObjectId } from '../core/object-ids.ts';
import { type Checked, schemaOf } from '../core/schema.ts';
import { withinBounds } from '../storage/keyset.ts';
import type { ThreadRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { Workers } from '../work/workers.ts';
import type { CheckTools, SettleResources } from './assistants.ts';
import { CLEAR_THREAD, clearSome } from './clearing.ts';
import { type Messages, newMessages } from './messages.ts';
import { findThread, lockThread, shownThread, type Thread } from './thread.ts';
import { changedResources, newToolResources, toolResources } from './tools.ts';
import type { FileGiver } from './vector-stores/adding.ts';
import { THREAD_STORE_DAYS } from './vector-stores/tool-stores.ts';

export const createThread = () =>
  z.strictObject({
    messages: newMessages(),
    tool_resources: schemaOf(newToolResources).nullish(),
    metadata: newMetadata,
  });
export const updateThread = () =>
  z.strictObject({
    tool_resources: schemaOf(toolResources).nullish(),
    metadata: metadataRule.nullish(),
  });

export interface ThreadsDeps {
  readonly store: Store;
  readonly messages: Messages;
  readonly check: CheckTools;
  readonly settle: SettleResources;
  /** Throws while a run holds the thread. */
  readonly refuseActiveRun: (db: Db, threadId: string) => Promise<void>;
  readonly workers: () => Workers;
  readonly now?: () => number;
}

/** Where a thread is begun, and by whom: null where it was no user. */
export interface ThreadMaker extends FileGiver {
  readonly userId: string | null;
}

/** What is left of a thread that was deleted: its place in the list. */
const NOTHING_KEPT = { tool_resources: '{}', metadata: '{}' };

export function createThreads(deps: ThreadsDeps) {
  const { store, messages, check, settle, refuseActiveRun, workers, now = Date.now } = deps;
  const insert = async (db: Db, maker: ThreadMaker, input: Checked<typeof createThread>): Promise<ThreadRow> => {
    const { workspaceId, userId } = maker;
    const row: ThreadRow = {
      id: newObjectId('thread', now()),
      workspace_id: workspaceId,
      user_id: userId,
      tool_resources: JSON.stringify(await settle(db, maker, input.tool_resources, THREAD_STORE_DAYS)),
      metadata: JSON.stringify(input.metadata),
      created_at: now(),
      deleted_at: null,
    };
    await db.insertInto('threads').values(row).execute();
    await messages.insert(db, { ...maker, threadId: row.id }, input.messages ?? []);
    // What is attached to its messages may have become a resource of its tools.
    return findThread(db, workspaceId, row.id);
  };

  return {
    insert,

    async create(maker: ThreadMaker, input: Checked<typeof createThread>): Promise<Thread> {
      await check(store.db, maker.workspaceId, input);
      return shownThread(await store.transaction((db) => insert(db, maker, input)));
    },

    async read(workspaceId: WorkspaceId, id: string): Promise<Thread> {
      return shownThread(await findThread(store.db, workspaceId, id));
    },

    async list(workspaceId: WorkspaceId, query: ListQuery): Promise<List<Thread>> {
      const all = () => store.db.selectFrom('threads').selectAll().where('workspace_id', '=', workspaceId);
      const page = await listPage(query, 'thread', {
        has: async (id) => (await all().where('id', '=', id).executeTakeFirst()) !== undefined,
        between: (bounds) => withinBounds(all().where('deleted_at', 'is', null), bounds).execute(),
      });
      return { ...page, data: page.data.map(shownThread) };
    },

    async update(workspaceId: WorkspaceId, id: string, input: Checked<typeof updateThread>): Promise<Thread> {
      await check(store.db, workspaceId, input);
      return store.transaction(async (db) => {
        const row = await lockThread(store, db, workspaceId, id);
        const old = shownThread(row);
        const change = {
          tool_resources: JSON.stringify(changedResources(old.tool_resources, input.tool_resources)),
          metadata: JSON.stringify(changedMetadata(old.metadata, input.metadata)),
        };
        await db.updateTable('threads').set(change).where('id', '=', id).execute();
        return shownThread({ ...row, ...change });
      });
    },

    async delete(workspaceId: WorkspaceId, id: string) {
      await store.transaction(async (db) => {
        await lockThread(store, db, workspaceId, id);
        await refuseActiveRun(db, id);
        await db
          .updateTable('threads')
          .set({ deleted_at: now(), ...NOTHING_KEPT })
          .where('id', '=', id)
          .execute();
        if (await clearSome(store, db, id))
          await workers().enqueue(db, { kind: CLEAR_THREAD, tenant: workspaceId, ref: id });
      });
      return { id, object: 'thread.deleted' as const, deleted: true as const };
    },
  };
}

export type Threads = ReturnType<typeof createThreads>;
