import type { ColumnDefinitionBuilder } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** MCP servers behind the gateway. They go with their workspace. */
export async function createMcp({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('mcp_servers')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
    .addColumn('workspace_id', text(engine), (column) =>
      column.notNull().references('workspaces.id').onDelete('cascade'),
    )
    .addColumn('slug', text(engine), (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('auth_type', text(engine), (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('default_user_access', text(engine), (column) => column.notNull().defaultTo('allow'))
    .addColumn('owner_id', text(engine), (column) => column.notNull())
    .addColumn('updated_by', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('mcp_servers_workspace').on('mcp_servers').columns(['workspace_id', 'id']).execute();
  await createMcpPolicy(schema, engine);
}

/** What may be used of a server, by whom, and what it offers. All of it goes with the server. */
async function createMcpPolicy(schema: AnyDb['schema'], engine: Engine): Promise<void> {
  const ofServer = (column: ColumnDefinitionBuilder) =>
    column.notNull().references('mcp_servers.id').onDelete('cascade');
  await schema
    .createTable('mcp_capabilities')
    .addColumn('server_id', text(engine), ofServer)
    .addColumn('key', text(engine), (column) => column.notNull())
    .addColumn('type', text(engine), (column) => column.notNull())
    .addColumn('name', text(engine), (column) => column.notNull())
    .addColumn('enabled', bigint(engine), (column) => column.notNull())
    .addColumn('offered', bigint(engine), (column) => column.notNull())
    .addColumn('hash', text(engine))
    .addColumn('approved_hash', text(engine))
    .addColumn('flags', 'text', (column) => column.notNull())
    .addColumn('definition', 'text')
    .addColumn('approved_by', text(engine))
    .addColumn('first_seen_at', bigint(engine), (column) => column.notNull())
    .addColumn('changed_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('mcp_capabilities_pkey', ['server_id', 'key'])
    .execute();
  await schema
    .createTable('mcp_user_access')
    .addColumn('server_id', text(engine), ofServer)
    .addColumn('user_id', text(engine), (column) => column.notNull().references('users.id').onDelete('cascade'))
    .addColumn('enabled', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('mcp_user_access_pkey', ['server_id', 'user_id'])
    .execute();
  await schema
    .createTable('mcp_syncs')
    .addColumn('server_id', text(engine), (column) => ofServer(column).primaryKey())
    .addColumn('status', text(engine), (column) => column.notNull())
    .addColumn('error', 'text')
    .addColumn('server_name', 'text')
    .addColumn('server_version', 'text')
    .addColumn('protocol_version', 'text')
    .addColumn('capability_flags', 'text', (column) => column.notNull())
    .addColumn('synced_at', bigint(engine), (column) => column.notNull())
    .execute();
}
