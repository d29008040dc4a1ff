import { bigint, type Migration, text } from '../migrate.ts';

/** Applications that an administrator has registered, so that they need not describe or register themselves. */
export const mcpApps: Migration = {
  name: '0008-mcp-apps',
  up: async ({ schema }, engine) => {
    await schema
      .createTable('mcp_apps')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('redirect_uris', 'text', (column) => column.notNull())
      .addColumn('is_renewable', 'integer', (column) => column.notNull())
      .addColumn('secret_hash', text(engine))
      .addColumn('old_secret_hash', text(engine))
      .addColumn('old_secret_until', bigint(engine))
      .addColumn('secret_at', bigint(engine))
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .addColumn('used_at', bigint(engine))
      .execute();
  },
};
