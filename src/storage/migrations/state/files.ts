import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Files, what they are made of, and uploads in parts. */
export async function createFiles(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('files')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    .addColumn('filename', 'text', (column) => column.notNull())
    .addColumn('purpose', text(engine), (column) => column.notNull())
    .addColumn('bytes', bigint(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine))
    .addColumn('deleted_at', bigint(engine))
    .execute();
  await sql`create index files_user on files (user_id) where user_id is not null`.execute(db);
  await sql`create index files_list on files (workspace_id, id) where deleted_at is null`.execute(db);
  await sql`create index files_purpose on files (workspace_id, purpose, id) where deleted_at is null`.execute(db);
  await sql`create index files_expiry on files (expires_at) where deleted_at is null and expires_at is not null`.execute(
    db,
  );
  await sql`create index files_deleted on files (deleted_at) where deleted_at is not null`.execute(db);
  await schema
    .createTable('file_segments')
    .addColumn('file_id', text(engine), (column) => column.notNull().references('files.id'))
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('blob', text(engine), (column) => column.notNull().unique())
    .addColumn('bytes', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('file_segments_pkey', ['file_id', 'number'])
    .execute();
  await schema
    .createTable('uploads')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    .addColumn('filename', 'text', (column) => column.notNull())
    .addColumn('purpose', 'text', (column) => column.notNull())
    .addColumn('mime_type', 'text', (column) => column.notNull())
    .addColumn('bytes', bigint(engine), (column) => column.notNull())
    .addColumn('file_lives_seconds', bigint(engine))
    .addColumn('status', text(engine), (column) => column.notNull())
    .addColumn('file_id', text(engine))
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .execute();
  await sql`create index uploads_user on uploads (user_id) where user_id is not null`.execute(db);
  await schema.createIndex('uploads_workspace').on('uploads').column('workspace_id').execute();
  await schema.createIndex('uploads_status').on('uploads').columns(['status', 'expires_at']).execute();
  await schema
    .createTable('upload_parts')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('upload_id', text(engine), (column) => column.notNull().references('uploads.id'))
    .addColumn('bytes', bigint(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('upload_parts_upload').on('upload_parts').column('upload_id').execute();
}
