interface Entry<Key, Value> {
  readonly key: Key;
  value: Value;
  weight: number;
  older: Entry<Key, Value> | null;
  younger: Entry<Key, Value> | null;
}

/**
 * A map that holds at most so much. What is set is the youngest, also when it was there before; when there is too much,
 * the oldest goes. Where the least recently used is to go instead, set what was read.
 *
 *     const plans = new BoundedMap<string, Plan>(1_000);
 *     const answers = new BoundedMap<string, Answer>(64 << 20, ({ bytes }) => bytes);
 *
 * The order is a list of its own: asking a `Map` for its first key takes the longer the more keys were deleted before it.
 */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Key, Value>>();
  readonly #most: number;
  readonly #weigh: ((value: Value) => number) | null;
  #weight = 0;
  #oldest: Entry<Key, Value> | null = null;
  #youngest: Entry<Key, Value> | null = null;

  /** `most` is how many, or, with `weigh`, what all of them may weigh together. */
  constructor(most: number, weigh: ((value: Value) => number) | null = null) {
    this.#most = most;
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  set(key: Key, value: Value): void {
    const weight = this.#weigh ? this.#weigh(value) : 1;
    let entry = this.#entries.get(key);
    if (entry) {
      this.#unlink(entry);
      entry.value = value;
      entry.weight = weight;
    } else {
      entry = { key, value, weight, older: null, younger: null };
      this.#entries.set(key, entry);
    }
    this.#append(entry);
    while (this.#weight > this.#most) this.delete(this.#oldest!.key);
  }

  delete(key: Key): boolean {
    const entry = this.#entries.get(key);
    if (!entry) return false;
    this.#unlink(entry);
    return this.#entries.delete(key);
  }

  /** In no order that means anything. */
  *entries(): IterableIterator<[Key, Value]> {
    for (const { key, value } of this.#entries.values()) yield [key, value];
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
    this.#oldest = null;
    this.#youngest = null;
  }

  #append(entry: Entry<Key, Value>) {
    const before = this.#youngest;
    entry.older = before;
    entry.younger = null;
    if (before) before.younger = entry;
    else this.#oldest = entry;
    this.#youngest = entry;
    this.#weight += entry.weight;
  }

  #unlink({ older, younger, weight }: Entry<Key, Value>) {
    if (older) older.younger = younger;
    else this.#oldest = younger;
    if (younger) younger.older = older;
    else this.#youngest = older;
    this.#weight -= weight;
  }
}
