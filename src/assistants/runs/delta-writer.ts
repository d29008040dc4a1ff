import type { RunEventRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import type { RunBus } from './bus.ts';
import { insertEvents, type Place, type PlacedEvent, rowOf } from './events.ts';

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
 * run, would be more than a disk can do. What another node has taken over is left out, though it may do so at this very
 * moment: readers know pieces of an older epoch for what they are.
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
    if (pieces && isOf(pieces, call, event)) pieces.events.push(event);
    else this.#waiting.set(runId, { call, events: [event] });
    if (this.#timer === undefined) this.#writeSoon();
  }

  /** What was not written yet, for the caller to write now: nothing of this run is under way any more. */
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
    const all = [...waiting].map(([runId, { call, events }]) => rowOf(runId, events, call));
    try {
      await store.transaction(
        async (db) => {
          const rows = await stillOurs(db, all);
          for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
            await insertEvents(db, rows.slice(at, at + ROWS_AT_ONCE));
          if (bus.hasOtherNodes) await bus.announce(db, [...waiting.keys()]);
        },
        { flush: 'later' },
      );
    } catch {
      // The store is away: clients that watch on this node have the pieces, those on other nodes get them next time.
      this.#putBack(waiting);
    }
    this.#timer = undefined;
    if (this.#waiting.size > 0) this.#writeSoon();
  }

  #putBack(unwritten: ReadonlyMap<string, Pieces>) {
    for (const [runId, { call, events }] of unwritten) {
      const later = this.#waiting.get(runId);
      if (!later) this.#waiting.set(runId, { call, events });
      else if (isOf(later, call, events[0]!)) later.events.unshift(...events);
    }
  }

  /** Counted from the end of the last time: a slow store is not asked for more than it can do. */
  #writeSoon() {
    this.#timer = setTimeout(() => {
      this.#writing = this.#write();
    }, this.#options.everyMs ?? EVERY_MS);
  }
}

/** Pieces of a call before this one went with its end; those of an older epoch are said again. */
const isOf = (pieces: Pieces, call: number, { epoch }: Place): boolean =>
  pieces.call === call && pieces.events[0]!.epoch === epoch;

async function stillOurs(db: Db, rows: readonly RunEventRow[]): Promise<RunEventRow[]> {
  const epochs = new Map<string, number>();
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const ids = rows.slice(at, at + ROWS_AT_ONCE).map(({ run_id }) => run_id);
    const found = await db.selectFrom('runs').select(['id', 'epoch']).where('id', 'in', ids).execute();
    for (const { id, epoch } of found) epochs.set(id, epoch);
  }
  return rows.filter(({ run_id, epoch }) => epochs.get(run_id) === epoch);
}
