import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Assistants, threads and messages. What is deleted stays as a row for a while, so that paging survives it. */
export async function createAssistants(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('assistants')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('deleted_at', bigint(engine))
    .execute();
  await sql`create index assistants_list on assistants (workspace_id, id) where deleted_at is null`.execute(db);
  await schema
    .createTable('threads')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    .addColumn('tool_resources', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('deleted_at', bigint(engine))
    .execute();
  await sql`create index threads_list on threads (workspace_id, id) where deleted_at is null`.execute(db);
  // Also those that were deleted end with their workspace.
  await schema.createIndex('threads_workspace').on('threads').column('workspace_id').execute();
  await sql`create index threads_user on threads (user_id) where user_id is not null`.execute(db);
  await schema
    .createTable('messages')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('thread_id', text(engine), (column) => column.notNull().references('threads.id'))
    .addColumn('user_id', text(engine))
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('attachments', 'text', (column) => column.notNull())
    .addColumn('assistant_id', text(engine))
    .addColumn('run_id', text(engine))
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('incomplete_reason', 'text')
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('completed_at', bigint(engine))
    .addColumn('incomplete_at', bigint(engine))
    .addColumn('deleted_at', bigint(engine))
    .execute();
  await sql`create index messages_user on messages (user_id) where user_id is not null`.execute(db);
  await sql`create index messages_list on messages (thread_id, id) where deleted_at is null`.execute(db);
  await sql`create index messages_run on messages (run_id, id) where run_id is not null`.execute(db);
}
