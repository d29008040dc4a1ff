import { join } from 'node:path';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { GatewayError } from '../core/errors.ts';
import type { Witnessed } from '../core/principal.ts';
import { type Engine, migrate } from './migrate.ts';
import { migrations } from './migrations.ts';
import type { Schema } from './schema.ts';
import { sqliteDialect } from './sqlite.ts';
import { reportingAbsence } from './unavailable.ts';

/** A handle for queries: the whole store, or one transaction of it. Repositories take it as a parameter. */
export type Db = Kysely<Schema>;

export interface TransactionOptions extends Witnessed {
  /**
   * `later`: the commit does not wait for the disk, for what can be done again. A power cut may take back the last such
   * transactions; a process that is killed takes back nothing, and the next `now` brings those before it to the disk.
   */
  readonly flush?: 'now' | 'later';
}

/** The state database, embedded or PostgreSQL. A store that is away makes every query throw `store_unavailable`. */
export interface Store {
  readonly db: Db;
  readonly engine: Engine;
  /** Throws unless the store answers now. */
  ping(): Promise<void>;
  /**
   * Runs `work` in one transaction. Inside, only the given handle may be awaited. Give the caller who asked for the
   * change in the options, too: the change is then recorded in the same transaction.
   */
  transaction<Result>(work: (db: Db) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  /** Applies missing migrations; answers their names. */
  migrate(): Promise<string[]>;
  close(): Promise<void>;
}

export const openSqlite = (file: string): Store => storeOn('sqlite', sqliteDialect(file, { durability: 'full' }));

/** The driver is loaded only when it is needed: an embedded installation does without its memory. */
export async function openPostgres(url: string): Promise<Store> {
  const { postgresDialect } = await import('./postgres.ts');
  return storeOn('postgres', postgresDialect(url, { connections: 10 }));
}

interface StorePlace {
  readonly databaseUrl: string | null;
  readonly dataDir: string;
}

/** How long a database may take to let in a process that starts, or a command. */
const PATIENT_MS = 30_000;

export interface PatientStore extends Store {
  /** From now on clients wait for answers: a database that takes no connection is away after a few seconds. */
  hurry(): void;
}

/** A database that is busy, perhaps because it starts as well, ends no start and no command. */
export async function openStore({ databaseUrl, dataDir }: StorePlace): Promise<PatientStore> {
  if (!databaseUrl) return { ...openSqlite(join(dataDir, 'state.db')), hurry: () => {} };
  const { CONNECT_MS, postgresPool } = await import('./postgres.ts');
  const pool = postgresPool(databaseUrl, 10, PATIENT_MS);
  const hurry = () => {
    pool.options.connectionTimeoutMillis = CONNECT_MS;
  };
  return { ...storeOn('postgres', new PostgresDialect({ pool })), hurry };
}

function storeOn(engine: Engine, dialect: Parameters<typeof reportingAbsence>[0]): Store {
  const db: Db = new Kysely<Schema>({ dialect: reportingAbsence(dialect) });
  return {
    db,
    engine,
    // A table, not a constant: a database file that vanished or a schema that is missing must show.
    ping: () => inTime(sql`select count(*) from facts where name = ''`.execute(db)),
    transaction: async (work, { witness, flush } = {}) => {
      if (!witness) return flush === 'later' ? unflushed(db, engine, work) : db.transaction().execute(work);
      const result = await db.transaction().execute(async (transaction) => {
        const outcome = await work(transaction);
        await witness.testify(transaction);
        return outcome;
      });
      witness.committed();
      return result;
    },
    migrate: () => migrate(db, engine, 'gateway_migrations', migrations),
    close: () => db.destroy(),
  };
}

async function unflushed<Result>(db: Db, engine: Engine, work: (db: Db) => Promise<Result>): Promise<Result> {
  if (engine === 'postgres')
    return db.transaction().execute(async (transaction) => {
      await sql`set local synchronous_commit = off`.execute(transaction);
      return work(transaction);
    });
  return db.connection().execute(async (connection) => {
    await sql`pragma synchronous = normal`.execute(connection);
    try {
      return await connection.transaction().execute(work);
    } finally {
      await sql`pragma synchronous = full`.execute(connection);
    }
  });
}

const PING_MS = 3_000;

/** When a network drops all packets, a query may wait for minutes; a client of `/health` does not wait that long. */
async function inTime(answer: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new GatewayError('store_unavailable', [])), PING_MS);
  answer.catch(() => {});
  await Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

/** Whether an insert failed because a unique value is taken, on either engine. */
export function isUniqueViolation(error: unknown): boolean {
  const code = String((error as { code?: unknown })?.code ?? '');
  return code === '23505' || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY';
}
