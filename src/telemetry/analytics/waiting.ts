import { type Kysely, sql } from 'kysely';
import { type Amount, GRAINS, type Kind, kindOf, wholesOf } from '../aggregates/cells.ts';
import { type Fact, unpackFacts } from '../aggregates/fact.ts';
import { textOf } from '../aggregates/histogram.ts';
import type { LogTables } from '../log-columns.ts';

/** What entries of one kind and one minute amount to that are not in the cells yet. */
export interface WaitingCell {
  readonly kind: Kind;
  /** When the minute begins. */
  readonly at: number;
  readonly sums: Amount['sums'];
  readonly durations: string;
  readonly first_bytes_text: string;
}

/** What waits to be taken into the cells. Rows never change, so each is taken apart once. */
export class Waiting {
  #rows = new Map<number, readonly WaitingCell[]>();

  async in(db: Kysely<LogTables>): Promise<WaitingCell[]> {
    const listed = await sql<{ id: number }>`select id from analytics_waiting`.execute(db);
    const ids = listed.rows.map(({ id }) => Number(id));
    const fresh = ids.filter((id) => !this.#rows.has(id));
    const known = this.#rows;
    this.#rows = new Map(ids.flatMap((id) => (known.has(id) ? [[id, known.get(id)!] as const] : [])));
    if (fresh.length > 0) {
      const { rows } = await sql<{ id: number; facts: string }>`
        select id, facts from analytics_waiting where id in (${sql.join(fresh.map((id) => sql.lit(id)))})`.execute(db);
      for (const { id, facts } of rows) this.#rows.set(Number(id), cellsOf(unpackFacts(facts)));
    }
    return [...this.#rows.values()].flat();
  }
}

export const cellsOf = (facts: readonly Fact[]): WaitingCell[] =>
  [...wholesOf(facts).values()].map(({ text, bucket, amount: { sums, durations, firstBytes } }) => ({
    kind: kindOf(text),
    at: bucket * GRAINS[0].ms,
    sums,
    durations: textOf(durations),
    first_bytes_text: textOf(firstBytes),
  }));
