import { isQuiet, onWakeUp, wholeSecond } from './seconds.ts';

export interface PulseOptions {
  readonly everyMs: number;
  /** While no caller asks anything of this process. As usual unless given. */
  readonly quietMs?: number | undefined;
  /** Answers after how long to come back, when that is sooner than usual. */
  readonly beat: () => Promise<number | undefined>;
  /** While it answers no, the next beat waits until one is asked for. Always yes unless given. */
  readonly isNeeded?: (() => boolean) | undefined;
  /** The first of a row of failures; the next one is reported after a success. */
  readonly onError: (error: unknown) => void;
}

/** Does something again and again, never twice at once, and sooner when asked to. */
export class Pulse {
  readonly #options: PulseOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #beating: Promise<void> | null = null;
  #isFailing = false;
  #isStopped = true;
  #stopWaking = () => {};

  constructor(options: PulseOptions) {
    this.#options = options;
  }

  start() {
    this.#isStopped = false;
    if (this.#options.quietMs !== undefined) this.#stopWaking = onWakeUp(() => this.goOn());
    this.soon(0);
  }

  /** After so long at the latest. Asked during a beat, another one follows it. */
  soon(delayMs: number) {
    const dueAt = performance.now() + delayMs;
    if (this.#isStopped || dueAt >= this.#dueAt) return;
    this.#dueAt = dueAt;
    if (!this.#beating) this.#arm();
  }

  /** There is something to do again: the next beat comes in its usual time. */
  goOn() {
    this.soon(this.#options.everyMs);
  }

  /** Resolves when the beat under way is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopWaking();
    clearTimeout(this.#timer);
    await this.#beating;
  }

  /** Beats of a second and more come with everything else that this process does at whole seconds. */
  #usual(ms: number): number {
    const at = performance.now() + ms;
    return ms >= 1_000 ? wholeSecond(at, ms) : at;
  }

  #arm() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#beating = this.#beat();
      },
      Math.max(0, this.#dueAt - performance.now()),
    );
  }

  async #beat(): Promise<void> {
    const { beat, everyMs, quietMs = everyMs, isNeeded = () => true, onError } = this.#options;
    this.#dueAt = Number.POSITIVE_INFINITY;
    let nextMs = everyMs;
    try {
      const soonerMs = await beat();
      nextMs = isQuiet() ? quietMs : everyMs;
      if (soonerMs !== undefined && soonerMs < nextMs) nextMs = soonerMs;
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) onError(error);
      this.#isFailing = true;
    }
    this.#beating = null;
    if (isNeeded()) this.#dueAt = Math.min(this.#dueAt, this.#usual(nextMs));
    if (!this.#isStopped && this.#dueAt < Number.POSITIVE_INFINITY) this.#arm();
  }
}
