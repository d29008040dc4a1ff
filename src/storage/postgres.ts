import { PostgresDialect } from 'kysely';
import { Pool, types } from 'pg';
import { RARELY_SECONDS } from '../core/runtime/seconds.ts';

const INT8 = 20;
const NUMERIC = 1700;

export interface PostgresOptions {
  /** The most connections this pool opens. */
  readonly connections: number;
}

/** Kysely on a pg pool. 64-bit counts come back as numbers, as on SQLite. */
export function postgresDialect(url: string, { connections }: PostgresOptions): PostgresDialect {
  return new PostgresDialect({ pool: postgresPool(url, connections) });
}

/** A database that does not let anyone in for so long is away. */
export const CONNECT_MS = 3_000;

/** Longer than a node without callers waits between two turns of questions, which would else open connections for each. */
const IDLE_MS = 2_000 * RARELY_SECONDS;

export function postgresPool(url: string, connections: number, connectMs = CONNECT_MS): Pool {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: IDLE_MS,
    query_timeout: 15_000,
    keepAlive: true,
    application_name: 'gateway',
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8 || oid === NUMERIC ? Number : types.getTypeParser(oid, format as 'text'),
    },
  });
  // An idle connection that breaks is reported here and replaced by the pool; unheard, it would end the process.
  pool.on('error', () => {});
  // So would one that breaks while it is lent out and between two statements; its borrower's next statement fails.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}
