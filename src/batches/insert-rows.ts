import { CompiledQuery } from 'kysely';
import type { Schema } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';

type Table = 'batch_lines' | 'batch_results';

/**
 * Inserts many rows by one statement; whatever is there already stays. Answers the numbers of those that were added. The
 * text is put together here, because a query builder takes longer over hundreds of values than the store does.
 */
export async function insertRows<Name extends Table>(
  db: Db,
  table: Name,
  columns: readonly (keyof Schema[Name] & string)[],
  rows: readonly Schema[Name][],
): Promise<number[]> {
  if (rows.length === 0) return [];
  const text = `insert into ${table} (${columns.join(', ')}) values ${holes(rows.length, columns.length)}
    on conflict (batch_id, number) do nothing returning number`;
  const values = rows.flatMap((row) => columns.map((column) => row[column]));
  const added = await db.executeQuery<{ number: number }>(CompiledQuery.raw(text, values));
  return added.rows.map(({ number }) => number);
}

/** `($1, $2), ($3, $4)`: numbered as PostgreSQL wants them, which is also their order, by which SQLite takes them. */
function holes(rows: number, columns: number): string {
  let text = '';
  for (let at = 1; at <= rows * columns; at++) {
    const isFirst = at % columns === 1 || columns === 1;
    text += `${isFirst ? (at > 1 ? '), (' : '(') : ', '}$${at}`;
  }
  return `${text})`;
}
