import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../../../storage/store.ts';
import { createEmbeddedChunks } from './embedded-chunks.ts';
import { openEmbeddedChunks } from './thread/embedded.ts';
import type { SearchThread } from './thread/requests.ts';

/** A thread that can be held up, as by another question that takes long. */
function holdable(thread: SearchThread) {
  let gate = Promise.resolve();
  const after =
    <Given extends readonly unknown[], Result>(ask: (...given: Given) => Promise<Result>) =>
    async (...given: Given) => {
      await gate;
      return ask(...given);
    };
  const held: SearchThread = {
    ...thread,
    ...{ nearest: after(thread.nearest), count: after(thread.count), all: after(thread.all) },
  };
  const holdUp = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  return { thread: held, holdUp };
}

test('words are found while vectors are looked at, and vectors while words are looked up', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-search-'));
  const stateFile = join(folder, 'state.db');
  const store = openSqlite(stateFile);
  await store.migrate();
  const thread = () => openEmbeddedChunks({ engine: 'sqlite', file: join(folder, 'search.db'), stateFile });
  const [reader, scanner, writer] = [holdable(thread()), holdable(thread()), thread()];
  const source = 'source';
  const row = { id: source, store_id: 'vs_1', file_id: 'file-1', state: 'current', chunks: 1 } as const;
  await store.db
    .insertInto('indexed_files')
    .values({ ...row, dimensions: 16, vectors: 'scanned', touched_at: 0 })
    .execute();
  await store.db
    .insertInto('vector_stores')
    .values({
      ...{ id: 'vs_1', workspace_id: 'w', body: '{}', expires_days: null, last_active_at: 0, expires_at: null },
      ...{ expired_at: null, created_at: 0, deleted_at: null },
    })
    .execute();
  await store.db
    .insertInto('vector_store_files')
    .values({
      ...{ store_id: 'vs_1', file_id: 'file-1', position: '1', batch_id: null, status: 'completed', last_error: null },
      ...{ usage_bytes: 0, attributes: '{}', chunk_tokens: 800, overlap_tokens: 400, created_at: 0, deleted_at: null },
    })
    .execute();
  const vector = new Float32Array(16).fill(0.25);
  await writer.add({
    ...{ source, storeId: 'vs_1', first: 0, dimensions: 16, vectors: 'scanned' },
    chunks: [{ text: 'a bicycle', begins: 0, ends: 9, locator: null, vector }],
  });
  const scope = { storeIds: ['vs_1'], filter: null };
  const place = { source, number: 0 };
  const threads = { reader: reader.thread, scanner: scanner.thread, writer };
  const chunks = createEmbeddedChunks({ store, ...threads, approximateFrom: 1 });
  const byWords = () => chunks.byWords(scope, 'bicycle', 10);
  const byVector = () => chunks.byVector(scope, vector, 10);
  expect(await Promise.all([byWords(), byVector()])).toMatchObject([[place], [place]]);

  const goOnScanning = scanner.holdUp();
  const scanned = byVector();
  expect(await byWords()).toMatchObject([place]);
  goOnScanning();
  expect(await scanned).toMatchObject([place]);

  const goOnReading = reader.holdUp();
  const found = byWords();
  expect(await byVector()).toMatchObject([place]);
  goOnReading();
  expect(await found).toMatchObject([place]);

  // What is removed after a search was expected is not found by it, and a thread that cannot look ahead can still search.
  chunks.expectVector(scope);
  expect(await byVector()).toMatchObject([place]);
  const scannerThatFails = { ...scanner.thread, expect: () => Promise.reject(new Error('it fails')) };
  const others = createEmbeddedChunks({ store, ...threads, scanner: scannerThatFails, approximateFrom: 1 });
  others.expectVector(scope);
  expect(await others.byVector(scope, vector, 10)).toMatchObject([place]);
  chunks.expectVector(scope);
  await scanner.thread.all({ sql: 'select 1', parameters: [] });
  await store.db.updateTable('vector_store_files').set({ deleted_at: 1 }).execute();
  expect(await byVector()).toEqual([]);
  // Vectors of another length are there, and are not compared with it.
  await store.db.updateTable('vector_store_files').set({ deleted_at: null }).execute();
  expect(await chunks.byVector(scope, new Float32Array(32).fill(0.25), 10)).toEqual([]);
  expect(await byVector()).toMatchObject([place]);

  chunks.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
