import type { Clock } from '../core/clock.ts';
import { newId } from '../core/ids.ts';
import { streamOf } from '../http/pulled-stream.ts';
import { type Db, isUniqueViolation, type Store } from '../storage/store.ts';
import type { BlobContent, BlobId, Blobs } from './blobs.ts';
import { inChunks, nothing } from './pieces.ts';

const CHUNK_BYTES = 256 * 1024;
const LIST_PAGE = 500;
/** So many chunks go in one statement: some megabytes, far from any time limit. */
const DELETE_PAGE = 64;

/** Blobs as rows of 256 KiB. Each statement stands for itself, so a slow reader or writer holds no connection. */
export function postgresBlobs({ store, now }: { store: Store; now: Clock }): Blobs {
  const { db } = store;

  const whole = (id: BlobId) =>
    db
      .selectFrom('blobs')
      .select(['upload', 'size'])
      .where('id', '=', id)
      .where('size', 'is not', null)
      .executeTakeFirst();

  /** Its row goes last: while it is there, sweeping finds what is left. */
  const discard = async (upload: string) => {
    for (let deleted = DELETE_PAGE; deleted === DELETE_PAGE; ) {
      const page = db
        .selectFrom('blob_chunks')
        .select('number')
        .where('upload', '=', upload)
        .orderBy('number')
        .limit(DELETE_PAGE);
      const gone = await db
        .deleteFrom('blob_chunks')
        .where('upload', '=', upload)
        .where('number', 'in', page)
        .executeTakeFirst();
      deleted = Number(gone.numDeletedRows);
    }
    await db.deleteFrom('blobs').where('upload', '=', upload).execute();
  };

  const write = async (upload: string, content: BlobContent): Promise<number> => {
    let number = 0;
    let size = 0;
    for await (const bytes of inChunks(content, CHUNK_BYTES)) {
      await db.insertInto('blob_chunks').values({ upload, number, bytes }).execute();
      number++;
      size += bytes.byteLength;
    }
    return size;
  };

  /** Makes the upload the blob of its id; answers the uploads it replaced. */
  const publish = async (id: BlobId, upload: string, size: number): Promise<string[]> => {
    const run = () =>
      store.transaction(async (transaction) => {
        const replaced = await hide(transaction, id);
        const { numUpdatedRows } = await transaction
          .updateTable('blobs')
          .set({ size })
          .where('upload', '=', upload)
          .executeTakeFirst();
        if (Number(numUpdatedRows) !== 1) throw new Error(`the upload of blob ${id} was swept before it was whole`);
        return replaced;
      });
    for (let attempt = 0; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        // Another upload of the same id became whole in the same moment; the next attempt sees and replaces it.
        if (!isUniqueViolation(error) || attempt === 3) throw error;
      }
    }
  };

  return {
    put: async (id, content) => {
      const upload = newId<string>();
      await db.insertInto('blobs').values({ upload, id, size: null, created_at: now() }).execute();
      let replaced: string[];
      let size: number;
      try {
        size = await write(upload, content);
        replaced = await publish(id, upload, size);
      } catch (error) {
        await discard(upload).catch(() => {});
        throw error;
      }
      for (const old of replaced) await discard(old).catch(() => {});
      return size;
    },

    get: async (id, range) => {
      const found = await whole(id);
      if (!found || found.size === null) return null;
      const { upload, size } = found;
      const end = Math.min(size, range?.end ?? size);
      let at = range?.start ?? 0;
      if (at >= end) return nothing();
      return streamOf(async () => {
        if (at >= end) return null;
        const number = Math.floor(at / CHUNK_BYTES);
        const row = await db
          .selectFrom('blob_chunks')
          .select('bytes')
          .where('upload', '=', upload)
          .where('number', '=', number)
          .executeTakeFirst();
        if (!row) throw new Error(`blob ${id} was deleted or replaced while it was read`);
        const offset = number * CHUNK_BYTES;
        const piece = row.bytes.subarray(at - offset, end - offset);
        at += piece.byteLength;
        return piece;
      });
    },

    size: async (id) => (await whole(id))?.size ?? null,

    delete: async (id) => {
      for (const upload of await hide(db, id)) await discard(upload);
    },

    async *list() {
      for (let after = ''; ; ) {
        const rows = await db
          .selectFrom('blobs')
          .select(['id', 'size', 'created_at'])
          .where('size', 'is not', null)
          .where('id', '>', after)
          .orderBy('id')
          .limit(LIST_PAGE)
          .execute();
        for (const { id, size, created_at } of rows)
          yield { id: id as BlobId, size: Number(size), storedAt: created_at };
        if (rows.length < LIST_PAGE) return;
        after = rows.at(-1)!.id;
      }
    },

    sweep: async (before) => {
      const left = await db
        .selectFrom('blobs')
        .select('upload')
        .where('size', 'is', null)
        .where('created_at', '<', before)
        .execute();
      for (const { upload } of left) await discard(upload);
      return left.length;
    },
  };
}

/** From here on the blob cannot be read; its chunks are still there. */
async function hide(db: Db, id: BlobId): Promise<string[]> {
  const rows = await db
    .updateTable('blobs')
    .set({ size: null })
    .where('id', '=', id)
    .where('size', 'is not', null)
    .returning('upload')
    .execute();
  return rows.map(({ upload }) => upload);
}
