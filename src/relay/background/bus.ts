import type { Changes } from '../../storage/changes.ts';
import type { Db } from '../../storage/store.ts';

const CHANNEL = 'gateway_responses';

/** Wakes those who wait for a response, on every node. */
export function createResponseBus(changes: Pick<Changes, 'notify' | 'onNotify'>) {
  const waiting = new Map<string, Set<() => void>>();
  changes.onNotify(CHANNEL, (id) => {
    for (const each of id === null ? [...waiting.keys()] : [id]) for (const wake of waiting.get(each) ?? []) wake();
  });

  return {
    /** When the transaction commits. */
    announce: (db: Db, id: string): Promise<void> => changes.notify(db, CHANNEL, id),

    /** Answers how to end that. */
    listen(id: string, wake: () => void): () => void {
      const own = waiting.get(id) ?? new Set();
      waiting.set(id, own.add(wake));
      return () => {
        own.delete(wake);
        if (own.size === 0 && waiting.get(id) === own) waiting.delete(id);
      };
    },
  };
}

export type ResponseBus = ReturnType<typeof createResponseBus>;
