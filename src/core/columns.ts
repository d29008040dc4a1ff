/**
 * Rows by column, in the order of their names; what all of them have in common stands there once. The calls of a moment
 * have much in common: a seventh of the text that rows with their names would be, to write and to read.
 */
export type Columns<Cell = unknown> = readonly (readonly Cell[])[];

export const columnsOf = <Row, Name extends keyof Row>(
  rows: readonly Row[],
  names: readonly Name[],
): Columns<Row[Name]> => names.map((name) => columnOf(rows, name));

export function columnOf<Row, Name extends keyof Row>(rows: readonly Row[], name: Name): readonly Row[Name][] {
  if (rows.length === 0) return [];
  const first = rows[0]![name];
  for (const row of rows) if (row[name] !== first) return rows.map((each) => each[name]);
  return [first];
}

export const cellAt = <Cell>(column: readonly Cell[], row: number): Cell =>
  column.length === 1 ? column[0]! : column[row]!;

export function rowsOf<Row>(columns: Columns, names: readonly (keyof Row)[], count: number): Row[] {
  const rows: Row[] = [];
  for (let row = 0; row < count; row++) {
    const made = {} as Row;
    for (let at = 0; at < names.length; at++) made[names[at]!] = cellAt(columns[at]!, row) as Row[keyof Row];
    rows.push(made);
  }
  return rows;
}
