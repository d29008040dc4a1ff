import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '../../storage/store.ts';

export interface WaitOptions {
  readonly signal: AbortSignal;
  readonly mostMs?: number;
}

const MOST_MS = 60_000;
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;

/** Waits until nothing is on its way into these stores: what was attached a moment ago is to be found. Not for ever. */
export async function whenTakenIn(db: Db, storeIds: readonly string[], { signal, mostMs = MOST_MS }: WaitOptions) {
  if (storeIds.length === 0) return;
  const isAnyOnItsWay = async () => {
    const row = await db
      .selectFrom('vector_store_files')
      .select('file_id')
      .where('store_id', 'in', storeIds)
      .where('status', '=', 'in_progress')
      .where('deleted_at', 'is', null)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  };
  const deadline = performance.now() + mostMs;
  for (let pauseMs = FIRST_PAUSE_MS; await isAnyOnItsWay(); pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    if (performance.now() + pauseMs > deadline) return;
    await sleep(pauseMs, undefined, { signal });
  }
}
