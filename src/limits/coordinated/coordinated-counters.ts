import { GatewayError } from '../../core/errors.ts';
import type { Health } from '../../core/health.ts';
import { newId } from '../../core/ids.ts';
import { every, RARELY_SECONDS } from '../../core/runtime/seconds.ts';
import type { Redis } from '../../storage/redis.ts';
import type { Store } from '../../storage/store.ts';
import type { Counters, Reservation, RestartCounters, Settlement, Verdict } from '../counters/counters.ts';
import { createLedger, type Ledger } from '../journal/ledger.ts';
import { type CountingPlace, PlaceKeeper, type RedisPlace } from './counting-place.ts';
import { type Answered, createModeTable, ELSEWHERE, isElsewhere } from './mode.ts';
import { OpenCalls, UntoldSettlements } from './open-calls.ts';
import { createPostgresCounters } from './postgres-counters.ts';
import { type CounterSnapshot, createRedisCounters, type RedisCounters } from './redis-counters.ts';
import type { RedisVerdict } from './redis-groups.ts';
import type { Hold } from './redis-hold.ts';

export interface CoordinatedDeps {
  /** PostgreSQL. */
  readonly store: Store;
  /** Null: this node has none, and so Redis counts for no node while this one lives. It is not closed with the counters. */
  readonly redis: Redis | null;
  /** Of the ledger, for what the store does not take at the moment. */
  readonly folder: string;
  readonly now: () => number;
  readonly health: Pick<Health, 'degraded' | 'well'>;
  /** Tells other nodes to look at the mode at once, and is told. Without it they look every `pollMs`. */
  readonly nudge?: { send(): Promise<void>; onReceive(handler: () => void): void };
  readonly report?: (problem: string) => void;
  readonly timing?: Partial<Timing>;
}

interface Timing {
  /** Between two looks at the mode, each a sign of life. */
  readonly pollMs: number;
  /** How long Redis must have answered every node before it counts again. */
  readonly stableMs: number;
  readonly deadAfterMs: number;
  /** How long a call waits while the place changes. */
  readonly waitMs: number;
  /** How long PostgreSQL may take to answer a call. */
  readonly answerMs: number;
}

const TIMING: Timing = { pollMs: 500, stableMs: 5_000, deadAfterMs: 10_000, waitMs: 3_000, answerMs: 3_000 };
const SWEEP_SECONDS = 1;

/**
 * The counters of several nodes with PostgreSQL and Redis: Redis decides, PostgreSQL remembers. When Redis dies, loses
 * its memory or cannot be reached by one of them, all nodes write down what only they know, count in PostgreSQL, and move
 * back when Redis answers again (docs/decisions/0020-redis-counters.md).
 */
export async function createCoordinatedCounters(deps: CoordinatedDeps): Promise<Counters> {
  const timing = { ...TIMING, ...deps.timing };
  const node = newId();
  const { store, redis } = deps;
  const mode = createModeTable({ store, node, ...timing });
  const redisCounters = redis ? createRedisCounters(redis, await mode.tag()) : null;
  const report = deps.report ?? toStderr;
  const ledger = createLedger({
    store,
    folder: deps.folder,
    now: deps.now,
    // Settlements that travelled with a reservation which came too late go again by themselves.
    report: (problem) => problem.includes(ELSEWHERE) || report(problem),
  });
  const counters = new CoordinatedCounters({
    ledger,
    postgres: createPostgresCounters({ store, ledger, node, answerWithinMs: timing.answerMs }),
    redis: redisCounters,
    waitMs: timing.waitMs,
    keeperOf: (hooks) =>
      new PlaceKeeper({
        mode,
        redis: redis && redisCounters && { link: redis, counters: redisCounters },
        health: deps.health,
        pollMs: timing.pollMs,
        nudge: deps.nudge ? () => deps.nudge!.send() : null,
        report,
        ...hooks,
      }),
  });
  deps.nudge?.onReceive(() => counters.keeper.wake());
  await counters.keeper.start();
  return counters;
}

interface Parts {
  readonly ledger: Ledger;
  readonly postgres: Counters;
  readonly redis: RedisCounters | null;
  readonly waitMs: number;
  readonly keeperOf: (hooks: {
    writeDown: (write: (holds: CounterSnapshot['holds']) => Promise<Answered>) => Promise<Answered>;
    onRedis: () => void;
  }) => PlaceKeeper;
}

class CoordinatedCounters implements Counters {
  readonly keeper: PlaceKeeper;
  readonly #parts: Parts;
  readonly #calls = new OpenCalls();
  readonly #untold = new UntoldSettlements();
  /** Settlements wait here while holds are written down, so that none is written down after it has ended. */
  #heldBack: Settlement[] | null = null;
  #writingDown: Promise<unknown> = Promise.resolve();
  /** Reservations that Redis has not answered yet. */
  #asked = 0;
  #whenNoneAsked: (() => void) | null = null;
  #sweeping: Promise<void> | null = null;
  readonly #sweeps: { stop(): void };

  constructor(parts: Parts) {
    this.#parts = parts;
    this.keeper = parts.keeperOf({
      writeDown: (write) => {
        const writing = this.#writeDown(write);
        this.#writingDown = writing.catch(() => {});
        return writing;
      },
      onRedis: () => {
        for (const settlement of this.#untold.takeAll()) this.#tellRedis(settlement);
      },
    });
    this.#sweeps = every(SWEEP_SECONDS, () => void this.#sweep(), RARELY_SECONDS);
  }

  async reserve(reservation: Reservation, holdMs: number): Promise<Verdict> {
    const deadline = performance.now() + this.#parts.waitMs;
    for (;;) {
      const { place } = this.keeper;
      const verdict = await this.#ask(place, reservation, holdMs);
      if (verdict) return verdict;
      if (await this.keeper.leaves(place, deadline - performance.now())) continue;
      // Redis may have carried out what it did not answer.
      this.#untold.add(nothingOf(reservation));
      throw new GatewayError('limits_unavailable', [], { 'retry-after': '1' });
    }
  }

  settle(settlement: Settlement): void {
    if (this.#heldBack) return void this.#heldBack.push(settlement);
    this.#calls.ended(settlement.id);
    this.#parts.ledger.add(settlement);
    this.#tellRedis(settlement);
  }

  async renew(ids: readonly string[], holdMs: number): Promise<void> {
    const written = this.#calls.renew(ids, holdMs);
    const { place } = this.keeper;
    await Promise.all([
      place.at === 'redis' ? this.#inRedis(place, (redis) => redis.renew(place.space, ids, holdMs)) : undefined,
      this.#parts.postgres.renew(place.at === 'redis' ? written : ids, holdMs),
    ]);
  }

  async read(counters: readonly string[]): Promise<ReadonlyMap<string, { used: number; held: number }>> {
    await this.#sweep();
    const { place } = this.keeper;
    const found = place.at === 'redis' && (await this.#inRedis(place, (redis) => redis.read(place.space, counters)));
    if (found) return found;
    await this.flush();
    return this.#parts.postgres.read(counters);
  }

  async restarting<Result>(change: (restart: RestartCounters) => Promise<Result>): Promise<Result> {
    const restarted: string[] = [];
    const result = await this.#parts.postgres.restarting((restart) =>
      change(async (db, counters) => {
        await restart(db, counters);
        restarted.push(...counters);
      }),
    );
    const { place } = this.keeper;
    if (place.at === 'redis') await this.#inRedis(place, (redis) => redis.reset(place.space, restarted));
    return result;
  }

  async flush(): Promise<void> {
    await this.#writingDown;
    await this.#sweeping;
    await this.#parts.postgres.flush();
    // Answers come in the order of commands: Redis has heard of all that was settled.
    const { place } = this.keeper;
    if (place.at === 'redis') await this.#inRedis(place, (redis) => redis.check(place.space));
  }

  async close(): Promise<void> {
    this.#sweeps.stop();
    await this.flush();
    await this.keeper.close();
    await this.#parts.postgres.close();
  }

  /** Null when this is not, or no longer, the place that counts. */
  async #ask(place: CountingPlace, reservation: Reservation, holdMs: number): Promise<Verdict | null> {
    if (place.at === 'nowhere') return null;
    if (place.at === 'postgres') return this.#askPostgres(reservation, holdMs);
    const answer = await this.#askRedis(place, reservation, holdMs);
    if (answer?.isDue) await this.#sweep();
    return answer?.verdict ?? null;
  }

  async #askRedis(place: RedisPlace, reservation: Reservation, holdMs: number): Promise<RedisVerdict | null> {
    this.#asked++;
    try {
      const answer = await this.#parts.redis!.reserve(place.space, reservation, holdMs);
      if (answer.verdict.admitted) this.#calls.admitted(reservation, holdMs, { isWritten: false });
      return answer;
    } catch (error) {
      this.keeper.failed(place, error);
      return null;
    } finally {
      if (--this.#asked === 0) this.#whenNoneAsked?.();
    }
  }

  async #askPostgres(reservation: Reservation, holdMs: number): Promise<Verdict | null> {
    try {
      const verdict = await this.#parts.postgres.reserve(reservation, holdMs);
      if (verdict.admitted) this.#calls.admitted(reservation, holdMs, { isWritten: true });
      return verdict;
    } catch (error) {
      if (isElsewhere(error)) return null;
      throw error;
    }
  }

  async #inRedis<Result>(
    place: CountingPlace,
    work: (redis: RedisCounters) => Promise<Result>,
  ): Promise<Result | null> {
    try {
      return await work(this.#parts.redis!);
    } catch (error) {
      this.keeper.failed(place, error);
      return null;
    }
  }

  #tellRedis(settlement: Settlement) {
    const { place } = this.keeper;
    if (settlement.charges.length === 0 || !this.#parts.redis) return;
    if (place.at !== 'redis') return this.#untold.add(settlement);
    this.#parts.redis.settle(place.space, settlement).catch((error) => {
      this.#untold.add(settlement);
      this.keeper.failed(place, error);
    });
  }

  async #writeDown(write: (holds: CounterSnapshot['holds']) => Promise<Answered>): Promise<Answered> {
    this.#heldBack ??= [];
    try {
      while (this.#asked > 0) {
        await new Promise<void>((resolve) => {
          this.#whenNoneAsked = resolve;
        });
      }
      await this.#parts.ledger.catchUp();
      const holds = this.#calls.holds();
      const answered = await write(holds);
      this.#calls.markWritten(holds);
      return answered;
    } finally {
      const heldBack = this.#heldBack;
      this.#heldBack = null;
      for (const settlement of heldBack) this.settle(settlement);
    }
  }

  /**
   * Ends holds in Redis that were neither settled nor renewed; first in the ledger, so that none is forgotten in
   * between.
   */
  #sweep(): Promise<void> {
    this.#sweeping ??= this.#endDueHolds().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  async #endDueHolds() {
    const { place } = this.keeper;
    if (place.at !== 'redis') return;
    for (;;) {
      const due = (await this.#inRedis(place, (redis) => redis.due(place.space))) ?? [];
      if (due.length === 0) return;
      for (const hold of due) this.#parts.ledger.add(estimateOf(hold), { expired: true });
      await this.#parts.ledger.flush();
      await Promise.all(due.map((hold) => this.#inRedis(place, (redis) => redis.endHold(place.space, hold))));
    }
  }
}

const estimateOf = ({ id, charges, estimate }: Hold): Settlement => ({
  id,
  charges: charges.map(([counter, amount, endsAt]) => ({
    counter,
    held: amount,
    actual: amount,
    endsAt: endsAt ?? Number.POSITIVE_INFINITY,
  })),
  entry: { ...estimate, state: 'estimated' },
});

/** For Redis alone: the call was refused for want of an answer. */
const nothingOf = ({ id, charges, estimate }: Reservation): Settlement => ({
  id,
  charges: charges.map(({ counter, amount, endsAt }) => ({ counter, held: amount, actual: 0, endsAt })),
  entry: { ...estimate, state: 'unsent' },
});

const toStderr = (problem: string) => void process.stderr.write(`${problem}\n`);
