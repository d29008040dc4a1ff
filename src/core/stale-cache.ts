import { GatewayError } from './errors.ts';
import { LoopTurns } from './loop-turns.ts';

interface Entry<Value> {
  readonly value: Value;
  readonly loadedAt: number;
}

interface Options {
  readonly capacity: number;
  readonly freshMs: number;
  readonly staleMs: number;
  readonly now: () => number;
  /**
   * When the store is silent for longer, it counts as away, and a caller whose older value is usable gets that value.
   */
  readonly patienceMs?: number;
}

/** What is loaded in one turn of the event loop: some milliseconds where the store is a file. */
const LOADED_AT_ONCE = 8;

/**
 * A bounded cache for what changes rarely and must outlive its source for a while. A fresh value is answered without
 * waiting; an older one is loaded again; when the store is away the older one still serves, up to `staleMs`. What was
 * not found (null) is not kept: a flood of wrong keys must not push out the right ones. Many unknown keys may come at
 * the same time: the cache loads a few in each turn of the event loop and serves callers with known keys in between.
 */
export class StaleCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #loading = new Map<string, Promise<Value | null>>();
  readonly #options: Options;
  /** Loads that began before a change may carry what was true before it. */
  #generation = 0;
  /** The last load found no store, or still waits for one. Callers with a usable older value get it without waiting. */
  #isAway = false;
  readonly #turns = new LoopTurns(LOADED_AT_ONCE);

  constructor(options: Options) {
    this.#options = options;
  }

  /** The value if it is fresh, at once. */
  peek(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    return entry && this.#options.now() - entry.loadedAt < this.#options.freshMs ? entry.value : undefined;
  }

  async get(key: string, load: () => Promise<Value | null>): Promise<Value | null> {
    const fresh = this.peek(key);
    if (fresh !== undefined) return fresh;
    let loading = this.#loading.get(key);
    if (!loading) {
      loading = this.#load(key, load).finally(() => this.#loading.delete(key));
      this.#loading.set(key, loading);
    }
    const entry = this.#entries.get(key);
    return entry && this.#isUsable(entry) ? this.#inTime(loading, entry) : loading;
  }

  async #inTime(loading: Promise<Value | null>, { value }: Entry<Value>): Promise<Value | null> {
    // A caller that gets the older value does not await this load, so its failure must not count as unhandled.
    loading.catch(() => {});
    if (this.#isAway) return value;
    const late = Promise.withResolvers<Value>();
    const timer = setTimeout(() => {
      this.#isAway = true;
      late.resolve(value);
    }, this.#options.patienceMs ?? 1_000);
    return Promise.race([loading, late.promise]).finally(() => clearTimeout(timer));
  }

  #isUsable({ loadedAt }: Entry<Value>): boolean {
    return this.#options.now() - loadedAt < this.#options.staleMs;
  }

  async #load(key: string, load: () => Promise<Value | null>): Promise<Value | null> {
    const waiting = this.#turns.wait();
    if (waiting) await waiting;
    const generation = this.#generation;
    try {
      const value = await load();
      this.#isAway = false;
      if (value === null) this.#entries.delete(key);
      else if (generation === this.#generation) this.#keep(key, { value, loadedAt: this.#options.now() });
      return value;
    } catch (error) {
      const entry = this.#entries.get(key);
      this.#isAway = error instanceof GatewayError && error.code === 'store_unavailable';
      if (this.#isAway && entry && this.#isUsable(entry)) return entry.value;
      throw error;
    }
  }

  #keep(key: string, entry: Entry<Value>) {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > this.#options.capacity) this.#entries.delete(this.#entries.keys().next().value!);
  }

  /** Forgets everything: changes are rare, and one that is missed would be a revoked key that still works. */
  clear() {
    this.#generation++;
    this.#entries.clear();
    this.#loading.clear();
  }
}
