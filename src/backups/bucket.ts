import { randomBytes } from 'node:crypto';
import { createReadStream, mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { createS3, elementsIn, type S3, type S3Place, textIn } from '../files/s3.ts';
import { s3Blobs } from '../files/s3-blobs.ts';
import { putObject, sizeOf } from '../files/s3-object.ts';
import { type Upstream, UpstreamFailure } from '../http/upstream.ts';

/** The object that makes a backup of what lies beside it. It is put last and deleted first. */
const MANIFEST = 'manifest.json';

/** When it was begun, in UTC, so that names sort by time. */
const NAME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{8}$/;

/** Objects that are sent or deleted at the same moment: many files are small, and each costs a round trip. */
const AT_ONCE = 4;
const ATTEMPTS = 3;
/** An upload that began so long ago and has no manifest was killed. */
const ABANDONED_MS = 24 * 3_600_000;
/** The clock of the machine that made a backup may be this much ahead. */
const CLOCKS_DIFFER_MS = 300_000;

export const newBackupName = (now: number): string =>
  `${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(4).toString('hex')}`;

/** Null: it is no name of ours. */
export function timeOfBackup(name: string): number | null {
  const [, year, month, day, hour, minute, second] = NAME.exec(name) ?? [];
  if (year === undefined) return null;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) || null;
}

/** Backups below one prefix: each is a folder whose files are listed by its manifest. */
export interface BackupBucket {
  /** All files, and then the manifest. */
  put(name: string, folder: string, paths: readonly string[], onFile: () => void): Promise<void>;
  /** When the newest whole backup was begun; null: there is none. */
  newest(): Promise<number | null>;
  /** Names of whole backups, the newest first, at most so many. */
  whole(most: number): Promise<string[]>;
  /** Deletes whole backups older than `made` but for so many, counted with it, and what killed uploads left. */
  keep(count: number, made: string): Promise<number>;
  /** Writes one object below the prefix into a new file. False: there is none. Throws where it is longer than that. */
  fetch(path: string, to: string, mostBytes: number): Promise<boolean>;
}

interface BucketOptions {
  readonly place: S3Place;
  readonly upstream: Upstream;
  readonly now: Clock;
}

export function openBackupBucket({ place, upstream, now }: BucketOptions): BackupBucket {
  const s3 = createS3({ place, upstream, now });
  const prefix = place.prefix ? `${place.prefix}/` : '';

  const names = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const page of pagesOf(s3, { prefix, delimiter: '/' }))
      for (const element of elementsIn(page, 'CommonPrefixes')) {
        const name = (textIn(element, 'Prefix') ?? '').slice(prefix.length).replace(/\/$/, '');
        // Whatever else lies in the bucket is not ours.
        if (timeOfBackup(name) !== null) found.push(name);
      }
    return found.toSorted().toReversed();
  };
  const isWhole = async (name: string) => (await sizeOf(s3, `${prefix}${name}/${MANIFEST}`)) !== null;

  const remove = async (name: string) => {
    await deleteObject(s3, `${prefix}${name}/${MANIFEST}`);
    const keys: string[] = [];
    for await (const page of pagesOf(s3, { prefix: `${prefix}${name}/` }))
      for (const element of elementsIn(page, 'Contents')) keys.push(textIn(element, 'Key') ?? '');
    await severally(keys, (key) => deleteObject(s3, key));
  };

  return {
    put: async (name, folder, paths, onFile) => {
      await severally(paths, async (path) => {
        await putObject(s3, `${prefix}${name}/${path}`, createReadStream(join(folder, path)));
        onFile();
      });
      await putObject(s3, `${prefix}${name}/${MANIFEST}`, createReadStream(join(folder, MANIFEST)));
    },

    newest: async () => {
      for (const name of await names()) {
        const time = timeOfBackup(name)!;
        // A backup of a clock that was wrong must not keep others from being made for years.
        if (time <= now() + CLOCKS_DIFFER_MS && (await isWhole(name))) return time;
      }
      return null;
    },

    whole: async (most) => {
      const found: string[] = [];
      for (const name of await names()) {
        if (found.length === most) break;
        if (await isWhole(name)) found.push(name);
      }
      return found;
    },

    keep: async (count, made) => {
      let kept = 1;
      let removed = 0;
      for (const name of (await names()).filter((each) => each < made)) {
        if (await isWhole(name)) {
          if (kept++ < count) continue;
          removed++;
        } else if (timeOfBackup(name)! > now() - ABANDONED_MS) continue;
        await remove(name);
      }
      // In a bucket without a prefix, uploads of parts may belong to other programs.
      if (prefix) await s3Blobs({ place, upstream, now }).sweep(now() - ABANDONED_MS);
      return removed;
    },

    fetch: async (path, to, mostBytes) => {
      mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
      for (let attempt = 1; ; attempt++)
        try {
          return await fetchOnce(s3, `${prefix}${path}`, to, mostBytes);
        } catch (error) {
          if (!(error instanceof UpstreamFailure)) throw error;
          if (attempt === ATTEMPTS)
            throw new GatewayError('blob_store_unavailable', [`the object storage failed (${error.message})`]);
        }
    },
  };
}

async function fetchOnce(s3: S3, key: string, to: string, mostBytes: number): Promise<boolean> {
  const incoming = await s3.send({ method: 'GET', key }, [200, 404]);
  try {
    if (incoming.status === 404) return false;
    const file = await open(to, 'w', 0o600);
    try {
      let bytes = 0;
      for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
        bytes += piece.byteLength;
        if (bytes > mostBytes)
          throw new Error(`${key} in the bucket is longer than the ${mostBytes} bytes it should have.`);
        await file.write(piece);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    return true;
  } finally {
    incoming.cancel();
  }
}

const deleteObject = (s3: S3, key: string) => s3.text({ method: 'DELETE', key }, [200, 204, 404]);

async function* pagesOf(s3: S3, asked: Readonly<Record<string, string>>): AsyncGenerator<string> {
  for (let token: string | null = ''; token !== null; ) {
    const query = { 'list-type': '2', ...asked, ...(token && { 'continuation-token': token }) };
    const { text } = await s3.text({ method: 'GET', query }, [200]);
    yield text;
    token = textIn(text, 'NextContinuationToken');
  }
}

/** A few at a time; after a failure no other one is begun. */
async function severally<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const waiting = items[Symbol.iterator]();
  let hasFailed = false;
  const one = async () => {
    for (const item of waiting) {
      if (hasFailed) return;
      try {
        await work(item);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}
