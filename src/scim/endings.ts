import type { Endings } from '../storage/ending.ts';

/** What groups mean in a workspace goes with it; a person leaves their groups. Groups are the directory's. */
export const scimEndings: Endings = {
  ofInstallation: ['scim_groups'],
  endsWithWorkspace: [
    {
      area: 'mappings of groups',
      tables: ['scim_mappings'],
      atOnce: async (db, id) =>
        (await db.deleteFrom('scim_mappings').where('workspace_id', '=', id).returning('id').execute()).length,
    },
  ],
  endsWithUser: [
    {
      area: 'groups',
      tables: ['scim_group_members'],
      atOnce: async (db, { id }) =>
        (await db.deleteFrom('scim_group_members').where('user_id', '=', id).returning('group_id').execute()).length,
    },
  ],
};
