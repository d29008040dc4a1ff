import type { Reservation, Settlement } from '../counters/counters.ts';
import type { CounterSnapshot } from './redis-counters.ts';
import { holdOf } from './redis-hold.ts';

interface OpenCall {
  readonly reservation: Reservation;
  /** By `performance.now()`. */
  endsAt: number;
  /** Whether PostgreSQL knows of the hold, so that it has to be renewed there, too. */
  isWritten: boolean;
}

/** A call that ended long ago without a settlement; the place that counted it has counted its end. */
const FORGET_AFTER_MS = 60_000;
const FORGET_EVERY_MS = 10_000;
const UNTOLD_MS = 30_000;
const MOST_UNTOLD = 100_000;

/** The calls of this node that hold something: what only this node knows when Redis loses its memory. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();
  #forgotAt = 0;

  admitted(reservation: Reservation, holdMs: number, { isWritten }: { isWritten: boolean }): void {
    const now = performance.now();
    this.#calls.set(reservation.id, { reservation, endsAt: now + holdMs, isWritten });
    if (now - this.#forgotAt > FORGET_EVERY_MS) this.#forget(now);
  }

  ended(id: string): void {
    this.#calls.delete(id);
  }

  /** Answers those that PostgreSQL knows of. */
  renew(ids: readonly string[], holdMs: number): string[] {
    const endsAt = performance.now() + holdMs;
    const written: string[] = [];
    for (const id of ids) {
      const call = this.#calls.get(id);
      if (!call) continue;
      call.endsAt = endsAt;
      if (call.isWritten) written.push(id);
    }
    return written;
  }

  holds(): CounterSnapshot['holds'] {
    const now = performance.now();
    return [...this.#calls.values()].map(({ reservation, endsAt }) => ({
      hold: holdOf(reservation),
      leftMs: Math.max(0, endsAt - now),
    }));
  }

  markWritten(holds: CounterSnapshot['holds']): void {
    for (const { hold } of holds) {
      const call = this.#calls.get(hold.id);
      if (call) call.isWritten = true;
    }
  }

  #forget(now: number) {
    this.#forgotAt = now;
    for (const [id, { endsAt }] of this.#calls) if (endsAt < now - FORGET_AFTER_MS) this.#calls.delete(id);
  }
}

/**
 * Settlements that Redis has not confirmed. Telling it twice does no harm; one that it is never told leaves a hold, which
 * ends at its estimate.
 */
export class UntoldSettlements {
  #list: { readonly settlement: Settlement; readonly at: number }[] = [];

  add(settlement: Settlement): void {
    if (settlement.charges.length === 0) return;
    const now = performance.now();
    this.#list.push({ settlement, at: now });
    // Half of the list at a time, so that a long one is not copied for every settlement.
    const isOld = this.#list.length > 100 && this.#list[this.#list.length >> 1]!.at < now - UNTOLD_MS;
    if (isOld || this.#list.length > MOST_UNTOLD) this.#list.splice(0, this.#list.length >> 1);
  }

  takeAll(): Settlement[] {
    const all = this.#list.map(({ settlement }) => settlement);
    this.#list = [];
    return all;
  }
}
