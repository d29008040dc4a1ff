import { fail } from '../../core/errors.ts';
import type { Store } from '../../storage/store.ts';
import type { RunBus } from './bus.ts';
import { eventsAfter, idOf, isAfter, isDelta, type Place, type PlacedEvent } from './events.ts';
import { withFoundContent } from './found-content.ts';
import { runById } from './rows.ts';
import { isActive, shownRun } from './run.ts';
import type { ShowOptions } from './step.ts';

export interface WatchOptions extends ShowOptions {
  readonly runId: string;
  /** Begins behind this place. */
  readonly from: Place & { readonly isDelta?: boolean };
  /** Whether a question to the client ends it, though the run may have gone on since: so do streams of a request. */
  readonly endsAtAction: boolean;
}

export interface WatchDeps {
  readonly store: Store;
  readonly bus: RunBus;
}

/** What a stream says next; null is a sign of life. */
export type Shown = { readonly id?: string; readonly name: string; readonly data: string } | null;

/** As often, a store is asked whose messages may have got lost. */
const LOOK_MS = 5_000;
const KEEP_ALIVE_MS = 15_000;
/** A client that reads slowly is served from the store. */
const MOST_QUEUED = 1_000;
const FINAL = /^thread\.run\.(completed|incomplete|failed|cancelled|expired)$/;
const ACTION = 'thread.run.requires_action';
/** From here on, what was said in pieces is said again as a whole, or something new begins. */
const CLEARS_PIECES = /\.(created|completed|incomplete|failed|cancelled|expired)$/;

/**
 * Follows one run, wherever it is carried out: directly when that is this node, and by what is in the store otherwise.
 * The store decides what happened; what comes directly only comes sooner, and only if it follows without a gap.
 */
export class Watch {
  readonly #options: WatchOptions;
  readonly #deps: WatchDeps;
  readonly #unlisten: () => void;
  readonly #queue: PlacedEvent[] = [];
  /** Of the last event that was queued. */
  #tail: Place;
  /** The epoch of the pieces that were sent since something was last whole. */
  #pieces: number | null;
  #hasNews = true;
  #isClosed = false;
  #wake: () => void = () => {};

  constructor(options: WatchOptions, deps: WatchDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#tail = options.from;
    this.#pieces = options.from.isDelta ? options.from.epoch : null;
    this.#unlisten = deps.bus.listen(options.runId, {
      onEvents: (events) => this.#receive(events),
      onNews: () => this.#look(),
    });
  }

  close() {
    this.#isClosed = true;
    this.#unlisten();
    this.#wake();
  }

  /** Everything from the given place to the end of the run, or until it is closed. */
  async *follow(): AsyncGenerator<Shown> {
    let saidAt = performance.now();
    try {
      while (!this.#isClosed) {
        for (let event = this.#queue.shift(); event; event = this.#queue.shift()) {
          if (this.#isFit(event)) yield await this.#shown(event);
          saidAt = performance.now();
          if (FINAL.test(event.name)) return;
          if (event.name === ACTION && (this.#options.endsAtAction || (await this.#waitsForClient()))) return;
        }
        const end = this.#hasNews ? await this.#read() : null;
        if (end) return yield end;
        if (this.#queue.length > 0 || this.#hasNews) continue;
        const quietMs = performance.now() - saidAt;
        if (quietMs < KEEP_ALIVE_MS) await this.#pause(Math.min(KEEP_ALIVE_MS - quietMs, LOOK_MS));
        else {
          saidAt = performance.now();
          yield null;
        }
      }
    } finally {
      this.close();
    }
  }

  #look() {
    this.#hasNews = true;
    this.#wake();
  }

  #receive(events: readonly PlacedEvent[]) {
    const first = events[0]!;
    const last = events.at(-1)!;
    if (!isAfter(last, this.#tail)) return;
    const follows = first.epoch === this.#tail.epoch && first.seq === this.#tail.seq + 1;
    if (!follows || this.#queue.length >= MOST_QUEUED) return this.#look();
    this.#queue.push(...events);
    this.#tail = last;
    this.#wake();
  }

  /** Queues what is in the store; when there is nothing and never will be, answers how the run ended. */
  async #read(): Promise<Shown> {
    const { store } = this.#deps;
    const { runId } = this.#options;
    this.#hasNews = false;
    const before = this.#tail;
    // It goes with its thread.
    const run = (await runById(store.db, runId)) ?? fail('object_not_found', 'run', runId);
    const events = await eventsAfter(store.db, runId, before);
    // There may be more than one reading brings.
    if (events.length > 0) this.#hasNews = true;
    for (const event of events) {
      // Some may have come directly meanwhile.
      if (!isAfter(event, this.#tail)) continue;
      this.#queue.push(event);
      this.#tail = event;
    }
    // Read before its events, so a run that ended has all of them there, unless they are pruned.
    const isOver = !isActive(run) || run.status === 'requires_action';
    if (!isOver || events.length > 0 || this.#tail !== before) return null;
    return { name: `thread.run.${run.status}`, data: JSON.stringify(shownRun(run)) };
  }

  async #shown(event: PlacedEvent): Promise<Shown> {
    const { withContent = false } = this.#options;
    const data = withContent ? await withFoundContent(this.#deps.store.db, event) : event.data;
    return { id: idOf(event), name: event.name, data };
  }

  /** A client that has a part of an attempt that was given up gets no parts of the next attempt, only the whole. */
  #isFit(event: PlacedEvent): boolean {
    if (!isDelta(event)) {
      if (CLEARS_PIECES.test(event.name)) this.#pieces = null;
      return true;
    }
    if (this.#pieces !== null && this.#pieces !== event.epoch) return false;
    this.#pieces = event.epoch;
    return true;
  }

  async #waitsForClient(): Promise<boolean> {
    return (await runById(this.#deps.store.db, this.#options.runId))?.status === 'requires_action';
  }

  /** Until something comes; after so long, the store is asked all the same. */
  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => this.#look(), ms);
    this.#wake = resolve;
    await promise;
    clearTimeout(timer);
    this.#wake = () => {};
  }
}
