import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Who changed what, how many such records each day has, the batches that chain them, and the signed end of each chain. */
export async function createAudit(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('audit_records')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('organisation_id', text(engine), (column) => column.notNull())
    .addColumn('at', bigint(engine), (column) => column.notNull())
    .addColumn('batch', bigint(engine))
    .addColumn('method', text(engine), (column) => column.notNull())
    .addColumn('user_type', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine), (column) => column.notNull())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('response_status_code', 'integer', (column) => column.notNull())
    .addColumn('resource_type', text(engine), (column) => column.notNull())
    .addColumn('action', text(engine), (column) => column.notNull())
    .addColumn('client_ip', text(engine), (column) => column.notNull())
    .addColumn('country', text(engine), (column) => column.notNull())
    .addColumn('uri', text(engine), (column) => column.notNull())
    .addColumn('mac', 'text', (column) => column.notNull())
    .addColumn('query_params', 'text', (column) => column.notNull())
    .addColumn('request_headers', 'text', (column) => column.notNull())
    .addColumn('request_body', 'text', (column) => column.notNull())
    .execute();
  // Answers every filter of few values from the index alone, page and total alike.
  await schema
    .createIndex('audit_records_time')
    .on('audit_records')
    .columns([
      'organisation_id',
      'at',
      'id',
      'method',
      'response_status_code',
      'resource_type',
      'action',
      'user_type',
      'workspace_id',
      'country',
    ])
    .execute();
  for (const column of ['user_id', 'client_ip']) {
    await schema
      .createIndex(`audit_records_${column}`)
      .on('audit_records')
      .columns(['organisation_id', column, 'at', 'id'])
      .execute();
  }
  // A path may be longer than what an index of PostgreSQL takes.
  await sql`create index audit_records_uri on audit_records (organisation_id, (substr(uri, 1, 200)), at, id)`.execute(
    db,
  );
  await sql`create index audit_records_unsealed on audit_records (organisation_id, id) where batch is null`.execute(db);
  const counted = ['method', 'user_type', 'workspace_id', 'resource_type', 'action', 'country'];
  let days = schema
    .createTable('audit_days')
    .addColumn('organisation_id', text(engine), (column) => column.notNull())
    .addColumn('day', 'integer', (column) => column.notNull())
    .addColumn('response_status_code', 'integer', (column) => column.notNull());
  for (const name of counted) days = days.addColumn(name, text(engine), (column) => column.notNull());
  await days
    .addColumn('records', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('audit_days_pkey', ['organisation_id', 'day', 'response_status_code', ...counted] as never)
    .execute();
  await schema
    .createTable('audit_batches')
    .addColumn('organisation_id', text(engine), (column) => column.notNull())
    .addColumn('number', bigint(engine), (column) => column.notNull())
    .addColumn('ids', 'text', (column) => column.notNull())
    .addColumn('seal', 'text', (column) => column.notNull())
    .addColumn('at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('audit_batches_pkey', ['organisation_id', 'number'])
    .execute();
  await schema
    .createTable('audit_heads')
    .addColumn('organisation_id', text(engine), (column) => column.primaryKey())
    .addColumn('number', bigint(engine), (column) => column.notNull())
    .addColumn('records', bigint(engine), (column) => column.notNull())
    .addColumn('seal', 'text', (column) => column.notNull())
    .addColumn('at', bigint(engine), (column) => column.notNull())
    .addColumn('signature', 'text', (column) => column.notNull())
    .execute();
}
