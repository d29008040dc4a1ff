import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult } from 'kysely';
import { GatewayError } from '../core/errors.ts';

const SQLITE_AWAY = /^SQLITE_(BUSY|IOERR|FULL|CANTOPEN|READONLY|NOTADB|PROTOCOL)/;
const POSTGRES_AWAY = /^(08|53|57P|58)/;
const SOCKET_AWAY = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|ERR_SOCKET)/;
const PG_CLIENT_AWAY =
  /timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error|not queryable|the database system is/;

/** Whether an error means "the store is away" and not "the query is wrong". */
export function isStoreAway(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isStoreAway);
  if (!(error instanceof Error)) return false;
  const code = String((error as { code?: unknown }).code ?? '');
  return (
    SQLITE_AWAY.test(code) || POSTGRES_AWAY.test(code) || SOCKET_AWAY.test(code) || PG_CLIENT_AWAY.test(error.message)
  );
}

/** Whether a row was to be written for a parent row that another client has deleted since it was looked up. */
function isParentGone(error: unknown): boolean {
  const { code, detail } = (error ?? {}) as { code?: unknown; detail?: unknown };
  if (code === 'SQLITE_CONSTRAINT_FOREIGNKEY') return true;
  // PostgreSQL has one code for both sides; a parent that cannot go because of its children is a fault of ours.
  return code === '23503' && String(detail).includes('is not present in table');
}

/**
 * Turns a store that is away into `store_unavailable`, and a row whose parent is gone into `deleted_meanwhile`, wherever
 * it is noticed, so that callers answer 503 and 404 by themselves.
 */
export function reportingAbsence(dialect: Dialect): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => guardedDriver(dialect.createDriver()),
  };
}

async function reporting<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw told(error);
  }
}

function told(error: unknown): unknown {
  if (isStoreAway(error)) return Object.assign(new GatewayError('store_unavailable', []), { cause: error });
  if (isParentGone(error)) return Object.assign(new GatewayError('deleted_meanwhile', []), { cause: error });
  return error;
}

/** Throws what a thread of ours has reported: an error cannot cross from there as it is. */
export function failOf({ fault, code }: { readonly fault: string; readonly code: string }): never {
  throw told(Object.assign(new Error(fault), { code }));
}

class GuardedConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection;

  constructor(inner: DatabaseConnection) {
    this.inner = inner;
  }

  executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return reporting(() => this.inner.executeQuery<Row>(query));
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize?: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.inner.streamQuery<Row>(query, chunkSize);
  }
}

const innerOf = (connection: DatabaseConnection) => (connection as GuardedConnection).inner;

const guardedDriver = (driver: Driver): Driver => ({
  init: () => reporting(() => driver.init()),
  acquireConnection: () => reporting(async () => new GuardedConnection(await driver.acquireConnection())),
  beginTransaction: (connection, settings) => reporting(() => driver.beginTransaction(innerOf(connection), settings)),
  commitTransaction: (connection) => reporting(() => driver.commitTransaction(innerOf(connection))),
  rollbackTransaction: (connection) => reporting(() => driver.rollbackTransaction(innerOf(connection))),
  releaseConnection: (connection) => driver.releaseConnection(innerOf(connection)),
  destroy: () => driver.destroy(),
});
