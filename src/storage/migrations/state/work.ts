import { sql } from 'kysely';
import { type AnyDb, bigint, type Engine, text } from '../../migrate.ts';

/** What is to be done, by whom it is being done, and until when that is believed. */
export async function createWork(db: AnyDb, engine: Engine): Promise<void> {
  await db.schema
    .createTable('work')
    .addColumn('id', text(engine), (column) => column.primaryKey())
    .addColumn('kind', text(engine), (column) => column.notNull())
    .addColumn('tenant', text(engine), (column) => column.notNull())
    .addColumn('ref', text(engine), (column) => column.notNull())
    .addColumn('payload', 'text')
    .addColumn('run_at', bigint(engine), (column) => column.notNull())
    .addColumn('owner', text(engine))
    .addColumn('lease_until', bigint(engine), (column) => column.notNull())
    .addColumn('fence', bigint(engine), (column) => column.notNull())
    .addColumn('attempts', bigint(engine), (column) => column.notNull())
    .addColumn('cancelled_at', bigint(engine))
    .addColumn('last_error', 'text')
    .addColumn('created_at', bigint(engine), (column) => column.notNull())
    .execute();
  await db.schema.createIndex('work_ref').on('work').columns(['kind', 'ref']).execute();
  // Claiming walks from tenant to tenant and takes the oldest of each, however many there are behind it.
  await sql`create index work_free on work (kind, tenant, run_at, id) where owner is null`.execute(db);
  await sql`create index work_due on work (kind, run_at) where owner is null`.execute(db);
  // Leases are few, as many as can run at once. None of these holds lease_until: a renewal touches no index.
  await sql`create index work_leased on work (kind, tenant) where owner is not null`.execute(db);
  await sql`create index work_owner on work (owner) where owner is not null`.execute(db);
  // Rows come and go all the time; what is left of them would slow down every search for the next one.
  if (engine === 'postgres')
    await sql`alter table work set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)`.execute(db);
}
