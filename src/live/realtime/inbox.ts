const MOST_BYTES = 32 << 20;

/** What a client says, in order: a frame that takes a while keeps those after it waiting. */
export class Inbox {
  static readonly MOST = 4_096;
  readonly #act: (frame: string | Uint8Array) => void | Promise<void>;
  readonly #failed: (error: unknown) => void;
  #waiting: (string | Uint8Array)[] = [];
  #bytes = 0;
  #isBusy = false;

  constructor(act: (frame: string | Uint8Array) => void | Promise<void>, failed: (error: unknown) => void) {
    this.#act = act;
    this.#failed = failed;
  }

  /** False: too much waits already. */
  add(frame: string | Uint8Array): boolean {
    if (this.#isBusy) {
      this.#bytes += frame.length;
      this.#waiting.push(frame);
      return this.#waiting.length <= Inbox.MOST && this.#bytes <= MOST_BYTES;
    }
    const later = this.#attempt(frame);
    if (later) {
      this.#isBusy = true;
      void this.#goOn(later);
    }
    return true;
  }

  close(): void {
    this.#waiting = [];
    this.#bytes = 0;
  }

  #attempt(frame: string | Uint8Array): void | Promise<void> {
    try {
      const later = this.#act(frame);
      return later?.catch(this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  }

  async #goOn(first: Promise<void>): Promise<void> {
    await first;
    for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift()) {
      this.#bytes -= frame.length;
      await this.#attempt(frame);
    }
    this.#isBusy = false;
  }
}
