import type { Store } from '../../storage/store.ts';
import type { RunBus } from './bus.ts';
import { insertEvents, type PlacedEvent, rowOf } from './events.ts';

export interface Pieces {
  readonly call: number;
  readonly events: PlacedEvent[];
}

export interface DeltaWriterOptions {
  readonly store: Store;
  readonly bus: RunBus;
  readonly everyMs?: number;
}

const EVERY_MS = 100;
const ROWS_AT_ONCE = 200;

/**
 * Writes down the pieces of answers, of all runs of this node together: a transaction for each piece, or only for each
 * run, would be more than a disk can do. They are not fenced. Whoever has lost its lease may still write some, under its
 * own epoch; readers know pieces of an older epoch for what they are.
 */
export class DeltaWriter {
  readonly #options: DeltaWriterOptions;
  #waiting = new Map<string, Pieces>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: DeltaWriterOptions) {
    this.#options = options;
  }

  add(runId: string, call: number, event: PlacedEvent) {
    const pieces = this.#waiting.get(runId);
    if (pieces) pieces.events.push(event);
    else this.#waiting.set(runId, { call, events: [event] });
    if (this.#timer === undefined) this.#writeSoon();
  }

  /** What was not written yet, for whoever writes it now: nothing of this run is under way any more. */
  async take(runId: string): Promise<Pieces | null> {
    await this.#writing;
    const pieces = this.#waiting.get(runId) ?? null;
    this.#waiting.delete(runId);
    return pieces;
  }

  async #write(): Promise<void> {
    const { store, bus } = this.#options;
    const waiting = this.#waiting;
    this.#waiting = new Map();
    const rows = [...waiting].map(([runId, { call, events }]) => rowOf(runId, events, call));
    try {
      await store.transaction(async (db) => {
        for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
          await insertEvents(db, rows.slice(at, at + ROWS_AT_ONCE));
        if (bus.hasOtherNodes) await bus.announce(db, [...waiting.keys()]);
      });
    } catch {
      // The store is away: whoever watches here has them, and the whole comes with the end of the call.
    }
    this.#timer = undefined;
    if (this.#waiting.size > 0) this.#writeSoon();
  }

  /** Counted from the end of the last time: a slow store is not asked for more than it can do. */
  #writeSoon() {
    this.#timer = setTimeout(() => {
      this.#writing = this.#write();
    }, this.#options.everyMs ?? EVERY_MS);
  }
}
