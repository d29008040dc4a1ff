import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Batches, where their requests stand in the input, and what was answered. */
export async function createBatches(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('batches')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('user_id', text(engine))
    .addColumn('api_key_id', text(engine), (column) => column.notNull())
    .addColumn('virtual_key', text(engine), (column) => column.notNull())
    .addColumn('headers', 'text', (column) => column.notNull())
    .addColumn('proofs', 'text')
    .addColumn('endpoint', 'text', (column) => column.notNull())
    .addColumn('input_file_id', text(engine), (column) => column.notNull())
    .addColumn('completion_window', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('native', 'text')
    .addColumn('status', text(engine), (column) => column.notNull())
    .addColumn('stop', 'text')
    .addColumn('errors', 'text')
    .addColumn('output_file_id', text(engine))
    .addColumn('error_file_id', text(engine))
    .addColumn('output_lives_seconds', bigint(engine))
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('total', bigint(engine))
    .addColumn('completed', bigint(engine))
    .addColumn('failed', bigint(engine))
    .addColumn('model', 'text')
    .addColumn('input_tokens', bigint(engine), (column) => column.notNull().defaultTo(0))
    .addColumn('cached_tokens', bigint(engine), (column) => column.notNull().defaultTo(0))
    .addColumn('output_tokens', bigint(engine), (column) => column.notNull().defaultTo(0))
    .addColumn('reasoning_tokens', bigint(engine), (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .addColumn('in_progress_at', bigint(engine))
    .addColumn('finalizing_at', bigint(engine))
    .addColumn('completed_at', bigint(engine))
    .addColumn('failed_at', bigint(engine))
    .addColumn('expired_at', bigint(engine))
    .addColumn('cancelling_at', bigint(engine))
    .addColumn('cancelled_at', bigint(engine))
    .execute();
  await schema.createIndex('batches_list').on('batches').columns(['workspace_id', 'id']).execute();
  await sql`create index batches_user on batches (user_id) where user_id is not null`.execute(db);
  await sql`create index batches_running on batches (expires_at) where status = 'in_progress'`.execute(db);
  await schema
    .createTable('batch_lines')
    .addColumn('batch_id', text(engine), (column) => column.notNull().references('batches.id'))
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('custom_id', 'text', (column) => column.notNull())
    .addColumn('position', bigint(engine), (column) => column.notNull())
    .addColumn('bytes', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('batch_lines_pkey', ['batch_id', 'number'])
    .execute();
  await schema
    .createTable('batch_results')
    .addColumn('batch_id', text(engine), (column) => column.notNull().references('batches.id'))
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('id', text(engine), (column) => column.notNull())
    .addColumn('is_error', 'integer', (column) => column.notNull())
    .addColumn('response', 'text')
    .addColumn('error', 'text')
    .addPrimaryKeyConstraint('batch_results_pkey', ['batch_id', 'number'])
    .execute();
  // Counting does not touch the answers, which may be large.
  await schema
    .createIndex('batch_results_count')
    .on('batch_results')
    .columns(['batch_id', 'is_error', 'number'])
    .execute();
}
