import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { AnyDb, Engine } from '../../storage/migrate.ts';
import { BEFORE, DIVIDED, dayOf, ENTRIES, OTHERS } from './days.ts';

const DAY_MS = 86_400_000;
/** The days begin so late that everything there is, and everything that comes meanwhile, lies before them. */
const FIRST_AFTER_MS = 2 * DAY_MS;
const CHECK = 'before_days';
/** Statements of the gateway are given up after seconds; these look at every entry. */
const AS_LONG_AS_IT_TAKES = { query_timeout: DAY_MS };
/** Any number that is not used elsewhere. */
const LOCK = 7_241_905_116;
const LOOK_AGAIN_MS = 250;
const UNIQUE = 'request_logs_by_id_and_time';

/**
 * What takes long in dividing the log that is there, done before and beside the traffic: an index that all parts need, and
 * the proof that everything lies before the first day. What is left to the migration is a matter of names. Nodes that start
 * together do it one after the other.
 */
export async function withDaysPrepared(pool: Pool, migrate: () => Promise<unknown>, now = Date.now()): Promise<void> {
  const connection = await pool.connect();
  try {
    const ask = async (text: string) => (await connection.query({ text, ...AS_LONG_AS_IT_TAKES })).rows;
    // Asked for again and again: who waits inside the database would keep the index from being made.
    while (!(await ask(`select pg_try_advisory_lock(${LOCK}) as mine`))[0].mine) await Bun.sleep(LOOK_AGAIN_MS);
    await prove(ask, now);
    await migrate();
    await ask(`select pg_advisory_unlock(${LOCK})`);
  } finally {
    connection.release(true);
  }
}

type Ask = (text: string) => Promise<Record<string, unknown>[]>;

async function prove(ask: Ask, now: number): Promise<void> {
  const [found] = await ask(`select relkind from pg_class where oid = to_regclass('request_logs')`);
  if (found?.relkind !== 'r' || (await ask('select 1 from request_logs limit 1')).length === 0) return;
  await ask(`create unique index concurrently if not exists ${UNIQUE} on request_logs (id, created_at)`);
  for (const { table, column, bound } of DIVIDED) {
    const known = await ask(`select 1 from pg_constraint
      where conrelid = to_regclass('${table}') and conname = '${table}_${CHECK}'`);
    if (known.length === 0)
      await ask(`alter table ${table} add constraint ${table}_${CHECK}
        check (${column} < ${bound(dayOf(now) + FIRST_AFTER_MS)}) not valid`);
    await ask(`alter table ${table} validate constraint ${table}_${CHECK}`);
  }
}

/** The log of PostgreSQL, day by day. */
export async function divideByDay(db: AnyDb, engine: Engine): Promise<void> {
  if (engine === 'sqlite') return;
  const run = (text: string) => sql.raw<Record<string, string>>(text).execute(db);
  for (const { table, column, bound } of DIVIDED) {
    const before = `${table}_${BEFORE}`;
    await run(`alter table ${table} rename to ${before}`);
    const { rows: indexes } = await run(`select indexname as name, indexdef as text, contype as kind
      from pg_indexes left join pg_constraint on conname = indexname and conrelid = to_regclass('${before}')
      where schemaname = current_schema() and tablename = '${before}'`);
    for (const { name } of indexes) await run(`alter index ${name} rename to ${name}_${BEFORE}`);
    await run(`create table ${table} (like ${before} including defaults) partition by range (${column})`);
    for (const { name, text, kind } of indexes) {
      const columns = text!.slice(text!.indexOf('(') + 1, text!.lastIndexOf(')'));
      if (name === UNIQUE || (kind === 'p' && table === ENTRIES.table)) continue;
      await run(
        kind === 'p'
          ? `alter table ${table} add primary key (${columns})`
          : text!.replace(/ ON \S+ USING /, ` ON ${table} USING `),
      );
    }
    if (table === ENTRIES.table) await run(`create unique index ${UNIQUE} on ${table} (id, created_at)`);
    await run(`create table ${table}_${OTHERS} partition of ${table} default`);
    const { rows: some } = await run(`select 1 from ${before} limit 1`);
    if (some.length === 0) {
      await run(`drop table ${before}`);
      continue;
    }
    const { rows: checks } = await run(`select pg_get_constraintdef(oid) as text from pg_constraint
      where conrelid = to_regclass('${before}') and conname = '${table}_${CHECK}'`);
    const first = /<\s*'?([0-9a-f-]+)/.exec(checks[0]?.text ?? '')?.[1];
    const end = first === undefined ? bound(dayOf(Date.now()) + FIRST_AFTER_MS) : `'${first}'`;
    await run(`with moved as (delete from ${before} where ${column} >= ${end} returning *)
      insert into ${table} select * from moved`);
    await run(`alter table ${table} attach partition ${before} for values from (minvalue) to (${end})`);
  }
}
