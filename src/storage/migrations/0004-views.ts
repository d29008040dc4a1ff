import { sql } from 'kysely';
import { bigint, type Migration, text } from '../migrate.ts';

/** Views of figures and logs that people saved. Those without a user are shared by their workspace. */
export const views: Migration = {
  name: '0004-views',
  up: async (db, engine) => {
    await db.schema
      .createTable('saved_views')
      .addColumn('id', text(engine), (column) => column.primaryKey())
      .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
      .addColumn('workspace_id', text(engine), (column) =>
        column.notNull().references('workspaces.id').onDelete('cascade'),
      )
      .addColumn('user_id', text(engine), (column) => column.references('users.id').onDelete('cascade'))
      .addColumn('page', text(engine), (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('query', 'text', (column) => column.notNull())
      .addColumn('created_at', bigint(engine), (column) => column.notNull())
      .addColumn('updated_at', bigint(engine), (column) => column.notNull())
      .execute();
    await db.schema.createIndex('saved_views_workspace').on('saved_views').columns(['workspace_id', 'id']).execute();
    await sql`create index saved_views_user on saved_views (user_id) where user_id is not null`.execute(db);
  },
};
