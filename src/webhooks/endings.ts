import type { Endings } from '../storage/ending.ts';

/** Webhooks of a workspace; what waits to be delivered to them is work, and ends with the workspace's work. */
export const webhookEndings: Endings = {
  endsWithWorkspace: [
    {
      area: 'webhooks',
      tables: ['webhooks'],
      atOnce: async (db, id) =>
        (await db.deleteFrom('webhooks').where('workspace_id', '=', id).returning('id').execute()).length,
    },
  ],
  endsWithUser: [],
};
