import type { Delivered } from './delivery.ts';
import type { Encoded, Envelope } from './envelope.ts';

/** What became of spans or metrics since the last word, and how the destination is. */
export interface Exported {
  readonly name: string;
  readonly signal: 'traces' | 'metrics';
  readonly sent: number;
  /** The queue was full, or the destination was away for too long. */
  readonly dropped: number;
  /** The destination does not want them. */
  readonly refused: number;
  readonly queued: number;
  /** Null: the last request was taken. */
  readonly trouble: string | null;
}

export interface ExporterOptions {
  readonly name: string;
  readonly envelope: Envelope;
  readonly deliver: (body: Uint8Array) => Promise<Delivered>;
  readonly queueSize: number;
  readonly batchSize: number;
  readonly delayMs: number;
  readonly report: (exported: Exported) => void;
  readonly random?: () => number;
  readonly firstRetryMs?: number;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** With these waits a batch is tried for about a minute; others wait behind it, and what does not fit is dropped. */
const MOST_TRIES = 7;
const MOST_QUEUED_BYTES = 32 * 1024 * 1024;
const REPORT_DROPS_AFTER_MS = 500;

/** The queue before one destination. It never makes its caller wait: what it cannot hold is counted and dropped. */
export class Exporter {
  readonly #options: ExporterOptions;
  #queue: Encoded[] = [];
  #queuedBytes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reportTimer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | null = null;
  #trouble: string | null = null;
  #sent = 0;
  #dropped = 0;
  #refused = 0;
  /** While it closes, nothing is tried twice. */
  #isClosing = false;
  #wakeUp: (() => void) | null = null;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  add(item: Encoded): void {
    const bytes = item.length;
    if (this.#queue.length >= this.#options.queueSize || this.#queuedBytes + bytes > MOST_QUEUED_BYTES) {
      this.#dropped++;
      this.#reportTimer ??= setTimeout(() => this.#report(), REPORT_DROPS_AFTER_MS);
      return;
    }
    this.#queue.push(item);
    this.#queuedBytes += bytes;
    if (this.#running) return;
    if (this.#queue.length >= this.#options.batchSize) this.#run();
    else this.#timer ??= setTimeout(() => this.#run(), this.#options.delayMs);
  }

  /** Sends what waits, once, and gives up the rest after so long. */
  async close(withinMs: number): Promise<void> {
    this.#isClosing = true;
    this.#wakeUp?.();
    if (this.#queue.length > 0) this.#run();
    const deadline = Promise.withResolvers<void>();
    const timer = setTimeout(deadline.resolve, withinMs);
    await Promise.race([this.#running, deadline.promise]);
    clearTimeout(timer);
    clearTimeout(this.#timer);
    this.#dropped += this.#queue.length;
    this.#queue = [];
    this.#report();
  }

  #run() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#send().finally(() => {
      this.#running = null;
      if (this.#queue.length > 0 && !this.#isClosing)
        this.#timer ??= setTimeout(() => this.#run(), this.#options.delayMs);
    });
  }

  /** Until fewer wait than fill a request, or none when it closes. */
  async #send() {
    do {
      const batch = this.#queue.splice(0, this.#options.batchSize);
      for (const item of batch) this.#queuedBytes -= item.length;
      await this.#sendBatch(batch);
      this.#report();
    } while (this.#queue.length >= (this.#isClosing ? 1 : this.#options.batchSize));
  }

  async #sendBatch(batch: readonly Encoded[]) {
    const { envelope, deliver, random = Math.random, firstRetryMs = FIRST_RETRY_MS } = this.#options;
    const body = envelope(batch);
    for (let tries = 1; ; tries++) {
      const delivered = await deliver(body);
      if (delivered.kind === 'taken') {
        this.#trouble = delivered.rejected > 0 ? 'takes only a part' : null;
        this.#refused += delivered.rejected;
        this.#sent += batch.length - delivered.rejected;
        return;
      }
      this.#trouble = delivered.why;
      if (delivered.kind === 'refused') {
        this.#refused += batch.length;
        return;
      }
      if (tries >= MOST_TRIES || this.#isClosing) {
        this.#dropped += batch.length;
        return;
      }
      this.#report();
      const fullMs = Math.min(LONGEST_RETRY_MS, firstRetryMs * 2 ** (tries - 1));
      await this.#pause(delivered.afterMs ?? fullMs * (0.5 + random() / 2));
    }
  }

  #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#wakeUp = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }

  #report() {
    clearTimeout(this.#reportTimer);
    this.#reportTimer = undefined;
    const { name, report } = this.#options;
    const counts = { sent: this.#sent, dropped: this.#dropped, refused: this.#refused };
    this.#sent = 0;
    this.#dropped = 0;
    this.#refused = 0;
    report({ name, signal: 'traces', ...counts, queued: this.#queue.length, trouble: this.#trouble });
  }
}
