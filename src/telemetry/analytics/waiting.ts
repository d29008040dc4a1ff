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

interface Apart {
  readonly facts: string;
  readonly cells: readonly WaitingCell[];
}

/** What waits to be taken into the cells. Each row is taken apart once. */
export class Waiting {
  #rows = new Map<number, Apart>();

  get known(): number[] {
    return [...this.#rows.keys()];
  }

  /** All that lies in these rows; those that are known may come without facts. */
  in(rows: readonly WaitingRow[]): WaitingCell[] {
    const known = this.#rows;
    this.#rows = new Map();
    for (const { id, facts } of rows) {
      const before = known.get(Number(id));
      const isSame = facts === null || facts === before?.facts;
      this.#rows.set(Number(id), isSame ? before! : { facts, cells: waitingCells(unpackWholes(facts)) });
    }
    return [...this.#rows.values()].flatMap(({ cells }) => cells);
  }
}

export const waitingCells = (wholes: Wholes): WaitingCell[] =>
  Array.from(wholes.values(), ({ text, bucket, amount }) => ({
    shared: sharedIn(text),
    at: bucket * MINUTE_MS,
    amount,
  }));
