import type { Changes } from '../../storage/changes.ts';
import type { Engine } from '../../storage/migrate.ts';
import type { Db } from '../../storage/store.ts';
import type { PlacedEvent } from './events.ts';

/** A client that watches a run on this node. */
export interface Listener {
  /** Events of a run that this node carries out, as they happen. */
  onEvents(events: readonly PlacedEvent[]): void;
  /** There may be something new in the store. */
  onNews(): void;
}

const CHANNEL = 'gateway_runs';
/** PostgreSQL carries 8000 bytes. */
const LONGEST_NOTE = 7_000;

/** How events get from those who make them to those who watch: on one node directly, between nodes by way of the store. */
export function createRunBus({ changes, engine }: { changes: Pick<Changes, 'notify' | 'onNotify'>; engine: Engine }) {
  const listeners = new Map<string, Set<Listener>>();
  const tell = (runId: string) => {
    for (const listener of listeners.get(runId) ?? []) listener.onNews();
  };
  changes.onNotify(CHANNEL, (note) => {
    for (const runId of note === null ? [...listeners.keys()] : note.split(' ')) tell(runId);
  });

  return {
    publish(runId: string, events: readonly PlacedEvent[]) {
      if (events.length > 0) for (const listener of listeners.get(runId) ?? []) listener.onEvents(events);
    },

    /** Wakes those who watch, on every node, when the transaction commits. */
    async announce(db: Db, runIds: readonly string[]): Promise<void> {
      let note = '';
      for (const runId of runIds) {
        if (note.length + runId.length > LONGEST_NOTE) {
          await changes.notify(db, CHANNEL, note);
          note = '';
        }
        note += note === '' ? runId : ` ${runId}`;
      }
      if (note !== '') await changes.notify(db, CHANNEL, note);
    },

    /** Whether clients on other nodes may watch; this process cannot tell them directly. */
    hasOtherNodes: engine === 'postgres',

    /** Answers how to end that. */
    listen(runId: string, listener: Listener): () => void {
      const own = listeners.get(runId) ?? new Set();
      listeners.set(runId, own.add(listener));
      return () => {
        own.delete(listener);
        if (own.size === 0 && listeners.get(runId) === own) listeners.delete(runId);
      };
    },
  };
}

export type RunBus = ReturnType<typeof createRunBus>;
