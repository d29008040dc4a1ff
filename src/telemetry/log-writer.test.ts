import { afterAll, expect, test } from 'bun:test';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  ask,
  batchOf,
  eventually,
  removeTemporaryFolders,
  row,
  temporaryFolder,
} from '../../test/telemetry/log-rows.ts';
import type { LogBatch, LogSink } from './log-sink.ts';
import { type LogStore, openLogStore } from './log-store.ts';
import { type LogOutcome, LogWriter, type LogWriterOptions } from './log-writer.ts';
import { Spool } from './spool.ts';

afterAll(removeTemporaryFolders);

/** A writer on a real SQLite file whose folder can be taken away, with short pauses between attempts. */
function startWriter(over: Partial<LogWriterOptions> & { folder?: string } = {}) {
  const folder = over.folder ?? temporaryFolder();
  const file = join(folder, 'logs.db');
  const total = { written: 0, spooled: 0, dropped: 0, bodiesDropped: 0 };
  const spool = new Spool({ folder: join(folder, 'spool'), maxBytes: 1e9, processId: process.pid, now: Date.now });
  const report = (outcome: Partial<LogOutcome>) => {
    for (const [name, amount] of Object.entries(outcome)) total[name as keyof LogOutcome] += amount;
  };
  const writer = new LogWriter({
    open: () => openLogStore({ engine: 'sqlite', file }, 'writer'),
    spool,
    retentionMs: null,
    now: Date.now,
    report,
    firstRetryMs: 20,
    ...over,
  });
  const idsInStore = async () => {
    const store = await openLogStore({ engine: 'sqlite', file }, 'reader');
    const page = await store.list(ask({ limit: 1_000 }));
    await store.close();
    return page.data.map(({ id }) => id).toSorted();
  };
  const save = (batch: LogBatch) => new Promise<void>((done) => writer.accept(batch, done));
  return { folder, file, writer, spool, total, save, idsInStore };
}

const away = () => Promise.reject(Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' }));

test('a batch is in the store when it is acknowledged', async () => {
  const { writer, save, idsInStore, total } = startWriter();
  const record = row();
  await save(batchOf(record));
  expect(await idsInStore()).toEqual([record.id]);
  expect(total).toEqual({ written: 1, spooled: 0, dropped: 0, bodiesDropped: 0 });
  await writer.close();
});

test('while the store is away batches go to the spool, and come back when it returns', async () => {
  const folder = temporaryFolder();
  // A folder where the file should be cannot be opened as a database.
  mkdirSync(join(folder, 'logs.db'));
  const { writer, save, spool, total, idsInStore } = startWriter({ folder });
  const early = Array.from({ length: 5 }, () => row());
  for (const record of early) await save(batchOf(record));
  expect(total.spooled).toBe(5);
  rmSync(join(folder, 'logs.db'), { recursive: true });
  await eventually(() => expect(total.written).toBe(5));
  const late = row();
  await save(batchOf(late));
  await eventually(() => expect(spool.files()).toEqual([]));
  expect(await idsInStore()).toEqual([...early, late].map(({ id }) => id).toSorted());
  expect(total).toEqual({ written: 6, spooled: 5, dropped: 0, bodiesDropped: 0 });
  await writer.close();
});

test('a store that fails in the middle of its life loses nothing', async () => {
  let isAway = false;
  const inner = { store: null as LogStore | null };
  const folder = temporaryFolder();
  const open = async (): Promise<LogSink> => {
    if (isAway) return away();
    const store = await openLogStore({ engine: 'sqlite', file: join(folder, 'logs.db') }, 'writer');
    inner.store = store;
    return {
      insert: (batch) => (isAway ? away() : store.insert(batch)),
      prune: (before, atMost) => store.prune(before, atMost),
      erase: (whose, atMost) => store.erase(whose, atMost),
      tend: () => store.tend(),
      recount: (isToBegin) => store.recount(isToBegin),
      close: () => store.close(),
    };
  };
  const { writer, save, idsInStore } = startWriter({ folder, open });
  const rows = Array.from({ length: 60 }, () => row());
  for (const [index, record] of rows.entries()) {
    isAway = index % 20 >= 10;
    await save(batchOf(record));
    if (index % 10 === 9) await Bun.sleep(30);
  }
  isAway = false;
  await eventually(async () => expect(await idsInStore()).toEqual(rows.map(({ id }) => id).toSorted()));
  await writer.close();
});

test('what a killed process left in the spool is replayed at the next start, torn end included', async () => {
  const folder = temporaryFolder();
  const before = new Spool({ folder: join(folder, 'spool'), maxBytes: 1e9, processId: process.pid, now: () => 1 });
  const record = row();
  before.append(batchOf(record));
  before.append(batchOf(row()));
  before.seal();
  const path = join(folder, 'spool', before.files()[0]!);
  const whole = await Bun.file(path).bytes();
  await Bun.write(path, whole.subarray(0, whole.length - 10));
  const { writer, idsInStore, total } = startWriter({ folder });
  await eventually(() => expect(existsSync(path)).toBe(false));
  expect(await idsInStore()).toEqual([record.id]);
  expect(total.written).toBe(1);
  await writer.close();
});

test('a record that the store cannot hold is dropped alone', async () => {
  const { writer, save, idsInStore, total } = startWriter();
  const good = Array.from({ length: 20 }, () => row());
  const bad = { ...row(), method: null as never };
  await save(batchOf(...good.slice(0, 7), bad, ...good.slice(7)));
  expect(await idsInStore()).toEqual(good.map(({ id }) => id).toSorted());
  expect(total).toMatchObject({ written: 20, dropped: 1, spooled: 0 });
  await writer.close();
});

test('when neither the store nor the disk takes a batch it is counted and memory does not grow', async () => {
  const folder = temporaryFolder();
  await Bun.write(join(folder, 'spool'), 'a file where the folder should be');
  const total = { dropped: 0 };
  const writer = new LogWriter({
    open: away,
    spool: {
      append: () => {
        throw new Error('disk full');
      },
      seal: () => {},
      files: () => [],
    } as unknown as Spool,
    retentionMs: null,
    now: Date.now,
    report: ({ dropped = 0 }) => {
      total.dropped += dropped;
    },
  });
  await new Promise<void>((done) => writer.accept(batchOf(row(), row()), done));
  expect(total.dropped).toBe(2);
  await writer.close();
});

test('batches that pile up behind a hanging insert go to the spool', async () => {
  let release = () => {};
  const hanging = new Promise<void>((resolve) => {
    release = resolve;
  });
  const folder = temporaryFolder();
  const open = async (): Promise<LogStore> => {
    const store = await openLogStore({ engine: 'sqlite', file: join(folder, 'logs.db') }, 'writer');
    return Object.assign(Object.create(store) as LogStore, {
      insert: (batch: LogBatch) => hanging.then(() => store.insert(batch)),
      prune: async () => 0,
      close: () => store.close(),
    });
  };
  const { writer, total } = startWriter({ folder, open });
  await Bun.sleep(50);
  const many = Array.from({ length: 5_000 }, () => row());
  for (let index = 0; index < 14; index++) writer.accept(batchOf(...many), () => {});
  expect(total.spooled).toBeGreaterThanOrEqual(10_000);
  release();
  await writer.flush();
  expect(total.written + total.spooled).toBeGreaterThanOrEqual(70_000);
  await writer.close();
});

test('entries older than the retention are deleted at start and then every ten minutes', async () => {
  const folder = temporaryFolder();
  const filled = startWriter({ folder });
  const now = 1_700_000_000_000;
  const [old, young] = [row({ created_at: now - 2_000 }), row({ created_at: now - 500 })];
  await filled.save(batchOf(old, young));
  await filled.writer.close();
  const { writer, idsInStore } = startWriter({ folder, retentionMs: 1_000, now: () => now });
  await eventually(async () => expect(await idsInStore()).toEqual([young.id]));
  await writer.close();
});
