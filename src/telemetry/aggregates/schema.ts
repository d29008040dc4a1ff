import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../storage/migrate.ts';
import { GRAINS, SUMS } from './cells.ts';

const HOUR_MS = GRAINS[1].ms;
/** While nodes are replaced one by one, those of the version before write entries that are not counted. */
const REPLACED_WITHIN_MS = GRAINS[2].ms;

/**
 * `analytics_kinds`: what entries have in common, `analytics_cells`: what they amount to, `analytics_waiting`: what has
 * been logged and is not in the cells yet, `analytics_state`: how far all this goes.
 */
export async function createAggregates(db: AnyDb, engine: Engine) {
  const isSqlite = engine === 'sqlite';
  const id = isSqlite ? sql`integer primary key autoincrement` : sql`integer generated always as identity primary key`;
  await sql`create table analytics_kinds (
    id ${id}, key ${text(engine)} not null unique, text ${text(engine)} not null, workspace_id ${text(engine)}
  )`.execute(db);
  const sums = SUMS.map((name) => sql`${sql.ref(name)} ${bigint(engine)} not null`);
  await sql`create table analytics_cells (
    grain integer not null, kind integer not null, bucket integer not null, ${sql.join(sums)},
    durations text not null, first_bytes_text text not null, primary key (grain, kind, bucket)
  ) ${isSqlite ? sql`without rowid` : sql``}`.execute(db);
  // The embedded store finds them by their kinds.
  if (!isSqlite) await sql`create index analytics_cells_by_time on analytics_cells (grain, bucket)`.execute(db);
  const order = isSqlite ? sql`integer primary key` : sql`bigint generated always as identity primary key`;
  await sql`create table analytics_waiting (id ${order}, facts text not null)`.execute(db);
  await sql`create table analytics_state (name ${text(engine)} primary key, value ${bigint(engine)} not null)`.execute(
    db,
  );
  const { rows } = await sql`select 1 from request_logs limit 1`.execute(db);
  const hour = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
  const from = rows.length === 0 ? 0 : isSqlite ? hour : hour + REPLACED_WITHIN_MS;
  await sql`insert into analytics_state (name, value) values ('counted_from', ${from})`.execute(db);
}
