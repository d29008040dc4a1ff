import { join } from 'node:path';
import { sql } from 'kysely';
import { GatewayError } from '../../core/errors.ts';
import { every } from '../../core/runtime/seconds.ts';
import type { Store } from '../../storage/store.ts';
import type { Counters, Reservation, RestartCounters, Settlement, Verdict } from '../counters/counters.ts';
import type { Folded } from './fold.ts';
import { type Held, type Hold, HoldJournal } from './hold-journal.ts';
import { createLedger, type Ledger } from './ledger.ts';

interface Counter {
  used: number;
  held: number;
  readonly endsAt: number;
}

export interface JournalCountersDeps {
  readonly store: Store;
  /** A folder of its own in the data dir. No other process may use it meanwhile. */
  readonly folder: string;
  readonly now: () => number;
  readonly report?: (problem: string) => void;
}

const SWEEP_EVERY_SECONDS = 5;

/**
 * The counters of the only process there is, in memory. A hold is appended to the journal before its call is admitted;
 * what was settled is in the ledger, or in its file. A start adds up the three: `used` from `limit_counters`, after the
 * ledger has caught up, and `held` from holds whose ids the ledger does not know. A process that is killed at any point
 * therefore leaves calls counted at what they took or at their estimates, never at nothing.
 */
export async function openJournalCounters(deps: JournalCountersDeps): Promise<Counters> {
  const ledger = createLedger({ ...deps, folder: join(deps.folder, 'ledger') });
  await ledger.catchUp();
  const journal = new HoldJournal(join(deps.folder, 'holds'));
  const used = await readCounters(deps.store, deps.now());
  const holds = await withoutSettled(deps.store, journal.read());
  return new JournalCounters(deps, { ledger, journal, used, holds });
}

async function readCounters(store: Store, now: number): Promise<Map<string, Counter>> {
  const rows = await store.db
    .selectFrom('limit_counters')
    .select(['counter', 'used', 'ends_at'])
    .where((where) => where.or([where('ends_at', 'is', null), where('ends_at', '>', now)]))
    .execute();
  return new Map(
    rows.map(({ counter, used, ends_at }) => [counter, { used, held: 0, endsAt: ends_at ?? Number.POSITIVE_INFINITY }]),
  );
}

async function withoutSettled(store: Store, holds: Map<string, Hold>): Promise<Map<string, Hold>> {
  const ids = JSON.stringify([...holds.keys()]);
  const { rows } = await sql<{ id: string }>`
    select id from usage_ledger where id in (select value from json_each(${ids}))`.execute(store.db);
  for (const { id } of rows) holds.delete(id);
  return holds;
}

interface Parts {
  readonly ledger: Ledger;
  readonly journal: HoldJournal;
  readonly used: Map<string, Counter>;
  readonly holds: Map<string, Hold>;
}

class JournalCounters implements Counters {
  readonly #deps: JournalCountersDeps;
  readonly #ledger: Ledger;
  readonly #journal: HoldJournal;
  readonly #counters: Map<string, Counter>;
  readonly #holds: Map<string, Hold>;
  readonly #sweeping: { stop(): void };
  /** No hold ends before this. */
  #nextEnd = 0;

  constructor(deps: JournalCountersDeps, { ledger, journal, used, holds }: Parts) {
    this.#deps = deps;
    this.#ledger = ledger;
    this.#journal = journal;
    this.#counters = used;
    this.#holds = holds;
    for (const { charges } of holds.values()) this.#addToHeld(charges);
    this.#restart();
    this.#sweeping = every(SWEEP_EVERY_SECONDS, () => this.#sweep());
  }

  reserve({ charges, estimate }: Reservation, holdMs: number): Verdict {
    const now = this.#deps.now();
    if (now >= this.#nextEnd) this.#endHolds(now);
    const used: number[] = [];
    const levels: number[] = [];
    let refused: number[] | null = null;
    for (let index = 0; index < charges.length; index++) {
      const { counter, amount, max } = charges[index]!;
      const known = this.#counters.get(counter);
      const level = known ? known.used + known.held : 0;
      used.push(known ? known.used : 0);
      levels.push(level);
      if (level + (amount > 0 ? amount : 1) > max) refused = [...(refused ?? []), index];
    }
    if (refused) return { admitted: false, refused, used, levels };
    const hold: Hold = { estimate, charges, endsAt: now + holdMs };
    this.#note(hold);
    this.#holds.set(estimate.id, hold);
    if (hold.endsAt < this.#nextEnd) this.#nextEnd = hold.endsAt;
    this.#addToHeld(charges);
    for (let index = 0; index < charges.length; index++) levels[index]! += charges[index]!.amount;
    return { admitted: true, used, levels };
  }

  settle(settlement: Settlement): void {
    const { id, charges } = settlement;
    const hold = this.#holds.get(id);
    if (!hold) {
      // Without charges there is nothing to count. Otherwise only the ledger knows whether the hold ended or the call
      // was settled before, possibly under a process before this one.
      this.#ledger.add(settlement, charges.length === 0 ? {} : { folded: (changes) => this.#correct(changes) });
      return;
    }
    this.#release(hold);
    for (const { counter, actual, endsAt } of charges) this.#counter(counter, endsAt).used += actual;
    this.#ledger.add(settlement);
  }

  async renew(ids: readonly string[], holdMs: number): Promise<void> {
    // Not in the journal: after a crash no process renews, and a hold that ended counts as much as one that did not.
    const endsAt = this.#deps.now() + holdMs;
    for (const id of ids) {
      const hold = this.#holds.get(id);
      if (hold) hold.endsAt = endsAt;
    }
  }

  async read(counters: readonly string[]): Promise<ReadonlyMap<string, { used: number; held: number }>> {
    this.#endHolds(this.#deps.now());
    return new Map(
      counters.flatMap((name) => {
        const counter = this.#counters.get(name);
        return counter ? [[name, { used: counter.used, held: counter.held }]] : [];
      }),
    );
  }

  async restarting<Result>(change: (restart: RestartCounters) => Promise<Result>): Promise<Result> {
    await this.#ledger.flush();
    const forgotten: Folded[number][] = [];
    // What is settled while this runs is in memory and not yet in the table, and stays.
    const result = await change(async (db, counters) => {
      if (counters.length === 0) return;
      const rows = await db.selectFrom('limit_counters').selectAll().where('counter', 'in', counters).execute();
      await db.updateTable('limit_counters').set({ used: 0 }).where('counter', 'in', counters).execute();
      forgotten.push(...rows.map(({ counter, used, ends_at }) => [counter, -used, ends_at] as const));
    });
    this.#correct(forgotten);
    return result;
  }

  flush(): Promise<void> {
    return this.#ledger.flush();
  }

  async close(): Promise<void> {
    this.#sweeping.stop();
    await this.#ledger.close();
    try {
      this.#restart();
    } catch {
      // As it is, it can be read, too; it is only longer.
    }
    this.#journal.finish();
  }

  #counter(name: string, endsAt: number): Counter {
    let counter = this.#counters.get(name);
    if (!counter) {
      counter = { used: 0, held: 0, endsAt };
      this.#counters.set(name, counter);
    }
    return counter;
  }

  #addToHeld(charges: readonly Held[]) {
    for (const { counter, amount, endsAt } of charges) this.#counter(counter, endsAt).held += amount;
  }

  #release({ estimate, charges }: Hold) {
    this.#holds.delete(estimate.id);
    for (const charge of charges) {
      const counter = this.#counters.get(charge.counter);
      if (counter) counter.held -= charge.amount;
    }
  }

  #correct(changes: Folded) {
    for (const [name, amount, endsAt] of changes) {
      const counter = this.#counter(name, endsAt ?? Number.POSITIVE_INFINITY);
      counter.used = Math.max(0, counter.used + amount);
    }
  }

  /** Before the call is admitted: a hold that is not in the journal would be forgotten by a kill. */
  #note(hold: Hold) {
    try {
      if (this.#journal.isLong) this.#restart();
      this.#journal.append(hold);
    } catch (error) {
      throw Object.assign(new GatewayError('store_unavailable', []), { cause: error });
    }
  }

  /** The journal begins again with what is still open. Settlements of the others must be on disk before. */
  #restart() {
    if (!this.#ledger.keep()) return;
    this.#journal.startWith([...this.#holds.values()]);
  }

  /** Ends the holds of calls that may have run, and whose process is gone: what they took is unknown. */
  #endHolds(now: number) {
    this.#nextEnd = Number.POSITIVE_INFINITY;
    for (const hold of this.#holds.values()) {
      if (hold.endsAt > now) {
        this.#nextEnd = Math.min(this.#nextEnd, hold.endsAt);
        continue;
      }
      this.#release(hold);
      const charges = hold.charges.map(({ counter, amount, endsAt }) => {
        this.#counter(counter, endsAt).used += amount;
        return { counter, held: amount, actual: amount, endsAt };
      });
      this.#ledger.add({ id: hold.estimate.id, charges, entry: hold.estimate }, { expired: true });
    }
  }

  #sweep() {
    const now = this.#deps.now();
    this.#endHolds(now);
    for (const [name, { endsAt }] of this.#counters) if (endsAt <= now) this.#counters.delete(name);
  }
}
