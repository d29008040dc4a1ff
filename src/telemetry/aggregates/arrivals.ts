import { type Columns, cellAt, columnsOf } from '../../core/columns.ts';
import { LOG_COLUMNS, type LogRow } from '../log-columns.ts';
import type { Cell, LogBatch } from '../log-sink.ts';
import { type Fact, factColumns, factsOf, packColumns, packFacts, type Source, verdictOf } from './fact.ts';

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
 * What a batch adds to the figures, as texts. Entries that were there already count for nothing, unless guardrails have
 * found more: they move then.
 */
export function arrivalsOf(batch: LogBatch, keys: readonly string[], { added, earlier, later }: Arrived): string[] {
  const columns = batch.columns ?? columnsOf(batch.rows, LOG_COLUMNS);
  const count = batch.bodies.length;
  const rows = added === null ? null : rowsWith(columns, count, added);
  const pick = (column: readonly Cell[]) =>
    rows === null || column.length === 1 ? column : rows.map((row) => column[row]!);
  const texts: string[] = [];
  const arrived = rows?.length ?? count;
  if (arrived > 0)
    texts.push(
      packColumns(
        arrived,
        factColumns((name) => pick(columns[AT.get(name)!]!), keys),
      ),
    );
  const moved = earlier.length === 0 ? [] : moves(batch.rows, keys, earlier, later);
  if (moved.length > 0) texts.push(packFacts(moved));
  return texts;
}

function rowsWith(columns: Columns<Cell>, count: number, ids: ReadonlySet<string>): number[] {
  const column = columns[AT.get('id')!]!;
  const rows: number[] = [];
  for (let row = 0; row < count; row++) if (ids.has(cellAt(column, row) as string)) rows.push(row);
  return rows;
}

function moves(
  rows: readonly LogRow[],
  keys: readonly string[],
  earlier: readonly Earlier[],
  later: readonly Earlier[],
): Fact[] {
  const now = new Map(later.map(({ id, hook_results }) => [id, hook_results]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  return earlier.flatMap(({ id, hook_results: before }) => {
    const after = now.get(id) ?? null;
    if (verdictOf(before) === verdictOf(after)) return [];
    const row = byId.get(id)!;
    return [
      ...factsOf([{ ...row, hook_results: before }], keys, -1),
      ...factsOf([{ ...row, hook_results: after }], keys, 1),
    ];
  });
}

/** What entries that are removed take away. */
export const leavingOf = (rows: readonly Source[], keys: readonly string[]): string =>
  packFacts(factsOf(rows, keys, -1));
