import { type Columns, cellAt, columnOf, columnsOf, rowsOf } from '../core/columns.ts';
import type { LedgerEntry, Settlement } from './counters.ts';

/** What was added to a counter, and when nobody asks for it any more; null: never. */
export type Posted = readonly [counter: string, amount: number, endsAt: number | null];

/** One row for the ledger with what it adds to counters, as it stands in files and travels to the store. */
export interface Posting {
  readonly entry: LedgerEntry;
  /** Its hold ended and nobody had settled the call: a settlement that still comes replaces this. */
  readonly expired: boolean;
  readonly charges: readonly Posted[];
}

export const finiteEnd = (endsAt: number): number | null => (endsAt === Number.POSITIVE_INFINITY ? null : endsAt);

export function postingOf({ charges, entry }: Settlement, { expired }: { expired: boolean }): Posting {
  return {
    entry: storable(entry),
    expired,
    charges:
      charges.length === 0
        ? NO_CHARGES
        : charges.map(({ counter, actual, endsAt }) => [counter, actual, finiteEnd(endsAt)]),
  };
}

const NO_CHARGES: Posting['charges'] = [];

export const ENTRY_COLUMNS = [
  'id',
  'at',
  'organisation_id',
  'workspace_id',
  'api_key_id',
  'virtual_key',
  'provider',
  'model',
  'input_tokens',
  'output_tokens',
  'cost',
  'state',
] as const satisfies readonly (keyof LedgerEntry)[];

/** Several postings as one record of a journal. */
export interface PostingRecord {
  readonly count: number;
  readonly entries: Columns;
  readonly expired: readonly boolean[];
  readonly charges: readonly Posting['charges'][];
}

export const recordOfAll = (postings: readonly Posting[]): PostingRecord => ({
  count: postings.length,
  entries: columnsOf(
    postings.map(({ entry }) => entry),
    ENTRY_COLUMNS,
  ),
  expired: columnOf(postings, 'expired'),
  charges: columnOf(postings, 'charges'),
});

/** A record that holds one posting as it is comes from a gateway before this one. */
export function postingsIn(record: PostingRecord | Posting): Posting[] {
  if ('entry' in record) return [record];
  const { count, entries, expired, charges } = record;
  return rowsOf<LedgerEntry>(entries, ENTRY_COLUMNS, count).map((entry, at) => ({
    entry,
    expired: cellAt(expired, at),
    charges: cellAt(charges, at),
  }));
}

const LONGEST_NAME = 256;
/** A client chooses the model's name, and one that PostgreSQL cannot store must not hold up the rows beside it. */
export function storable(entry: LedgerEntry): LedgerEntry {
  const { model } = entry;
  if (model === null || (model.length <= LONGEST_NAME && model.isWellFormed() && !model.includes('\0'))) return entry;
  return { ...entry, model: model.slice(0, LONGEST_NAME).toWellFormed().replaceAll('\0', '\ufffd') };
}
