import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Responses that are kept for clients, with their items. They go with their workspace. */
export async function createResponses(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('responses')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    // No reference: there may be too many for the transaction in which the workspace goes.
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    // No reference: a response that is deleted leaves those that went on from it behind.
    .addColumn('previous_id', text(engine))
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('bytes', bigint(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .execute();
  await sql`create index responses_user on responses (user_id) where user_id is not null`.execute(db);
  await schema.createIndex('responses_workspace').on('responses').columns(['workspace_id', 'id']).execute();
  await schema.createIndex('responses_previous').on('responses').columns(['previous_id']).execute();
  await schema.createIndex('responses_expires').on('responses').columns(['expires_at']).execute();
  await schema
    .createTable('response_items')
    .addColumn('response_id', text(engine), (column) => column.notNull().references('responses.id').onDelete('cascade'))
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('side', text(engine), (column) => column.notNull())
    .addColumn('item_id', text(engine), (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('response_items_pkey', ['response_id', 'position'])
    .execute();
  await schema.createIndex('response_items_item').on('response_items').columns(['item_id']).execute();
}
