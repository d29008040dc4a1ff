import { type Columns, cellAt, columnsOf } from '../../core/columns.ts';
import { LOG_COLUMNS, type LogRow } from '../log-columns.ts';
import type { Cell, LogBatch } from '../log-sink.ts';
import { factColumns, type Source, verdictOf } from './fact.ts';
import { packWholes, type Wholes, wholesIn, wholesOf } from './wholes.ts';

/** What a store says of entries that were there before a batch came. */
export interface Earlier {
  readonly id: string;
  readonly hook_results: string | null;
}

const AT = new Map(LOG_COLUMNS.map((name, at) => [name, at]));

/** What became of a batch. */
export interface Arrived {
  /** The ids of those that were not there before; null: none was. */
  readonly added: ReadonlySet<string> | null;
  /** The others, before the batch and after it. */
  readonly earlier: readonly Earlier[];
  readonly later: readonly Earlier[];
}

/**
 * What a batch adds to the figures, as text; null: nothing. Entries that were there already count for nothing, unless guardrails have
 * found more: they move then.
 */
export function arrivalsOf(
  batch: LogBatch,
  keys: readonly string[],
  { added, earlier, later }: Arrived,
): string | null {
  const columns = batch.columns ?? columnsOf(batch.rows, LOG_COLUMNS);
  const count = batch.bodies.length;
  const rows = added === null ? null : rowsWith(columns, count, added);
  const pick = (column: readonly Cell[]) =>
    rows === null || column.length === 1 ? column : rows.map((row) => column[row]!);
  const arrived = rows?.length ?? count;
  const facts = factColumns((name) => pick(columns[AT.get(name)!]!), keys);
  const wholes = wholesIn(facts, arrived);
  if (earlier.length > 0) addMoves(batch.rows, keys, { earlier, later, wholes });
  return wholes.size > 0 ? packWholes(wholes) : null;
}

function rowsWith(columns: Columns<Cell>, count: number, ids: ReadonlySet<string>): number[] {
  const column = columns[AT.get('id')!]!;
  const rows: number[] = [];
  for (let row = 0; row < count; row++) if (ids.has(cellAt(column, row) as string)) rows.push(row);
  return rows;
}

function addMoves(
  rows: readonly LogRow[],
  keys: readonly string[],
  { earlier, later, wholes }: Pick<Arrived, 'earlier' | 'later'> & { readonly wholes: Wholes },
): void {
  const now = new Map(later.map(({ id, hook_results }) => [id, hook_results]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const { id, hook_results: before } of earlier) {
    const after = now.get(id) ?? null;
    if (verdictOf(before) === verdictOf(after)) continue;
    const row = byId.get(id)!;
    wholesOf([{ ...row, hook_results: before }], keys, -1, wholes);
    wholesOf([{ ...row, hook_results: after }], keys, 1, wholes);
  }
}

/** What entries that are removed take away. */
export const leavingOf = (rows: readonly Source[], keys: readonly string[]): string =>
  packWholes(wholesOf(rows, keys, -1));
