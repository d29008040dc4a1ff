import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { eventually, newDataDir, removeDataDir, startProcess } from '../process.ts';

const SECRET = 'nobody is to read this again';
const headers = { 'x-gateway-virtual-key': 'sim' };

function rowsIn(dataDir: string, sql: string): unknown[] {
  const database = new Database(join(dataDir, 'state.db'), { readonly: true });
  try {
    return database.query(sql).all();
  } finally {
    database.close();
  }
}

test('a long thread that was deleted is cleared to its last word, though the process is killed at it', async () => {
  const home = newDataDir();
  const first = await startProcess({ dataDir: home });
  await first.given.virtualKey('http://127.0.0.1:9/v1');
  const messages = Array.from({ length: 6_000 }, (_, number) => ({ role: 'user', content: `${SECRET} ${number}` }));
  const { id } = (await first.api.post('/v1/threads', { messages, metadata: { note: SECRET } }, { headers })).json;

  const reply = await first.api.delete(`/v1/threads/${id}`, { headers });
  await first.kill();

  expect(reply.json).toEqual({ id, object: 'thread.deleted', deleted: true });
  const left = () => rowsIn(first.dataDir, `select id from messages where content like '%${SECRET}%'`).length;
  const second = await startProcess({ dataDir: home });
  try {
    expect((await second.api.get(`/v1/threads/${id}`, { headers })).status).toBe(404);
    await eventually('nothing is left', () => left() === 0);
    expect(rowsIn(first.dataDir, 'select metadata from threads')).toEqual([{ metadata: '{}' }]);
    await eventually('the work is done', () => rowsIn(first.dataDir, 'select id from work').length === 0);
  } finally {
    await second.stop();
    removeDataDir(home);
  }
});
