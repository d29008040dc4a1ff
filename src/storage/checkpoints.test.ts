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

async function until(what: () => boolean | Promise<boolean>, limitMs = 60_000) {
  for (const deadline = performance.now() + limitMs; !(await what()); ) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms`);
    await Bun.sleep(10);
  }
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
    // The log begins anew once everything in it was moved: what is written then does not make it longer.
    let written = 10_000;
    await until(async () => {
      // A thread moves what there is about once a second.
      await Bun.sleep(1_500);
      const before = sizeOf('state.db-wal');
      await write(100);
      written += 100;
      return sizeOf('state.db-wal') === before;
    });
    const { rows } = await sql<{ rows: number }>`select count(*) as rows from notes`.execute(store.db);
    expect(rows[0]!.rows).toBe(written);
  } finally {
    checkpoints.stop();
  }
});

test('what a reader of an older state kept from being moved is moved when it has gone, though nothing is written any more', async () => {
  const workerUrl = new URL('./query-worker.ts', import.meta.url);
  // What others have written may be moved in spite of the reader.
  await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
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
