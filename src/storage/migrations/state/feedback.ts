import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, real, text } from '../../migrate.ts';

/** What people think of answers. It goes with its workspace; keys come and go. */
export async function createFeedback(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('feedbacks')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    // No reference: there may be too many for the transaction in which the workspace goes.
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    .addColumn('api_key_id', text(engine), (column) => column.notNull())
    .addColumn('trace_id', text(engine), (column) => column.notNull())
    .addColumn('value', 'integer', (column) => column.notNull())
    .addColumn('weight', real(engine), (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('feedbacks_workspace').on('feedbacks').columns(['workspace_id', 'created_at']).execute();
  await sql`create index feedbacks_user on feedbacks (user_id) where user_id is not null`.execute(db);
  await schema.createIndex('feedbacks_created').on('feedbacks').columns(['created_at']).execute();
}
