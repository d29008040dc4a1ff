import { expect, test } from 'bun:test';
import { workspaceId } from '../../test/assistants/engine.ts';
import { openSqlite } from '../storage/store.ts';
import { createMessages } from './messages.ts';

test('a file that messages refer to again and again is looked up once', async () => {
  const store = openSqlite(':memory:');
  await store.migrate();
  const thread = { id: 'thread_1', workspace_id: workspaceId, tool_resources: '{}', metadata: '{}', created_at: 1 };
  await store.db
    .insertInto('threads')
    .values({ ...thread, deleted_at: null })
    .execute();
  const asked: string[] = [];
  const messages = createMessages({
    store,
    refuseActiveRun: async () => {},
    checkFile: async (_db, _workspaceId, fileId) => void asked.push(fileId),
  });

  const image = { type: 'image_file' as const, image_file: { file_id: 'file-1' } };
  const attachments = Array(3).fill({ file_id: 'file-2' });
  const message = { role: 'user' as const, content: Array(3).fill(image), attachments, metadata: {} };
  const rows = await messages.insert(store.db, workspaceId, 'thread_1', Array(500).fill(message));

  expect(asked).toEqual(['file-1', 'file-2']);
  expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort());
  const { data } = await messages.list(workspaceId, 'thread_1', { order: 'asc', limit: 100 });
  expect(data.map(({ id }) => id)).toEqual(rows.slice(0, 100).map(({ id }) => id));
  await store.close();
});
