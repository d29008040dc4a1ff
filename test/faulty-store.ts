import { type KyselyPlugin, type RootOperationNode, sql } from 'kysely';
import type { AnyDb } from '../src/storage/migrate.ts';
import type { Db, Store } from '../src/storage/store.ts';

/** Told of each statement of a transaction before it runs, after it has run, and before the transaction commits. */
export type Watcher = (moment: 'before' | 'after' | 'commit', statement: number) => void;

/** A store whose transactions are watched; what the watcher throws, a statement throws. */
export function watchedStore(store: Store, watch: Watcher): Store {
  return {
    ...store,
    transaction: (work, options) =>
      store.transaction(async (db) => {
        let statement = 0;
        const plugin: KyselyPlugin = {
          transformQuery: ({ node }): RootOperationNode => {
            watch('before', ++statement);
            return node;
          },
          transformResult: async ({ result }) => {
            watch('after', statement);
            return result;
          },
        };
        const result = await work(db.withPlugin(plugin) as Db);
        watch('commit', statement);
        return result;
      }, options),
  };
}

/** Every row of every table, as one text. */
export const everythingIn = async (store: Store): Promise<string> =>
  (await (store.engine === 'sqlite' ? linesOfSqlite(store.db) : linesOfPostgres(store.db))).sort().join('\n');

async function linesOfSqlite(db: Db): Promise<string[]> {
  const names = await sql<{
    name: string;
  }>`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`.execute(db);
  const tables = await Promise.all(
    names.rows.map(async ({ name }) => {
      const rows = await (db as unknown as AnyDb).selectFrom(name).selectAll().execute();
      return rows.map((row) => `${name} ${JSON.stringify(row)}`);
    }),
  );
  return tables.flat();
}

/** In one question: one for each of more than a hundred tables, asked hundreds of times, took a quarter more of a test. */
async function linesOfPostgres(db: Db): Promise<string[]> {
  const names = await sql<{ name: string }>`
    select table_name as name from information_schema.tables where table_schema = 'public'`.execute(db);
  const rowsOf = names.rows.map(
    ({ name }) => sql`select ${name}::text || ' ' || to_jsonb(t)::text as line from ${sql.table(name)} t`,
  );
  const { rows } = await sql<{ line: string }>`${sql.join(rowsOf, sql` union all `)}`.execute(db);
  return rows.map(({ line }) => line);
}
