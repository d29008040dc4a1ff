/** Messages that wait to be read. A client that does not read is not waited for beyond these. */
const MOST_WAITING_BYTES = 16 << 20;

/** What a server says, for one who listens. */
export class MessageQueue {
  #waiting: Uint8Array[] = [];
  #size = 0;
  #wake: (() => void) | null = null;
  #isOver = false;
  #failure: unknown = null;
  readonly #onCancel: () => void;
  readonly #overflow: () => unknown;

  constructor({ onCancel, overflow }: { onCancel: () => void; overflow: () => unknown }) {
    this.#onCancel = onCancel;
    this.#overflow = overflow;
  }

  push(event: Uint8Array) {
    if (this.#isOver) return;
    this.#size += event.byteLength;
    if (this.#size > MOST_WAITING_BYTES) {
      this.#onCancel();
      return this.end(this.#overflow());
    }
    this.#waiting.push(event);
    this.#wake?.();
  }

  end(failure: unknown = null) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = failure;
    this.#wake?.();
  }

  cancel() {
    this.#onCancel();
    this.#waiting = [];
    this.end();
  }

  /** Null at the end. */
  async next(): Promise<Uint8Array | null> {
    while (this.#waiting.length === 0 && !this.#isOver)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const event = this.#waiting.shift();
    if (event) {
      this.#size -= event.byteLength;
      return event;
    }
    if (this.#failure) throw this.#failure;
    return null;
  }
}
