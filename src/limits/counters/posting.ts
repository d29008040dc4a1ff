import { type Columns, cellAt, columnOf, columnsOf, rowsOf } from '../../core/columns.ts';
import type { LedgerEntry, Settlement } from './counters.ts';

/** What was added to a counter, and when the counter is not asked for any more; null: never. */
export type Posted = readonly [counter: string, amount: number, endsAt: number | null];

/** One row for the ledger with what it adds to counters, as it stands in files and travels to the store. */
export interface Posting {
  readonly entry: LedgerEntry;
  /** Its hold ended before the call was settled: a settlement that still comes replaces this. */
  readonly expired: boolean;
  readonly charges: readonly Posted[];
}

export const finiteEnd = (endsAt: number): number | null => (endsAt === Number.POSITIVE_INFINITY ? null : endsAt);

export const postingOf = ({ charges, entry }: Settlement, { expired }: { expired: boolean }): Posting => ({
  entry: storable(entry),
  expired,
  charges: charges.length === 0 ? NO_CHARGES : postedOf(charges),
});

function postedOf(charges: Settlement['charges']): Posted[] {
  const posted: Posted[] = [];
  for (const { counter, actual, endsAt } of charges) posted.push([counter, actual, finiteEnd(endsAt)]);
  return posted;
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

/** A counter that postings of a record charge, and its end. */
type NamedCounter = readonly [counter: string, endsAt: number | null];

/** Several postings as one record of a journal. What is charged stands by the place of its counter: `[0, 1, 1, 140]`. */
export interface PostingRecord {
  readonly count: number;
  readonly entries: Columns;
  readonly expired: readonly boolean[];
  readonly counters: readonly NamedCounter[];
  readonly charges: readonly (readonly number[])[];
}

/** As gateways before this one wrote them. */
type FormerRecord =
  | Posting
  | (Omit<PostingRecord, 'counters' | 'charges'> & { charges: readonly Posting['charges'][] });

export function recordOfAll(postings: readonly Posting[]): PostingRecord {
  const counters: NamedCounter[] = [];
  const places = new Map<string, number>();
  const placeOf = (counter: string, endsAt: number | null): number => {
    const known = places.get(counter);
    if (known !== undefined && counters[known]![1] === endsAt) return known;
    places.set(counter, counters.length);
    return counters.push([counter, endsAt]) - 1;
  };
  const charges = postings.map((posting) => {
    const placed: number[] = [];
    for (const [counter, amount, endsAt] of posting.charges) placed.push(placeOf(counter, endsAt), amount);
    return placed;
  });
  return {
    count: postings.length,
    entries: columnsOf(
      postings.map(({ entry }) => entry),
      ENTRY_COLUMNS,
    ),
    expired: columnOf(postings, 'expired'),
    counters,
    charges: counters.length === 0 ? [NOTHING_PLACED] : charges,
  };
}

const NOTHING_PLACED: readonly number[] = [];

export function postingsIn(record: PostingRecord | FormerRecord): Posting[] {
  if ('entry' in record) return [record];
  const { count, entries, expired } = record;
  return rowsOf<LedgerEntry>(entries, ENTRY_COLUMNS, count).map((entry, at) => ({
    entry,
    expired: cellAt(expired, at),
    charges: 'counters' in record ? chargesAt(record, at) : cellAt(record.charges, at),
  }));
}

function chargesAt({ counters, charges }: PostingRecord, row: number): Posting['charges'] {
  const placed = cellAt(charges, row);
  const found: Posted[] = [];
  for (let at = 0; at < placed.length; at += 2) {
    const [counter, endsAt] = counters[placed[at]!]!;
    found.push([counter, placed[at + 1]!, endsAt]);
  }
  return found;
}

const LONGEST_NAME = 256;
/** A client chooses the model's name, and one that PostgreSQL cannot store must not hold up the rows beside it. */
export function storable(entry: LedgerEntry): LedgerEntry {
  const { model } = entry;
  if (model === null || (model.length <= LONGEST_NAME && model.isWellFormed() && !model.includes('\0'))) return entry;
  return { ...entry, model: model.slice(0, LONGEST_NAME).toWellFormed().replaceAll('\0', '\ufffd') };
}
