import { sql } from 'kysely';
import { type AnyDb, bigint, bytes, type Engine, text } from '../../migrate.ts';

/**
 * What is known of files that search can find: one row for each time a file was taken in. PostgreSQL holds their chunks,
 * too; beside the embedded store they lie in a file of their own, which one thread writes and another searches.
 */
export async function createChunks(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('indexed_stores')
    .addColumn('store_id', text(engine), (column) => column.primaryKey())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('dimensions', 'integer')
    .execute();
  await schema
    .createTable('indexed_files')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('store_id', text(engine), (column) => column.notNull())
    .addColumn('file_id', text(engine), (column) => column.notNull())
    .addColumn('state', text(engine), (column) => column.notNull())
    .addColumn('chunks', 'integer', (column) => column.notNull())
    .addColumn('dimensions', 'integer')
    .addColumn('vectors', text(engine), (column) => column.notNull())
    .addColumn('touched_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('indexed_files_store').on('indexed_files').column('store_id').execute();
  await sql`create unique index indexed_files_current on indexed_files (store_id, file_id)
    where state = 'current'`.execute(db);
  await sql`create index indexed_files_left_over on indexed_files (touched_at) where state <> 'current'`.execute(db);
  if (engine === 'postgres') await createPostgresChunks(db);
}

async function createPostgresChunks(db: AnyDb): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('chunks')
    .addColumn('source', text('postgres'), (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('text', 'text', (column) => column.notNull())
    .addColumn('begins', 'integer', (column) => column.notNull())
    .addColumn('ends', 'integer', (column) => column.notNull())
    .addColumn('words', sql`tsvector`, (column) => column.notNull())
    // Numbers that pgvector casts to its own type: so the table is the same with the extension and without it.
    .addColumn('embedding', sql`real[]`)
    .addPrimaryKeyConstraint('chunks_pkey', ['source', 'number'])
    .execute();
  // A list of pending entries would have to be read by every search.
  await sql`create index chunks_words on chunks using gin (words) with (fastupdate = off)`.execute(db);
  await schema
    .createTable('chunk_vectors')
    .addColumn('source', text('postgres'), (column) => column.notNull())
    .addColumn('first', 'integer', (column) => column.notNull())
    .addColumn('dimensions', 'integer', (column) => column.notNull())
    .addColumn('scales', bytes('postgres'), (column) => column.notNull())
    .addColumn('rows', bytes('postgres'), (column) => column.notNull())
    .addPrimaryKeyConstraint('chunk_vectors_pkey', ['source', 'first'])
    .execute();
}
