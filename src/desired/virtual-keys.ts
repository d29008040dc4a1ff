import { readSealed, SECRET_NAME, type SealedKey } from '../auth/virtual-key.ts';
import { reachesOrganisation } from '../core/principal.ts';
import { isoOf, type Shape, sameMoment, type VirtualKeyWish } from './desired.ts';
import { type Context, type KindOf, scopesOf } from './kind.ts';
import { limitsIn, withLimits } from './limits.ts';

type Fields = VirtualKeyWish['fields'];

/** Each configuration by itself, so that a difference names it; those that are credentials are never shown. */
function shapeOf({ configurations, ...fields }: Fields, key: SealedKey['key']): Shape {
  const facts: Record<string, unknown> = { ...fields };
  const secrets: Record<string, unknown> = { key };
  for (const [name, value] of Object.entries(configurations)) {
    const isPlain = typeof value !== 'object' && !SECRET_NAME.test(name);
    (isPlain ? facts : secrets)[`configurations.${name}`] = value;
  }
  return { facts, secrets };
}

const rowOf = ({ db, who }: Context, { workspace, slug }: VirtualKeyWish) =>
  db
    .selectFrom('virtual_keys')
    .innerJoin('workspaces', 'workspaces.id', 'virtual_keys.workspace_id')
    .selectAll('virtual_keys')
    .where('workspaces.organisation_id', '=', who.organisationId)
    .where('workspaces.slug', '=', workspace)
    .where('virtual_keys.slug', '=', slug)
    .$if(!reachesOrganisation(who), (query) => query.where('virtual_keys.workspace_id', '=', who.workspaceId))
    .executeTakeFirst();

export const virtualKeyKind: KindOf<VirtualKeyWish> = {
  kind: 'virtual-key',
  scopes: scopesOf('virtual_keys'),
  wishes: ({ virtualKeys }) => virtualKeys,
  title: ({ workspace, slug }) => `virtual key ${workspace}/${slug}`,
  shape: ({ fields, key }) => shapeOf({ ...fields, expires_at: sameMoment(fields.expires_at) }, key),

  async find(context, wish) {
    const row = await rowOf(context, wish);
    if (!row) return null;
    const { id, name, note, provider, custom_host } = row;
    const { key, configurations } = readSealed(context.sealer.open('virtual-key', id, row.sealed));
    const expires_at = isoOf(row.expires_at);
    return { id, ...shapeOf({ name, note, provider, custom_host, configurations, expires_at, ...limitsIn(row) }, key) };
  },

  create: async ({ virtualKeys, who }, { workspace, slug, key, fields }) =>
    (await virtualKeys.create(who, { workspace_id: workspace, slug, key: key ?? '', ...withLimits(fields) })).id,

  async change({ virtualKeys, who }, { workspace, slug, key, fields }) {
    await virtualKeys.update(who, { workspace, slug }, { key: key ?? '', ...withLimits(fields) });
  },

  async titleOf({ db, who }, id) {
    const row = await db
      .selectFrom('virtual_keys')
      .innerJoin('workspaces', 'workspaces.id', 'virtual_keys.workspace_id')
      .select(['virtual_keys.slug', 'workspaces.slug as workspace'])
      .where('virtual_keys.id', '=', id)
      .$if(!reachesOrganisation(who), (query) => query.where('virtual_keys.workspace_id', '=', who.workspaceId))
      .executeTakeFirst();
    return row ? `virtual key ${row.workspace}/${row.slug}` : null;
  },

  blocker: async () => null,

  async delete({ db, virtualKeys, who }, id) {
    const { slug, workspace_id } = await db
      .selectFrom('virtual_keys')
      .select(['slug', 'workspace_id'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    await virtualKeys.delete(who, { slug, workspace: workspace_id });
  },
};
