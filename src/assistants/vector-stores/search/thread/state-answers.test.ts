import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteFile } from '../../../../storage/sqlite.ts';
import { StateAnswers } from './state-answers.ts';

test('an answer is kept until the state changes, by whatever connection, and is then asked for again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-answers-'));
  const file = join(folder, 'state.db');
  const [writer, other] = [
    openSqliteFile(file, { durability: 'normal' }),
    openSqliteFile(file, { durability: 'normal' }),
  ];
  writer.run('create table files (id text, store text)');
  writer.run("insert into files values ('one', 'a'), ('two', 'b')");
  const reader = new Database(':memory:');
  reader.run('attach ? as state', [file]);
  const answers = new StateAnswers(() => reader);
  const of = (store: string) =>
    answers.all<{ id: string }>({ sql: 'select id from files where store = ? order by id', parameters: [store] });
  const ids = (store: string) => of(store).map(({ id }) => id);
  expect([ids('a'), ids('b')]).toEqual([['one'], ['two']]);
  expect(of('a')).toBe(of('a'));
  writer.run("insert into files values ('three', 'a')");
  expect([ids('a'), ids('b')]).toEqual([['one', 'three'], ['two']]);
  other.run("delete from files where id = 'one'");
  expect(ids('a')).toEqual(['three']);
  // What is not committed is not there, and what is taken back never was.
  writer.run('begin');
  writer.run("insert into files values ('four', 'a')");
  expect(ids('a')).toEqual(['three']);
  writer.run('rollback');
  expect(ids('a')).toEqual(['three']);
  writer.run('pragma wal_checkpoint(truncate)');
  other.run("insert into files values ('five', 'a')");
  expect(ids('a')).toEqual(['five', 'three']);
  // More rows than are kept are answered all the same, and others are kept again afterwards.
  writer.run(
    "insert into files with recursive n (i) as (select 1 union all select i + 1 from n where i < 110000) select i, 'c' from n",
  );
  expect(of('c')).toHaveLength(110_000);
  expect(of('c')).not.toBe(of('c'));
  expect(of('a')).toBe(of('a'));
  for (const database of [reader, writer, other]) database.close();
  rmSync(folder, { recursive: true, force: true });
});
