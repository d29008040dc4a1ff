import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** The code that runs have executed, and what came of it: enough to do it again elsewhere. */
export async function createInterpreter(db: AnyDb, engine: Engine): Promise<void> {
  await db.schema
    .createTable('code_cells')
    .addColumn('run_id', text(engine), (column) => column.notNull().references('runs.id'))
    .addColumn('ordinal', 'integer', (column) => column.notNull())
    .addColumn('thread_id', text(engine), (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('cell', 'text', (column) => column.notNull())
    .addColumn('result', 'text', (column) => column.notNull())
    .addColumn('leaves_state', 'integer', (column) => column.notNull())
    .addColumn('begins_anew', 'integer', (column) => column.notNull())
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('code_cells_pkey', ['run_id', 'ordinal'])
    .addUniqueConstraint('code_cells_order', ['thread_id', 'number'])
    .execute();
}
