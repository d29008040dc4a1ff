import { ruleIn } from '../auth/member-keys.ts';
import { DEFAULT_WORKSPACE } from '../auth/workspaces.ts';
import { rulesIn } from '../core/forbidden.ts';
import { visibleWorkspaces } from '../storage/workspace-lookup.ts';
import type { WorkspaceWish } from './desired.ts';
import type { KindOf } from './kind.ts';
import { limitsIn, withLimits } from './limits.ts';

export const workspaceKind: KindOf<WorkspaceWish> = {
  kind: 'workspace',
  // A wish is whole, and what a workspace may use and do is decided above it.
  scopes: {
    read: 'workspaces.read',
    create: ['workspaces.create', 'organisation.manage'],
    change: ['workspaces.update', 'organisation.manage'],
    delete: ['workspaces.delete'],
  },
  wishes: ({ workspaces }) => workspaces,
  title: ({ slug }) => `workspace ${slug}`,
  shape: ({ fields }) => ({ facts: { ...fields }, secrets: {} }),

  async find({ db, who }, { slug, fields }) {
    const row = await visibleWorkspaces(db, who).selectAll().where('slug', '=', slug).executeTakeFirst();
    if (!row) return null;
    const { id, name, description } = row;
    return {
      id,
      facts: {
        name,
        description,
        defaults: JSON.parse(row.defaults),
        ...('forbidden' in fields && { forbidden: rulesIn(row.forbidden) }),
        ...('member_keys' in fields && { member_keys: ruleIn(row.member_keys) }),
        ...limitsIn(row),
      },
      secrets: {},
    };
  },

  create: async ({ workspaces, who, now }, { slug, fields }) =>
    (await workspaces.create(who, { slug, ...withLimits(fields) }, now)).id,

  async change({ workspaces, who, now }, { fields }, { id }) {
    await workspaces.update(who, id, withLimits(fields), now);
  },

  async titleOf({ db, who }, id) {
    const row = await visibleWorkspaces(db, who).select('slug').where('id', '=', id).executeTakeFirst();
    return row ? `workspace ${row.slug}` : null;
  },

  /** What it holds would go with it, also objects that no file names. */
  async blocker({ db }, id, goingToo) {
    const workspace = await db.selectFrom('workspaces').select('slug').where('id', '=', id).executeTakeFirstOrThrow();
    if (workspace.slug === DEFAULT_WORKSPACE) return 'the default workspace always exists';
    let others = 0;
    for (const table of ['api_keys', 'virtual_keys', 'configs', 'policies'] as const) {
      const rows = await db.selectFrom(table).select('id').where('workspace_id', '=', id).execute();
      others += rows.filter((row) => !goingToo.has(row.id)).length;
    }
    if (others === 0) return null;
    return `it holds ${others} ${others === 1 ? 'thing' : 'things'} that this file did not make`;
  },

  async delete({ workspaces, who }, id) {
    await workspaces.delete(who, id);
  },
};
