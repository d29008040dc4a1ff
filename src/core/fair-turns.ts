interface Line {
  readonly tasks: { readonly begin: () => void; readonly weight: number }[];
  weight: number;
}

/**
 * Lets so many tasks run at once, and takes them from their owners in turn: one owner's thousand tasks hold up another's
 * by no more than the one that runs.
 */
export class FairTurns {
  readonly #atOnce: number;
  readonly #mostWaiting: number;
  /** In the order in which their next tasks begin. */
  readonly #waiting = new Map<string, Line>();
  #running = 0;

  constructor({ atOnce, mostWaiting }: { readonly atOnce: number; readonly mostWaiting: number }) {
    this.#atOnce = atOnce;
    this.#mostWaiting = mostWaiting;
  }

  /** Null: too much of this owner waits. `weight` is what the task counts for while it waits. */
  run<Value>(owner: string, task: () => Promise<Value>, weight = 1): Promise<Value> | null {
    if (this.#running < this.#atOnce) return this.#begun(task);
    const own = this.#waiting.get(owner) ?? { tasks: [], weight: 0 };
    if (own.weight >= this.#mostWaiting) return null;
    const { promise, resolve } = Promise.withResolvers<Value>();
    own.tasks.push({ begin: () => resolve(this.#begun(task)), weight });
    own.weight += weight;
    this.#waiting.set(owner, own);
    return promise;
  }

  async #begun<Value>(task: () => Promise<Value>): Promise<Value> {
    this.#running++;
    try {
      return await task();
    } finally {
      this.#running--;
      this.#next();
    }
  }

  #next() {
    const [first] = this.#waiting;
    if (!first) return;
    const [owner, own] = first;
    const { begin, weight } = own.tasks.shift()!;
    own.weight -= weight;
    this.#waiting.delete(owner);
    // To the end of the line.
    if (own.tasks.length > 0) this.#waiting.set(owner, own);
    begin();
  }
}
