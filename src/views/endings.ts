import type { Endings } from '../storage/ending.ts';

const TABLES = ['saved_views'];

/** Views of a workspace; of a person, the views that are theirs alone. */
export const viewEndings: Endings = {
  endsWithWorkspace: [
    {
      area: 'saved views',
      tables: TABLES,
      atOnce: async (db, id) =>
        (await db.deleteFrom('saved_views').where('workspace_id', '=', id).returning('id').execute()).length,
    },
  ],
  endsWithUser: [
    {
      area: 'saved views',
      tables: TABLES,
      atOnce: async (db, { id }) =>
        (await db.deleteFrom('saved_views').where('user_id', '=', id).returning('id').execute()).length,
    },
  ],
};
