import { type Amount, addAmount, copyOf } from '../aggregates/amount.ts';
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

type Cells = ReadonlyMap<string, WaitingCell>;

/** What waits to be taken into the cells. Rows never change and no id comes again, so each is taken apart and added up once. */
export class Waiting {
  #rows: ReadonlyMap<number, Cells> = new Map();
  /** All rows together: a minute of calls waits in hundreds of them, and most calls are like others. */
  #together: Cells = new Map();

  get known(): number[] {
    return [...this.#rows.keys()];
  }

  /** All that lies in these rows; those that are known come without facts. */
  in(rows: readonly WaitingRow[]): WaitingCell[] {
    const known = this.#rows;
    const before = this.#together;
    // Should this fail, the next question reads all of them.
    this.#rows = new Map();
    this.#together = new Map();
    const fresh: Cells[] = [];
    const found = new Map<number, Cells>();
    for (const { id, facts } of rows) {
      const cells = facts === null ? known.get(id) : cellsIn(unpackWholes(facts));
      if (!cells) throw new Error(`What waits as ${id} was not read.`);
      if (facts !== null) fresh.push(cells);
      found.set(id, cells);
    }
    const isAllThere = found.size - fresh.length === known.size;
    this.#together = isAllThere ? added(before, fresh) : added(new Map(), found.values());
    this.#rows = found;
    return [...this.#together.values()];
  }
}

/** As new cells where something is added: questions of the moment before may still look at theirs. */
function added(before: Cells, all: Iterable<Cells>): Cells {
  const together = new Map(before);
  const own = new Set<string>();
  for (const cells of all)
    for (const [key, cell] of cells) {
      const there = together.get(key);
      if (!there) together.set(key, cell);
      else if (own.has(key)) addAmount(there.amount, cell.amount);
      else {
        const amount = copyOf(there.amount);
        addAmount(amount, cell.amount);
        together.set(key, { ...there, amount });
        own.add(key);
      }
    }
  return together;
}

function cellsIn(wholes: Wholes): Cells {
  const cells = new Map<string, WaitingCell>();
  for (const [key, { text, bucket, amount }] of wholes)
    cells.set(key, { shared: sharedIn(text), at: bucket * MINUTE_MS, amount });
  return cells;
}

export const waitingCells = (wholes: Wholes): WaitingCell[] => [...cellsIn(wholes).values()];
