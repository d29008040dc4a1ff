import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';
import { createLimitFunctions } from './limit-functions.ts';

export async function createLimits(db: AnyDb, engine: Engine): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('usage_ledger')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('at', bigint(engine), (column) => column.notNull())
    .addColumn('organisation_id', text(engine), (column) => column.notNull())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('api_key_id', text(engine), (column) => column.notNull())
    .addColumn('virtual_key', text(engine))
    .addColumn('provider', text(engine), (column) => column.notNull())
    .addColumn('model', text(engine))
    .addColumn('input_tokens', bigint(engine))
    .addColumn('output_tokens', bigint(engine))
    .addColumn('cost', bigint(engine))
    .addColumn('state', text(engine), (column) => column.notNull())
    .addColumn('charges', 'text', (column) => column.notNull())
    .addColumn('settled', 'integer', (column) => column.notNull())
    .execute();
  await schema
    .createTable('limit_counters')
    .addColumn('counter', text(engine), (column) => column.primaryKey())
    .addColumn('used', bigint(engine), (column) => column.notNull())
    .addColumn('held', bigint(engine), (column) => column.notNull())
    .addColumn('ends_at', bigint(engine))
    .execute();
  await schema.createIndex('limit_counters_ends').on('limit_counters').column('ends_at').execute();
  await schema
    .createTable('limit_holds')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('node', text(engine), (column) => column.notNull())
    .addColumn('charges', 'text', (column) => column.notNull())
    .addColumn('estimate', 'text', (column) => column.notNull())
    .addColumn('expires_at', bigint(engine), (column) => column.notNull())
    .execute();
  await schema.createIndex('limit_holds_due').on('limit_holds').column('expires_at').execute();
  if (engine === 'postgres') await createLimitFunctions(db);
}
