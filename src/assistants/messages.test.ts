import { expect, test } from 'bun:test';
import { workspaceId } from '../../test/assistants/engine.ts';
import { openSqlite } from '../storage/store.ts';
import { createMessages } from './messages.ts';

async function givenThread() {
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
  return { store, messages, asked };
}

test('a file that messages refer to again and again is looked up once', async () => {
  const { store, messages, asked } = await givenThread();
  const image = { type: 'image_file' as const, image_file: { file_id: 'file-1' } };
  const attachments = Array(3).fill({ file_id: 'file-2' });
  const message = { role: 'user' as const, content: Array(3).fill(image), attachments, metadata: {} };
  const rows = await messages.insert(
    store.db,
    { workspaceId, threadId: 'thread_1', userId: null },
    Array(500).fill(message),
  );

  expect(asked).toEqual(['file-1', 'file-2']);
  expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort());
  const { data } = await messages.list(workspaceId, 'thread_1', { order: 'asc', limit: 100 });
  expect(data.map(({ id }) => id)).toEqual(rows.slice(0, 100).map(({ id }) => id));
  await store.close();
});

test('of a message that is deleted only its place is kept', async () => {
  const { store, messages } = await givenThread();
  const message = { role: 'user' as const, content: 'A secret.', metadata: { why: 'secret' } };
  const [first, second] = await messages.insert(store.db, { workspaceId, threadId: 'thread_1', userId: null }, [
    message,
    message,
  ]);

  await messages.delete(workspaceId, 'thread_1', second!.id);

  const rows = await store.db.selectFrom('messages').selectAll().where('id', '=', second!.id).execute();
  expect(JSON.stringify(rows)).not.toContain('secret');
  const page = await messages.list(workspaceId, 'thread_1', { order: 'desc', limit: 1, after: second!.id });
  expect(page.data.map(({ id }) => id)).toEqual([first!.id]);
  await store.close();
});
