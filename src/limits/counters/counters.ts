import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import type { Db } from '../../storage/store.ts';

/**
 * The contract of the counters. Whatever holds them (the journal of a single process, PostgreSQL, Redis), one suite of
 * tests runs on all. A counter is named by its limit and the start of its window, so that windows never mix.
 */

/** One counter that a call is charged to; a call charges a counter once at most. */
export interface Charge {
  /** `Limit.counter` and the start of the window. */
  readonly counter: string;
  readonly max: number;
  /**
   * What is held until the call is settled. The charge fits while `used + held + amount ≤ max`; an amount of 0 (what
   * the call takes is not known yet) needs room for 1, so that a spent budget admits nothing.
   */
  readonly amount: number;
  /** From when on no call asks for the counter again, milliseconds; Infinity for a budget without reset. */
  readonly endsAt: number;
}

export interface Reservation {
  readonly id: string;
  readonly charges: readonly Charge[];
  /** What the ledger says about the call if it is never settled. */
  readonly estimate: LedgerEntry;
}

/** The decision, and what the counters of the charges hold after it, in the order of the charges. */
export type Verdict = Admitted | Refused;

interface Admitted {
  readonly admitted: true;
  readonly used: readonly number[];
  /** `used + held`. */
  readonly levels: readonly number[];
}

export interface Refused {
  readonly admitted: false;
  /** Indexes of the charges that did not fit. */
  readonly refused: readonly number[];
  readonly used: readonly number[];
  readonly levels: readonly number[];
}

/** What a call really took; the amounts are in the order of its charges. */
export interface Settlement {
  readonly id: string;
  readonly charges: readonly {
    readonly counter: string;
    readonly held: number;
    readonly actual: number;
    readonly endsAt: number;
  }[];
  readonly entry: LedgerEntry;
}

/** One row of `usage_ledger`: what a call cost, whether or not a limit counted it. */
export interface LedgerEntry {
  readonly id: string;
  readonly at: number;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly api_key_id: string;
  readonly virtual_key: string | null;
  readonly provider: string;
  readonly model: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  /** Billionths of a US dollar; null when the price or the usage is unknown. */
  readonly cost: number | null;
  /** `estimated`: sent, but the provider reported no usage, or the process died; `unsent`: nothing reached it. */
  readonly state: 'final' | 'estimated' | 'unsent';
}

export interface Counters {
  /** All charges or none. Holds end by themselves after `holdMs` at the latest and then count as used. */
  reserve(reservation: Reservation, holdMs: number): NowOrLater<Verdict>;
  /**
   * Once per reservation id: a second settlement of the same id changes nothing. One that comes after its hold ended
   * corrects what was counted then. Takes calls without charges too.
   */
  settle(settlement: Settlement): void;
  /** Keeps the holds of calls that are still running. */
  renew(ids: readonly string[], holdMs: number): Promise<void>;
  /** `used` and `held` of counters, for people to look at. */
  read(counters: readonly string[]): Promise<ReadonlyMap<string, { used: number; held: number }>>;
  /**
   * Starts counters again from 0, keeping what is held, together with a change: `change` runs a transaction and calls
   * `restart` inside. A counter never falls below 0.
   */
  restarting<Result>(change: (restart: RestartCounters) => Promise<Result>): Promise<Result>;
  /** Resolves when everything that was settled so far is in the ledger, or kept safe on disk. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export type RestartCounters = (db: Db, counters: readonly string[]) => Promise<void>;
