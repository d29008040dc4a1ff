/**
 * The more there is that stays, the more the collector lets come before it looks for what can go. Bodies that pass count
 * as what comes, although hardly any is left when it looks. So something is carried that only counts: nobody ever touches
 * these bytes, and they take no memory.
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
