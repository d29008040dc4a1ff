import type { Kysely } from 'kysely';
import { newId } from '../../core/ids.ts';
import type { Engine } from '../../storage/migrate.ts';
import type { LogTables } from '../log-columns.ts';

export interface Begun {
  readonly name: string;
  readonly ids: readonly string[];
}

/** Enough for the smallest batches to fill a shipment. */
const MOST_ROWS = 1_000;

/** The entries of the shipment that was begun and is not there yet, else of a new one; null: none waits. */
export async function nextShipment(db: Kysely<LogTables>, engine: Engine, atMost: number): Promise<Begun | null> {
  const begun = await db
    .selectFrom('request_log_unshipped')
    .select('shipment')
    .where('shipment', 'is not', null)
    .orderBy('shipment')
    .limit(1)
    .executeTakeFirst();
  if (begun) return { name: begun.shipment!, ids: await idsIn(db, begun.shipment!) };
  const name = await db.transaction().execute((transaction) => begin(transaction, engine, atMost));
  return name === null ? null : { name, ids: await idsIn(db, name) };
}

async function begin(db: Kysely<LogTables>, engine: Engine, atMost: number): Promise<string | null> {
  let select = db
    .selectFrom('request_log_unshipped')
    .select(['id', 'entries'])
    .where('shipment', 'is', null)
    .orderBy('id')
    .limit(MOST_ROWS);
  if (engine === 'postgres') select = select.forUpdate().skipLocked();
  const rows = await select.execute();
  let entries = 0;
  const taken = rows.filter(({ entries: more }, at) => {
    entries += more;
    return at === 0 || entries <= atMost;
  });
  if (taken.length === 0) return null;
  const name = `${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${newId().slice(-12)}`;
  await db
    .updateTable('request_log_unshipped')
    .set({ shipment: name })
    .where(
      'id',
      'in',
      taken.map(({ id }) => id),
    )
    .execute();
  return name;
}

async function idsIn(db: Kysely<LogTables>, name: string): Promise<string[]> {
  const rows = await db
    .selectFrom('request_log_unshipped')
    .select('ids')
    .where('shipment', '=', name)
    .orderBy('id')
    .execute();
  return rows.flatMap(({ ids }) => JSON.parse(ids) as string[]);
}

/** It is there whole: its entries never leave again. */
export async function endShipment(db: Kysely<LogTables>, name: string): Promise<void> {
  await db.deleteFrom('request_log_unshipped').where('shipment', '=', name).execute();
}
