import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { startCheckpoints } from './checkpoints.ts';
import { openSqliteFile } from './sqlite-file.ts';
import { openSqlite, type Store } from './store.ts';

let dataDir: string;
let store: Store;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-checkpoints-'));
  store = openSqlite(join(dataDir, 'state.db'));
  await sql`create table notes (id integer primary key, text text)`.execute(store.db);
});
afterAll(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const sizeOf = (name: string) => statSync(join(dataDir, name)).size;
const write = (rows: number) =>
  store.transaction((db) =>
    sql`
      with recursive counted (number) as (select 1 union all select number + 1 from counted where number < ${rows})
      insert into notes (text) select hex(randomblob(200)) from counted`.execute(db),
  );

async function until(what: () => boolean, limitMs = 60_000) {
  for (const deadline = performance.now() + limitMs; !what(); ) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms`);
    await Bun.sleep(10);
  }
}

/** Pages are moved in their order, so the file is as long as it will be once the last of them is there. */
async function allMoved() {
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(store.db);
  const pages = await sql<{ page_size: number }>`pragma page_size`.execute(store.db);
  const bytes = rows[0]!.page_count * pages.rows[0]!.page_size;
  await until(() => sizeOf('state.db') === bytes);
}

test('what was committed is moved into the file by a thread, also beside more of it, and all of it is there', async () => {
  const workerUrl = new URL('./query-worker.ts', import.meta.url);
  const checkpoints = await startCheckpoints({ store, dataDir, workerUrl });
  try {
    // 100 pages at a time, of which the store would begin to move 8,000 by itself.
    for (let round = 1; round <= 5; round++) {
      const before = sizeOf('state.db');
      await write(1_000);
      await until(() => sizeOf('state.db') > before);
    }
    await write(5_000);
    await allMoved();
    // The log begins anew once everything in it was moved, and so does not grow with what is written.
    const before = sizeOf('state.db-wal');
    await write(1_000);
    await allMoved();
    expect(sizeOf('state.db-wal')).toBe(before);
    const { rows } = await sql<{ rows: number }>`select count(*) as rows from notes`.execute(store.db);
    expect(rows[0]!.rows).toBe(11_000);
  } finally {
    checkpoints.stop();
  }
});

test('what a reader of an older state kept from being moved is moved when it has gone, though nothing is written any more', async () => {
  const workerUrl = new URL('./query-worker.ts', import.meta.url);
  const reader = openSqliteFile(join(dataDir, 'state.db'), { durability: 'normal', readonly: true });
  reader.run('begin');
  reader.query('select count(*) from notes').all();
  const before = sizeOf('state.db');
  const checkpoints = await startCheckpoints({ store, dataDir, workerUrl });
  try {
    await write(1_000);
    // Whatever has been tried by now, the reader was in its way.
    await Bun.sleep(2_500);
    expect(sizeOf('state.db')).toBe(before);
    reader.run('commit');
    // Sooner than an idle thread ends and lets go of the file.
    await until(() => sizeOf('state.db') > before, 40_000);
  } finally {
    checkpoints.stop();
    reader.close();
  }
});
