import * as z from 'zod';
import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { sortBehind } from '../core/object-ids.ts';
import { type Checked, schemaOf } from '../core/schema.ts';
import { unixSeconds } from '../core/unix-seconds.ts';
import type { ThreadRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { toolResources } from './tools.ts';

export const threadObject = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('thread'),
      created_at: z.number().int(),
      tool_resources: schemaOf(toolResources),
      metadata: z.record(z.string(), z.string()),
    })
    .meta({ id: 'Thread' });
export type Thread = Checked<typeof threadObject>;

export const shownThread = (row: ThreadRow): Thread => ({
  id: row.id,
  object: 'thread',
  created_at: unixSeconds(row.created_at),
  tool_resources: JSON.parse(row.tool_resources),
  metadata: JSON.parse(row.metadata),
});

/** The row of a thread that is there, or the 404 of the vendor. */
export async function findThread(db: Db, workspaceId: WorkspaceId, id: string): Promise<ThreadRow> {
  const row = await db
    .selectFrom('threads')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row ?? fail('object_not_found', 'thread', id);
}

/** The same, and until the transaction ends no other transaction adds a message or a run to it, or deletes it. */
export async function lockThread(
  { engine }: Pick<Store, 'engine'>,
  db: Db,
  workspaceId: WorkspaceId,
  id: string,
): Promise<ThreadRow> {
  if (engine === 'postgres')
    await db.selectFrom('threads').select('id').where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
  return findThread(db, workspaceId, id);
}

/** Messages are in the order of their ids: what is said next comes behind all of them, whichever node has said them. */
export async function goBehindMessages(db: Db, threadId: string): Promise<void> {
  const last = await db
    .selectFrom('messages')
    .select('id')
    .where('thread_id', '=', threadId)
    // Those that are deleted are in no list, nor in its index.
    .where('deleted_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (last) sortBehind(last.id);
}
