import type { Charge, Counters, LedgerEntry, Reservation, Settlement } from '../../src/limits/counters/counters.ts';
import type { UsageLedgerRow } from '../../src/storage/schema.ts';
import type { Store } from '../../src/storage/store.ts';

/** Counters with what a test needs besides. */
export interface CountersBench {
  readonly counters: Counters;
  /** Other nodes on the same counters; empty when there can be only one. */
  readonly others: readonly Counters[];
  readonly store: Store;
  /** Lets that much time pass for holds. */
  passTime(ms: number): Promise<void>;
  ledger(): Promise<readonly UsageLedgerRow[]>;
  close(): Promise<void>;
}

/** Starts counters again, and changes nothing else. */
export const restart = ({ store }: Pick<CountersBench, 'store'>, counters: Counters, names: readonly string[]) =>
  counters.restarting((restarted) => store.transaction((db) => restarted(db, names)));

export const HOLD = 60_000;
const EVER = Number.POSITIVE_INFINITY;

let made = 0;
export const newId = () => `call-${process.pid}-${++made}`;

export const entryOf = (id: string, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  id,
  at: 1_800_000_000_000,
  organisation_id: 'organisation',
  workspace_id: 'workspace',
  api_key_id: 'key',
  virtual_key: 'openai',
  provider: 'openai',
  model: 'gpt-5',
  input_tokens: 10,
  output_tokens: 100,
  cost: 1_000,
  state: 'estimated',
  ...more,
});

export const chargeOf = (counter: string, amount: number, max: number): Charge => ({
  counter,
  amount,
  max,
  endsAt: EVER,
});

export function reservationOf(...charges: Charge[]): Reservation {
  const id = newId();
  return { id, charges, estimate: entryOf(id) };
}

/** What a reservation really took; its estimate unless amounts are given. */
export const settlementOf = ({ id, charges }: Reservation, ...actual: number[]): Settlement => ({
  id,
  charges: charges.map(({ counter, amount, endsAt }, index) => ({
    counter,
    held: amount,
    actual: actual[index] ?? amount,
    endsAt,
  })),
  entry: entryOf(id, { output_tokens: 7, state: 'final' }),
});

/** Mulberry32: small, and the same everywhere. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
