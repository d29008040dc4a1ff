/** After an interactive call, batches give way for so long. */
const INTERACTIVE_MS = 1_000;
const SAMPLE_MS = 10;
/** So many samples lie between two changes, for the last one to show. */
const SAMPLES = 10;
/** An event loop that comes so late makes interactive calls wait. */
const LATE_MS = 1;
/** So much does one sample weigh in the share of late ones: they are forgotten within a fifth of a second. */
const WEIGHT = 0.05;
/** A process with nothing to do is late now and then, too. */
const MOST_LATE = 0.15;
/** Of a processor: a process that uses less is late because of other processes on the machine. */
const LEAST_BUSY = 0.3;
/** From here on, interactive calls wait for their turn even when nothing shows yet. */
const MOST_BUSY = 0.5;
/** Requests a second that batches keep in any case. */
const LEAST = 20;
/** What they begin with when the first interactive call comes: slow providers are never asked faster. */
const FIRST = 200;
/** By how much the pace rises while the process is in time. */
const RISE = 1.03;
const UNLIMITED = Number.POSITIVE_INFINITY;

export interface PaceOptions {
  /** When a caller outside batches last called a model. */
  readonly lastInteractiveAt?: () => number;
  /** Milliseconds, monotonic. */
  readonly now?: () => number;
  /** How long processors have worked for this process. */
  readonly cpuMs?: () => number;
}

/** The code that waits until more requests may begin. */
export interface Watcher {
  /** Whether no request is under way, so that measuring can stop. */
  isIdle(): boolean;
  /** More may begin. */
  serve(): void;
}

/**
 * How many requests of batches begin in a second. There is no bound while no other caller uses models. While one does,
 * so many that this process stays in time with its work. To count requests under way would not do: a provider that
 * answers within a millisecond keeps a processor busy with two of them, and one that takes a minute never does.
 */
export class Pace {
  readonly #options: Required<PaceOptions>;
  #perSecond = UNLIMITED;
  /** How many may begin now. */
  #allowance = 0;
  /** How many have begun since the last change. */
  #begun = 0;
  #late = 0;
  #samples = 0;
  #expectedAt = 0;
  #measured = { at: 0, cpuMs: 0 };
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor({
    lastInteractiveAt = () => Number.NEGATIVE_INFINITY,
    now = () => performance.now(),
    cpuMs = ownCpuMs,
  }: PaceOptions = {}) {
    this.#options = { lastInteractiveAt, now, cpuMs };
  }

  /** Whether callers outside batches use models now. */
  get isGivingWay(): boolean {
    const { now, lastInteractiveAt } = this.#options;
    return now() - lastInteractiveAt() < INTERACTIVE_MS;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  /** Whether one more may begin now; if so, it counts. */
  take(): boolean {
    if (this.#perSecond !== UNLIMITED && this.#allowance < 1) return false;
    this.#allowance--;
    this.#begun++;
    return true;
  }

  /** Watches how late this process is for as long as something is under way. */
  watch(watcher: Watcher) {
    if (this.#timer) return;
    const { now, cpuMs } = this.#options;
    this.#expectedAt = now() + SAMPLE_MS;
    this.#measured = { at: now(), cpuMs: cpuMs() };
    this.#timer = setInterval(() => {
      this.sample();
      watcher.serve();
      if (!watcher.isIdle() || this.#perSecond < UNLIMITED) return;
      clearInterval(this.#timer!);
      this.#timer = null;
    }, SAMPLE_MS);
  }

  /** To be called every ten milliseconds: how late it comes is what it measures. */
  sample() {
    const { now } = this.#options;
    const isLate = now() - this.#expectedAt > LATE_MS;
    this.#expectedAt = now() + SAMPLE_MS;
    this.#late += ((isLate ? 1 : 0) - this.#late) * WEIGHT;
    if (!this.isGivingWay) this.#perSecond = UNLIMITED;
    else if (this.#perSecond === UNLIMITED) this.#begin();
    else if (++this.#samples % SAMPLES === 0) this.#adjust(this.#busy());
    const perSample = (this.#perSecond * SAMPLE_MS) / 1_000;
    this.#allowance = Math.min(Math.max(this.#allowance, 0) + perSample, Math.max(perSample, 1));
  }

  /** Measures anew: while batches ran alone, their load delayed no other caller. */
  #begin() {
    this.#perSecond = FIRST;
    this.#allowance = 0;
    this.#begun = 0;
    this.#samples = 0;
    this.#late = 0;
    this.#busy();
  }

  #adjust(busy: number) {
    const begun = (this.#begun * 1_000) / (SAMPLES * SAMPLE_MS);
    this.#begun = 0;
    const isTooMuch = (this.#late > MOST_LATE && busy > LEAST_BUSY) || busy > MOST_BUSY;
    // What was begun is what made it late; what might have been is no measure.
    if (isTooMuch) this.#perSecond = Math.max(LEAST, Math.min(this.#perSecond, begun) / 2);
    else if (this.#late < MOST_LATE / 2 || busy < LEAST_BUSY) this.#perSecond = this.#perSecond * RISE + 1;
  }

  /** How many processors this process has kept busy since the last change. */
  #busy(): number {
    const { at, cpuMs } = this.#measured;
    this.#measured = { at: this.#options.now(), cpuMs: this.#options.cpuMs() };
    const elapsedMs = this.#measured.at - at;
    return elapsedMs > 0 ? (this.#measured.cpuMs - cpuMs) / elapsedMs : 0;
  }
}

function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
