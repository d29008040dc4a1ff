import { reachesOrganisation } from '../core/principal.ts';
import type { PolicyWish } from './desired.ts';
import { type Context, type KindOf, scopesOf } from './kind.ts';

const rowOf = ({ db, who }: Context, id: string) =>
  db
    .selectFrom('policies')
    .selectAll()
    .where('organisation_id', '=', who.organisationId)
    .where('id', '=', id)
    .$if(!reachesOrganisation(who), (query) => query.where('workspace_id', '=', who.workspaceId))
    .executeTakeFirst();

/** The only policy of that kind, name and place. Names of policies need not be unique; of several none is meant. */
async function onlyOneNamed(context: Context, { policy, workspace, fields }: PolicyWish): Promise<string | null> {
  const { db, who } = context;
  const found = await db
    .selectFrom('policies')
    .leftJoin('workspaces', 'workspaces.id', 'policies.workspace_id')
    .select('policies.id')
    .where('policies.organisation_id', '=', who.organisationId)
    .where('policies.kind', '=', policy)
    .where('policies.name', '=', fields.name)
    .where('workspaces.slug', workspace === null ? 'is' : '=', workspace)
    .$if(!reachesOrganisation(who), (query) => query.where('policies.workspace_id', '=', who.workspaceId))
    .limit(2)
    .execute();
  return found.length === 1 ? found[0]!.id : null;
}

/** Known by the mark of an earlier run, else by its name, where one policy has it. */
export const policyKind: KindOf<PolicyWish> = {
  kind: 'policy',
  scopes: scopesOf('policies'),
  wishes: ({ policies }) => policies,
  title: ({ policy, fields }) => `${policy} policy ${fields.name}`,
  shape: ({ fields }) => ({ facts: { ...fields }, secrets: {} }),

  async find(context, wish, markedId) {
    const { fields } = wish;
    const id = markedId ?? (await onlyOneNamed(context, wish));
    const row = id === null ? undefined : await rowOf(context, id);
    if (!row) return null;
    const definition = JSON.parse(row.definition) as Record<string, unknown>;
    const facts: Record<string, unknown> = { name: row.name, description: row.description };
    for (const name of Object.keys({ ...definition, ...fields })) facts[name] ??= definition[name];
    return { id: row.id, facts, secrets: {} };
  },

  async create({ policies, who }, { policy, workspace, fields }) {
    const place = workspace === null ? { organisation_id: who.organisationId } : { workspace_id: workspace };
    return (await policies.create(who, policy, { ...fields, ...place } as never)).id;
  },

  async change({ policies, who }, { policy, fields }, { id }) {
    await policies.update(who, policy, id, fields as never);
  },

  async titleOf(context, id) {
    const row = await rowOf(context, id);
    return row ? `${row.kind} policy ${row.name}` : null;
  },

  blocker: async () => null,

  async delete(context, id) {
    const row = await rowOf(context, id);
    if (row) await context.policies.delete(context.who, row.kind, id);
  },
};
