import { type EndingStep, type Endings, type Owned, ofPerson, ofWorkspace } from '../storage/ending.ts';
import type { Db } from '../storage/store.ts';
import type { BlobId, Blobs } from './blobs.ts';

export interface FileEndingDeps {
  readonly blobs: Blobs;
  /** Takes a file out of whatever speaks of it, in the transaction in which it goes. */
  readonly detach: (db: Db, fileId: string) => Promise<void>;
}

const TABLES = ['files', 'file_segments', 'uploads', 'upload_parts'];
/** A file may have thousands of segments, and each is a call of the blob store. */
const FILES_AT_ONCE = 20;
const BLOBS_AT_ONCE = 200;

/** Files and uploads with their bytes. */
export function fileEndings(deps: FileEndingDeps): Endings {
  const remove = async (owned: Owned, step: EndingStep): Promise<number> =>
    (await removeFiles(owned, step, deps)) || removeUploads(owned, step, deps);
  return {
    endsWithWorkspace: [{ area: 'files', tables: TABLES, remove: (id, step) => remove(ofWorkspace(id), step) }],
    endsWithUser: [{ area: 'files', tables: TABLES, remove: (person, step) => remove(ofPerson(person), step) }],
    ofInstallation: ['blobs', 'blob_chunks'],
  };
}

/** Blobs go before the rows that lead to them, so that a process that dies in between leaves none behind. */
async function removeFiles(owned: Owned, step: EndingStep, { blobs, detach }: FileEndingDeps): Promise<number> {
  const ids = await fileIds(owned, step.db);
  if (ids.length === 0) return 0;
  // First, so that no search and no run finds a file whose bytes are half gone.
  await step.transaction(async (db) => {
    for (const id of ids) await detach(db, id);
    await db
      .updateTable('files')
      .set({ deleted_at: 0 })
      .where('id', 'in', ids)
      .where('deleted_at', 'is', null)
      .execute();
    return 0;
  });
  const segments = await step.db
    .selectFrom('file_segments')
    .select('blob')
    .where('file_id', 'in', ids)
    .limit(BLOBS_AT_ONCE)
    .execute();
  const names = segments.map(({ blob }) => blob);
  await deleteBlobs(blobs, names, step.signal);
  return step.transaction(async (db) => {
    if (names.length > 0) await db.deleteFrom('file_segments').where('blob', 'in', names).execute();
    if (names.length === BLOBS_AT_ONCE) return names.length;
    const gone = await db.deleteFrom('files').where('id', 'in', ids).returning('id').execute();
    return gone.length + names.length;
  });
}

async function fileIds({ column, value }: Owned, db: Db): Promise<string[]> {
  const some = db.selectFrom('files').select('id').where(column, '=', value).limit(FILES_AT_ONCE);
  // Each has an index of its own.
  const living = await some.where('deleted_at', 'is', null).execute();
  const rows = living.length > 0 ? living : await some.where('deleted_at', 'is not', null).execute();
  return rows.map(({ id }) => id);
}

async function removeUploads({ column, value }: Owned, step: EndingStep, { blobs }: FileEndingDeps): Promise<number> {
  const rows = await step.db
    .selectFrom('uploads')
    .select('id')
    .where(column, '=', value)
    .limit(FILES_AT_ONCE)
    .execute();
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  // No part is added to it any more.
  await step.transaction(async (db) => {
    await db
      .updateTable('uploads')
      .set({ status: 'cancelled' })
      .where('id', 'in', ids)
      .where('status', '=', 'pending')
      .execute();
    return 0;
  });
  const parts = await step.db
    .selectFrom('upload_parts')
    .select('id')
    .where('upload_id', 'in', ids)
    .limit(BLOBS_AT_ONCE)
    .execute();
  const names = parts.map(({ id }) => id);
  await deleteBlobs(blobs, names, step.signal);
  return step.transaction(async (db) => {
    if (names.length > 0) await db.deleteFrom('upload_parts').where('id', 'in', names).execute();
    if (names.length === BLOBS_AT_ONCE) return names.length;
    const gone = await db.deleteFrom('uploads').where('id', 'in', ids).returning('id').execute();
    return gone.length + names.length;
  });
}

async function deleteBlobs(blobs: Blobs, names: readonly string[], signal: AbortSignal): Promise<void> {
  for (const name of names) {
    signal.throwIfAborted();
    await blobs.delete(name as BlobId);
  }
}
