import { type AnyDb, bigint, type Engine, real, text } from '../../migrate.ts';

/** What people think of answers. It goes with its workspace; keys come and go. */
export async function createFeedback({ schema }: AnyDb, engine: Engine): Promise<void> {
  await schema
    .createTable('feedbacks')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) =>
      column.notNull().references('workspaces.id').onDelete('cascade'),
    )
    .addColumn('api_key_id', text(engine), (column) => column.notNull())
    .addColumn('trace_id', text(engine), (column) => column.notNull())
    .addColumn('value', 'integer', (column) => column.notNull())
    .addColumn('weight', real(engine), (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('feedbacks_workspace').on('feedbacks').columns(['workspace_id', 'created_at']).execute();
  await schema.createIndex('feedbacks_created').on('feedbacks').columns(['created_at']).execute();
}
