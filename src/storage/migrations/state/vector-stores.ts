import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Vector stores, the files in them, and files that were added together. */
export async function createVectorStores(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('vector_stores')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('expires_days', 'integer')
    .addColumn('last_active_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine))
    .addColumn('expired_at', bigint(engine))
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('deleted_at', bigint(engine))
    .execute();
  await sql`create index vector_stores_list on vector_stores (workspace_id, id) where deleted_at is null`.execute(db);
  await sql`create index vector_stores_expiry on vector_stores (expires_at)
    where expires_at is not null and expired_at is null and deleted_at is null`.execute(db);
  await sql`create index vector_stores_deleted on vector_stores (deleted_at) where deleted_at is not null`.execute(db);
  await schema
    .createTable('vector_store_batches')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('store_id', text(engine), (column) => column.notNull().references('vector_stores.id'))
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('total', 'integer', (column) => column.notNull())
    .addColumn('completed', 'integer')
    .addColumn('failed', 'integer')
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('vector_store_batches_store').on('vector_store_batches').column('store_id').execute();
  await schema
    .createTable('vector_store_files')
    .addColumn('store_id', text(engine), (column) => column.notNull().references('vector_stores.id'))
    .addColumn('file_id', text(engine), (column) => column.notNull())
    .addColumn('position', text(engine), (column) => column.notNull())
    .addColumn('batch_id', text(engine))
    .addColumn('status', text(engine), (column) => column.notNull())
    .addColumn('last_error', 'text')
    .addColumn('usage_bytes', bigint(engine), (column) => column.notNull())
    .addColumn('attributes', 'text', (column) => column.notNull())
    .addColumn('chunk_tokens', 'integer', (column) => column.notNull())
    .addColumn('overlap_tokens', 'integer', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('deleted_at', bigint(engine))
    .addPrimaryKeyConstraint('vector_store_files_pkey', ['store_id', 'file_id'])
    .execute();
  await schema
    .createIndex('vector_store_files_list')
    .on('vector_store_files')
    .columns(['store_id', 'position'])
    .execute();
  await sql`create index vector_store_files_counts on vector_store_files (store_id, status, usage_bytes)
    where deleted_at is null`.execute(db);
  await sql`create index vector_store_files_batch on vector_store_files (batch_id, status, position)
    where batch_id is not null`.execute(db);
  await sql`create index vector_store_files_file on vector_store_files (file_id) where deleted_at is null`.execute(db);
  await sql`create index vector_store_files_deleted on vector_store_files (deleted_at)
    where deleted_at is not null`.execute(db);
}
