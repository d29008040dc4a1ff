import type { Database } from 'bun:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  SqliteDialect,
  type SqliteDialectConfig,
  SqliteDriver,
} from 'kysely';
import { openSqliteFile, type SqliteOptions } from './sqlite-file.ts';

export { openSqliteFile } from './sqlite-file.ts';

/** Kysely on bun:sqlite: one connection, WAL, and write locks taken when a transaction begins. */
export function sqliteDialect(file: string, options: SqliteOptions): SqliteDialect {
  return new ImmediateSqliteDialect({ database: async () => adapt(openSqliteFile(file, options)) });
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
