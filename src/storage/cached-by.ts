import { BoundedMap } from '../core/bounded-map.ts';
import { GatewayError } from '../core/errors.ts';
import { LoopTurns } from '../core/loop-turns.ts';
import type { Changes, Topic } from './changes.ts';

/** What is read from the store and kept in memory. It is emptied by changes and by nothing else. */
export interface Cached<Value, About = void> {
  /** The value if it is fresh, at once. */
  peek(key: string): Value | undefined;
  /** Null: it is not there. `about` is what the value is loaded by, where the key alone does not say it. */
  get(key: string, about: About): Promise<Value | null>;
}

export interface CacheOptions {
  /** How many values are kept; the one that was loaded longest ago goes first. */
  readonly most: number;
  /** How long a value is answered without a question to the store. */
  readonly freshMs?: number;
  /** How long a value serves while the store is away. */
  readonly staleMs?: number;
  /** When the store is silent for longer, it counts as away, and a caller whose older value is usable gets that value. */
  readonly patienceMs?: number;
  readonly now: () => number;
}

type Load<Value, About> = (key: string, about: About) => Promise<Value | null>;

const FRESH_MS = 10_000;
const STALE_MS = 3_600_000;
const PATIENCE_MS = 1_000;
/** What is loaded in one turn of the event loop: some milliseconds where the store is a file. */
const LOADED_AT_ONCE = 8;

/**
 * A bounded cache for what changes rarely and must outlive the store for a while. The topics are those whose changes, on
 * this node or another, may make what is kept untrue: each of them empties the cache, because changes are rare, and one
 * that is missed would be a revoked key that still works.
 *
 *     const cache = cachedBy(changes, ['keys'], (id) => findWorkspace(store.db, id), { most: 1_000, now });
 *     const workspace = cache.peek(id) ?? (await cache.get(id));
 *
 * A fresh value is answered without waiting; an older one is loaded again; when the store is away the older one still
 * serves, up to `staleMs`. What was not found (null) is not kept: a flood of wrong keys must not push out the right ones.
 * Many unknown keys may come at the same time: the cache loads a few in each turn of the event loop and serves callers
 * with known keys in between.
 */
export function cachedBy<Value, About = void>(
  changes: Pick<Changes, 'subscribe'>,
  topics: readonly [Topic, ...Topic[]],
  load: Load<Value, About>,
  options: CacheOptions,
): Cached<Value, About> {
  const cache = new StaleCache(load, options);
  for (const topic of topics) changes.subscribe(topic, () => cache.clear());
  return cache;
}

interface Entry<Value> {
  readonly value: Value;
  readonly loadedAt: number;
}

class StaleCache<Value, About> implements Cached<Value, About> {
  readonly #entries: BoundedMap<string, Entry<Value>>;
  readonly #loading = new Map<string, Promise<Value | null>>();
  readonly #fetch: Load<Value, About>;
  readonly #freshMs: number;
  readonly #staleMs: number;
  readonly #patienceMs: number;
  readonly #now: () => number;
  /** Loads that began before a change may carry what was true before it. */
  #generation = 0;
  /** The last load found no store, or still waits for one. Callers with a usable older value get it without waiting. */
  #isAway = false;
  readonly #turns = new LoopTurns(LOADED_AT_ONCE);

  constructor(load: Load<Value, About>, options: CacheOptions) {
    this.#fetch = load;
    this.#entries = new BoundedMap(options.most);
    this.#freshMs = options.freshMs ?? FRESH_MS;
    this.#staleMs = options.staleMs ?? STALE_MS;
    this.#patienceMs = options.patienceMs ?? PATIENCE_MS;
    this.#now = options.now;
  }

  peek(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    return entry && this.#now() - entry.loadedAt < this.#freshMs ? entry.value : undefined;
  }

  async get(key: string, about: About): Promise<Value | null> {
    const fresh = this.peek(key);
    if (fresh !== undefined) return fresh;
    const loading = this.#loading.get(key) ?? this.#begin(key, about);
    const entry = this.#entries.get(key);
    return entry && this.#isUsable(entry) ? this.#inTime(loading, entry) : loading;
  }

  #begin(key: string, about: About): Promise<Value | null> {
    const loading = this.#load(key, about).finally(() => {
      // After a change another load may be under way, for which callers wait together.
      if (this.#loading.get(key) === loading) this.#loading.delete(key);
    });
    this.#loading.set(key, loading);
    return loading;
  }

  async #inTime(loading: Promise<Value | null>, { value }: Entry<Value>): Promise<Value | null> {
    // A caller that gets the older value does not await this load, so its failure must not count as unhandled.
    loading.catch(() => {});
    if (this.#isAway) return value;
    const late = Promise.withResolvers<Value>();
    const timer = setTimeout(() => {
      this.#isAway = true;
      late.resolve(value);
    }, this.#patienceMs);
    return Promise.race([loading, late.promise]).finally(() => clearTimeout(timer));
  }

  #isUsable({ loadedAt }: Entry<Value>): boolean {
    return this.#now() - loadedAt < this.#staleMs;
  }

  async #load(key: string, about: About): Promise<Value | null> {
    const waiting = this.#turns.wait();
    if (waiting) await waiting;
    const generation = this.#generation;
    try {
      const value = await this.#fetch(key, about);
      this.#isAway = false;
      if (generation !== this.#generation) return value;
      if (value === null) this.#entries.delete(key);
      else this.#entries.set(key, { value, loadedAt: this.#now() });
      return value;
    } catch (error) {
      const entry = this.#entries.get(key);
      this.#isAway = error instanceof GatewayError && error.code === 'store_unavailable';
      if (this.#isAway && entry && this.#isUsable(entry)) return entry.value;
      throw error;
    }
  }

  clear() {
    this.#generation++;
    this.#entries.clear();
    this.#loading.clear();
  }
}
