import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import type { Upstream } from '../http/upstream.ts';
import type { Store } from '../storage/store.ts';
import type { Blobs } from './blobs.ts';
import { folderBlobs } from './folder-blobs.ts';
import { postgresBlobs } from './postgres-blobs.ts';
import type { S3Place } from './s3.ts';
import { s3Blobs } from './s3-blobs.ts';

export interface BlobsOptions {
  /** Null: the database when that is PostgreSQL, else a folder of the data dir. */
  readonly s3: S3Place | null;
  readonly store: Store;
  readonly dataDir: string;
  readonly upstream: Upstream;
  readonly now?: Clock;
}

export function openBlobs({ s3, store, dataDir, upstream, now = Date.now }: BlobsOptions): Blobs {
  if (s3) return s3Blobs({ place: s3, upstream, now });
  return store.engine === 'postgres' ? postgresBlobs({ store, now }) : folderBlobs(join(dataDir, 'blobs'));
}
