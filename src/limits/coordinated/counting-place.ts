import type { Health } from '../../core/health.ts';
import { isQuiet, onWakeUp, RARELY_SECONDS, wholeSecond } from '../../core/runtime/seconds.ts';
import type { Redis } from '../../storage/redis.ts';
import type { Answered, ModeRow, ModeTable, RedisReport } from './mode.ts';
import { type CounterSnapshot, EpochLost, type RedisCounters } from './redis-counters.ts';

/** Where this node counts. In between it counts nowhere, and calls wait. */
export type CountingPlace = RedisPlace | { readonly at: 'postgres' } | { readonly at: 'nowhere' };

export interface RedisPlace {
  readonly at: 'redis';
  readonly epoch: number;
  readonly space: string;
  readonly runId: string;
}

export interface PlaceKeeperDeps {
  readonly mode: ModeTable;
  readonly redis: { readonly link: Redis; readonly counters: RedisCounters } | null;
  readonly health: Pick<Health, 'degraded' | 'well'>;
  readonly pollMs: number;
  /** Hands over every hold of this node when nothing more is added to them, with all that was settled in the ledger. */
  readonly writeDown: (write: (holds: CounterSnapshot['holds']) => Promise<Answered>) => Promise<Answered>;
  readonly onRedis: () => void;
  readonly nudge: (() => Promise<void>) | null;
  readonly report: (problem: string) => void;
}

/** Between two looks at the mode while calls wait. */
const HURRY_MS = 40;
/** A connection that broke may be back at once, with everything still there. */
const RECONNECT_MS = 300;
/** So often does a node look without callers. Others take it for dead meanwhile: it has nothing they wait for. */
const QUIET_LOOK_MS = RARELY_SECONDS * 1_000;
const MOVE_AGAIN_MS = 5_000;

const NOWHERE: CountingPlace = { at: 'nowhere' };
const INSTEAD = 'limits are counted in PostgreSQL, which takes longer.';
const NOWHERE_EFFECT =
  'Nodes are finding out where limits are counted: calls with limits wait, and answer 503 when that takes seconds.';

/** Keeps this node where all nodes count, by looking at the mode in PostgreSQL and at Redis. */
export class PlaceKeeper {
  readonly #deps: PlaceKeeperDeps;
  #place: CountingPlace = NOWHERE;
  /** Calls that wait for a place. Each leaves when its time is over, so that a long outage does not pile them up. */
  readonly #waiting = new Set<() => void>();
  #answered: number | null = null;
  /** Where we counted in Redis before it was suspected, until the mode says that the nodes have left it. */
  #suspected: RedisPlace | null = null;
  /** An epoch that Redis refuses to count in, although it answers. */
  #spoilt: number | null = null;
  /** We had been taken for dead, and Redis was filled without our holds. */
  #isMissing = false;
  #redisSince = Number.NEGATIVE_INFINITY;
  #moveAfter = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  #stopWaking = () => {};
  #woken = Promise.withResolvers<void>();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: PlaceKeeperDeps) {
    this.#deps = deps;
    deps.redis?.link.onDown(() => {
      this.#redisSince = Number.POSITIVE_INFINITY;
      if (this.#place.at === 'redis') this.#suspect(this.#place);
    });
    deps.redis?.link.onUp(() => {
      if (this.#redisSince === Number.POSITIVE_INFINITY) this.#redisSince = performance.now();
      this.wake();
    });
  }

  get place(): CountingPlace {
    return this.#place;
  }

  /** Throws when PostgreSQL is away. */
  async start(): Promise<void> {
    await this.#deps.redis?.link.whenUp(1_000);
    await this.#look(await this.#deps.mode.beat(this.#report()));
    this.#running = this.#run();
    this.#stopWaking = onWakeUp(() => this.wake());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWaking();
    this.wake();
    await this.#running;
    this.#go(NOWHERE);
    await this.#deps.mode.leave().catch(() => {});
  }

  /** Looks at the mode now. */
  wake(): void {
    this.#woken.resolve();
  }

  /** A command failed in Redis. Whether it still counts is found out at once. */
  failed(place: CountingPlace, error: unknown): void {
    if (place !== this.#place || place.at !== 'redis') return;
    const isAnswer = error instanceof Error && (error as { code?: unknown }).code === 'ERR_REDIS_SERVER_ERROR';
    if (isAnswer) this.#spoilt = place.epoch;
    this.#suspect(place);
  }

  /** Whether this node counts somewhere else than at `place` before the time is over. */
  async leaves(place: CountingPlace, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    // Where we count nowhere, the mode is being looked at already.
    if (this.#place === place && place.at !== 'nowhere') this.wake();
    while (this.#place === place || this.#place.at === 'nowhere') {
      const left = deadline - performance.now();
      if (left <= 0 || this.#isClosed) return false;
      await this.#change(left);
    }
    return true;
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, timeoutMs);
      this.#waiting.add(go);
    });
  }

  async #run() {
    while (!this.#isClosed) {
      await this.#pause();
      this.#woken = Promise.withResolvers<void>();
      if (this.#isClosed) return;
      await this.#turn().catch((error) => this.#withoutStore(error));
    }
  }

  async #pause() {
    const { pollMs } = this.#deps;
    const timer = setTimeout(() => this.wake(), this.#place.at === 'nowhere' ? HURRY_MS : untilLook(pollMs));
    await this.#woken.promise;
    clearTimeout(timer);
  }

  async #turn() {
    await this.#look(await this.#deps.mode.beat(this.#report()));
  }

  async #look(row: ModeRow): Promise<void> {
    if (row.epoch !== this.#answered || row.answered !== row.epoch) await this.#answer(row);
    if (row.mode === 'gathering') await this.#gather(row);
    else if (row.mode === 'postgres') await this.#inPostgres(row);
    else await this.#inRedis(row);
  }

  /** Leaves where we were, and says so together with what we know of it. */
  async #answer(row: ModeRow) {
    this.#suspected = null;
    this.#go(NOWHERE);
    const { fresh, mode } = await this.#deps.writeDown((holds) => this.#deps.mode.answer(row.epoch, holds));
    this.#answered = row.epoch;
    if (fresh > 0 && mode === 'redis') this.#isMissing = true;
  }

  async #gather(row: ModeRow) {
    this.#go(NOWHERE);
    if (!(await this.#deps.mode.open(row.epoch))) return this.#sayNowhere();
    this.#go({ at: 'postgres' });
    await this.#deps.nudge?.();
  }

  async #inPostgres(row: ModeRow) {
    this.#go({ at: 'postgres' });
    this.#sayWhyNotRedis(row);
    const { redis } = this.#deps;
    if (!redis || !row.mayMove || performance.now() < this.#moveAfter) return;
    const runId = redis.link.server?.runId;
    if (!runId) return;
    const space = `${row.epoch + 1}-${crypto.randomUUID().slice(0, 8)}`;
    const load = async (snapshot: CounterSnapshot) => {
      await redis.counters.load(space, snapshot);
      if (redis.link.server?.runId !== runId) throw new EpochLost('Redis was replaced while it was filled');
    };
    try {
      const isMoved = await this.#deps.mode.move(row.epoch, { space, runId, load });
      this.wake();
      if (isMoved) await this.#deps.nudge?.();
      if (isMoved) void redis.counters.removeOthers(space).catch(() => {});
    } catch (error) {
      this.#moveAfter = performance.now() + MOVE_AGAIN_MS;
      this.#deps.report(`limits: Redis could not be filled with counters: ${(error as Error).message}`);
    }
  }

  async #inRedis(row: ModeRow) {
    if (this.#isMissing) return this.#raise(row);
    if (this.#place.at === 'redis' && this.#place.epoch === row.epoch) return;
    const place = { at: 'redis', epoch: row.epoch, space: row.space!, runId: row.runId! } as const;
    if (!(await this.#counts(place))) return this.#raise(row);
    this.#go(place);
  }

  async #raise({ epoch, space }: ModeRow) {
    this.#suspected = null;
    this.#go(NOWHERE);
    if (this.#deps.redis) this.#deps.health.degraded('redis', `Redis does not have the counters any more: ${INSTEAD}`);
    // First in Redis: a node that cannot read the mode must not go on admitting there.
    if (space) await this.#deps.redis?.counters.withdraw(space).catch(() => {});
    await this.#deps.mode.raise(epoch);
    this.#isMissing = false;
    this.wake();
    await this.#deps.nudge?.();
  }

  /** Whether Redis still holds the counters of an epoch. */
  async #counts({ epoch, space, runId }: RedisPlace): Promise<boolean> {
    const { redis } = this.#deps;
    if (!redis || this.#spoilt === epoch || !(await redis.link.whenUp(RECONNECT_MS))) return false;
    if (redis.link.server?.runId !== runId) return false;
    return redis.counters.check(space).then(
      () => true,
      () => false,
    );
  }

  #suspect(place: RedisPlace) {
    this.#suspected = place;
    this.#go(NOWHERE);
    this.wake();
  }

  /** Without PostgreSQL no node can move: where Redis still counts, it goes on. */
  async #withoutStore(error: unknown) {
    if ((error as { code?: unknown } | null)?.code !== 'store_unavailable')
      this.#deps.report(`limits: the place of the counters could not be found out: ${(error as Error).message}`);
    if (this.#suspected && (await this.#counts(this.#suspected))) this.#go({ ...this.#suspected });
    if (this.#place.at === 'nowhere') this.#sayNowhere();
  }

  #sayNowhere() {
    this.#deps.health.degraded('limits', NOWHERE_EFFECT);
  }

  #go(place: CountingPlace) {
    if (place.at === 'redis') this.#suspected = null;
    if (place.at !== 'redis' && place.at === this.#place.at) return;
    this.#place = place;
    if (place.at !== 'nowhere') this.#deps.health.well('limits');
    if (place.at === 'redis') {
      this.#deps.health.well('redis');
      this.#deps.onRedis();
    }
    for (const go of this.#waiting) go();
  }

  #report(): RedisReport {
    const server = this.#deps.redis?.link.server;
    if (!server || server.evicts) return { runId: null, upMs: 0 };
    // A connection that never broke counts as old: nothing speaks against it.
    return { runId: server.runId, upMs: Math.min(performance.now() - this.#redisSince, 1e9) };
  }

  #sayWhyNotRedis(row: ModeRow) {
    const { redis, health } = this.#deps;
    if (!redis || row.mayMove) return;
    const { server } = redis.link;
    if (!server) health.degraded('redis', `Redis does not answer or refuses writes: ${INSTEAD}`);
    else if (server.evicts)
      health.degraded(
        'redis',
        `Redis throws keys away when its memory is full (maxmemory-policy is not noeviction): ${INSTEAD}`,
      );
    else
      health.degraded(
        'redis',
        `Redis has not long enough answered every node, or nodes have different ones: ${INSTEAD}`,
      );
  }
}

function untilLook(pollMs: number): number {
  if (!isQuiet()) return pollMs;
  const now = performance.now();
  return wholeSecond(now + QUIET_LOOK_MS, QUIET_LOOK_MS) - now;
}
