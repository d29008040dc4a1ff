import type { Endings } from '../storage/ending.ts';
import { ofWorkspace, removeRows } from '../storage/ending.ts';
import type { Store } from '../storage/store.ts';

/** Rules and channels of a workspace; what waits to be told is work, and ends with the workspace's work. */
export const alertEndings: Endings = {
  endsWithWorkspace: [
    {
      area: 'alerts',
      tables: ['alert_rules', 'alert_looks', 'alert_states', 'alert_channels'],
      atOnce: async (db, id) => {
        // What hangs on a rule goes behind its row: one that is being judged is locked in this order, too.
        const rules = await db.deleteFrom('alert_rules').where('workspace_id', '=', id).returning('id').execute();
        const channels = await db.deleteFrom('alert_channels').where('workspace_id', '=', id).returning('id').execute();
        return rules.length + channels.length;
      },
    },
  ],
  endsWithUser: [],
};

/** What was told, and what nodes have seen of the workspace. */
export const alertHistoryEndings = ({ engine }: Pick<Store, 'engine'>): Endings => ({
  endsWithWorkspace: (['alert_events', 'alert_sightings'] as const).map((table) => ({
    area: table === 'alert_events' ? 'alert events' : 'alert sightings',
    tables: [table],
    remove: (id, { transaction, atMost }) =>
      transaction((db) => removeRows(db, engine, { table, owned: ofWorkspace(id), atMost })),
  })),
  endsWithUser: [],
});
