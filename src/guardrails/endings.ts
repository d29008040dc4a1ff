import type { Endings } from '../storage/ending.ts';

/** Guardrails of a workspace with their versions. Those of the organisation belong to no workspace. */
export const guardrailEndings: Endings = {
  endsWithWorkspace: [
    {
      area: 'guardrails',
      tables: ['guardrails', 'guardrail_versions'],
      atOnce: async (db, id) =>
        (await db.deleteFrom('guardrails').where('workspace_id', '=', id).returning('id').execute()).length,
    },
  ],
  endsWithUser: [],
};
