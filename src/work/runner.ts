import { Pulse, type PulseOptions } from '../core/runtime/pulse.ts';
import { RARELY_SECONDS, SELDOM_SECONDS, stayAwakeWhile, stir } from '../core/runtime/seconds.ts';
import type { Store } from '../storage/store.ts';
import { carryOut } from './carry-out.ts';
import { HeldLease } from './lease.ts';
import type { Slots } from './slots.ts';
import type { WorkTable } from './table.ts';
import type { Timing, Work } from './work.ts';

export interface RunnerOptions {
  readonly store: Store;
  readonly table: WorkTable;
  /** By the name of their kind. */
  readonly slots: ReadonlyMap<string, Slots>;
  readonly timing: Timing;
  /** Whether no other process works on this store: then nothing is to be found that this one did not say. */
  readonly isAlone: boolean;
  readonly random: () => number;
  readonly onError: (what: string, error: unknown) => void;
}

/** A node that saw work and got less than it could take looks again after about so long: others were quicker. */
export const LOOK_AGAIN_MS = 25;
/** What handlers get to notice that they must stop, when the time to finish is over. */
const ABORT_GRACE_MS = 2_000;
/** So often a node looks whether what runs here is still its own, and still wanted. */
const WATCH_MS = 1_000;
/** So often does a node without callers look for work that it was not told of, or that a dead node has left. */
const QUIET_LOOK_MS = 10_000;
/** The same where no other node can be. */
const ALONE_LOOK_MS = RARELY_SECONDS * 1_000;
/** So often do kinds look for what has expired then: who asks for it wakes the node. */
const QUIET_SWEEP_MS = SELDOM_SECONDS * 1_000;

/** What one node runs: it claims what is due, keeps its leases, gives up those it lost, and frees those of the dead. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #running = new Map<HeldLease, Promise<void>>();
  readonly #look: Pulse;
  readonly #watch: Pulse;
  readonly #heartbeat: Pulse;
  readonly #sweep: Pulse;
  readonly #watchdog: Pulse;
  #isClaiming = false;
  #fallAsleep = () => {};

  constructor(options: RunnerOptions) {
    this.#options = options;
    const { timing, isAlone, onError } = options;
    const quietMs = isAlone ? ALONE_LOOK_MS : Math.max(timing.pollMs, QUIET_LOOK_MS);
    const pulse = (what: string, everyMs: number, beat: PulseOptions['beat'], rest: Partial<PulseOptions> = {}) =>
      new Pulse({ everyMs, beat, ...rest, onError: (error) => onError(what, error) });
    // A node that has nothing to do does not wake up to look after it.
    const isNeeded = () => this.#running.size > 0;
    const watchdogMs = Math.min(1_000, timing.abortAfterMs / 10);
    this.#look = pulse('looking for work', timing.pollMs, () => this.#claimDue(), { quietMs });
    this.#sweep = pulse('sweeping', timing.sweepMs, () => this.#endExpired(), { quietMs: QUIET_SWEEP_MS });
    this.#watch = pulse('watching leases', Math.min(WATCH_MS, timing.pollMs), () => this.#checkLeases(), { isNeeded });
    this.#heartbeat = pulse('renewing leases', timing.heartbeatMs, () => this.#renew(), { isNeeded });
    this.#watchdog = pulse('dropping leases', watchdogMs, async () => this.#dropStale(), { isNeeded });
  }

  /** Whether work may begin here. */
  get isClaiming(): boolean {
    return this.#isClaiming;
  }

  start() {
    this.#isClaiming = true;
    this.#fallAsleep = stayAwakeWhile(() => this.#running.size > 0);
    for (const pulse of [this.#look, this.#sweep, this.#watch, this.#heartbeat, this.#watchdog]) pulse.start();
  }

  async stop(graceMs: number): Promise<void> {
    const { store, table, onError } = this.#options;
    this.#isClaiming = false;
    await Promise.all([this.#look.stop(), this.#sweep.stop()]);
    await this.#ended(graceMs);
    for (const lease of this.#running.keys()) lease.shutDown();
    await this.#ended(Math.min(graceMs, ABORT_GRACE_MS));
    await Promise.all([this.#watch.stop(), this.#heartbeat.stop(), this.#watchdog.stop()]);
    try {
      await table.releaseAll(store.db);
    } catch (error) {
      onError('releasing leases', error);
    }
    for (const lease of this.#running.keys()) lease.lose();
    this.#fallAsleep();
  }

  lookSoon(delayMs: number) {
    this.#look.soon(delayMs);
  }

  watchSoon(delayMs: number) {
    this.#watch.soon(delayMs);
  }

  /** The slot is taken already; it is free again when the attempt is over. `renewedAt`: before the claim was sent. */
  begin(place: Slots, work: Work, renewedAt: number) {
    const { store, table, random, onError } = this.#options;
    void stir();
    const lease = new HeldLease({ work, store, table, renewedAt });
    // It was claimed while this node began to stop.
    if (!this.#isClaiming) lease.shutDown();
    place.running++;
    const attempt = carryOut(place.kind, lease, { db: store.db, table, random, onError }).then((outcome) => {
      place.outcomes[outcome]++;
      place.running--;
      place.giveBack(1);
      this.#running.delete(lease);
      this.#look.soon(0);
    });
    this.#running.set(lease, attempt);
    for (const pulse of [this.#watch, this.#heartbeat, this.#watchdog]) pulse.goOn();
  }

  async #ended(limitMs: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs);
    });
    await Promise.race([Promise.all(this.#running.values()), limit]);
    clearTimeout(timer);
  }

  async #claimDue(): Promise<number | undefined> {
    const { store, table, slots, random } = this.#options;
    const hired = [...slots.values()].filter(({ kind }) => kind.concurrency > 0).map(({ kind }) => kind.name);
    if (hired.length === 0) return undefined;
    let nextMs = Number.POSITIVE_INFINITY;
    const due = await table.nextDue(store.db, hired);
    if (due.some(({ isLeft }) => isLeft) && (await table.reap(store.db)) > 0) return 0;
    for (const { kind, next, now } of due) {
      const place = slots.get(kind)!;
      place.lagMs = next === null ? 0 : Math.max(0, now - next);
      if (next === null || place.free === 0) continue;
      if (next > now) nextMs = Math.min(nextMs, next - now);
      else if (!(await this.#fill(place))) nextMs = Math.min(nextMs, LOOK_AGAIN_MS * (0.5 + random()));
    }
    return nextMs;
  }

  /** Answers whether every slot got something to do. */
  async #fill(place: Slots): Promise<boolean> {
    const { store, table } = this.#options;
    const limit = place.free;
    const sentAt = performance.now();
    place.take(limit);
    let claimed: Work[] = [];
    try {
      claimed = await table.claim(store.db, { kind: place.kind.name, limit, after: place.after });
    } finally {
      place.giveBack(limit - claimed.length);
    }
    place.served(claimed);
    for (const work of claimed) this.begin(place, work, sentAt);
    return claimed.length === limit;
  }

  get #active(): HeldLease[] {
    return [...this.#running.keys()].filter((lease) => !lease.isLost && !lease.ending);
  }

  /** Whether what runs here is still ours, and still wanted. */
  async #checkLeases(): Promise<undefined> {
    const { store, table } = this.#options;
    // While a transaction is under way, what others read of the row may be out of date.
    const watched = this.#active.filter((lease) => !lease.isInTransaction);
    if (watched.length === 0) return;
    const before = watched.map((lease) => lease.transactions);
    const owned = new Map((await table.owned(store.db)).map((row) => [row.id, row]));
    watched.forEach((lease, index) => {
      if (lease.transactions !== before[index] || !this.#running.has(lease)) return;
      const row = owned.get(lease.work.id);
      if (row?.fence !== lease.work.fence) lease.lose();
      else if (row.cancelled_at !== null) lease.cancel();
    });
  }

  /** Only what runs here: a claim whose answer got lost on the way ends by itself. */
  async #renew(): Promise<undefined> {
    const { store, table } = this.#options;
    const leases = this.#active;
    if (leases.length === 0) return;
    const sentAt = performance.now();
    const ids = leases.map((lease) => lease.work.id);
    const renewed = new Map((await table.renew(store.db, ids)).map(({ id, fence }) => [id, fence]));
    for (const lease of leases) if (renewed.get(lease.work.id) === lease.work.fence) lease.renewed(sentAt);
  }

  /** Needs no answer from the store: a node that is cut off stops its own work. */
  #dropStale(): undefined {
    const { abortAfterMs } = this.#options.timing;
    for (const lease of this.#active) if (performance.now() - lease.renewedAt > abortAfterMs) lease.lose();
  }

  async #endExpired(): Promise<undefined> {
    const { store, table, slots, onError } = this.#options;
    const now = await table.time(store.db);
    for (const { kind } of slots.values()) {
      if (!kind.sweep) continue;
      try {
        await store.transaction((db) => kind.sweep!(db, now));
      } catch (error) {
        onError(`sweeping ${kind.name}`, error);
      }
      // On the embedded store each sweep holds the event loop, and calls that came meanwhile wait for one of them, not for all.
      await new Promise(setImmediate);
    }
  }
}
