import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** Which objects a file made (`gateway apply`, `gateway import`), and what that file last said of them. */
export async function createManaged(db: AnyDb, engine: Engine): Promise<void> {
  await db.schema
    .createTable('managed')
    .addColumn('kind', text(engine), (column) => column.notNull())
    .addColumn('id', text(engine), (column) => column.notNull())
    .addColumn('manager', text(engine), (column) => column.notNull())
    .addColumn('ref', text(engine), (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('updated_at', bigint(engine), (column) => column.notNull())
    .addPrimaryKeyConstraint('managed_pkey', ['kind', 'id'])
    .addUniqueConstraint('managed_ref', ['manager', 'kind', 'ref'])
    .execute();
}
