import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** What users have allowed MCP clients, and the tokens that follow from it. All of it goes with user and server. */
export async function createMcpOauth({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('mcp_clients')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('used_at', bigint(engine))
    .execute();
  await schema.createIndex('mcp_clients_used').on('mcp_clients').columns(['used_at', 'created_at']).execute();
  await schema
    .createTable('mcp_consents')
    .addColumn('user_id', text(engine), (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('client_id', text(engine), (column) => column.notNull())
    .addColumn('resource', text(engine), (column) => column.notNull())
    .addColumn('workspace_id', text(engine), (column) =>
      column.notNull().references('workspaces.id').onDelete('cascade'),
    )
    .addColumn('server_id', text(engine), (column) => column.references('mcp_servers.id').onDelete('cascade'))
    .addColumn('redirect_uri', text(engine), (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('mcp_consents_pkey', ['user_id', 'client_id', 'resource'])
    .execute();
  for (const column of ['workspace_id', 'server_id'])
    await schema.createIndex(`mcp_consents_${column}`).on('mcp_consents').column(column).execute();
  await schema
    .createTable('mcp_grants')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('user_id', text(engine), (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('workspace_id', text(engine), (column) =>
      column.notNull().references('workspaces.id').onDelete('cascade'),
    )
    .addColumn('server_id', text(engine), (column) => column.references('mcp_servers.id').onDelete('cascade'))
    .addColumn('client_id', text(engine), (column) => column.notNull())
    .addColumn('client_name', 'text', (column) => column.notNull())
    .addColumn('resource', text(engine), (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('salt', 'text', (column) => column.notNull())
    .addColumn('is_renewable', 'integer', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('rotated_at', bigint(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .execute();
  for (const column of ['user_id', 'workspace_id', 'server_id', 'expires_at'])
    await schema.createIndex(`mcp_grants_${column}`).on('mcp_grants').column(column).execute();
  await schema
    .createTable('mcp_codes')
    .addColumn('hash', text(engine), (column) => column.primaryKey())
    .addColumn('grant_id', text(engine), (column) => column.notNull().references('mcp_grants.id').onDelete('cascade'))
    .addColumn('challenge', 'text', (column) => column.notNull())
    .addColumn('redirect_uri', 'text', (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .addColumn('used_at', bigint(engine))
    .execute();
  await schema.createIndex('mcp_codes_grant').on('mcp_codes').column('grant_id').execute();
  await schema
    .createTable('mcp_access_tokens')
    .addColumn('hash', text(engine), (column) => column.primaryKey())
    .addColumn('grant_id', text(engine), (column) => column.notNull().references('mcp_grants.id').onDelete('cascade'))
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .execute();
  for (const column of ['grant_id', 'expires_at'])
    await schema.createIndex(`mcp_access_tokens_${column}`).on('mcp_access_tokens').column(column).execute();
}
