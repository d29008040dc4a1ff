import { afterEach, beforeEach, expect, test } from 'bun:test';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Journal, type JournalOptions, recordOf } from './journal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (more: Partial<JournalOptions> = {}) =>
  new Journal({ folder, processId: process.pid, isShared: false, ...more });
const written = (count: number) => {
  const journal = open();
  for (let index = 0; index < count; index++) journal.append(recordOf({ index, text: 'naïve ✓\n"quoted"' }));
  journal.finish();
  return join(folder, readdirSync(folder)[0]!);
};
const indexesIn = (journal: Journal) =>
  journal.finished().flatMap((name) => journal.read(name).map((record) => (record as { index: number }).index));

test('a journal that is cut at any byte is read up to the last whole record', () => {
  const file = written(4);
  const whole = readFileSync(file);
  for (let size = 0; size <= whole.byteLength; size++) {
    const cut = whole.subarray(0, size);
    writeFileSync(file, cut);

    const records = cut.toString('latin1').split('\n').length - 1;
    expect(indexesIn(open())).toEqual([0, 1, 2, 3].slice(0, records));
  }
});

test('a damaged record with whole ones after it is refused, and the file is named', () => {
  const file = written(4);
  const bytes = readFileSync(file);
  bytes[bytes.indexOf('"index":1') + 8] = '7'.charCodeAt(0);
  writeFileSync(file, bytes);

  const journal = open();

  expect(() => journal.read(journal.finished()[0]!)).toThrow(`${file} is damaged: record 2 of 4`);
});

test('what a power cut left at the end is ignored', () => {
  const file = written(2);
  appendFileSync(file, Buffer.alloc(100));
  appendFileSync(file, '\nnonsense\n');

  expect(indexesIn(open())).toEqual([0, 1]);
});

test('pages that the power took are skipped, and what stands behind them is read', () => {
  const file = written(8);
  const bytes = readFileSync(file);
  const [from, to] = [bytes.indexOf('"index":2'), bytes.indexOf('"index":4')];
  writeFileSync(file, bytes.fill(0, from, to));

  expect(indexesIn(open())).toEqual([0, 1, 5, 6, 7]);
});

test('a journal is read while it is written, and begins empty after it was emptied', () => {
  const journal = open();
  journal.append(recordOf({ index: 0, text: 'naïve ✓' }));
  expect(indexesIn(open())).toEqual([0]);
  journal.clear();
  journal.append(recordOf({ index: 1 }));

  expect(indexesIn(open())).toEqual([1]);
});

test('a new segment holds its first records at once, and the ones before it are told', () => {
  const journal = open();
  journal.append(recordOf({ index: 0 }));
  const before = journal.startWith(recordOf({ index: 1 }));
  journal.append(recordOf({ index: 2 }));

  expect(indexesIn(open())).toEqual([0, 1, 2]);
  for (const name of before) journal.remove(name);
  expect(indexesIn(open())).toEqual([1, 2]);
});

test('a draft that a kill left behind is thrown away', () => {
  writeFileSync(join(folder, '000000000007-4711.draft'), recordOf({ index: 7 }));

  expect(indexesIn(open())).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
});

test('segments of another living process are left to it, those of a dead one are taken', async () => {
  const neighbour = Bun.spawn(['sleep', '60']);
  const theirs = open({ processId: neighbour.pid, isShared: true });
  theirs.append(recordOf({ index: 0 }));

  expect(indexesIn(open({ isShared: true }))).toEqual([]);
  neighbour.kill('SIGKILL');
  await neighbour.exited;
  expect(indexesIn(open({ isShared: true }))).toEqual([0]);
});
