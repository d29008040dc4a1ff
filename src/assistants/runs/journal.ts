import type { Db } from '../../storage/store.ts';
import { patiently } from '../../work/patiently.ts';
import { type FlushOption, type Lease, WorkCancelled } from '../../work/work.ts';
import type { RunBus } from './bus.ts';
import type { DeltaWriter, Pieces } from './delta-writer.ts';
import { insertEvents, type PlacedEvent, rowOf, type Tell } from './events.ts';
import { nextEpoch } from './rows.ts';

export interface JournalOptions {
  readonly lease: Lease;
  readonly bus: RunBus;
  readonly deltas: DeltaWriter;
}

/** The history of a run, as the node writes it that carries it out. */
export class Journal {
  readonly #options: JournalOptions;
  readonly #runId: string;
  #epoch = 0;
  #seq = 0;
  /** Pieces that no transaction has taken along yet. */
  #unwritten: Pieces | null = null;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#runId = options.lease.work.ref;
  }

  /** A piece of an answer: to clients that watch on this node at once, to all others in a moment. */
  piece(call: number, name: string, data: object) {
    const event: PlacedEvent = { name, data: JSON.stringify(data), epoch: this.#epoch, seq: ++this.#seq };
    this.#options.deltas.add(this.#runId, call, event);
    this.#options.bus.publish(this.#runId, [event]);
  }

  /** One fenced transaction, with what it lets be known; that is sent when it is committed. */
  async commit<Result>(
    step: (db: Db, tell: Tell) => Promise<Result>,
    { evenWhenCancelled = false, flush }: FlushOption & { evenWhenCancelled?: boolean } = {},
  ): Promise<Result> {
    const { lease, bus, deltas } = this.#options;
    const fresh = await deltas.take(this.#runId);
    this.#unwritten?.events.push(...(fresh?.events ?? []));
    this.#unwritten ??= fresh;
    const pieces = this.#unwritten;
    return patiently(lease.signal, async () => {
      const told: PlacedEvent[] = [];
      let epoch = this.#epoch;
      const result = await lease.transaction(
        async (db) => {
          if (lease.signal.reason instanceof WorkCancelled && !evenWhenCancelled) throw lease.signal.reason;
          epoch ||= await nextEpoch(db, this.#runId);
          if (pieces) await insertEvents(db, [rowOf(this.#runId, pieces.events, pieces.call)]);
          const tell: Tell = (name, data) =>
            told.push({ name, data: JSON.stringify(data), epoch, seq: this.#seq + told.length + 1 });
          const outcome = await step(db, tell);
          if (told.length > 0) await insertEvents(db, [rowOf(this.#runId, told, null)]);
          if (bus.hasOtherNodes && (told.length > 0 || pieces)) await bus.announce(db, [this.#runId]);
          return outcome;
        },
        { flush },
      );
      this.#epoch = epoch;
      this.#seq += told.length;
      this.#unwritten = null;
      bus.publish(this.#runId, told);
      return result;
    });
  }
}

/**
 * The same for code that changes a run without carrying it out: a request, or the sweep. Watchers read it from the
 * store.
 */
export async function record<Result>(
  db: Db,
  runId: string,
  bus: RunBus,
  step: (tell: Tell) => Promise<Result>,
): Promise<Result> {
  const epoch = await nextEpoch(db, runId);
  const told: PlacedEvent[] = [];
  const result = await step((name, data) =>
    told.push({ name, data: JSON.stringify(data), epoch, seq: told.length + 1 }),
  );
  if (told.length > 0) await insertEvents(db, [rowOf(runId, told, null)]);
  await bus.announce(db, [runId]);
  return result;
}
