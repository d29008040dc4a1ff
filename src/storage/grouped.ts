import { sql } from 'kysely';
import type { Db, Store, TransactionOptions } from './store.ts';

interface Job {
  readonly work: (db: Db) => Promise<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
  readonly flush: TransactionOptions['flush'];
}

/** The most transactions in one commit: none waits for more than so many others. */
const MOST_TOGETHER = 100;

/**
 * The same store, on which transactions that wait for each other are committed together. The embedded store has one
 * connection and flushes the disk at every commit; a thousand small transactions at once would be a thousand flushes,
 * one after the other, while everything else waits. Each is still all or nothing for itself, and none is answered before
 * it is on disk.
 */
export function groupedStore(store: Store): Store {
  if (store.engine !== 'sqlite') return store;
  const waiting: Job[] = [];
  let isBusy = false;
  const carryOn = async () => {
    isBusy = true;
    while (waiting.length > 0) await together(store, waiting.splice(0, MOST_TOGETHER));
    isBusy = false;
  };
  return {
    ...store,
    transaction: (work, options = {}) => {
      // What is recorded for an auditor stays by itself.
      if (options.witness) return store.transaction(work, options);
      return new Promise((resolve, reject) => {
        waiting.push({ work, resolve, reject, flush: options.flush });
        if (!isBusy) void carryOn();
      });
    },
  };
}

async function together(store: Store, jobs: readonly Job[]): Promise<void> {
  const answers: (() => void)[] = [];
  const flush = jobs.every((job) => job.flush === 'later') ? 'later' : 'now';
  try {
    await store.transaction(
      async (db) => {
        for (const job of jobs) answers.push(await one(db, job));
      },
      { flush },
    );
    for (const answer of answers) answer();
  } catch (error) {
    for (const { reject } of jobs) reject(error);
  }
}

/** One of them: if it fails, the others do not. Answers how to tell, once all is committed. */
async function one(db: Db, { work, resolve, reject }: Job): Promise<() => void> {
  await sql`savepoint member`.execute(db);
  try {
    const result = await work(db);
    await sql`release member`.execute(db);
    return () => resolve(result as never);
  } catch (error) {
    await sql`rollback to member`.execute(db);
    await sql`release member`.execute(db);
    return () => reject(error);
  }
}
