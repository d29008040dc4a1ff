import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Kysely, PostgresDialect } from 'kysely';
import type { Pool } from 'pg';
import { createEmptyDatabase } from '../../../test/postgres.ts';
import { ask, packed, row } from '../../../test/telemetry/log-rows.ts';
import { migrate } from '../../storage/migrate.ts';
import { postgresPool } from '../../storage/postgres.ts';
import { LOG_MIGRATION_TABLE, type LogRow, type LogTables } from '../log-columns.ts';
import { LOG_MIGRATIONS } from '../log-schema.ts';
import { type LogStore, openLogStore } from '../log-store.ts';
import { postgresSink } from '../postgres-sink.ts';
import { makeDays, partsOf } from './days.ts';

const DAY_MS = 86_400_000;
const NOW = Date.now();
const TODAY = Math.floor(NOW / DAY_MS) * DAY_MS;

const at = (moment: number, over: Partial<LogRow> = {}): LogRow =>
  row({ id: Bun.randomUUIDv7('hex', moment), created_at: moment, metadata: '{"team":"blue"}', ...over });
const batch = (...rows: LogRow[]) => ({ rows, bodies: rows.map(({ id }) => [packed({ request: id })]) });
const namesOf = async (pool: Pool) => (await partsOf(pool)).map(({ name }) => name);
const nameOf = (day: number) => new Date(day).toISOString().slice(0, 10).replaceAll('-', '');

let url: string;
let pool: Pool;
let db: Kysely<LogTables>;
let stores: LogStore[];
beforeAll(async () => {
  url = await createEmptyDatabase();
  pool = postgresPool(url, 3);
  db = new Kysely<LogTables>({ dialect: new PostgresDialect({ pool }) });
  stores = [];
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await db.destroy();
});
const open = async (role: 'writer' | 'reader') => {
  const store = await openLogStore({ engine: 'postgres', url }, role);
  stores.push(store);
  return store;
};

const expectThere = async (rows: readonly LogRow[]) => {
  const reader = await open('reader');
  const { data } = await reader.list(ask({ limit: 100, metadata: { team: 'blue' } }));
  expect(data.map(({ id }) => id).toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
  for (const { id } of rows)
    expect(Buffer.from((await reader.read(ask(), id))!.request!.body as never).toString()).toBeTruthy();
};

const old: LogRow[] = [];

test('a log without days is divided as it is, and nodes of the version before go on writing', async () => {
  const before = LOG_MIGRATIONS.filter(({ name }) => name !== '0007-days');
  await migrate(db, 'postgres', LOG_MIGRATION_TABLE, before);
  const earlierVersion = postgresSink(pool, db);
  old.push(at(NOW - 40 * DAY_MS, { session_id: 's' }), at(NOW - DAY_MS), at(NOW));
  await earlierVersion.insert(batch(...old));

  // Two nodes of this version start at once.
  await Promise.all([open('writer'), open('writer')]);
  expect(await namesOf(pool)).toEqual(['before', 'default']);
  const meanwhile = at(NOW + 1);
  await earlierVersion.insert(batch(meanwhile));
  // The same entries come again, from a spool.
  await earlierVersion.insert(batch(...old, meanwhile));
  old.push(meanwhile);
  await expectThere(old);
});

test('entries come to the table of their day, also those that were there before it', async () => {
  const day = TODAY + 5 * DAY_MS;
  const entries = [at(day - 1), at(day), at(day + DAY_MS - 1), at(day + DAY_MS)];
  await stores[0]!.insert(batch(...entries.slice(0, 2)));
  await makeDays(pool, day);
  await makeDays(pool, day);
  await stores[0]!.insert(batch(...entries.slice(2)));
  const days = [day, day + DAY_MS, day + 2 * DAY_MS].map(nameOf);
  expect(await namesOf(pool)).toEqual([...days, 'before', 'default'].toSorted());
  for (const table of ['request_logs', 'request_log_labels', 'request_log_bodies']) {
    const counts = await Promise.all(
      [`${days[0]}`, `${days[1]}`, 'default'].map(async (name) => {
        const { rows } = await pool.query(`select count(*) as entries from ${table}_${name}`);
        return Number(rows[0].entries);
      }),
    );
    expect([table, ...counts]).toEqual([table, 2, 1, 1]);
  }
  await expectThere([...old, ...entries]);
  await stores[0]!.erase({ workspaceId: 'workspace' }, 100);
});

test('days that are over are dropped as a whole, with what their sessions amounted to', async () => {
  const day = TODAY - 10 * DAY_MS;
  await pool.query(
    'drop table if exists request_logs_before, request_log_labels_before, request_log_bodies_before, request_log_words_before',
  );
  await makeDays(pool, day);
  const [gone, kept] = [[at(day + 1, { session_id: 's' }), at(day + 2)], [at(day + DAY_MS, { session_id: 's' })]];
  await stores[0]!.insert(batch(...gone, ...kept));
  // Within the next day: what is old of it waits until all of it is.
  expect(await stores[0]!.prune(day + DAY_MS + 2 * 3_600_000, 100)).toBe(0);
  for (const table of ['request_logs', 'request_log_labels', 'request_log_bodies']) {
    const { rows } = await pool.query('select to_regclass($1) as gone, to_regclass($2) as kept', [
      `${table}_${nameOf(day)}`,
      `${table}_${nameOf(day + DAY_MS)}`,
    ]);
    expect([table, rows[0].gone, rows[0].kept === null]).toEqual([table, null, false]);
  }
  await expectThere(kept);
  const { rows } = await pool.query('select calls, first_at from request_log_sessions');
  expect(rows).toEqual([{ calls: 1, first_at: kept[0]!.created_at }]);
});
