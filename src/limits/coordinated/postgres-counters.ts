import { sql } from 'kysely';
import { GatewayError } from '../../core/errors.ts';
import { every, SELDOM_SECONDS } from '../../core/runtime/seconds.ts';
import type { Store } from '../../storage/store.ts';
import type { Counters, Reservation, RestartCounters, Settlement, Verdict } from '../counters/counters.ts';
import { finiteEnd, storable } from '../counters/posting.ts';
import type { Ledger } from '../journal/ledger.ts';

export interface PostgresCountersDeps {
  readonly store: Store;
  /** Of the same store. It is closed with the counters. */
  readonly ledger: Ledger;
  /** Names this node in `limit_holds`, for people to look at. */
  readonly node: string;
  /** A database that is silent for longer counts as away. */
  readonly answerWithinMs?: number;
}

interface Waiting {
  readonly reservation: Reservation;
  readonly holdMs: number;
  readonly resolve: (verdict: Verdict) => void;
  readonly reject: (error: unknown) => void;
}

const MOST_AT_ONCE = 200;
const REAP_SECONDS = 30;

/**
 * The counters of several nodes, in PostgreSQL. One reserve is one round trip; those that come while one is under way go
 * together in the next. Time is the database's.
 */
export const createPostgresCounters = (deps: PostgresCountersDeps): Counters => new PostgresCounters(deps);

class PostgresCounters implements Counters {
  readonly #deps: PostgresCountersDeps;
  #queue: Waiting[] = [];
  #isAsking = false;
  readonly #reaping: { stop(): void };

  constructor(deps: PostgresCountersDeps) {
    this.#deps = deps;
    // Reserving reaps, too; this is for a node that gets no calls.
    this.#reaping = every(REAP_SECONDS, () => void this.#apply('[]', [], 0).catch(() => {}), SELDOM_SECONDS);
  }

  reserve(reservation: Reservation, holdMs: number): Promise<Verdict> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ reservation, holdMs, resolve, reject });
      if (!this.#isAsking) void this.#ask();
    });
  }

  settle(settlement: Settlement): void {
    this.#deps.ledger.add(settlement);
  }

  async renew(ids: readonly string[], holdMs: number): Promise<void> {
    if (ids.length === 0) return;
    await sql`
      update limit_holds set expires_at = floor(extract(epoch from clock_timestamp()) * 1000) + ${holdMs}::bigint
      where id in (select id from limit_holds where id = any(${[...ids]}) order by id for update)`.execute(
      this.#deps.store.db,
    );
  }

  async read(counters: readonly string[]): Promise<ReadonlyMap<string, { used: number; held: number }>> {
    if (counters.length === 0) return new Map();
    const rows = await this.#deps.store.db
      .selectFrom('limit_counters')
      .select(['counter', 'used', 'held'])
      .where('counter', 'in', counters)
      .execute();
    return new Map(rows.map(({ counter, used, held }) => [counter, { used, held }]));
  }

  async restarting<Result>(change: (restart: RestartCounters) => Promise<Result>): Promise<Result> {
    await this.flush();
    return change(async (db, counters) => {
      // One by one and in the order of reservations, which lock them, too.
      for (const counter of counters.toSorted(bytewise))
        await db.updateTable('limit_counters').set({ used: 0 }).where('counter', '=', counter).execute();
    });
  }

  flush(): Promise<void> {
    return this.#deps.ledger.flush();
  }

  async close(): Promise<void> {
    this.#reaping.stop();
    await this.#deps.ledger.close();
  }

  /** Never throws. */
  async #ask() {
    this.#isAsking = true;
    while (this.#queue.length > 0) {
      const group = this.#nextGroup();
      const reservations = group.map(({ reservation }) => reservation);
      let isTooLate = false;
      try {
        const verdicts = await this.#inTime(
          this.#deps.ledger.alongside((settlements) =>
            this.#apply(settlements, isTooLate ? [] : reservations, group[0]!.holdMs),
          ),
        );
        group.forEach(({ resolve }, index) => {
          resolve(verdicts[index]!);
        });
      } catch (error) {
        isTooLate = true;
        if (mayHaveRun(error)) for (const reservation of reservations) this.#deps.ledger.add(nothingOf(reservation));
        // Those behind them have waited as long and would only wait for the same.
        for (const { reject } of [...group, ...this.#queue.splice(0)]) reject(error);
      }
    }
    this.#isAsking = false;
  }

  async #inTime<Result>(work: Promise<Result>): Promise<Result> {
    const { answerWithinMs = 3_000 } = this.#deps;
    let timer: Timer | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new GatewayError('store_unavailable', [])), answerWithinMs);
    });
    // The caller does not wait for what comes after that, so its failure must not count as unhandled.
    work.catch(() => {});
    return Promise.race([work, tooLate]).finally(() => clearTimeout(timer));
  }

  /** Those at the head of the queue that want to hold for the same time, which is nearly always all. */
  #nextGroup(): Waiting[] {
    const { holdMs } = this.#queue[0]!;
    const differs = this.#queue.findIndex((waiting) => waiting.holdMs !== holdMs);
    return this.#queue.splice(0, Math.min(MOST_AT_ONCE, differs < 0 ? this.#queue.length : differs));
  }

  async #apply(settlements: string, reservations: readonly Reservation[], holdMs: number): Promise<Verdict[]> {
    const asked = reservations.map(({ id, charges, estimate }) => ({
      id,
      charges: charges.map(({ counter, amount, max, endsAt }) => [counter, amount, max, finiteEnd(endsAt)]),
      estimate: storable(estimate),
    }));
    const { rows } = await sql<{ verdicts: { refused: number[]; used: number[]; levels: number[] }[] }>`
      select limits_apply(${settlements}::jsonb, ${JSON.stringify(asked)}::jsonb, ${this.#deps.node}, ${holdMs})
        as verdicts`.execute(this.#deps.store.db);
    return rows[0]!.verdicts.map(({ refused, used, levels }) =>
      refused.length === 0 ? { admitted: true, used, levels } : { admitted: false, refused, used, levels },
    );
  }
}

/** Whether holds may exist of which this node was never told. Where no connection came about, none do. */
function mayHaveRun(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { code, message = '' } = (error.cause ?? {}) as { code?: unknown; message?: string };
  return code !== 'ECONNREFUSED' && !message.includes('when trying to connect');
}

/** The call was refused for want of an answer: should its hold exist, it ends without counting anything. */
const nothingOf = ({ id, charges, estimate }: Reservation): Settlement => ({
  id,
  charges: charges.map(({ counter, amount, endsAt }) => ({ counter, held: amount, actual: 0, endsAt })),
  entry: { ...estimate, input_tokens: 0, output_tokens: 0, cost: 0, state: 'unsent' },
});

const bytewise = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));
