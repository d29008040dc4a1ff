/**
 * `insert` of several rows in SQLite, with their values in this order: those of the columns that are the same in all
 * rows, once, then the others', row by row. Binding a value takes as long as storing it.
 */
export function insertText(table: string, common: readonly string[], own: readonly string[], rows: number): string {
  // SQLite counts on from the highest number before a mark that has none.
  const marks = [...common.map((_, index) => `?${index + 1}`), ...own.map(() => '?')];
  const row = `(${marks.join(', ')})`;
  return `insert into ${table} (${[...common, ...own].join(', ')}) values ${row}${`, ${row}`.repeat(rows - 1)}`;
}
