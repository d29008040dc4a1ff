import { type Kysely, sql } from 'kysely';
import type { Amount } from '../aggregates/amount.ts';
import { MINUTE_MS } from '../aggregates/grains.ts';
import { type Shared, sharedIn, unpackWholes, type Wholes } from '../aggregates/wholes.ts';
import type { LogTables } from '../log-columns.ts';

/** What entries of one minute that have everything in common amount to, and that are not in the cells yet. */
export interface WaitingCell {
  readonly shared: Shared;
  /** When the minute begins. */
  readonly at: number;
  readonly amount: Amount;
}

/** What waits to be taken into the cells. Rows never change, so each is taken apart once. */
export class Waiting {
  #rows = new Map<number, readonly WaitingCell[]>();

  /** All that has these ids. */
  async in(db: Kysely<LogTables>, ids: readonly number[]): Promise<WaitingCell[]> {
    const fresh = ids.filter((id) => !this.#rows.has(id));
    const known = this.#rows;
    this.#rows = new Map(ids.flatMap((id) => (known.has(id) ? [[id, known.get(id)!] as const] : [])));
    if (fresh.length > 0) {
      const { rows } = await sql<{ id: number; facts: string }>`
        select id, facts from analytics_waiting where id in (${sql.join(fresh.map((id) => sql.lit(id)))})`.execute(db);
      for (const { id, facts } of rows) this.#rows.set(Number(id), waitingCells(unpackWholes(facts)));
    }
    return [...this.#rows.values()].flat();
  }
}

export const waitingCells = (wholes: Wholes): WaitingCell[] =>
  Array.from(wholes.values(), ({ text, bucket, amount }) => ({
    shared: sharedIn(text),
    at: bucket * MINUTE_MS,
    amount,
  }));
