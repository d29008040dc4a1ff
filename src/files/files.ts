import { fail } from '../core/errors.ts';
import { newId, type WorkspaceId } from '../core/ids.ts';
import { type List, type ListQuery, listPage } from '../core/list.ts';
import { newObjectId } from '../core/object-ids.ts';
import { withinBounds } from '../storage/keyset.ts';
import type { FileRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { type BlobContent, type BlobId, type BlobRange, type Blobs, blobId } from './blobs.ts';
import { openSegments, type Segment } from './content.ts';
import { type FileId, type FileObject, livesSeconds, type Purpose, shownFile } from './file.ts';

export interface NewFile {
  readonly workspaceId: WorkspaceId;
  /** Whose it is, where a user made it or had it made. */
  readonly userId?: string | null;
  readonly filename: string;
  readonly purpose: Purpose;
  /** What it is made of, in order. */
  readonly segments: readonly Segment[];
  /** Left out: as long as its purpose lets it. */
  readonly livesSeconds?: number | null;
  /** Of a file that was made elsewhere: clients know it by that. */
  readonly id?: string;
  readonly createdAt?: number;
}

export interface FileListQuery extends ListQuery {
  readonly purpose?: Purpose;
}

export interface FilesDeps {
  readonly store: Store;
  readonly blobs: Blobs;
  /** Takes a file out of whatever speaks of it, in the transaction in which it goes. */
  readonly detach?: (db: Db, id: string) => Promise<void>;
  readonly now?: () => number;
}

/** What blobs of files are called, so that sweeping knows its own. */
export const BLOB_PREFIX = 'blob_';

/**
 * The files of workspaces. A file is made in two steps, so that no row ever speaks of bytes that are not there: the
 * content is stored, and then a row is inserted, in whatever transaction it belongs to. Content that gets no row, because
 * its process died in between, is swept a day later.
 *
 *     const content = await files.keep(bytes);
 *     const file = await store.transaction((db) =>
 *       files.insert(db, { workspaceId, filename: 'out.jsonl', purpose: 'batch_output', segments: [content] }));
 */
export function createFiles({ store, blobs, detach, now = Date.now }: FilesDeps) {
  const living = (db: Db, workspaceId: WorkspaceId) =>
    db
      .selectFrom('files')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('deleted_at', 'is', null)
      .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now())]));

  /** The row, or `file_not_found`: for a missing, an expired and a foreign file alike. */
  const find = async (db: Db, workspaceId: WorkspaceId, id: string): Promise<FileRow> =>
    (await living(db, workspaceId).where('id', '=', id).executeTakeFirst()) ?? fail('file_not_found', id);

  const insert = async (db: Db, file: NewFile): Promise<FileObject> => {
    const createdAt = file.createdAt ?? now();
    const seconds = livesSeconds(file.purpose, file.livesSeconds);
    const row: FileRow = {
      id: file.id ?? newObjectId('file', createdAt),
      workspace_id: file.workspaceId,
      user_id: file.userId ?? null,
      filename: file.filename,
      purpose: file.purpose,
      bytes: file.segments.reduce((sum, { bytes }) => sum + bytes, 0),
      created_at: createdAt,
      expires_at: seconds === null ? null : createdAt + seconds * 1_000,
      deleted_at: null,
    };
    await db.insertInto('files').values(row).execute();
    const segments = file.segments.map(({ blob, bytes }, number) => ({ file_id: row.id, number, blob, bytes }));
    for (let at = 0; at < segments.length; at += SEGMENTS_AT_ONCE)
      await db
        .insertInto('file_segments')
        .values(segments.slice(at, at + SEGMENTS_AT_ONCE))
        .execute();
    return shownFile(row);
  };

  return {
    find,

    /** Stores content that is to become a file, and answers what to insert. */
    async keep(content: BlobContent): Promise<Segment> {
      const blob = blobId(`${BLOB_PREFIX}${newId()}`);
      return { blob, bytes: await blobs.put(blob, content) };
    },

    /** Gives up content that became no file. */
    async discard({ blob }: Segment): Promise<void> {
      // Sweeping finds what is left.
      await blobs.delete(blob as BlobId).catch(() => {});
    },

    insert,

    /** The same in a transaction of its own. */
    create: (file: NewFile): Promise<FileObject> => store.transaction((db) => insert(db, file)),

    /** A file as it is stored, for `open`. */
    row: (workspaceId: WorkspaceId, id: string): Promise<FileRow> => find(store.db, workspaceId, id),

    async read(workspaceId: WorkspaceId, id: string): Promise<FileObject> {
      return shownFile(await find(store.db, workspaceId, id));
    },

    async list(workspaceId: WorkspaceId, query: FileListQuery): Promise<List<FileObject>> {
      const { purpose } = query;
      const page = await listPage(query, 'file', {
        has: (id) => isKnown(store.db, workspaceId, id),
        between: (bounds) => {
          const rows = living(store.db, workspaceId);
          return withinBounds(purpose ? rows.where('purpose', '=', purpose) : rows, bounds).execute();
        },
      });
      return { ...page, data: page.data.map(shownFile) };
    },

    /** The content of a file that was found, or a range of it; `file_not_found` when it was deleted since. */
    async open({ id }: Pick<FileRow, 'id'>, range?: BlobRange): Promise<ReadableStream<Uint8Array>> {
      const segments = await segmentsOf(store.db, id);
      if (segments.length === 0) fail('file_not_found', id);
      try {
        return await openSegments(blobs, segments, range);
      } catch (error) {
        // Its bytes go before its segments do.
        const file = await store.db.selectFrom('files').select('deleted_at').where('id', '=', id).executeTakeFirst();
        if (file?.deleted_at === null) throw error;
        return fail('file_not_found', id);
      }
    },

    /** The same in a transaction that has taken it out of what speaks of it; its bytes go with the next sweep. */
    async drop(db: Db, id: string): Promise<void> {
      await db
        .updateTable('files')
        .set({ deleted_at: now() })
        .where('id', '=', id)
        .where('deleted_at', 'is', null)
        .execute();
    },

    /** From here on no caller finds it; its bytes go now, or with the next sweep. */
    async delete(workspaceId: WorkspaceId, id: string): Promise<{ id: FileId; object: 'file'; deleted: true }> {
      const { id: found } = await find(store.db, workspaceId, id);
      await store.transaction(async (db) => {
        const { numUpdatedRows } = await db
          .updateTable('files')
          .set({ deleted_at: now() })
          .where('id', '=', found)
          .where('deleted_at', 'is', null)
          .executeTakeFirstOrThrow();
        // Another call deleted it meanwhile.
        if (Number(numUpdatedRows) === 0) fail('file_not_found', id);
        await detach?.(db, found);
      });
      await deleteSegments(store.db, blobs, await segmentsOf(store.db, id)).catch(() => {});
      return { id: id as FileId, object: 'file', deleted: true };
    },
  };
}

export type Files = ReturnType<typeof createFiles>;

const SEGMENTS_AT_ONCE = 500;

const segmentsOf = (db: Db, fileId: string): Promise<Segment[]> =>
  db.selectFrom('file_segments').select(['blob', 'bytes']).where('file_id', '=', fileId).orderBy('number').execute();

/** The blob goes before the row that leads to it: whatever is interrupted can be done again. */
export async function deleteSegments(db: Db, blobs: Blobs, segments: readonly Segment[]): Promise<void> {
  for (const { blob } of segments) {
    await blobs.delete(blob as BlobId);
    await db.deleteFrom('file_segments').where('blob', '=', blob).execute();
  }
}

/** Deleted files count, as long as their rows are kept. */
async function isKnown(db: Db, workspaceId: WorkspaceId, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('files')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row !== undefined;
}
