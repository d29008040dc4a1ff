import type { Db, Store } from '../storage/store.ts';
import type { BlobId, Blobs } from './blobs.ts';
import { BLOB_PREFIX, deleteSegments } from './files.ts';
import { deleteParts } from './uploads.ts';

export interface SweepDeps {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly now?: () => number;
  /** Ends a sweep at the next convenient place; the next one goes on. */
  readonly signal?: AbortSignal;
}

const DAY_MS = 86_400_000;
/** So long the row of what was deleted stays, for lists that are being paged. */
const TOMBSTONE_MS = DAY_MS;
/** A blob without a row that is older than this is an orphan: its process died before it could insert a row. */
const ORPHAN_MS = DAY_MS;
const AT_ONCE = 200;

/** Ends what has expired, and removes what was deleted. Every node may do it at any time. */
export async function sweepFiles({ store, blobs, now = Date.now, signal }: SweepDeps): Promise<void> {
  const { db } = store;
  const at = now();
  await db
    .updateTable('files')
    .set({ deleted_at: at })
    .where('deleted_at', 'is', null)
    .where('expires_at', '<=', at)
    .execute();
  await db
    .updateTable('uploads')
    .set({ status: 'expired' })
    .where('status', '=', 'pending')
    .where('expires_at', '<=', at)
    .execute();
  await sweepSegments(db, blobs, signal);
  await sweepParts(db, blobs, signal);
  await forget(db, at - TOMBSTONE_MS);
}

async function sweepSegments(db: Db, blobs: Blobs, signal: AbortSignal | undefined) {
  for (let isMore = true; isMore && !signal?.aborted; ) {
    const segments = await db
      .selectFrom('files')
      .innerJoin('file_segments', 'file_segments.file_id', 'files.id')
      .select(['file_segments.blob', 'file_segments.bytes'])
      .where('files.deleted_at', 'is not', null)
      .limit(AT_ONCE)
      .execute();
    await deleteSegments(db, blobs, segments);
    isMore = segments.length === AT_ONCE;
  }
}

async function sweepParts(db: Db, blobs: Blobs, signal: AbortSignal | undefined) {
  const ended = await db
    .selectFrom('uploads')
    .select('id')
    .where('status', '<>', 'pending')
    .where((where) =>
      where.exists(where.selectFrom('upload_parts').select('id').whereRef('upload_id', '=', 'uploads.id')),
    )
    .limit(AT_ONCE)
    .execute();
  for (const { id } of ended) {
    if (signal?.aborted) return;
    await deleteParts(db, blobs, id);
  }
}

/** The rows themselves, when nothing hangs on them any more. */
async function forget(db: Db, before: number) {
  await db
    .deleteFrom('files')
    .where('deleted_at', '<', before)
    .where((where) =>
      where.not(where.exists(where.selectFrom('file_segments').select('blob').whereRef('file_id', '=', 'files.id'))),
    )
    .execute();
  await db
    .deleteFrom('uploads')
    .where('status', '<>', 'pending')
    .where('expires_at', '<', before)
    .where((where) =>
      where.not(where.exists(where.selectFrom('upload_parts').select('id').whereRef('upload_id', '=', 'uploads.id'))),
    )
    .execute();
}

/** Removes blobs that no row speaks of, and what is left of puts that never finished. Answers how many blobs. */
export async function sweepOrphans({ store, blobs, now = Date.now, signal }: SweepDeps): Promise<number> {
  const before = now() - ORPHAN_MS;
  let swept = 0;
  let batch: BlobId[] = [];
  const flush = async () => {
    for (const id of await withoutRow(store.db, batch)) {
      await blobs.delete(id);
      swept++;
    }
    batch = [];
  };
  for await (const { id, storedAt } of blobs.list()) {
    if (signal?.aborted) return swept;
    const isOurs = id.startsWith(BLOB_PREFIX) || id.startsWith('part_');
    if (!isOurs || storedAt >= before) continue;
    batch.push(id);
    if (batch.length === AT_ONCE) await flush();
  }
  await flush();
  await blobs.sweep(before);
  return swept;
}

/** One statement sees one moment: a part that becomes a segment meanwhile is found as one or the other. */
async function withoutRow(db: Db, ids: readonly BlobId[]): Promise<BlobId[]> {
  if (ids.length === 0) return [];
  const known = await db
    .selectFrom('file_segments')
    .select('blob')
    .where('blob', 'in', ids)
    .unionAll(db.selectFrom('upload_parts').select('id as blob').where('id', 'in', ids))
    .execute();
  const found = new Set(known.map(({ blob }) => blob));
  return ids.filter((id) => !found.has(id));
}
