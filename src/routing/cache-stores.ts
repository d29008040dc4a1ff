import type { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import type { Redis } from '../storage/redis.ts';
import { openSqliteFile } from '../storage/sqlite.ts';
import { type CacheStore, packAnswer, unpackAnswer } from './cache.ts';

const SWEEP_EVERY = 500;
const MOST_BYTES = 1 << 30;
const LARGEST = 4 << 20;

/** Answers in a database file of their own, so that they outlive the process. Point statements only. */
export function openSqliteCache({
  file,
  now,
  mostBytes = MOST_BYTES,
}: {
  file: string;
  now: () => number;
  mostBytes?: number;
}): CacheStore {
  const database = openAnew(file);
  const read = database.query<{ packed: Uint8Array }, [string, number]>(
    'SELECT packed FROM answers WHERE key = ? AND until > ?',
  );
  const write = database.query('INSERT OR REPLACE INTO answers (key, until, bytes, packed) VALUES (?, ?, ?, ?)');
  const sweep = database.query('DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE until <= ? LIMIT 200)');
  const size = database.query<{ bytes: number | null }, []>('SELECT sum(bytes) AS bytes FROM answers');
  const dropOldest = database.query(
    'DELETE FROM answers WHERE key IN (SELECT key FROM answers ORDER BY until LIMIT 200)',
  );
  let writes = 0;
  return {
    get: (key) => {
      try {
        const row = read.get(key, now());
        return row ? unpackAnswer(row.packed) : null;
      } catch {
        return null;
      }
    },
    set: (key, answer, maxAgeMs) => {
      if (answer.body.byteLength > LARGEST) return;
      const packed = packAnswer(answer);
      try {
        write.run(key, now() + maxAgeMs, packed.byteLength, packed);
        if (++writes % SWEEP_EVERY !== 0) return;
        sweep.run(now());
        if ((size.get()?.bytes ?? 0) > mostBytes) dropOldest.run();
      } catch {
        // A full disk must not fail a call that has its answer.
      }
    },
    close: () => database.close(),
  };
}

/** A file that a power cut has damaged is begun again: what it held is asked for again. */
function openAnew(file: string): Database {
  try {
    return openAnswers(file);
  } catch {
    for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true });
    return openAnswers(file);
  }
}

function openAnswers(file: string): Database {
  const database = openSqliteFile(file, { durability: 'normal' });
  try {
    database.run('PRAGMA synchronous = OFF');
    database.run(
      'CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, until INTEGER NOT NULL, bytes INTEGER NOT NULL, packed BLOB NOT NULL) WITHOUT ROWID',
    );
    database.run('CREATE INDEX IF NOT EXISTS answers_until ON answers (until)');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Answers that all nodes share. While Redis is away nothing is found and nothing kept. */
export const createRedisCache = ({ redis }: { redis: Redis }): CacheStore => ({
  get: async (key) => {
    try {
      const packed = await redis.get(`gateway:answer:${key}`);
      return packed ? unpackAnswer(packed) : null;
    } catch {
      return null;
    }
  },
  set: (key, answer, maxAgeMs) => {
    if (answer.body.byteLength > LARGEST) return;
    redis.set(`gateway:answer:${key}`, packAnswer(answer), { expiresMs: maxAgeMs }).catch(() => {});
  },
  close: () => {},
});
