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
export async function everythingIn({ db, engine }: Store): Promise<string> {
  const names = await (engine === 'sqlite'
    ? sql<{ name: string }>`select name from sqlite_master where type = 'table' and name not like 'sqlite_%'`
    : sql<{ name: string }>`select table_name as name from information_schema.tables where table_schema = 'public'`
  ).execute(db);
  const tables = await Promise.all(
    names.rows.map(async ({ name }) => {
      const rows = await (db as unknown as AnyDb).selectFrom(name).selectAll().execute();
      return rows.map((row) => `${name} ${JSON.stringify(row)}`);
    }),
  );
  return tables.flat().sort().join('\n');
}
