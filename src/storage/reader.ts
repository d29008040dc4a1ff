import type { Compilable } from 'kysely';
import { GatewayError } from '../core/errors.ts';
import type { Question, Reply } from './query-worker.ts';
import type { Db } from './store.ts';
import { isStoreAway } from './unavailable.ts';

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

interface Waiting {
  resolve(rows: unknown[]): void;
  reject(error: unknown): void;
}

/** An idle thread is ended: its memory is worth more than the moment it takes to start. */
const IDLE_MS = 60_000;

/** A thread on the file of the embedded store, begun with the first question. */
export function threadReader({ file, workerUrl }: { file: string; workerUrl: string | URL }): Reader {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let lastId = 0;

  const end = () => {
    clearTimeout(timer);
    worker?.terminate();
    worker = null;
    for (const { reject } of waiting.values()) reject(new GatewayError('store_unavailable', []));
    waiting.clear();
  };
  const begin = (): Worker => {
    const made = new Worker(workerUrl);
    made.unref?.();
    made.onmessage = ({ data }: MessageEvent<Reply>) => {
      const one = waiting.get(data.id);
      waiting.delete(data.id);
      if ('rows' in data) one?.resolve(data.rows);
      else one?.reject(faultOf(data));
    };
    made.onerror = () => end();
    return made;
  };
  const rest = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (waiting.size === 0 ? end() : rest()), IDLE_MS);
    timer.unref?.();
  };

  return {
    all: <Row>(query: Compilable<Row>) =>
      new Promise<Row[]>((resolve, reject) => {
        const { sql, parameters } = query.compile();
        const id = ++lastId;
        waiting.set(id, { resolve: (rows) => resolve(rows as Row[]), reject });
        worker ??= begin();
        worker.postMessage({ id, file, sql, parameters } satisfies Question);
        rest();
      }),
    close: end,
  };
}

function faultOf({ fault, code }: Extract<Reply, { fault: string }>): Error {
  const error = Object.assign(new Error(fault), { code });
  return isStoreAway(error) ? Object.assign(new GatewayError('store_unavailable', []), { cause: error }) : error;
}
