import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

const LIMITED = ['workspaces', 'api_keys', 'virtual_keys'];

/** Limits of keys and workspaces, policies, and the groups of callers that a policy has counted. */
export async function createPolicies(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  for (const table of LIMITED) {
    await schema.alterTable(table).addColumn('rate_limits', 'text').execute();
    await schema.alterTable(table).addColumn('usage_limits', 'text').execute();
  }
  await schema
    .createTable('policies')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
    .addColumn('workspace_id', text(engine), (column) => column.references('workspaces.id'))
    .addColumn('kind', text(engine), (column) => column.notNull())
    .addColumn('name', 'text')
    .addColumn('description', 'text')
    .addColumn('definition', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('policies_organisation').on('policies').columns(['organisation_id', 'kind', 'id']).execute();
  await schema
    .createTable('policy_entities')
    .addColumn('policy_id', text(engine), (column) => column.notNull())
    .addColumn('id', text(engine), (column) => column.notNull())
    .addColumn('value_key', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('policy_entities_pkey', ['policy_id', 'id'])
    .execute();
}
