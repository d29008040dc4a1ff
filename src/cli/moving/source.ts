import { Database } from 'bun:sqlite';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openJournalCounters } from '../../limits/journal/journal-counters.ts';
import { openSqlite } from '../../storage/store.ts';
import { migrateSqliteLog } from '../../telemetry/log-migrate.ts';
import { lockDataDir } from '../data-dir.ts';

/** The embedded store of an installation that does not run, brought up to date. */
export interface Source {
  /** Which installation it is. */
  readonly organisationId: string;
  readonly state: Database;
  readonly log: Database;
  /** Null: no file was ever taken into a vector store. */
  readonly search: Database | null;
  close(): void;
}

export async function openSource(dataDir: string): Promise<Source> {
  if (!existsSync(join(dataDir, 'state.db')))
    throw new Error(`There is no embedded store in ${dataDir}; GATEWAY_DATA_DIR says where it is.`);
  const lock = lockDataDir(dataDir);
  try {
    refuseWaiting(dataDir);
    await settle(dataDir);
    const log = join(dataDir, 'logs.db');
    await migrateSqliteLog(log);
    const files = ['state.db', 'logs.db', 'search.db'].map((name) => readable(join(dataDir, name)));
    const [state, logs, search] = files as [Database, Database, Database | null];
    const [organisation] = state
      .query<{ id: string }, []>('select id from organisations order by created_at, id limit 1')
      .all();
    if (!organisation) throw new Error(`The store in ${dataDir} is empty: there is nothing to move.`);
    return {
      organisationId: organisation.id,
      ...{ state, log: logs, search },
      close: () => {
        for (const file of files) file?.close();
        lock.release();
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function readable(file: string): Database | null {
  if (!existsSync(file)) return null;
  const database = new Database(file, { readwrite: true, safeIntegers: true });
  database.run('PRAGMA busy_timeout = 60000');
  return database;
}

/** Entries that a gateway left on disk would come into the log of whatever store it is started with next. */
function refuseWaiting(dataDir: string) {
  const spool = join(dataDir, 'spool');
  if (existsSync(spool) && readdirSync(spool).some((name) => name.endsWith('.spool')))
    throw new Error(
      `Entries of the request log wait in ${spool}. Start the gateway once more on the embedded store and stop it: it takes them into the log.`,
    );
}

/** No hold is longer. */
const LONGEST_HOLD_MS = 3_600_000;

/**
 * What calls took comes from the journal's files into the tables. Holds of a process that was killed count as what they
 * hold, as they would some minutes later.
 */
async function settle(dataDir: string) {
  const store = openSqlite(join(dataDir, 'state.db'));
  try {
    await store.migrate();
    const counters = await openJournalCounters({
      store,
      folder: join(dataDir, 'limits'),
      now: () => Date.now() + LONGEST_HOLD_MS,
    });
    await counters.read([]);
    await counters.flush();
    await counters.close();
  } finally {
    await store.close();
  }
}
