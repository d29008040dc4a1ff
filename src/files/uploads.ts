import { createHash } from 'node:crypto';
import { fail } from '../core/errors.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { newObjectId } from '../core/object-ids.ts';
import type { Principal } from '../core/principal.ts';
import { lockName } from '../storage/name-lock.ts';
import type { UploadPartRow, UploadRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { type BlobContent, type BlobId, type Blobs, blobId } from './blobs.ts';
import { openSegments, type Segment } from './content.ts';
import { checkFormat, checkSize, type FileObject, type InputPurpose } from './file.ts';
import type { Files } from './files.ts';
import {
  type Completion,
  checkBounds,
  type Open,
  orderParts,
  requirePending,
  shownPart,
  shownUpload,
  statusAt,
  UPLOAD_BOUNDS,
  UPLOAD_LIVES_MS,
  type Upload,
  type UploadBounds,
  type UploadInput,
  type UploadPart,
} from './upload.ts';

export interface UploadsDeps {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly files: Files;
  readonly now?: () => number;
  readonly bounds?: UploadBounds;
}

/**
 * Files that come in parts. A part is a blob of its own; completing makes the parts the segments of a file, so nothing is
 * copied however large it is, and it happens wholly or not at all.
 */
export function createUploads({ store, blobs, files, now = Date.now, bounds = UPLOAD_BOUNDS }: UploadsDeps) {
  const { db } = store;

  const named = (handle: Db, workspaceId: WorkspaceId, id: string) =>
    handle.selectFrom('uploads').selectAll().where('workspace_id', '=', workspaceId).where('id', '=', id);
  const find = async (workspaceId: WorkspaceId, id: string): Promise<UploadRow> =>
    (await named(db, workspaceId, id).executeTakeFirst()) ?? fail('upload_not_found', id);

  /** What the workspace's uploads hold that have not ended. */
  const openIn = async (handle: Db, workspaceId: WorkspaceId): Promise<Open> => {
    const { parts, bytes } = await handle
      .selectFrom('uploads')
      .innerJoin('upload_parts', 'upload_parts.upload_id', 'uploads.id')
      .select(({ fn }) => [fn.countAll<number>().as('parts'), fn.sum<number | null>('upload_parts.bytes').as('bytes')])
      .where('uploads.status', '=', 'pending')
      .where('uploads.workspace_id', '=', workspaceId)
      .executeTakeFirstOrThrow();
    return { parts: Number(parts), bytes: Number(bytes ?? 0) };
  };

  /** Ends a pending upload; false when another call or a sweep has ended it before. */
  const end = async (transaction: Db, id: string, change: Partial<UploadRow>): Promise<boolean> => {
    const { numUpdatedRows } = await transaction
      .updateTable('uploads')
      .set(change)
      .where('id', '=', id)
      .where('status', '=', 'pending')
      .where('expires_at', '>', now())
      .executeTakeFirstOrThrow();
    return Number(numUpdatedRows) === 1;
  };

  const refuse = async ({ workspace_id, id }: UploadRow): Promise<never> => {
    const row = await find(workspace_id as WorkspaceId, id);
    return fail('upload_not_pending', id, statusAt(row, now()));
  };

  const publish = (upload: UploadRow, parts: readonly UploadPartRow[]): Promise<FileObject | null> =>
    store.transaction(async (transaction) => {
      // First, because it also keeps others from ending the upload until this is committed.
      if (!(await end(transaction, upload.id, { status: 'completed' }))) return null;
      const file = await files.insert(transaction, {
        workspaceId: upload.workspace_id as WorkspaceId,
        userId: upload.user_id,
        filename: upload.filename,
        purpose: upload.purpose as InputPurpose,
        segments: parts.map(segmentOf),
        livesSeconds: upload.file_lives_seconds,
      });
      await transaction.updateTable('uploads').set({ file_id: file.id }).where('id', '=', upload.id).execute();
      const ids = parts.map(({ id }) => id);
      for (let at = 0; at < ids.length; at += IDS_AT_ONCE)
        await transaction
          .deleteFrom('upload_parts')
          .where('id', 'in', ids.slice(at, at + IDS_AT_ONCE))
          .execute();
      return file;
    });

  /** What the same completion answered before, for a client that did not get to see it. */
  const repeated = async (upload: UploadRow, ids: readonly string[]): Promise<Upload | null> => {
    if (upload.status !== 'completed' || !upload.file_id) return null;
    const segments = await db
      .selectFrom('file_segments')
      .select('blob')
      .where('file_id', '=', upload.file_id)
      .orderBy('number')
      .execute();
    if (segments.length !== ids.length || segments.some(({ blob }, index) => blob !== ids[index])) return null;
    const file = await files.read(upload.workspace_id as WorkspaceId, upload.file_id).catch(() => null);
    return file && shownUpload(upload, 'completed', file);
  };

  const finish = async (upload: UploadRow, { part_ids, md5 }: Completion): Promise<Upload> => {
    const parts = await db.selectFrom('upload_parts').selectAll().where('upload_id', '=', upload.id).execute();
    const ordered = orderParts(upload, parts, part_ids);
    if (md5) await checkMd5(blobs, ordered.map(segmentOf), md5);
    const file = await publish(upload, ordered);
    return file ? shownUpload(upload, 'completed', file) : refuse(upload);
  };

  return {
    async create(
      { workspaceId, userId }: Pick<Principal, 'workspaceId' | 'userId'>,
      input: UploadInput,
    ): Promise<Upload> {
      checkFormat(input.filename, input.purpose);
      checkSize(input.bytes, input.purpose, 'bytes');
      const createdAt = now();
      const row: UploadRow = {
        id: newObjectId('upload', createdAt),
        workspace_id: workspaceId,
        user_id: userId,
        filename: input.filename,
        purpose: input.purpose,
        mime_type: input.mime_type,
        bytes: input.bytes,
        file_lives_seconds: input.expires_after?.seconds ?? null,
        status: 'pending',
        file_id: null,
        created_at: createdAt,
        expires_at: createdAt + UPLOAD_LIVES_MS,
      };
      await db.insertInto('uploads').values(row).execute();
      return shownUpload(row, 'pending');
    },

    /** Whether there is an upload that takes parts, and room for one: before it is read. */
    async requireRoom(workspaceId: WorkspaceId, id: string): Promise<void> {
      requirePending(await find(workspaceId, id), now());
      const { parts, bytes } = await openIn(db, workspaceId);
      checkBounds({ parts: parts + 1, bytes: bytes + 1 }, bounds);
    },

    /** Stores the content of a part, for `addPart`. */
    async keepPart(content: BlobContent): Promise<Segment> {
      const blob = blobId(newObjectId('part'));
      return { blob, bytes: await blobs.put(blob, content) };
    },

    /** Its content was stored before; whether that took so long that the upload has ended shows here. */
    addPart(workspaceId: WorkspaceId, uploadId: string, { blob, bytes }: Segment): Promise<UploadPart> {
      return store.transaction(async (transaction) => {
        await lockName(transaction, store, `uploads of ${workspaceId}`);
        const query = named(transaction, workspaceId, uploadId);
        // Locked: no other transaction ends the upload until the part is there.
        const upload = await (store.engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
        requirePending(upload ?? fail('upload_not_found', uploadId), now());
        const open = await openIn(transaction, workspaceId);
        checkBounds({ parts: open.parts + 1, bytes: open.bytes + bytes }, bounds);
        const row: UploadPartRow = { id: blob, upload_id: uploadId, bytes, created_at: now() };
        await transaction.insertInto('upload_parts').values(row).execute();
        return shownPart(row);
      });
    },

    async complete(workspaceId: WorkspaceId, id: string, asked: Completion): Promise<Upload> {
      const upload = await find(workspaceId, id);
      const before = await repeated(upload, asked.part_ids);
      if (before) return before;
      requirePending(upload, now());
      try {
        return await finish(upload, asked);
      } catch (error) {
        // Another call may have ended the upload and taken its parts. That it has ended tells the client more.
        const current = await find(workspaceId, id);
        const meanwhile = await repeated(current, asked.part_ids);
        if (meanwhile) return meanwhile;
        requirePending(current, now());
        throw error;
      }
    },

    async cancel(workspaceId: WorkspaceId, id: string): Promise<Upload> {
      const upload = await find(workspaceId, id);
      if (!(await end(db, id, { status: 'cancelled' }))) return refuse(upload);
      await deleteParts(db, blobs, id).catch(() => {});
      return shownUpload(upload, 'cancelled');
    },
  };
}

export type Uploads = ReturnType<typeof createUploads>;

/** SQLite takes some thousand values in a statement. */
const IDS_AT_ONCE = 500;

const segmentOf = ({ id, bytes }: UploadPartRow): Segment => ({ blob: id, bytes });

async function checkMd5(blobs: Blobs, segments: readonly Segment[], expected: string) {
  const hash = createHash('md5');
  const content = await openSegments(blobs, segments);
  for await (const piece of content as unknown as AsyncIterable<Uint8Array>) hash.update(piece);
  const got = hash.digest('hex');
  if (got !== expected.toLowerCase()) fail('upload_checksum_mismatch', expected, got);
}

/** The parts that an upload which has ended did not use: the blob goes before the row that leads to it. */
export async function deleteParts(db: Db, blobs: Blobs, uploadId: string): Promise<void> {
  const parts = await db.selectFrom('upload_parts').select('id').where('upload_id', '=', uploadId).execute();
  for (const { id } of parts) {
    await blobs.delete(id as BlobId);
    await db.deleteFrom('upload_parts').where('id', '=', id).execute();
  }
}
