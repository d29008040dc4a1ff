import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Fine-tuning jobs, and what happened in them. */
export async function createFineTuning(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('fine_tuning_jobs')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    .addColumn('organisation_id', text(engine), (column) => column.notNull())
    .addColumn('virtual_key', text(engine), (column) => column.notNull())
    .addColumn('provider', text(engine), (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('status', text(engine), (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('remote', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('finished_at', bigint(engine))
    .execute();
  await sql`create index fine_tuning_jobs_user on fine_tuning_jobs (user_id) where user_id is not null`.execute(db);
  await schema.createIndex('fine_tuning_jobs_list').on('fine_tuning_jobs').columns(['workspace_id', 'id']).execute();
  await schema
    .createTable('fine_tuning_events')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('job_id', text(engine), (column) => column.notNull().references('fine_tuning_jobs.id'))
    .addColumn('remote_id', text(engine), (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('data', 'text')
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .execute();
  // Events and checkpoints of the provider are read again and again, and kept once.
  await schema
    .createIndex('fine_tuning_events_remote')
    .unique()
    .on('fine_tuning_events')
    .columns(['job_id', 'remote_id'])
    .execute();
  await schema.createIndex('fine_tuning_events_list').on('fine_tuning_events').columns(['job_id', 'id']).execute();
  await schema
    .createTable('fine_tuning_checkpoints')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('job_id', text(engine), (column) => column.notNull().references('fine_tuning_jobs.id'))
    .addColumn('remote_id', text(engine), (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('step_number', bigint(engine), (column) => column.notNull())
    .addColumn('metrics', 'text', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema
    .createIndex('fine_tuning_checkpoints_remote')
    .unique()
    .on('fine_tuning_checkpoints')
    .columns(['job_id', 'remote_id'])
    .execute();
}
