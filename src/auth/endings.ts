import type { Endings } from '../storage/ending.ts';

const OF_KEYS = ['api_keys', 'api_key_secrets', 'login_grants'];
const MANAGED = 'managed';

/** Keys, memberships, and the workspaces and users themselves: nothing of them is of use a moment longer. */
export const authEndings: Endings = {
  ofInstallation: ['organisations', 'sign_in_failures', 'device_codes'],
  endsWithWorkspace: [
    {
      area: 'machines',
      tables: ['machine_callers'],
      atOnce: async (db, id) =>
        (await db.deleteFrom('machine_callers').where('workspace_id', '=', id).returning('id').execute()).length,
    },
    {
      area: 'API keys',
      tables: OF_KEYS,
      atOnce: async (db, id) => {
        const gone = await db.deleteFrom('api_keys').where('workspace_id', '=', id).returning('id').execute();
        return gone.length;
      },
    },
    {
      area: 'virtual keys',
      tables: ['virtual_keys'],
      atOnce: async (db, id) => {
        // Keys of other workspaces that use a credential of this one have none from now on.
        const sources = db.selectFrom('virtual_keys').select('id').where('workspace_id', '=', id);
        await db.deleteFrom('virtual_keys').where('source_id', 'in', sources).execute();
        return (await db.deleteFrom('virtual_keys').where('workspace_id', '=', id).returning('id').execute()).length;
      },
    },
    {
      area: 'managed settings',
      tables: ['managed_settings'],
      atOnce: async (db, id) =>
        (await db.deleteFrom('managed_settings').where('workspace_id', '=', id).returning('owner_id').execute()).length,
    },
    {
      area: 'members',
      tables: ['workspace_members'],
      atOnce: async (db, id) =>
        (await db.deleteFrom('workspace_members').where('workspace_id', '=', id).returning('user_id').execute()).length,
    },
    {
      // Marks of files that `gateway apply` reads: those of keys and configs are found to be stale by the next one.
      area: 'workspace',
      tables: ['workspaces', MANAGED],
      atOnce: async (db, id) => {
        await db.deleteFrom(MANAGED).where('kind', '=', 'workspace').where('id', '=', id).execute();
        return (await db.deleteFrom('workspaces').where('id', '=', id).returning('id').execute()).length;
      },
    },
  ],
  endsWithUser: [
    {
      area: 'API keys',
      tables: OF_KEYS,
      atOnce: async (db, { id }) =>
        (await db.deleteFrom('api_keys').where('user_id', '=', id).returning('id').execute()).length,
    },
    {
      area: 'sessions',
      tables: ['sessions'],
      atOnce: async (db, { id }) =>
        (await db.deleteFrom('sessions').where('user_id', '=', id).returning('hash').execute()).length,
    },
    {
      area: 'members',
      tables: ['workspace_members'],
      atOnce: async (db, { id }) =>
        (await db.deleteFrom('workspace_members').where('user_id', '=', id).returning('user_id').execute()).length,
    },
    {
      area: 'invites',
      tables: ['invites'],
      atOnce: async (db, { names, organisationId }) => {
        const own = db.deleteFrom('invites').where('organisation_id', '=', organisationId).where('email', 'in', names);
        return (await own.returning('id').execute()).length;
      },
    },
    {
      area: 'user',
      tables: ['users'],
      atOnce: async (db, { id, organisationId }) => {
        const own = db.deleteFrom('users').where('id', '=', id).where('organisation_id', '=', organisationId);
        return (await own.returning('id').execute()).length;
      },
    },
    {
      area: 'virtual keys, configs, guardrails',
      tables: ['virtual_keys', 'configs', 'config_versions', 'guardrails', 'guardrail_versions'],
      kept: 'Set up for a workspace. Who made a version stays as an id that names no one any more.',
    },
  ],
};
