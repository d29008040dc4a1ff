import { Kysely, PostgresDialect, sql } from 'kysely';
import { escapeLiteral, type Pool, type PoolClient } from 'pg';
import { binaryRows, int32In } from '../../storage/postgres-bytes.ts';
import type { LogTables } from '../log-columns.ts';
import { type Snapshots, selection } from './snapshots.ts';

export const postgresSnapshots =
  (pool: Pool): Snapshots =>
  async (work) => {
    const client = await pool.connect();
    let failure: Error | undefined;
    try {
      await client.query('begin isolation level repeatable read read only');
      const db = new Kysely<LogTables>({ dialect: new PostgresDialect({ pool: lending(client) }) });
      const result = await work({
        db,
        cells: async (pieces, cube, columns, take) => {
          const select = selection(pieces, sql.raw(escapeLiteral(cube)), columns).compile(db).sql;
          await binaryRows(client, select, ([piece, bucket, ...bytes]) =>
            take({ piece: int32In(piece!), bucket: int32In(bucket!), bytes, own: () => bytes.map(copyOf) }),
          );
        },
      });
      await client.query('commit');
      return result;
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      // A connection that is thrown away takes its transaction with it.
      client.release(failure);
    }
  };

const copyOf = (bytes: Uint8Array | null) => {
  if (bytes === null) return null;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
};

/** As Kysely asks for connections: it gets this one, and does not give it back. */
const lending = (client: PoolClient) => ({
  connect: async () => ({ query: client.query.bind(client) as PoolClient['query'], release: () => {} }),
  end: async () => {},
});
