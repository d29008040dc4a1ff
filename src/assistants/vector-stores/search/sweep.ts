import type { Db, Store } from '../../../storage/store.ts';
import type { ChunkStore } from './chunk-store.ts';

export interface SweepDeps {
  readonly store: Pick<Store, 'db'>;
  readonly chunks: Pick<ChunkStore, 'remove'>;
  readonly now: () => number;
  readonly signal?: AbortSignal;
}

/** A writer renews its mark with every group; after so long without renewal, the writer is dead. */
const ABANDONED_MS = 3_600_000;
const FILES_AT_ONCE = 50;
const CHUNKS_AT_ONCE = 200;

/** Removes chunks that no search can find: of files that were removed, and of attempts that died. */
export async function sweepChunks({ store: { db }, chunks, now, signal }: SweepDeps): Promise<void> {
  await disownLost(db, now());
  for (const { id } of await leftOver(db, now())) {
    while (await chunks.remove(id, CHUNKS_AT_ONCE)) if (signal?.aborted) return;
    if (signal?.aborted) return;
    // Last, so that a sweep after an interruption finds it again.
    await db.deleteFrom('indexed_files').where('id', '=', id).where('state', '!=', 'current').execute();
  }
}

/** A slow writer may have come to its end after its file was removed. */
async function disownLost(db: Db, now: number): Promise<void> {
  await db
    .updateTable('indexed_files')
    .set({ state: 'removed', touched_at: now })
    .where('state', '=', 'current')
    .where('id', 'in', (select) =>
      select
        .selectFrom('indexed_files as lost')
        .select('lost.id')
        .leftJoin('vector_store_files as file', (join) =>
          join
            .onRef('file.store_id', '=', 'lost.store_id')
            .onRef('file.file_id', '=', 'lost.file_id')
            .on('file.deleted_at', 'is', null),
        )
        .where('lost.state', '=', 'current')
        .where('lost.touched_at', '<', now - ABANDONED_MS)
        .where('file.file_id', 'is', null)
        .limit(FILES_AT_ONCE),
    )
    .execute();
}

const leftOver = (db: Db, now: number) =>
  db
    .selectFrom('indexed_files')
    .select('id')
    .where((where) =>
      where.or([
        where('state', '=', 'removed'),
        where.and([where('state', '=', 'writing'), where('touched_at', '<', now - ABANDONED_MS)]),
      ]),
    )
    .orderBy('touched_at')
    .limit(FILES_AT_ONCE)
    .execute();
