import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** How often each kind of thing has changed: what nodes compare to find out whether their memory is still true. */
export async function createChanges(db: AnyDb, engine: Engine): Promise<void> {
  await db.schema
    .createTable('versions')
    .addColumn('topic', text(engine), (column) => column.primaryKey())
    .addColumn('version', bigint(engine), (column) => column.notNull())
    .execute();
}
