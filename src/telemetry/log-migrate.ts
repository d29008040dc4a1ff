import { Kysely } from 'kysely';
import { type AnyDb, type Engine, migrate } from '../storage/migrate.ts';
import { sqliteDialect } from '../storage/sqlite.ts';
import { LOG_MIGRATION_TABLE } from './log-columns.ts';
import { LOG_MIGRATIONS } from './log-schema.ts';

export const migrateLog = (db: AnyDb, engine: Engine): Promise<string[]> =>
  migrate(db, engine, LOG_MIGRATION_TABLE, LOG_MIGRATIONS);

/** Makes the tables of the embedded log, or brings them up to date. */
export async function migrateSqliteLog(file: string): Promise<void> {
  const db = new Kysely<unknown>({ dialect: sqliteDialect(file, { durability: 'normal' }) });
  try {
    await migrateLog(db, 'sqlite');
  } finally {
    await db.destroy();
  }
}
