import type { Pool, PoolClient } from 'pg';

/**
 * On PostgreSQL the log is kept day by day: each day of `request_logs`, of its labels, bodies and words is a table of its
 * own, which goes as a whole when its time is over. What belongs to no day that is there stands in a table for all others
 * (`_default`), what was logged before there were days in one called `_before`.
 */

export const DAY_MS = 86_400_000;
/** Which of the coming days have a table; it is looked for every hour. */
const DAYS_AHEAD = 2;
/** Makes and drops days. Any number that is not used elsewhere. */
const LOCK = 7_241_905_115;
/** How long a table that is to be dropped is waited for: questions that come meanwhile wait behind it. */
const LOCK_WITHIN = '2s';
/** Ids are made when a call comes, and may be of the day before its entry. */
const BODIES_LATER_MS = 3_600_000;

interface Divided {
  readonly table: string;
  readonly column: string;
  /** A moment as a value of the column, in SQL. */
  readonly bound: (moment: number) => string;
}

export const ENTRIES: Divided = { table: 'request_logs', column: 'created_at', bound: String };
const LABELS: Divided = { table: 'request_log_labels', column: 'created_at', bound: String };
/** They know no time, but their ids begin with it. */
const byId = (table: string): Divided => ({ table, column: 'log_id', bound: (moment) => `'${idAt(moment)}'` });
const BODIES = byId('request_log_bodies');
const WORDS = byId('request_log_words');
/** In the order in which a batch is written to them, so that none waits for another. */
export const DIVIDED: readonly Divided[] = [ENTRIES, BODIES, LABELS, WORDS];

/** How ids of that moment begin; it sorts before all of them. */
function idAt(moment: number): string {
  const digits = moment.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}`;
}

export const BEFORE = 'before';
export const OTHERS = 'default';
const nameOf = (day: number): string => new Date(day).toISOString().slice(0, 10).replaceAll('-', '');
export const dayOf = (moment: number): number => Math.floor(moment / DAY_MS) * DAY_MS;

/** One of the tables that entries are in; `until` is null for those of no day. */
export interface Part {
  readonly name: string;
  readonly from: number | null;
  readonly until: number | null;
}

const NUMBERS = /FROM \((?:MINVALUE|'(\d+)')\) TO \('(\d+)'\)/;

/** The parts that entries are in. */
export async function partsOf(connection: Pool | PoolClient): Promise<Part[]> {
  const { rows } = await connection.query<{ name: string; bounds: string }>(
    `select part.relname as name, pg_get_expr(part.relpartbound, part.oid) as bounds
     from pg_inherits join pg_class as part on part.oid = inhrelid
     where inhparent = to_regclass('request_logs') order by part.relname`,
  );
  return rows.map(({ name, bounds }) => {
    const [, from, until] = NUMBERS.exec(bounds) ?? [];
    return {
      name: name.slice(ENTRIES.table.length + 1),
      from: from === undefined ? null : Number(from),
      until: until === undefined ? null : Number(until),
    };
  });
}

/** Sees to it that today and the next days have their tables. */
export async function makeDays(pool: Pool, now: number): Promise<void> {
  for (const day of missingIn(await partsOf(pool), now))
    await inTurn(pool, async (connection) => {
      // Another node may have been quicker.
      if (missingIn(await partsOf(connection), now).includes(day)) await makeDay(connection, day);
    });
}

function missingIn(parts: readonly Part[], now: number): number[] {
  const days = Array.from({ length: DAYS_AHEAD + 1 }, (_, ahead) => dayOf(now) + ahead * DAY_MS);
  return days.filter((day) => !parts.some(({ from, until }) => until !== null && until > day && (from ?? 0) <= day));
}

/** With what is of that day already: it came when the day had no table. */
async function makeDay(connection: PoolClient, day: number): Promise<void> {
  for (const { table, column, bound } of DIVIDED) {
    const part = `${table}_${nameOf(day)}`;
    const [from, until] = [bound(day), bound(day + DAY_MS)];
    await connection.query(`lock table ${table}_${OTHERS} in share row exclusive mode`);
    await connection.query(`create table ${part} (like ${table} including all)`);
    await connection.query(`with moved as (
        delete from ${table}_${OTHERS} where ${column} >= ${from} and ${column} < ${until} returning *
      ) insert into ${part} select * from moved`);
    await connection.query(`alter table ${table} attach partition ${part} for values from (${from}) to (${until})`);
  }
}

/** Those of which everything is older than that. */
export const endedIn = (parts: readonly Part[], before: number): Part[] =>
  parts.filter(({ until }) => until !== null && until <= before);

/**
 * Drops the entries and labels of a part. Those of sessions must have been taken away before, because what sessions amount
 * to is kept apart: says whether none was left.
 */
export async function dropPart(pool: Pool, { name }: Part): Promise<boolean> {
  return inTurn(pool, async (connection) => {
    const part = `${ENTRIES.table}_${name}`;
    const there = await connection.query('select to_regclass($1) as name', [part]);
    if (there.rows[0].name === null) return true;
    await connection.query(`lock table ${part} in access exclusive mode`);
    const { rows } = await connection.query(`select 1 from ${part} where session_id is not null limit 1`);
    if (rows.length > 0) return false;
    await connection.query(`drop table ${part}`);
    await connection.query(`drop table if exists ${LABELS.table}_${name}`);
    return true;
  });
}

/** Drops the bodies and words of days that are over, once their entries are gone. */
export async function dropBodies(pool: Pool, before: number): Promise<void> {
  const { rows } = await pool.query<{ name: string; bounds: string }>(
    `select part.relname as name, pg_get_expr(part.relpartbound, part.oid) as bounds
     from pg_inherits join pg_class as part on part.oid = inhrelid where inhparent = any($1::regclass[])`,
    [[BODIES.table, WORDS.table]],
  );
  const last = idAt(before - BODIES_LATER_MS);
  for (const { name, bounds } of rows) {
    const until = /TO \('([^']+)'\)/.exec(bounds)?.[1];
    if (until !== undefined && until <= last)
      await inTurn(pool, (connection) => connection.query(`drop table if exists ${name}`));
  }
}

async function inTurn<Result>(pool: Pool, work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
  const connection = await pool.connect();
  let failure: Error | undefined;
  try {
    await connection.query('begin');
    await connection.query(`set local lock_timeout = '${LOCK_WITHIN}'`);
    await connection.query('select pg_advisory_xact_lock($1)', [LOCK]);
    const result = await work(connection);
    await connection.query('commit');
    return result;
  } catch (error) {
    failure = error as Error;
    throw error;
  } finally {
    connection.release(failure);
  }
}
