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
    charges: charges.map(({ counter, actual, endsAt }) => [counter, actual, finiteEnd(endsAt)]),
  };
}

const LONGEST_NAME = 256;
/** A client chooses the model's name, and one that PostgreSQL cannot store must not hold up the rows beside it. */
export function storable(entry: LedgerEntry): LedgerEntry {
  const { model } = entry;
  if (model === null || (model.length <= LONGEST_NAME && model.isWellFormed() && !model.includes('\0'))) return entry;
  return { ...entry, model: model.slice(0, LONGEST_NAME).toWellFormed().replaceAll('\0', '\ufffd') };
}
