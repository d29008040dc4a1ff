import { sql } from 'kysely';
import type { Db, Store } from './store.ts';

/**
 * Until its end, other transactions that lock the same name wait for this one: for rules about several rows, such as how
 * many there may be, that no row of their own stands for. SQLite has one writer anyway.
 */
export async function lockName(db: Db, { engine }: Pick<Store, 'engine'>, name: string): Promise<void> {
  if (engine === 'postgres') await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(db);
}
