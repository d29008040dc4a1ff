import type { Db, Store } from '../storage/store.ts';
import type { WorkTable } from './table.ts';
import type { Moment } from './time.ts';
import { type FlushOption, type Lease, LeaseLost, ShuttingDown, type Work, WorkCancelled } from './work.ts';

/** How the work was ended by its handler. */
export type Ending = 'done' | 'rescheduled' | 'released';

export interface LeaseOptions {
  readonly work: Work;
  readonly store: Store;
  readonly table: WorkTable;
  /** When the statement was sent that claimed it, by performance.now(). */
  readonly renewedAt: number;
}

/** A lease as its node sees it: what the handler has of it, and what ends it from outside. */
export class HeldLease implements Lease {
  /** As of the last claim, checkpoint included. */
  work: Work;
  /** How the handler ended it, once that is committed. */
  ending: Ending | null = null;
  /** When the lease was last known to be ours. */
  renewedAt: number;
  /** How many were begun. */
  transactions = 0;
  #underWay = 0;
  readonly #options: LeaseOptions;
  readonly #abort = new AbortController();
  readonly #changes = new WeakMap<Db, Change>();

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.work = options.work;
    this.renewedAt = options.renewedAt;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get isInTransaction(): boolean {
    return this.#underWay > 0;
  }

  get isLost(): boolean {
    return this.signal.reason instanceof LeaseLost;
  }

  /** By a statement that was sent then: the lease has begun anew at that moment at the earliest. */
  renewed(sentAt: number) {
    this.renewedAt = Math.max(this.renewedAt, sentAt);
  }

  lose() {
    this.#abort.abort(new LeaseLost(this.work));
  }

  cancel() {
    this.#abort.abort(new WorkCancelled(this.work));
  }

  shutDown() {
    this.#abort.abort(new ShuttingDown());
  }

  async transaction<Result>(step: (db: Db) => Promise<Result>, { flush }: FlushOption = {}): Promise<Result> {
    const { store, table } = this.#options;
    if (this.isLost) throw this.signal.reason;
    if (this.ending) throw new Error(`${this.work.kind} ${this.work.id} is ${this.ending} already.`);
    const sentAt = performance.now();
    const change: Change = { work: this.work, ending: null };
    this.transactions++;
    this.#underWay++;
    try {
      const result = await store.transaction(
        async (db) => {
          const row = await table.hold(db, this.work);
          if (!row) throw new LeaseLost(this.work);
          if (row.isCancelled) this.cancel();
          this.#changes.set(db, change);
          return step(db);
        },
        { flush },
      );
      this.renewed(sentAt);
      this.work = change.work;
      this.ending = change.ending;
      return result;
    } catch (error) {
      if (error instanceof LeaseLost) this.lose();
      throw error;
    } finally {
      this.#underWay--;
    }
  }

  done(db: Db): Promise<void> {
    return this.#end(db, 'done', (table) => table.remove(db, this.work));
  }

  reschedule(db: Db, runAt: Moment, payload?: unknown): Promise<void> {
    const change = { runAt, payload, attempts: 0, lastError: null, hurriesWhenCancelled: true };
    return this.#end(db, 'rescheduled', (table) => table.letGo(db, this.work, change));
  }

  release(db: Db): Promise<void> {
    const change = { attempts: this.#changeIn(db).work.attempts - 1, hurriesWhenCancelled: true };
    return this.#end(db, 'released', (table) => table.letGo(db, this.work, change));
  }

  async checkpoint(db: Db, payload: unknown): Promise<void> {
    const change = this.#changeIn(db);
    if (!(await this.#options.table.checkpoint(db, this.work, payload))) throw new LeaseLost(this.work);
    change.work = { ...this.work, payload, attempts: 1 };
  }

  async #end(db: Db, ending: Ending, write: (table: WorkTable) => Promise<boolean>): Promise<void> {
    const change = this.#changeIn(db);
    if (!(await write(this.#options.table))) throw new LeaseLost(this.work);
    change.ending = ending;
  }

  /** A handle from elsewhere would write without the fence. */
  #changeIn(db: Db): Change {
    const change = this.#changes.get(db);
    if (!change) throw new Error('Work is ended inside transaction() of its lease, with the handle given there.');
    return change;
  }
}

/** What a transaction changes about the lease when it commits. */
interface Change {
  work: Work;
  ending: Ending | null;
}
