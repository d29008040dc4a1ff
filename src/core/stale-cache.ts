import { GatewayError } from './errors.ts';

interface Entry<Value> {
  readonly value: Value;
  readonly loadedAt: number;
}

/**
 * A bounded cache for what changes rarely and must outlive its source for a while. A fresh value is answered without
 * waiting; an older one is loaded again; when the store is away the older one still serves, up to `staleMs`. What was
 * not found (null) is not kept: a flood of wrong keys must not push out the right ones.
 */
export class StaleCache<Value> {
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #loading = new Map<string, Promise<Value | null>>();
  readonly #options: { capacity: number; freshMs: number; staleMs: number; now: () => number };
  /** Loads that began before a change may carry what was true before it. */
  #generation = 0;

  constructor(options: { capacity: number; freshMs: number; staleMs: number; now: () => number }) {
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
    return loading;
  }

  async #load(key: string, load: () => Promise<Value | null>): Promise<Value | null> {
    const generation = this.#generation;
    try {
      const value = await load();
      if (value === null) this.#entries.delete(key);
      else if (generation === this.#generation) this.#keep(key, { value, loadedAt: this.#options.now() });
      return value;
    } catch (error) {
      const entry = this.#entries.get(key);
      const isAway = error instanceof GatewayError && error.code === 'store_unavailable';
      if (isAway && entry && this.#options.now() - entry.loadedAt < this.#options.staleMs) return entry.value;
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
