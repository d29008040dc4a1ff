import { sql } from 'kysely';
import { type AnyDb, type Engine, text } from '../../storage/migrate.ts';

/**
 * `request_log_unshipped`: which entries wait to be exported, a row for each batch that was stored while an export was
 * set up. Rows with the name of a shipment leave together; they go when it is there whole.
 */
export async function createUnshipped(db: AnyDb, engine: Engine) {
  const order =
    engine === 'sqlite' ? sql`integer primary key autoincrement` : sql`bigint generated always as identity primary key`;
  await sql`create table request_log_unshipped (
    id ${order}, shipment ${text(engine)}, entries integer not null, ids text not null
  )`.execute(db);
  await sql`create index request_log_unshipped_begun on request_log_unshipped (shipment) where shipment is not null`.execute(
    db,
  );
}
