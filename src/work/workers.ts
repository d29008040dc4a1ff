import type { Clock } from '../core/clock.ts';
import { newId } from '../core/ids.ts';
import type { Db, Store } from '../storage/store.ts';
import { LOOK_AGAIN_MS, Runner } from './runner.ts';
import { type KindStatus, Slots } from './slots.ts';
import { workTable } from './table.ts';
import { databaseClock } from './time.ts';
import { checkTiming, defaultTiming, type Kind, type NewWork, type Target, type Timing, type Work } from './work.ts';

/** How nodes wake each other; `Changes` has it. Lost messages only cost time: every node also looks for itself. */
export interface Wake {
  notify(db: Db, channel: string, payload: string): Promise<void>;
  onNotify(channel: string, handler: (payload: string | null) => void): () => void;
}

export interface WorkersOptions {
  readonly store: Store;
  /** A name people recognise. What is leased also carries a part that is new with every start. */
  readonly node: string;
  readonly kinds: readonly Kind[];
  /** `what` names the work or the activity; nothing of a payload is in it. */
  readonly onError: (what: string, error: unknown) => void;
  readonly wake?: Wake;
  /** Whether no other process works on this store: then whatever is leased at the start was left by a dead one. */
  readonly isAlone?: boolean;
  readonly timing?: Partial<Timing>;
  /** In place of the database's clock, for tests. */
  readonly clock?: Clock;
  readonly random?: () => number;
}

export interface Workers {
  /** Who owns what is leased here. */
  readonly owner: string;
  /** Begins to claim and to sweep. A node that never starts may still enqueue, cancel and discard. */
  start(): Promise<void>;
  /** Claims nothing more, lets handlers finish for so long, aborts the rest and gives their work to other nodes. */
  stop(graceMs: number): Promise<void>;
  /** Inserts work in the transaction of what it is for; whichever node is free does it. Answers its id. */
  enqueue(db: Db, item: NewWork): Promise<string>;
  /** One transaction of state and work; the work begins on this node when it has a free slot, else it is enqueued. */
  accept<Result>(item: NewWork, insert: (db: Db) => Promise<Result>): Promise<{ result: Result; isLocal: boolean }>;
  /** The same for work that waits for something that has now come: due at once, on this node if it has a free slot. */
  resume<Result>(
    target: { readonly kind: string; readonly ref: string },
    change: (db: Db) => Promise<Result>,
  ): Promise<{ result: Result; resumed: number; isLocal: boolean }>;
  /**
   * Asks for an end. Work that no node is doing ends in this transaction, through its kind's `cancelled`; for the rest
   * the signal of its lease fires. Locks the work's rows: call it before the transaction touches the object's own.
   */
  cancel(db: Db, target: Target): Promise<{ ended: number; asked: number }>;
  /**
   * Removes work without a word, as when its object has expired: a node that is doing it loses its lease. Answers how
   * many. Locks the work's rows: call it before the transaction touches the object's own.
   */
  discard(db: Db, target: Target): Promise<number>;
  /** The same for all work of one tenant. */
  discardTenant(db: Db, tenant: string): Promise<number>;
  status(): KindStatus[];
}

const CHANNEL = 'gateway_work';

export function createWorkers(options: WorkersOptions): Workers {
  const { store, node, kinds, onError, wake, isAlone = false, clock, random = Math.random } = options;
  const timing = checkTiming({ ...defaultTiming, ...options.timing });
  const owner = `${node}/${newId<string>()}`;
  const table = workTable({ engine: store.engine, now: databaseClock(store.engine, clock), node: owner, timing });
  const slots = new Map(kinds.map((kind) => [kind.name, new Slots(kind)]));
  const runner = new Runner({ store, table, slots, timing, isAlone, random, onError });
  let unsubscribe = () => {};

  const slotsOf = (kind: string): Slots => {
    const found = slots.get(kind);
    if (!found) throw new Error(`There is no kind of work "${kind}"; known are ${[...slots.keys()].join(', ')}.`);
    return found;
  };

  /**
   * The message is sent when the transaction commits. Without a channel to send on, this node looks again by itself.
   */
  const announce = async (db: Db, what: 'due' | 'cancelled') => {
    if (wake) return wake.notify(db, CHANNEL, what);
    // On the single connection of SQLite, looking waits for the transaction to end.
    const delayMs = store.engine === 'sqlite' ? 0 : LOOK_AGAIN_MS;
    if (what === 'due') runner.lookSoon(delayMs);
    else runner.watchSoon(delayMs);
  };

  const heard = (what: string | null) => {
    if (what !== 'cancelled') runner.lookSoon(0);
    if (what !== 'due') runner.watchSoon(0);
  };

  /** Runs a transaction that may claim one row for a free slot of this node. */
  const claiming = async <Result>(
    place: Slots,
    transaction: (db: Db, mayClaim: boolean) => Promise<{ result: Result; claimed: Work | undefined }>,
  ): Promise<{ result: Result; isLocal: boolean }> => {
    const mayClaim = runner.isClaiming && place.free > 0;
    const sentAt = performance.now();
    if (mayClaim) place.take(1);
    let claimed: Work | undefined;
    try {
      const outcome = await store.transaction((db) => transaction(db, mayClaim));
      claimed = outcome.claimed;
      return { result: outcome.result, isLocal: claimed !== undefined };
    } finally {
      if (claimed) runner.begin(place, claimed, sentAt);
      else if (mayClaim) place.giveBack(1);
    }
  };

  return {
    owner,
    start: async () => {
      if (isAlone) await table.freeOthers(store.db);
      unsubscribe = wake?.onNotify(CHANNEL, heard) ?? unsubscribe;
      runner.start();
    },
    stop: async (graceMs) => {
      unsubscribe();
      await runner.stop(graceMs);
      // Others need not wait until they look by themselves for what this node has let go.
      await wake?.notify(store.db, CHANNEL, 'due').catch(() => {});
    },
    enqueue: async (db, item) => {
      slotsOf(item.kind);
      const { id } = await table.insert(db, item, false);
      await announce(db, 'due');
      return id;
    },
    accept: (item, insert) =>
      claiming(slotsOf(item.kind), async (db, mayClaim) => {
        const isClaimed = mayClaim && item.runAt === undefined;
        const result = await insert(db);
        const work = await table.insert(db, item, isClaimed);
        if (!isClaimed) await announce(db, 'due');
        return { result, claimed: isClaimed ? work : undefined };
      }),
    resume: async (target, change) => {
      let resumed = 0;
      const outcome = await claiming(slotsOf(target.kind), async (db, mayClaim) => {
        const idle = (await table.lock(db, target)).filter(({ isLive }) => !isLive).map(({ work }) => work.id);
        resumed = idle.length;
        const [claimed] = mayClaim ? await table.resume(db, idle.splice(0, 1), true) : [];
        if (idle.length > 0) {
          await table.resume(db, idle, false);
          await announce(db, 'due');
        }
        return { result: await change(db), claimed };
      });
      return { ...outcome, resumed };
    },
    cancel: async (db, target) => {
      const rows = await table.lock(db, target);
      const idle = rows.filter(({ isLive }) => !isLive).map(({ work }) => work);
      const live = rows.filter(({ isLive }) => isLive).map(({ work }) => work.id);
      for (const work of idle) await slotsOf(work.kind).kind.cancelled(db, work);
      const ids = idle.map(({ id }) => id);
      await table.discard(db, ids);
      await table.markCancelled(db, live);
      if (live.length > 0) await announce(db, 'cancelled');
      return { ended: ids.length, asked: live.length };
    },
    discard: async (db, target) => {
      const ids = (await table.lock(db, target)).map(({ work }) => work.id);
      await table.discard(db, ids);
      if (ids.length > 0) await announce(db, 'cancelled');
      return ids.length;
    },
    discardTenant: async (db, tenant) => {
      const ids = await table.lockTenant(db, tenant);
      await table.discard(db, ids);
      if (ids.length > 0) await announce(db, 'cancelled');
      return ids.length;
    },
    status: () => [...slots.values()].map((place) => place.status),
  };
}
