import { reachesOrganisation } from '../core/principal.ts';
import type { ConfigWish } from './desired.ts';
import { type Context, type KindOf, scopesOf } from './kind.ts';

const rows = ({ db, who }: Context) =>
  db
    .selectFrom('configs')
    .innerJoin('workspaces', 'workspaces.id', 'configs.workspace_id')
    .innerJoin('config_versions', 'config_versions.id', 'configs.version_id')
    .selectAll('configs')
    .select(['workspaces.slug as workspace', 'config_versions.sealed'])
    .where('configs.organisation_id', '=', who.organisationId)
    .$if(!reachesOrganisation(who), (query) => query.where('configs.workspace_id', '=', who.workspaceId));

export const configKind: KindOf<ConfigWish> = {
  kind: 'config',
  scopes: scopesOf('configs'),
  wishes: ({ configs }) => configs,
  title: ({ workspace, slug }) => `config ${workspace}/${slug}`,
  // A config may hold credentials of providers, and is therefore never shown.
  shape: ({ name, config }) => ({ facts: { name, status: 'active' }, secrets: { config } }),

  async find(context, { workspace, slug }) {
    const row = await rows(context)
      .where('workspaces.slug', '=', workspace)
      .where('configs.slug', '=', slug)
      .executeTakeFirst();
    if (!row) return null;
    const config: unknown = JSON.parse(context.sealer.open('config', row.version_id, row.sealed));
    return { id: row.id, facts: { name: row.name, status: row.status }, secrets: { config } };
  },

  create: async ({ configs, who }, { workspace, slug, name, config }) =>
    (await configs.create(who, { workspace_id: workspace, slug, name, config })).id,

  async change({ configs, who }, { workspace, slug, name, config }) {
    await configs.update(who, { workspace, slug }, { name, config, status: 'active' });
  },

  async titleOf(context, id) {
    const row = await rows(context).where('configs.id', '=', id).executeTakeFirst();
    return row ? `config ${row.workspace}/${row.slug}` : null;
  },

  blocker: async () => null,

  async delete(context, id) {
    const { slug, workspace_id } = await rows(context).where('configs.id', '=', id).executeTakeFirstOrThrow();
    await context.configs.delete(context.who, { slug, workspace: workspace_id });
  },
};
