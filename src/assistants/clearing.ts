import { sql } from 'kysely';
import type { Db, Store } from '../storage/store.ts';
import type { Kind } from '../work/work.ts';
import { lockRuns } from './runs/rows.ts';

/** The name of the work that removing the rest of a deleted thread is. */
export const CLEAR_THREAD = 'thread.clear';

const MESSAGES_AT_ONCE = 200;
/** A message may have many megabytes, and the embedded store removes them page by page. */
const BYTES_AT_ONCE = 4 << 20;
export const RUNS_AT_ONCE = 20;

/**
 * Removes what was said and done in a deleted thread, so much of it as a transaction of moderate length can; answers
 * whether something is left. The thread's own row stays, and so do those of messages that were deleted before: nothing
 * can be read in them.
 */
export async function clearSome(store: Pick<Store, 'engine'>, db: Db, threadId: string): Promise<boolean> {
  const hasMoreMessages = await clearMessages(db, threadId);
  const hasMoreRuns = await clearRuns(store, db, threadId);
  return hasMoreMessages || hasMoreRuns;
}

const someMessages = (db: Db) =>
  db
    .selectFrom('messages')
    .select(['id', sql<number>`octet_length(content)`.as('bytes')])
    .orderBy('id')
    .limit(MESSAGES_AT_ONCE);

async function clearMessages(db: Db, threadId: string): Promise<boolean> {
  const found = await someMessages(db).where('thread_id', '=', threadId).where('deleted_at', 'is', null).execute();
  const removed = await removeFound(db, found);
  return removed < found.length || found.length === MESSAGES_AT_ONCE;
}

/** The first of them, as many as a transaction of moderate length can remove. */
async function removeFound(db: Db, found: readonly { readonly id: string; readonly bytes: number }[]): Promise<number> {
  let bytes = 0;
  const some = found.filter((row, index) => {
    bytes += Number(row.bytes);
    return index === 0 || bytes <= BYTES_AT_ONCE;
  });
  if (some.length > 0) await db.deleteFrom('messages').where('id', 'in', idsOf(some)).execute();
  return some.length;
}

/** Some messages of some threads, or of one person, also those that were deleted before; answers how many. */
export async function removeMessages(
  db: Db,
  whose: { readonly threadIds: readonly string[] } | { readonly userId: string },
): Promise<number> {
  const some = someMessages(db);
  const meant =
    'threadIds' in whose ? some.where('thread_id', 'in', whose.threadIds) : some.where('user_id', '=', whose.userId);
  return removeFound(db, await meant.execute());
}

async function clearRuns(store: Pick<Store, 'engine'>, db: Db, threadId: string): Promise<boolean> {
  const found = await db
    .selectFrom('runs')
    .select('id')
    .where('thread_id', '=', threadId)
    .orderBy('id')
    .limit(RUNS_AT_ONCE)
    .execute();
  if (found.length > 0) await removeRuns(store, db, idsOf(found));
  return found.length === RUNS_AT_ONCE;
}

export const OF_RUNS = ['run_events', 'run_calls', 'run_steps', 'code_cells'] as const;

/** Runs with everything that hangs on them. */
export async function removeRuns(store: Pick<Store, 'engine'>, db: Db, ids: readonly string[]): Promise<void> {
  await lockRuns(store, db, ids);
  for (const table of OF_RUNS) await db.deleteFrom(table).where('run_id', 'in', ids).execute();
  await db.deleteFrom('runs').where('id', 'in', ids).execute();
}

const idsOf = (rows: readonly { readonly id: string }[]): string[] => rows.map(({ id }) => id);

/** Removes piece by piece what was too much for the request that deleted the thread. */
export const clearThreadKind = (store: Pick<Store, 'engine'>): Kind => ({
  name: CLEAR_THREAD,
  concurrency: 1,
  // This kind alone removes what is left, so it never gives up.
  maxAttempts: Number.POSITIVE_INFINITY,
  run: async (lease) => {
    for (let isMore = true; isMore; ) {
      // The embedded store answers without ever waiting: others get their turn here.
      await Bun.sleep(0);
      lease.signal.throwIfAborted();
      isMore = await lease.transaction(
        async (db) => {
          const hasMore = await clearSome(store, db, lease.work.ref);
          if (!hasMore) await lease.done(db);
          return hasMore;
        },
        // What a power cut takes back is removed again: the work is back, too.
        { flush: 'later' },
      );
    }
  },
  failed: async () => {},
  cancelled: async () => {},
});
