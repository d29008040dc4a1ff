import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Machines that began work: their tokens are gone when it is done, and who they are is needed until then. */
export async function createMachineCallers(db: AnyDb, engine: Engine): Promise<void> {
  await db.schema
    .createTable('machine_callers')
    .addColumn('id', text(engine), (column) => column.notNull())
    .addColumn('workspace_id', text(engine), (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('machine_callers_pkey', ['id', 'workspace_id'])
    .execute();
}
