import { LOG_COLUMNS, type LogRow } from './log-columns.ts';

/** A value as it stands in a row, and as JSON carries it. */
export type Cell = string | number | boolean | null;

/**
 * Rows by column, in the order of `LOG_COLUMNS`; what all of them have in common stands there once. The calls of a
 * moment have much in common: a seventh of the text that rows with their names would be, to write and to read.
 */
export type Columns = readonly (readonly Cell[])[];

export const columnsOf = (rows: readonly LogRow[]): Columns =>
  LOG_COLUMNS.map((name) => {
    const first = rows[0]?.[name] ?? null;
    for (const row of rows) if (row[name] !== first) return rows.map((each) => each[name] ?? null);
    return [first];
  });

export const cellAt = (column: readonly Cell[], row: number): Cell => (column.length === 1 ? column[0]! : column[row]!);

export function rowsOf(columns: Columns, count: number): LogRow[] {
  const rows: LogRow[] = [];
  for (let row = 0; row < count; row++)
    rows.push(
      Object.fromEntries(LOG_COLUMNS.map((name, at) => [name, cellAt(columns[at]!, row)])) as unknown as LogRow,
    );
  return rows;
}
