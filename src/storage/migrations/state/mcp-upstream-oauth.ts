import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Users' tokens for MCP servers. They go with the server, and with the user. */
export async function createMcpUpstreamOauth({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('mcp_user_tokens')
    .addColumn('server_id', text(engine), (column) => column.notNull().references('mcp_servers.id').onDelete('cascade'))
    .addColumn('user_id', text(engine), (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('lease', text(engine))
    .addColumn('lease_until', bigint(engine))
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('mcp_user_tokens_pkey', ['server_id', 'user_id'])
    .execute();
  await schema.createIndex('mcp_user_tokens_user').on('mcp_user_tokens').column('user_id').execute();
  await schema
    .createTable('mcp_oauth_clients')
    .addColumn('server_id', text(engine), (column) => column.notNull().references('mcp_servers.id').onDelete('cascade'))
    .addColumn('issuer', text(engine), (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('mcp_oauth_clients_pkey', ['server_id', 'issuer'])
    .execute();
  await schema
    .createTable('mcp_connect_flows')
    .addColumn('state_hash', text(engine), (column) => column.primaryKey())
    .addColumn('server_id', text(engine), (column) => column.notNull().references('mcp_servers.id').onDelete('cascade'))
    .addColumn('user_id', text(engine), (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('session_hash', text(engine), (column) =>
      column.notNull().references('sessions.hash').onDelete('cascade'),
    )
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .execute();
  for (const column of ['session_hash', 'expires_at'])
    await schema.createIndex(`mcp_connect_flows_${column}`).on('mcp_connect_flows').column(column).execute();
}
