import type { Endings } from '../storage/ending.ts';

/** Configs with their versions. */
export const configEndings: Endings = {
  endsWithWorkspace: [
    {
      area: 'configs',
      tables: ['configs', 'config_versions'],
      atOnce: async (db, id) =>
        (await db.deleteFrom('configs').where('workspace_id', '=', id).returning('id').execute()).length,
    },
  ],
  endsWithUser: [],
};
