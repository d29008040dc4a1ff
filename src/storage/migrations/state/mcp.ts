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
    .addColumn('owner_id', text(engine), (column) => column.notNull())
    .addColumn('updated_by', text(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('mcp_servers_workspace').on('mcp_servers').columns(['workspace_id', 'id']).execute();
}
