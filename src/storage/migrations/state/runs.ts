import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Runs of assistants, their steps, their calls of models, and what happened in them. */
export async function createRuns(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('runs')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    .addColumn('thread_id', text(engine), (column) => column.notNull().references('threads.id'))
    .addColumn('assistant_id', text(engine), (column) => column.notNull())
    .addColumn('api_key_id', text(engine), (column) => column.notNull())
    .addColumn('headers', 'text', (column) => column.notNull())
    .addColumn('proofs', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('required_action', 'text')
    .addColumn('last_error', 'text')
    .addColumn('incomplete_reason', 'text')
    .addColumn('prompt_tokens', bigint(engine), (column) => column.notNull())
    .addColumn('completion_tokens', bigint(engine), (column) => column.notNull())
    .addColumn('repeated_calls', 'integer', (column) => column.notNull())
    .addColumn('epoch', bigint(engine), (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .addColumn('started_at', bigint(engine))
    .addColumn('cancelled_at', bigint(engine))
    .addColumn('failed_at', bigint(engine))
    .addColumn('completed_at', bigint(engine))
    .addColumn('ended_at', bigint(engine))
    .addColumn('keeps_events', 'integer', (column) => column.notNull())
    .execute();
  await schema.createIndex('runs_list').on('runs').columns(['thread_id', 'id']).execute();
  await sql`create index runs_user on runs (user_id) where user_id is not null`.execute(db);
  // Two runs that are created at the same moment: the database decides which one the thread has.
  await sql`create unique index runs_active on runs (thread_id)
    where status in ('queued', 'in_progress', 'requires_action', 'cancelling')`.execute(db);
  await sql`create index runs_expiry on runs (expires_at)
    where status in ('queued', 'in_progress', 'requires_action', 'cancelling')`.execute(db);
  await sql`create index runs_ended on runs (ended_at) where keeps_events = 1`.execute(db);
  await schema
    .createTable('run_steps')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('run_id', text(engine), (column) => column.notNull().references('runs.id'))
    .addColumn('call', 'integer', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('details', 'text', (column) => column.notNull())
    .addColumn('exchange', 'text', (column) => column.notNull())
    .addColumn('last_error', 'text')
    .addColumn('usage', 'text')
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expired_at', bigint(engine))
    .addColumn('cancelled_at', bigint(engine))
    .addColumn('failed_at', bigint(engine))
    .addColumn('completed_at', bigint(engine))
    .execute();
  await schema.createIndex('run_steps_list').on('run_steps').columns(['run_id', 'id']).execute();
  await schema
    .createTable('run_calls')
    .addColumn('run_id', text(engine), (column) => column.notNull().references('runs.id'))
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('fence', bigint(engine), (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('message_id', text(engine), (column) => column.notNull())
    .addColumn('message_step_id', text(engine), (column) => column.notNull())
    .addColumn('tool_step_id', text(engine), (column) => column.notNull())
    .addColumn('usage', 'text')
    .addColumn('started_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('run_calls_pkey', ['run_id', 'number', 'attempt'])
    .execute();
  await schema
    .createTable('run_events')
    .addColumn('run_id', text(engine), (column) => column.notNull().references('runs.id'))
    .addColumn('epoch', bigint(engine), (column) => column.notNull())
    .addColumn('seq', bigint(engine), (column) => column.notNull())
    .addColumn('call', 'integer')
    .addColumn('events', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_events_pkey', ['run_id', 'epoch', 'seq'])
    .execute();
}
