import type { Database } from 'bun:sqlite';
import type { Progress } from '../progress.ts';
import { keyOf, type Row, rowsAfter, type Table, type Value } from './tables.ts';
import { rowsOfTarget, storable, type Target } from './target.ts';

const MOST_ROWS = 500;

export interface Verified {
  readonly from: Database;
  readonly table: Table;
  readonly target: Target;
  readonly progress: Progress;
  /** Columns that differ on purpose. */
  readonly except?: readonly string[];
  /** Rows of the other side that are no copies. */
  readonly isOwn?: (row: Record<string, unknown>) => boolean;
}

/** Compares a table row by row, and throws at the first difference. */
export async function verifyTable({ from, table, target, progress, except = [], isOwn }: Verified): Promise<void> {
  const columns = table.columns.filter((column) => !except.includes(column));
  for (let after: Value[] | null = null; ; ) {
    const rows: Row[] = rowsAfter(from, table, after, MOST_ROWS);
    const found = await rowsOfTarget(target, table, after, MOST_ROWS + 1);
    const others = isOwn ? found.filter((row) => !isOwn(row)) : found;
    for (const [index, row] of rows.entries()) {
      const other = others[index];
      const wrong = other ? columns.find((column) => shown(row[column]!) !== shown(other[column] as Value)) : null;
      if (wrong !== undefined)
        throw new Error(
          `${table.name} ${keyOf(table, row).join(', ')} is not the same in the new database${wrong ? `: ${wrong} differs` : ''}. Remove what is there and move again.`,
        );
    }
    progress.add(rows.length);
    if (rows.length < MOST_ROWS) {
      if (others.length > rows.length) throw new Error(`${table.name} has more rows in the new database.`);
      return;
    }
    after = keyOf(table, rows.at(-1)!);
  }
}

/** One text for what both sides mean by the same value. */
function shown(given: Value | boolean): string {
  if (given instanceof Uint8Array) return `bytes ${Bun.hash(given).toString(36)} ${given.byteLength}`;
  if (typeof given === 'boolean') return given ? '1' : '0';
  return given === null ? '\0' : String(storable(given));
}
