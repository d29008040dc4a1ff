import { Database } from 'bun:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
} from 'kysely';

export interface SqliteOptions {
  /** `full` survives a power cut at every commit; `normal` may lose the last moments then, never after a mere crash. */
  readonly durability: 'full' | 'normal';
  readonly readonly?: boolean;
}

/** Kysely on bun:sqlite: one connection, WAL, and write locks taken when a transaction begins. */
export function sqliteDialect(file: string, options: SqliteOptions): SqliteDialect {
  return new ImmediateSqliteDialect({ database: async () => adapt(openSqliteFile(file, options)) });
}

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

/** Kysely asks for the shape of better-sqlite3. */
const adapt = (database: Database): Awaited<ReturnType<Extract<SqliteDialectConfig['database'], () => unknown>>> => ({
  close: () => database.close(),
  prepare: (text: string) => {
    const statement = database.query(text);
    return {
      reader: statement.columnNames.length > 0,
      all: (parameters) => statement.all(...(parameters as [])),
      run: (parameters) => statement.run(...(parameters as [])),
      iterate: (parameters) => statement.iterate(...(parameters as [])) as IterableIterator<unknown>,
    };
  },
});

/** A transaction that reads first and writes later could otherwise fail in the middle with SQLITE_BUSY. */
class ImmediateSqliteDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }
}

class ImmediateSqliteDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig;

  constructor(config: SqliteDialectConfig) {
    super(config);
    this.#config = config;
  }

  override createDriver(): Driver {
    return new ImmediateSqliteDriver(this.#config);
  }
}
