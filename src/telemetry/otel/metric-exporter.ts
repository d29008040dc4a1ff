import type { Delivered } from './delivery.ts';
import { nanosOf } from './encode.ts';
import type { Envelope } from './envelope.ts';
import type { Exported } from './exporter.ts';
import { encoded, type Instrument } from './instruments.ts';

export interface MetricExporterOptions {
  readonly name: string;
  readonly isJson: boolean;
  readonly envelope: Envelope;
  readonly deliver: (body: Uint8Array) => Promise<Delivered>;
  readonly instruments: () => readonly Instrument[];
  readonly everyMs: number;
  readonly report: (exported: Exported) => void;
}

/**
 * Sends all metrics to one destination now and then. They are totals since the start, so the next ones make up for those
 * that are lost.
 */
export class MetricExporter {
  readonly #options: MetricExporterOptions;
  readonly #startedAt = nanosOf(Date.now());
  readonly #timer: ReturnType<typeof setInterval>;
  #sending: Promise<void> | null = null;

  constructor(options: MetricExporterOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#send(), options.everyMs);
  }

  /** Sends them once more, for so long at most. */
  async close(withinMs: number): Promise<void> {
    clearInterval(this.#timer);
    await this.#sending;
    const deadline = Promise.withResolvers<void>();
    const timer = setTimeout(deadline.resolve, withinMs);
    await Promise.race([this.#send(), deadline.promise]);
    clearTimeout(timer);
  }

  /** A destination that is slower than the pause gets the next ones later. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendOnce().finally(() => {
      this.#sending = null;
    });
    return this.#sending;
  }

  async #sendOnce(): Promise<void> {
    const { name, isJson, envelope, deliver, instruments, report } = this.#options;
    const items = encoded(instruments(), { isJson, from: this.#startedAt, to: nanosOf(Date.now()) });
    if (items.length === 0) return;
    const delivered = await deliver(envelope(items));
    const isTaken = delivered.kind === 'taken';
    const rejected = isTaken ? Math.min(items.length, delivered.rejected) : 0;
    report({
      name,
      signal: 'metrics',
      sent: isTaken ? items.length - rejected : 0,
      dropped: delivered.kind === 'away' ? items.length : 0,
      refused: delivered.kind === 'refused' ? items.length : rejected,
      queued: 0,
      trouble: isTaken ? (rejected > 0 ? 'takes only a part' : null) : delivered.why,
    });
  }
}
