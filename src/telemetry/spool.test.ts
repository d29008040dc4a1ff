import { afterAll, expect, test } from 'bun:test';
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { batchOf, packed, removeTemporaryFolders, row, temporaryFolder } from '../../test/telemetry/log-rows.ts';
import type { LogBatch } from './log-sink.ts';
import { Spool } from './spool.ts';

afterAll(removeTemporaryFolders);

const ids = (batches: LogBatch[]) => batches.flatMap(({ rows }) => rows.map(({ id }) => id));

function newSpool({
  maxBytes = 1_000_000_000,
  folder = join(temporaryFolder(), 'spool'),
  processId = process.pid,
} = {}) {
  let time = 1_000;
  return { folder, spool: new Spool({ folder, maxBytes, processId, now: () => time++ }) };
}

test('batches come back in the order they were appended, bodies and all', () => {
  const { spool } = newSpool();
  const one: LogBatch = { rows: [row(), row({ metadata: '{"ä":"ö"}' })], bodies: [[packed({ request: 'x' })], null] };
  const two = batchOf(row());
  spool.append(one);
  spool.append(two);
  expect(spool.files()).toEqual([]);
  spool.seal();
  const read = spool.files().flatMap((file) => spool.read(file));
  expect(read.map(({ rows }) => rows)).toEqual([one.rows, two.rows] as LogBatch['rows'][] as never);
  expect(Buffer.concat(read[0]!.bodies[0]!).equals(Buffer.concat(one.bodies[0]!))).toBe(true);
  expect(read[0]!.bodies[1]).toBeNull();
});

test('a last frame that a kill has torn is ignored, wherever it was torn', () => {
  const { spool, folder } = newSpool();
  const kept = batchOf(row());
  spool.append(kept);
  spool.append({ rows: [row()], bodies: [[packed({ request: 'y' })]] });
  spool.seal();
  const [file] = spool.files();
  const path = join(folder, file!);
  const whole = readFileSync(path);
  for (let end = 0; end < whole.length; end += 7) {
    writeFileSync(path, whole.subarray(0, end));
    const read = ids(spool.read(file!));
    expect(read.length === 0 || (read.length === 1 && read[0] === kept.rows[0]!.id)).toBe(true);
  }
  writeFileSync(path, whole.with(whole.length - 1, whole.at(-1)! ^ 1));
  expect(ids(spool.read(file!))).toEqual([kept.rows[0]!.id]);
  writeFileSync(path, whole);
  appendFileSync(path, Buffer.from([1, 2, 3]));
  expect(ids(spool.read(file!)).length).toBe(2);
});

test('beyond its bound the oldest bodies go first, records only when nothing else is left', () => {
  const noise = () => crypto.getRandomValues(new Uint8Array(20_000));
  const { spool, folder } = newSpool({ maxBytes: 200_000 });
  let bodies = 0;
  let records = 0;
  const append = (batch: LogBatch) => {
    const shed = spool.append(batch);
    bodies += shed.bodies;
    records += shed.records;
    const size = readdirSync(folder).reduce((total, name) => total + statSync(join(folder, name)).size, 0);
    expect(size).toBeLessThanOrEqual(230_000);
  };
  for (let index = 0; index < 30; index++) append({ rows: [row()], bodies: [[packed({ request: noise() })]] });
  expect(bodies).toBeGreaterThan(10);
  expect(records).toBe(0);
  spool.seal();
  const read = spool.files().flatMap((file) => spool.read(file));
  expect(ids(read).length).toBe(30);
  expect(read[0]!.bodies[0]).toBeNull();
  expect(read.at(-1)!.bodies[0]).not.toBeNull();
  for (let index = 0; index < 20; index++) append(batchOf(...Array.from({ length: 50 }, () => row())));
  expect(records).toBeGreaterThan(0);
});

test('what an earlier process left is found; what a living one writes is left to it', () => {
  const { folder, spool: dead } = newSpool({ processId: 4_190_000 });
  dead.append(batchOf(row()));
  dead.seal();
  const living = new Spool({ folder, maxBytes: 1e9, processId: 1, now: () => 5_000 });
  living.append(batchOf(row()));
  living.seal();
  const mine = new Spool({ folder, maxBytes: 1e9, processId: process.pid, now: () => 6_000 });
  expect(mine.files().length).toBe(1);
  expect(mine.files()[0]).toContain('-4190000');
});

test('only the owner can read the spool', () => {
  const { spool, folder } = newSpool();
  spool.append(batchOf(row()));
  spool.seal();
  expect(statSync(folder).mode & 0o077).toBe(0);
  expect(statSync(join(folder, spool.files()[0]!)).mode & 0o077).toBe(0);
});
