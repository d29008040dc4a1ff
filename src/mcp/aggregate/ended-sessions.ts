import { BoundedMap } from '../../core/bounded-map.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Store } from '../../storage/store.ts';

const CHANNEL = 'gateway_mcp_sessions_ended';
const MOST_KNOWN = 100_000;

/** Sessions that their clients have ended. Nothing of a session is stored, so that each node is told and remembers. */
export function createEndedSessions({
  store,
  changes,
}: {
  readonly store: Store;
  readonly changes: Pick<Changes, 'notify' | 'onNotify'>;
}) {
  const ended = new BoundedMap<string, true>(MOST_KNOWN);
  changes.onNotify(CHANNEL, (id) => {
    if (id !== null) ended.set(id, true);
  });
  return {
    has: (id: string): boolean => ended.has(id),
    async add(id: string) {
      ended.set(id, true);
      // A node that is not told lets that client, and no other caller, go on.
      await changes.notify(store.db, CHANNEL, id).catch(() => {});
    },
  };
}

export type EndedSessions = ReturnType<typeof createEndedSessions>;
