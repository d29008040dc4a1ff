import type { Database } from 'bun:sqlite';

/** A value as the embedded store gives it; whole numbers never lose digits. */
export type Value = string | bigint | number | Uint8Array | null;
export type Row = Readonly<Record<string, Value>>;

export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** The columns of its primary key: rows are read in its order. */
  readonly key: readonly string[];
}

/** Tables of SQLite itself, and what each store has in a form of its own; those of indexes of words are none of this type. */
const NOT_COPIED = /^(sqlite_.*|.*_migrations|request_log_(bodies|places)|chunks|blobs|blob_chunks)$/;

/** The tables of a file that PostgreSQL has with the same columns; each after those that its rows refer to. */
export function tablesOf(file: Database): Table[] {
  const names = file
    .query<{ name: string }, []>(
      `select name from pragma_table_list where schema = 'main' and type = 'table' order by name`,
    )
    .all()
    .map(({ name }) => name)
    .filter((name) => !NOT_COPIED.test(name));
  const sorted = new Set<string>();
  const add = (name: string) => {
    if (sorted.has(name) || !names.includes(name)) return;
    const others = file.query<{ table: string }, []>(`pragma foreign_key_list("${name}")`).all();
    for (const { table } of others) if (table !== name) add(table);
    sorted.add(name);
  };
  names.forEach(add);
  return [...sorted].map((name) => {
    const columns = file.query<{ name: string; pk: bigint }, []>(`pragma table_info("${name}")`).all();
    const key = columns.filter(({ pk }) => Number(pk) > 0).toSorted((one, other) => Number(one.pk - other.pk));
    return { name, columns: columns.map((column) => column.name), key: key.map((column) => column.name) };
  });
}

export const countOf = (file: Database, { name }: Pick<Table, 'name'>): number =>
  Number(file.query<{ count: bigint }, []>(`select count(*) as count from "${name}"`).get()!.count);

export const keyOf = ({ key }: Table, row: Row): Value[] => key.map((column) => row[column]!);

/** Rows after a key, in its order. */
export function rowsAfter(file: Database, table: Table, after: readonly Value[] | null, most: number): Row[] {
  const key = listed(table.key);
  const holes = table.key.map(() => '?').join(', ');
  const beyond = after === null ? '' : `where (${key}) > (${holes})`;
  const text = `select ${listed(table.columns)} from "${table.name}" ${beyond} order by ${key} limit ${most}`;
  return file.query<Row, Value[]>(text).all(...(after ?? []));
}

export const listed = (columns: readonly string[]): string => columns.map((column) => `"${column}"`).join(', ');
