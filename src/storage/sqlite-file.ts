import { Database } from 'bun:sqlite';

export interface SqliteOptions {
  /** `full` survives a power cut at every commit; `normal` may lose the last moments then, never after a mere crash. */
  readonly durability: 'full' | 'normal';
  readonly readonly?: boolean;
}

/** A database file as every thread of ours opens it; without Kysely, which a thread need not load to write rows. */
export function openSqliteFile(file: string, { durability, readonly = false }: SqliteOptions): Database {
  const database = readonly ? new Database(file, { readonly }) : new Database(file, { create: true });
  database.run('PRAGMA busy_timeout = 5000');
  database.run('PRAGMA foreign_keys = ON');
  if (!readonly) {
    database.run('PRAGMA journal_mode = WAL');
    database.run(`PRAGMA synchronous = ${durability === 'full' ? 'FULL' : 'NORMAL'}`);
    // The journals of single statements; as files they cost more than what they journal.
    database.run('PRAGMA temp_store = MEMORY');
  }
  return database;
}
