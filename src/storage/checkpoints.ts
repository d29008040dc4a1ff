import { join } from 'node:path';
import { sql } from 'kysely';
import { every } from '../core/runtime/seconds.ts';
import { threadOnDemand } from '../core/thread.ts';
import type { Question, Reply } from './query-worker.ts';
import type { Store } from './store.ts';

/** Changed rows: some hundred pages. */
const WORTH_IT = 500;
const IDLE_MS = 60_000;
/** Pages: what the event loop moves by itself, should the thread not come to it. */
const AT_THE_LATEST = 8_000;

/** What SQLite answers: whether another connection was at it; pages of the log, and how many of them are in the file. */
interface Moved {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** Who reads an older state of the store keeps later pages from being moved. */
const isAll = ({ busy, log, checkpointed }: Moved): boolean => busy === 0 && checkpointed >= log;

export interface CheckpointsOptions {
  readonly store: Store;
  readonly dataDir: string;
  /** The address of `query-worker.ts`; given from outside because a compiled executable has its own. */
  readonly workerUrl: string | URL;
}

export interface Checkpoints {
  stop(): void;
}

/**
 * Moves what was committed from the write-ahead log of the embedded store into its file. SQLite does that now and then
 * within a commit, which takes ten milliseconds and more; the event loop would stand still for so long. So a thread does
 * it, on a connection of its own, which holds up neither readers nor writers. It is begun when there is something to do.
 */
export async function startCheckpoints(options: CheckpointsOptions): Promise<Checkpoints> {
  const { store, dataDir, workerUrl } = options;
  if (store.engine !== 'sqlite') return { stop: () => {} };
  await sql`pragma wal_autocheckpoint = ${sql.lit(AT_THE_LATEST)}`.execute(store.db);
  const thread = threadOnDemand<Omit<Question, 'id'>, Reply, boolean>({
    workerUrl,
    idleMs: IDLE_MS,
    // One that did not work is followed by another a second later, and by the store's own at the latest.
    read: (reply) => 'rows' in reply && isAll((reply.rows as Moved[])[0]!),
    unanswered: () => false,
  });
  const checkpoint = {
    file: join(dataDir, 'state.db'),
    sql: 'pragma wal_checkpoint(passive)',
    parameters: [],
    writes: true,
  };
  let moved = 0;
  let isBusy = false;
  const look = async () => {
    if (isBusy) return;
    isBusy = true;
    try {
      const { rows } = await sql<{ changes: number }>`select total_changes() as changes`.execute(store.db);
      const { changes } = rows[0]!;
      if (changes - moved < WORTH_IT) return;
      if (await thread.ask(checkpoint)) moved = changes;
    } catch {
      // The store is away or closed: others notice, too.
    } finally {
      isBusy = false;
    }
  };
  const looking = every(1, () => void look());
  return {
    stop: () => {
      looking.stop();
      thread.close();
    },
  };
}
