import { fail } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { Db } from '../../storage/store.ts';
import { findThread, shownThread } from '../thread.ts';

const MOST_FILES = 20;

/** From here on, code of the thread finds these files. In the transaction of the message they came with. */
export async function attachFiles(db: Db, workspaceId: WorkspaceId, threadId: string, fileIds: readonly string[]) {
  const row = await findThread(db, workspaceId, threadId);
  const { tool_resources: resources } = shownThread(row);
  const ids = [...new Set([...(resources.code_interpreter?.file_ids ?? []), ...fileIds])];
  if (ids.length > MOST_FILES) fail('invalid_value', 'attachments', tooMany(ids.length));
  const next = JSON.stringify({ ...resources, code_interpreter: { file_ids: ids } });
  await db.updateTable('threads').set({ tool_resources: next }).where('id', '=', threadId).execute();
}

const tooMany = (count: number) =>
  `Invalid 'attachments': the thread would have ${count} files for 'code_interpreter'; at most ${MOST_FILES} are possible.`;
