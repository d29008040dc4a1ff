import type { PoolClient } from 'pg';
import { moveIn } from '../../storage/move-mark.ts';
import { listed, type Row, type Table, type Value } from './tables.ts';

/** The database that everything is moved to. Statements wait as long as they take. */
export interface Target {
  ask<Answer extends object>(text: string, values?: readonly unknown[]): Promise<Answer[]>;
  transaction(work: () => Promise<void>): Promise<void>;
}

const A_DAY_MS = 86_400_000;

export function targetOn(connection: PoolClient): Target {
  const ask = async <Answer extends object>(text: string, values: readonly unknown[] = []) => {
    const query = { text, values: [...values], query_timeout: A_DAY_MS };
    return (await connection.query<Answer>(query)).rows;
  };
  return {
    ask,
    transaction: async (work) => {
      await ask('begin');
      try {
        await work();
        await ask('commit');
      } catch (error) {
        await ask('rollback').catch(() => {});
        throw error;
      }
    },
  };
}

/** Tables that a migration fills. */
const FILLED = new Set(['gateway_migrations', 'gateway_log_migrations', 'analytics_state', 'limits_mode']);

/** Which table holds something, in a database that should be empty; a move of ours that was cut off is no such thing. */
export async function occupiedTable(target: Target): Promise<string | null> {
  const tables = await target.ask<{ name: string }>(
    `select relname as name from pg_class where relnamespace = current_schema()::regnamespace
     and relkind in ('r', 'p', 'v', 'm', 'f') and not relispartition order by relname`,
  );
  for (const { name } of tables) {
    if (FILLED.has(name)) continue;
    const [row] = await target.ask(`select 1 from "${name}" limit 1`);
    if (row) return name;
  }
  return null;
}

/** What is written down of a move, or null. */
export async function markIn(target: Target): Promise<Mark | null> {
  const [there] = await target.ask<{ facts: string | null }>(`select to_regclass('facts') as facts`);
  if (!there?.facts) return null;
  const [row] = await target.ask<{ value: string }>('select value from facts where name = $1', [moveIn.fact]);
  return row ? (JSON.parse(row.value) as Mark) : null;
}

/** How far a move is. It is changed in the transaction of what it tells of. */
export interface Mark {
  /** Which installation is moved. */
  readonly from: string;
  readonly withLog: boolean;
  readonly tables: Record<string, Reached>;
}

export interface Reached {
  readonly rows: number;
  /** The key of the last row. */
  readonly after: readonly (string | number)[] | null;
  readonly isDone: boolean;
}

export async function writeMark(target: Target, mark: Mark): Promise<void> {
  await target.ask(
    `insert into facts (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`,
    [moveIn.fact, JSON.stringify(mark)],
  );
}

export const removeMark = (target: Target) => target.ask('delete from facts where name = $1', [moveIn.fact]);

/** PostgreSQL takes so many parameters in a statement. */
const MOST_PARAMETERS = 60_000;

export async function insertRows(target: Target, { name, columns }: Table, rows: readonly Row[]): Promise<void> {
  const most = Math.max(1, Math.floor(MOST_PARAMETERS / columns.length));
  for (let at = 0; at < rows.length; at += most) {
    const some = rows.slice(at, at + most);
    const holes = some.map((_, row) => `(${columns.map((_, column) => `$${row * columns.length + column + 1}`)})`);
    await target.ask(
      `insert into "${name}" (${listed(columns)}) overriding system value values ${holes.join(', ')}`,
      some.flatMap((row) => columns.map((column) => forServer(row[column]!))),
    );
  }
}

/** PostgreSQL has no character U+0000 in its texts. */
export const storable = (value: Value): Value =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value;

function forServer(given: Value): unknown {
  const value = storable(given);
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** Rows after a key, in the order of bytes, as the embedded store has them. */
export async function rowsOfTarget(
  target: Target,
  table: Table,
  after: readonly Value[] | null,
  most: number,
): Promise<Record<string, unknown>[]> {
  const key = listed(table.key);
  const beyond = after === null ? '' : `where (${key}) > (${table.key.map((_, index) => `$${index + 1}`)})`;
  return target.ask(
    `select ${listed(table.columns)} from "${table.name}" ${beyond} order by ${key} limit ${most}`,
    (after ?? []).map(forServer),
  );
}
