/**
 * Lets at most `atOnce` pieces of work begin in one turn of the event loop; the rest wait for the next turns, in their
 * order. Other requests are served between two turns, so a burst of work delays them by one share at most.
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
