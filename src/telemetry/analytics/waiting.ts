import type { Amount } from '../aggregates/amount.ts';
import { MINUTE_MS } from '../aggregates/grains.ts';
import { type Shared, sharedIn, unpackWholes, type Wholes } from '../aggregates/wholes.ts';
import type { WaitingRow } from './snapshots.ts';

/** What entries of one minute that have everything in common amount to, and that are not in the cells yet. */
export interface WaitingCell {
  readonly shared: Shared;
  /** When the minute begins. */
  readonly at: number;
  readonly amount: Amount;
}

/** What waits to be taken into the cells. Rows never change and no id comes again, so each is taken apart once. */
export class Waiting {
  #rows = new Map<number, readonly WaitingCell[]>();

  get known(): number[] {
    return [...this.#rows.keys()];
  }

  /** All that lies in these rows; those that are known come without facts. */
  in(rows: readonly WaitingRow[]): WaitingCell[] {
    const known = this.#rows;
    this.#rows = new Map();
    const found = rows.map(({ id, facts }): [number, readonly WaitingCell[]] => {
      const cells = facts === null ? known.get(id) : waitingCells(unpackWholes(facts));
      if (!cells) throw new Error(`What waits as ${id} was not read.`);
      return [id, cells];
    });
    this.#rows = new Map(found);
    return found.flatMap(([, cells]) => cells);
  }
}

export const waitingCells = (wholes: Wholes): WaitingCell[] =>
  Array.from(wholes.values(), ({ text, bucket, amount }) => ({
    shared: sharedIn(text),
    at: bucket * MINUTE_MS,
    amount,
  }));
