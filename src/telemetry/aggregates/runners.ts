import type { Database, SQLQueryBindings } from 'bun:sqlite';
import type { Pool, PoolClient } from 'pg';
import type { Upkeep } from './upkeep.ts';
import type { Answer, Ask, Work } from './work.ts';

/** In one transaction of the embedded store. */
export function runOnSqlite<Result>(raw: Database, upkeep: Upkeep, work: Work<Result>): Result {
  const run = raw.transaction(() => {
    let step = work.next();
    while (!step.done) step = work.next(askSqlite(raw, step.value));
    return step.value;
  });
  try {
    return run.immediate();
  } catch (error) {
    upkeep.forget();
    throw error;
  }
}

function askSqlite(raw: Database, { text, values = [], rows }: Ask): Answer {
  const statement = raw.query(text);
  if (!rows) return statement.all(...(values as SQLQueryBindings[]));
  const found: unknown[] = [];
  for (const row of rows) for (const each of statement.all(...(row as SQLQueryBindings[]))) found.push(each);
  return found;
}

/** Two nodes at the same cells would undo each other's sums. Any number that is not used elsewhere. */
const LOCK = 7_241_905_114;

/** In one transaction of PostgreSQL. Null: another node is at it, and `waits` is not said. */
export async function runOnPostgres<Result>(
  pool: Pool,
  upkeep: Upkeep,
  work: Work<Result>,
  { waits = false } = {},
): Promise<Result | null> {
  const connection = await pool.connect();
  let failure: Error | undefined;
  try {
    // Taken before the transaction: what it sees must have come after what the one before has done.
    const { rows } = await connection.query(
      waits ? 'select true as mine from pg_advisory_lock($1)' : 'select pg_try_advisory_lock($1) as mine',
      [LOCK],
    );
    if (!(rows[0] as { mine: boolean }).mine) return null;
    await connection.query('begin isolation level repeatable read');
    let step = work.next();
    while (!step.done) step = work.next(await askPostgres(connection, step.value));
    await connection.query('commit');
    await connection.query('select pg_advisory_unlock($1)', [LOCK]);
    return step.value;
  } catch (error) {
    upkeep.forget();
    failure = error as Error;
    throw error;
  } finally {
    // A connection that is thrown away takes its transaction and its lock with it.
    connection.release(failure);
  }
}

async function askPostgres(connection: PoolClient, { text, values, rows }: Ask): Promise<Answer> {
  if (!rows) return (await connection.query(text, values as unknown[])).rows;
  const columns = rows[0]!.map((_, at) => rows.map((row) => row[at]));
  return (await connection.query(text, columns)).rows;
}
