import { join } from 'node:path';
import type { Compilable } from 'kysely';
import { fail } from '../core/errors.ts';
import { threadOnDemand } from '../core/thread.ts';
import type { Question, Reply } from './query-worker.ts';
import type { Db, Store } from './store.ts';
import { failOf } from './unavailable.ts';

/** Runs queries that may take longer than the event loop can spare. They see what is committed. */
export interface Reader {
  all<Row>(query: Compilable<Row>): Promise<Row[]>;
  close(): void;
}

/** PostgreSQL works elsewhere by itself; a store in memory has no other way in. */
export const directReader = (db: Db): Reader => ({
  all: async <Row>(query: Compilable<Row>) => (await db.executeQuery<Row>(query.compile())).rows,
  close: () => {},
});

const IDLE_MS = 60_000;

/** A thread on the file of the embedded store, begun with the first question. */
export function threadReader({ file, workerUrl }: { file: string; workerUrl: string | URL }): Reader {
  const thread = threadOnDemand<Omit<Question, 'id'>, Reply, unknown[]>({
    workerUrl,
    idleMs: IDLE_MS,
    read: (reply) => ('rows' in reply ? reply.rows : failOf(reply)),
    unanswered: () => fail('store_unavailable'),
  });
  return {
    all: async <Row>(query: Compilable<Row>) => {
      const { sql, parameters } = query.compile();
      return (await thread.ask({ file, sql, parameters })) as Row[];
    },
    close: thread.close,
  };
}

export interface ReaderOptions {
  readonly store: Store;
  readonly dataDir: string;
  /** The address of `query-worker.ts`; given from outside because a compiled executable has its own. */
  readonly workerUrl: string | URL;
}

export const openReader = ({ store, dataDir, workerUrl }: ReaderOptions): Reader =>
  store.engine === 'sqlite' ? threadReader({ file: join(dataDir, 'state.db'), workerUrl }) : directReader(store.db);
