import { type Kysely, sql } from 'kysely';

export type Engine = 'sqlite' | 'postgres';

// biome-ignore lint/suspicious/noExplicitAny: a migration works on the schema of its own time
export type AnyDb = Kysely<any>;

/** One additive step of a schema. Names sort in the order they apply: `0001-keys`. */
export interface Migration {
  readonly name: string;
  readonly up: (db: AnyDb, engine: Engine) => Promise<void>;
}

/** Bytewise text on both engines; PostgreSQL would otherwise sort ids by the locale. */
export const text = (engine: Engine) => (engine === 'postgres' ? sql`text collate "C"` : sql`text`);
export const bytes = (engine: Engine) => (engine === 'postgres' ? sql`bytea` : sql`blob`);
export const bigint = (engine: Engine) => (engine === 'postgres' ? sql`bigint` : sql`integer`);
export const real = (engine: Engine) => (engine === 'postgres' ? sql`double precision` : sql`real`);

/** So that two nodes which start together do not both apply a step. Any number that is not used elsewhere. */
const ADVISORY_LOCK = 7_241_905_113;

/**
 * Applies what is missing, which is nothing at most starts: one look tells. On PostgreSQL each step has a transaction of its
 * own, so that none holds up the nodes at work for longer than it takes; on the embedded store, which has one node, all have
 * one, because each would wait for the disk. A schema one step ahead of this program is accepted (steps are additive, and
 * nodes are replaced one by one); one that is further ahead is not.
 */
export async function migrate(
  db: AnyDb,
  engine: Engine,
  table: string,
  migrations: readonly Migration[],
): Promise<string[]> {
  if (engine === 'postgres' && (await isThere(db, table)) && isWhole(await namesIn(db, table), migrations, table))
    return [];
  await withLock(db, engine, (locked) =>
    locked.schema
      .createTable(table)
      .ifNotExists()
      .addColumn('name', text(engine), (column) => column.primaryKey())
      .addColumn('applied_at', 'text', (column) => column.notNull())
      .execute(),
  );
  const applied: string[] = [];
  const transactions = engine === 'sqlite' ? [migrations] : migrations.map((step) => [step]);
  for (const steps of transactions)
    await db.transaction().execute(async (transaction) => {
      if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${ADVISORY_LOCK})`.execute(transaction);
      const names = await namesIn(transaction, table);
      if (isWhole(names, migrations, table)) return;
      for (const { name, up } of steps) {
        if (names.has(name)) continue;
        await up(transaction, engine);
        await transaction.insertInto(table).values({ name, applied_at: new Date().toISOString() }).execute();
        applied.push(name);
      }
    });
  return applied;
}

const namesIn = async (db: AnyDb, table: string): Promise<ReadonlySet<string>> =>
  new Set((await db.selectFrom(table).select('name').execute()).map((row) => String(row.name)));

/**
 * Whether a database has our table already. One that has those of a LiteLLM proxy in its place is refused: the proxy reads
 * DATABASE_URL, too, and where an operator starts both in one environment, their tables must not mix.
 */
async function isThere(db: AnyDb, table: string): Promise<boolean> {
  const { rows } = await sql<{ table_name: string }>`
    select table_name from information_schema.tables
    where table_schema = current_schema() and (table_name = ${table} or table_name like 'LiteLLM\\_%')
    limit 100`.execute(db);
  const names = rows.map(({ table_name }) => table_name);
  if (names.length === 0 || names.includes(table)) return names.length > 0;
  throw new Error(
    `DATABASE_URL is the database of a LiteLLM proxy (it holds ${names[0]}). Nothing was written there; give the gateway a database of its own in GATEWAY_DATABASE_URL.`,
  );
}

/** Whether a schema has all steps. One that is newer than this program is refused. */
function isWhole(names: ReadonlySet<string>, migrations: readonly Migration[], table: string): boolean {
  const known = new Set(migrations.map((migration) => migration.name));
  const unknown = [...names].filter((name) => !known.has(name)).sort();
  if (unknown.length > 1) {
    throw new Error(
      `The database is newer than this program (${table} holds ${unknown.join(', ')}). Start the version that made it, or a later one.`,
    );
  }
  return migrations.every(({ name }) => names.has(name));
}

/** CREATE TABLE IF NOT EXISTS races with itself on PostgreSQL. */
async function withLock(db: AnyDb, engine: Engine, work: (locked: AnyDb) => Promise<void>) {
  if (engine === 'sqlite') return work(db);
  await db.connection().execute(async (connection) => {
    await sql`select pg_advisory_lock(${ADVISORY_LOCK})`.execute(connection);
    try {
      await work(connection);
    } finally {
      await sql`select pg_advisory_unlock(${ADVISORY_LOCK})`.execute(connection);
    }
  });
}
