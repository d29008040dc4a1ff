import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, real, text } from '../../migrate.ts';

/** What clients send by OpenTelemetry. It goes with its workspace; keys come and go. */
export async function createIngest(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('ingested_spans')
    .addColumn('id', text(engine), (column) => column.notNull())
    // No reference: there may be too many for the transaction in which the workspace goes.
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    .addColumn('api_key_id', text(engine), (column) => column.notNull())
    .addColumn('session_id', text(engine))
    .addColumn('signal', text(engine), (column) => column.notNull())
    .addColumn('trace_id', text(engine))
    .addColumn('span_id', text(engine))
    .addColumn('parent_id', text(engine))
    .addColumn('name', text(engine), (column) => column.notNull())
    .addColumn('kind', text(engine), (column) => column.notNull())
    .addColumn('is_error', 'integer', (column) => column.notNull())
    .addColumn('service', text(engine))
    .addColumn('started_at', bigint(engine), (column) => column.notNull())
    .addColumn('duration_ms', real(engine), (column) => column.notNull())
    .addColumn('attributes', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('ingested_spans_pk', ['workspace_id', 'id'])
    .execute();
  await sql`
    create index ingested_spans_session on ingested_spans (workspace_id, session_id, started_at, id)
    where session_id is not null
  `.execute(db);
  await sql`create index ingested_spans_user on ingested_spans (user_id) where user_id is not null`.execute(db);
  await schema.createIndex('ingested_spans_created').on('ingested_spans').columns(['created_at']).execute();
}
