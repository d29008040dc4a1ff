import type { Database } from 'bun:sqlite';
import type { Progress } from '../progress.ts';
import { keyOf, type Row, rowsAfter, type Table } from './tables.ts';
import { insertRows, type Mark, type Reached, type Target, writeMark } from './target.ts';

const MOST_ROWS = 500;

export interface Copying {
  readonly from: Database;
  readonly table: Table;
  readonly target: Target;
  readonly mark: Mark;
  readonly progress: Progress;
  /** What is written of rows instead of themselves, and what goes with them, in the same transaction. */
  readonly write?: (rows: readonly Row[]) => Promise<readonly Row[]>;
}

const NOTHING: Reached = { rows: 0, after: null, isDone: false };

/** All rows of a table in the order of its key; how far it is stands in the database with them. */
export async function copyTable({ from, table, target, mark, progress, write }: Copying): Promise<void> {
  const reached = () => mark.tables[table.name] ?? NOTHING;
  progress.add(reached().rows);
  while (!reached().isDone) {
    const { rows: before, after } = reached();
    const rows = rowsAfter(from, table, after, MOST_ROWS);
    await target.transaction(async () => {
      // A migration may have filled it.
      if (before === 0 && table.name !== 'facts') await target.ask(`delete from "${table.name}"`);
      await insertRows(target, table, write ? await write(rows) : rows);
      const isDone = rows.length < MOST_ROWS;
      if (isDone) await continueNumbers(target, table);
      const last = rows.at(-1);
      const key = last
        ? keyOf(table, last).map((part) => (typeof part === 'bigint' ? Number(part) : String(part)))
        : after;
      mark.tables[table.name] = { rows: before + rows.length, after: key, isDone };
      await writeMark(target, mark);
    });
    progress.add(rows.length);
  }
}

/** Numbers that the database gives out itself begin after those that came. */
async function continueNumbers(target: Target, { name }: Table): Promise<void> {
  const numbered = await target.ask<{ column: string }>(
    `select column_name as column from information_schema.columns
     where table_schema = current_schema() and table_name = $1 and is_identity = 'YES'`,
    [name],
  );
  for (const { column } of numbered)
    await target.ask(
      `select setval(pg_get_serial_sequence($1, $2), greatest((select max("${column}") from "${name}"), 1),
         (select count(*) > 0 from "${name}"))`,
      [`"${name}"`, column],
    );
}
