/** A generator of random numbers that a printed seed brings back. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  /** The value, or now and then nothing at all. */
  maybe<Value>(make: () => Value, probability = 0.3): Value | undefined {
    return this.chance(probability) ? make() : undefined;
  }

  many<Item>(most: number, make: () => Item, least = 1): Item[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make);
  }
}
