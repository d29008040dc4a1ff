/**
 * Lets so many begin in one turn of the event loop; those that come after them in the same turn wait for the next ones, in
 * their order. Between two turns others are served, so that a burst of work holds nobody up for longer than one share.
 */
export class LoopTurns {
  readonly #atOnce: number;
  readonly #waiting: (() => void)[] = [];
  #begun = 0;
  #isTurning = false;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Null: begin at once. */
  wait(): Promise<void> | null {
    this.#turn();
    if (this.#begun < this.#atOnce && this.#waiting.length === 0) {
      this.#begun++;
      return null;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    return promise;
  }

  #turn() {
    if (this.#isTurning) return;
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      const next = this.#waiting.splice(0, this.#atOnce);
      this.#begun = next.length;
      if (next.length > 0) this.#turn();
      for (const begin of next) begin();
    });
  }
}
