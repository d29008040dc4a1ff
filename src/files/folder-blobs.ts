import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GatewayError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { streamOf } from '../http/pulled-stream.ts';
import { type BlobEntry, type BlobId, type Blobs, blobId } from './blobs.ts';
import { OpenFile } from './open-file.ts';
import { nothing } from './pieces.ts';

const READ_BYTES = 256 * 1024;
const FAN = /^[0-9a-f]{2}$/;

/**
 * Blobs as files: `<two>/<two>/<id>`, so that no folder grows too large to list. What is being written lies in `drafts`
 * and is renamed when it is on the disk.
 */
export function folderBlobs(folder: string): Blobs {
  const drafts = join(folder, 'drafts');
  const pathOf = (id: BlobId) => {
    const fan = createHash('sha256').update(blobId(id)).digest('hex');
    return join(folder, fan.slice(0, 2), fan.slice(2, 4), id);
  };

  return {
    put: async (id, content) => {
      const path = pathOf(id);
      const draft = join(drafts, newId());
      try {
        const size = await writeDraft(draft, content as AsyncIterable<Uint8Array>);
        const isNewFolder = (await makeFolder(dirname(path))) !== undefined;
        await rename(draft, path);
        await flush(dirname(path));
        // A folder that a power cut forgets takes its files with it.
        if (isNewFolder) for (const parent of [dirname(dirname(path)), folder]) await flush(parent);
        return size;
      } catch (error) {
        await rm(draft, { force: true }).catch(() => {});
        throw explained(error);
      }
    },

    get: async (id, range) => {
      const file = await ifThere(OpenFile.open(pathOf(id)));
      if (!file) return null;
      const end = Math.min(file.size, range?.end ?? file.size);
      let at = range?.start ?? 0;
      if (at >= end) {
        await file.close();
        return nothing();
      }
      const next = async () => {
        if (at >= end) return null;
        const piece = new Uint8Array(Math.min(READ_BYTES, end - at));
        const bytesRead = await file.read(piece, at);
        if (bytesRead === 0) throw new Error(`blob ${id} ends before its size`);
        at += bytesRead;
        return piece.subarray(0, bytesRead);
      };
      return streamOf(next, () => file.close());
    },

    size: async (id) => (await statIfThere(pathOf(id)))?.size ?? null,

    delete: (id) => rm(pathOf(id), { force: true }),

    async *list() {
      for (const first of await foldersIn(folder))
        for (const second of await foldersIn(join(folder, first))) yield* entriesIn(join(folder, first, second));
    },

    sweep: async (before) => {
      let swept = 0;
      for (const name of await namesIn(drafts)) {
        const left = await statIfThere(join(drafts, name));
        if (!left || left.mtimeMs >= before) continue;
        await rm(join(drafts, name), { force: true });
        swept++;
      }
      return swept;
    },
  };
}

async function writeDraft(draft: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  await makeFolder(dirname(draft));
  const handle = await open(draft, 'wx', 0o600);
  let size = 0;
  try {
    for await (const piece of content) {
      for (let at = 0; at < piece.byteLength; ) at += (await handle.write(piece, at)).bytesWritten;
      size += piece.byteLength;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  return size;
}

const makeFolder = (path: string) => mkdir(path, { recursive: true, mode: 0o700 });

async function flush(folder: string) {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function* entriesIn(folder: string): AsyncGenerator<BlobEntry> {
  for (const name of await namesIn(folder)) {
    const found = await statIfThere(join(folder, name));
    if (found) yield { id: name as BlobId, size: found.size, storedAt: Math.floor(found.mtimeMs) };
  }
}

const foldersIn = async (folder: string) => (await namesIn(folder)).filter((name) => FAN.test(name));
const namesIn = async (folder: string): Promise<string[]> => (await ifThere(readdir(folder)))?.sort() ?? [];
const statIfThere = (path: string) => ifThere(stat(path));

async function ifThere<Value>(value: Promise<Value>): Promise<Value | null> {
  try {
    return await value;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw explained(error);
  }
}

/** A disk that is full or broken is no fault of the caller's. Paths stay unsaid. */
function explained(error: unknown): unknown {
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return error;
  return new GatewayError('blob_store_unavailable', [`the disk refused (${code})`]);
}
