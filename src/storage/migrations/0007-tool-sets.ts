import { bigint, type Migration, text } from '../migrate.ts';

/** Sets of tools of MCP servers, which are served like servers. They go with their workspace. */
export const toolSets: Migration = {
  name: '0007-tool-sets',
  up: async ({ schema }, engine) => {
    await schema
      .createTable('mcp_tool_sets')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('workspace_id', text(engine), (column) =>
        column.notNull().references('workspaces.id').onDelete('cascade'),
      )
      .addColumn('slug', text(engine), (column) => column.notNull().unique())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('description', 'text')
      .addColumn('mcp_tools', text(engine))
      .addColumn('tools', 'text', (column) => column.notNull())
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .execute();
    await schema.createIndex('mcp_tool_sets_workspace').on('mcp_tool_sets').columns(['workspace_id', 'id']).execute();
  },
};
