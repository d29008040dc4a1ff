import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Whom workspaces tell what has ended. They go with their workspace. */
export async function createWebhooks({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('webhooks')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull().references('organisations.id'))
    .addColumn('workspace_id', text(engine), (column) =>
      column.notNull().references('workspaces.id').onDelete('cascade'),
    )
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('events', 'text', (column) => column.notNull())
    .addColumn('is_enabled', 'integer', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('last_delivery', 'text')
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('webhooks_workspace').on('webhooks').columns(['workspace_id', 'id']).execute();
}
