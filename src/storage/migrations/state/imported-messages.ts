import { type AnyDb, type Engine, text } from '../../migrate.ts';

/** Which messages of an export were taken over (`gateway import assistants`), and under which ids. */
export async function createImportedMessages(db: AnyDb, engine: Engine): Promise<void> {
  await db.schema
    .createTable('imported_messages')
    .addColumn('thread_id', text(engine), (column) => column.notNull().references('threads.id'))
    .addColumn('source_id', text(engine), (column) => column.notNull())
    .addColumn('message_id', text(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('imported_messages_pkey', ['thread_id', 'source_id'])
    .execute();
}
