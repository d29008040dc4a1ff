/**
 * The more memory stays in use, the longer the garbage collector waits before it collects. Request and response bodies
 * count as new memory, although hardly any of it is left when the collector runs. So the process holds one large buffer
 * that makes the collector wait longer. No code reads or writes the buffer, so it takes no physical memory.
 */
export class Ballast {
  readonly #bytes: number;
  #carried: ArrayBuffer | null = null;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  get isCarried(): boolean {
    return this.#carried !== null;
  }

  carry(): void {
    this.#carried ??= new ArrayBuffer(this.#bytes);
  }

  drop(): void {
    this.#carried = null;
  }
}

/** Smaller ones are no more than what a call leaves anyhow, in memory and in the caches. */
export const LARGE_BODY = 16 * 1024;
/** In one interval. */
const MANY_BYTES = 64 * 1024 * 1024;
const INTERVAL_MS = 1_000;

/**
 * Carries ballast while so many large bodies pass that collecting would take a tenth of the time. Not always: where
 * calls are small, what waits longer to be collected would be real memory.
 */
export class BodyBallast {
  readonly #ballast: Ballast;
  readonly #intervalMs: number;
  #passed = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(ballast: Ballast, intervalMs = INTERVAL_MS) {
    this.#ballast = ballast;
    this.#intervalMs = intervalMs;
  }

  /** A large body passes. */
  passed(bytes: number): void {
    this.#passed += bytes;
    this.#timer ??= setInterval(this.#weigh, this.#intervalMs).unref();
  }

  readonly #weigh = () => {
    if (this.#passed >= MANY_BYTES) this.#ballast.carry();
    else this.#ballast.drop();
    if (this.#passed === 0) {
      clearInterval(this.#timer!);
      this.#timer = null;
    }
    this.#passed = 0;
  };
}

/** There is one event loop, and one collector for it. */
export const bodyBallast = new BodyBallast(new Ballast(64 << 20));
