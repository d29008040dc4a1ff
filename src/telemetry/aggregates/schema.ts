import { sql } from 'kysely';
import { type AnyDb, bigint, bytes, type Engine, text } from '../../storage/migrate.ts';
import { GRAINS_WITH_DIGESTS } from './digests.ts';
import { DAY_MS, GRAINS, HOUR_MS } from './grains.ts';
import { digestedState, digestsBegin } from './state.ts';

/** While nodes are replaced one by one, those of the version before write entries that are not counted. */
const REPLACED_WITHIN_MS = DAY_MS;

/**
 * `analytics_kinds`: what entries have in common, `analytics_cells`: what they amount to (`chunk.ts`), `analytics_waiting`: what has
 * been logged and is not in the cells yet, `analytics_state`: how far all this goes.
 */
export async function createAggregates(db: AnyDb, engine: Engine) {
  const isSqlite = engine === 'sqlite';
  const id = isSqlite ? sql`integer primary key autoincrement` : sql`integer generated always as identity primary key`;
  await sql`create table analytics_kinds (
    id ${id}, key ${text(engine)} not null unique, text ${text(engine)} not null, workspace_id ${text(engine)},
    cube ${text(engine)} not null
  )`.execute(db);
  await sql`create index analytics_kinds_by_cube on analytics_kinds (cube, id)`.execute(db);
  await sql`create table analytics_cells (
    grain integer not null, cube ${text(engine)} not null, bucket integer not null, sums ${bytes(engine)} not null,
    durations ${bytes(engine)} not null, first_bytes ${bytes(engine)} not null, primary key (grain, cube, bucket)
  )`.execute(db);
  await sql`create index analytics_cells_by_time on analytics_cells (grain, bucket)`.execute(db);
  // They are packed as tightly already, and read whole.
  if (!isSqlite)
    for (const column of ['sums', 'durations', 'first_bytes'])
      await sql`alter table analytics_cells alter column ${sql.ref(column)} set storage external`.execute(db);
  const order = isSqlite ? sql`integer primary key` : sql`bigint generated always as identity primary key`;
  await sql`create table analytics_waiting (id ${order}, facts text not null)`.execute(db);
  await sql`create table analytics_state (name ${text(engine)} primary key, value ${bigint(engine)} not null)`.execute(
    db,
  );
  // Buckets from before are added to at once when an entry comes late; later ones are made of shorter ones when they are over.
  for (const { name, ms } of GRAINS.filter(({ name }) => name !== 'minutes' && name !== 'fives')) {
    const now = Math.floor(Date.now() / ms) * ms;
    await sql`insert into analytics_state (name, value) values (${`rolled_${name}`}, ${now})`.execute(db);
  }
  const { rows } = await sql`select 1 from request_logs limit 1`.execute(db);
  const hour = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
  const from = rows.length === 0 ? 0 : isSqlite ? hour : hour + REPLACED_WITHIN_MS;
  await sql`insert into analytics_state (name, value) values ('counted_from', ${from})`.execute(db);
}

/**
 * Chunks laid in runs (`layout.ts`), with sums apart that few ask for, and buckets of five minutes. On PostgreSQL nodes of the
 * version before know neither: they are begun when those are gone.
 */
export async function createRuns(db: AnyDb, engine: Engine) {
  await sql`alter table analytics_cells add column more ${bytes(engine)}`.execute(db);
  if (engine === 'postgres') await sql`alter table analytics_cells alter column more set storage external`.execute(db);
  const { rows } = await sql<{ value: number }>`select value from analytics_state where name = 'rolled_hours'`.execute(
    db,
  );
  const isFresh = (await sql`select 1 from analytics_cells limit 1`.execute(db)).rows.length === 0;
  const isAtOnce = engine === 'sqlite' || isFresh;
  const later = Math.ceil((Date.now() + REPLACED_WITHIN_MS) / HOUR_MS) * HOUR_MS;
  const from = isAtOnce ? Number(rows[0]!.value) : later;
  for (const [name, value] of [
    ['rolled_fives', from],
    ['pruned_fives', isFresh ? 0 : from],
    ['in_runs_from', isAtOnce ? 0 : later],
  ] as const)
    await sql`insert into analytics_state (name, value) values (${name}, ${value})`.execute(db);
}

/**
 * Digests (`digests.ts`). Nodes of the version before add to cells without adding to digests of them: on PostgreSQL, where cells
 * are there already, digests are begun when those nodes are gone.
 */
export async function beginDigests(db: AnyDb, engine: Engine) {
  const isFresh = (await sql`select 1 from analytics_cells limit 1`.execute(db)).rows.length === 0;
  const begun: [string, number][] = isFresh
    ? GRAINS_WITH_DIGESTS.map(({ name }) => [digestedState(name), 0])
    : [[digestsBegin, engine === 'sqlite' ? 0 : Date.now() + REPLACED_WITHIN_MS]];
  for (const [name, value] of begun)
    await sql`insert into analytics_state (name, value) values (${name}, ${value})`.execute(db);
}
