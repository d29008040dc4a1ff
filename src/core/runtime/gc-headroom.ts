/**
 * JavaScriptCore collects garbage when as much new memory has come as was in use after the last collection. Bodies count
 * as new memory, although hardly anything of them is left when the collector runs. So the process holds one large buffer
 * that makes the collector wait longer. No code reads or writes the buffer, so it takes no physical memory.
 */
export class GcHeadroom {
  readonly #bytes: number;
  #held: ArrayBuffer | null = null;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get isHeld(): boolean {
    return this.#held !== null;
  }

  hold(): void {
    this.#held ??= new ArrayBuffer(this.#bytes);
  }

  release(): void {
    this.#held = null;
  }
}

/** Smaller ones are no more than what a call leaves anyhow, in memory and in the caches. */
export const LARGE_BODY = 16 * 1024;
/** In one interval. */
const MANY_BYTES = 64 * 1024 * 1024;
const INTERVAL_MS = 1_000;

/**
 * Holds headroom while so many large bodies pass that collecting would take a tenth of the time. Not always: where calls
 * are small, garbage that waits longer to be collected would be real memory.
 */
export class BodyHeadroom {
  readonly #headroom: GcHeadroom;
  readonly #intervalMs: number;
  #passed = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(headroom: GcHeadroom, intervalMs = INTERVAL_MS) {
    this.#headroom = headroom;
    this.#intervalMs = intervalMs;
  }

  /** A large body passes. */
  passed(bytes: number): void {
    this.#passed += bytes;
    this.#timer ??= setInterval(this.#weigh, this.#intervalMs).unref();
  }

  readonly #weigh = () => {
    if (this.#passed >= MANY_BYTES) this.#headroom.hold();
    else this.#headroom.release();
    if (this.#passed === 0) {
      clearInterval(this.#timer!);
      this.#timer = null;
    }
    this.#passed = 0;
  };
}

/** There is one event loop, and one collector for it. */
export const bodyHeadroom = new BodyHeadroom(new GcHeadroom(64 << 20));
