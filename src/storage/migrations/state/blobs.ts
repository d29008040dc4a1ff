import { sql } from 'kysely';
import { type AnyDb, bigint, bytes, type Engine, text } from '../../migrate.ts';

/** Blobs kept in the database. Each row is one upload; it becomes the blob of its id when its size is known. */
export async function createBlobs(db: AnyDb, engine: Engine): Promise<void> {
  await db.schema
    .createTable('blobs')
    .addColumn('upload', text(engine), (column) => column.primaryKey())
    .addColumn('id', text(engine), (column) => column.notNull())
    .addColumn('size', bigint(engine))
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .execute();
  await sql`create unique index blobs_whole on blobs (id) where size is not null`.execute(db);
  await sql`create index blobs_unfinished on blobs (created_at) where size is null`.execute(db);
  await db.schema
    .createTable('blob_chunks')
    .addColumn('upload', text(engine), (column) => column.notNull().references('blobs.upload'))
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('bytes', bytes(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('blob_chunks_pkey', ['upload', 'number'])
    .execute();
  // Most of what people upload is compressed already; trying again would cost a core for nothing.
  if (engine === 'postgres') await sql`alter table blob_chunks alter column bytes set storage external`.execute(db);
}
