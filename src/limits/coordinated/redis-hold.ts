import type { LedgerEntry, Reservation } from '../counters/counters.ts';
import { finiteEnd, type Posted } from '../counters/posting.ts';

/** What a running call may still take, as it is kept beside the counters. */
export interface Hold {
  readonly id: string;
  readonly charges: readonly Posted[];
  readonly estimate: LedgerEntry;
}

export const holdOf = ({ id, charges, estimate }: Reservation): Hold => ({
  id,
  charges: charges.map(({ counter, amount, endsAt }) => [counter, amount, finiteEnd(endsAt)] as const),
  estimate,
});

/** As Redis keeps it under its id. */
export const recordOf = ({ charges, estimate }: Hold): string => JSON.stringify({ charges, estimate });

/** Windows are cut by the clocks of nodes: a counter stays a little longer, in case the clock of Redis is ahead. */
const CLOCK_MARGIN_MS = 600_000;

/** When a counter may go; empty: never. */
export const endOf = (endsAt: number | null): string => (endsAt === null ? '' : String(endsAt + CLOCK_MARGIN_MS));
