import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { Db } from '../storage/store.ts';
import { fileEndings } from './endings.ts';
import { createFiles } from './files.ts';
import { openBlobs } from './open-blobs.ts';
import { fileRoutes } from './routes.ts';
import type { S3Place } from './s3.ts';
import { startFileSweeper } from './sweeper.ts';
import { createUploads } from './uploads.ts';

export interface FilesParts extends Tools {
  readonly settings: { readonly blobs: S3Place | null };
}

/** Takes a file out of whatever speaks of it, in the transaction in which it goes. */
type Detach = (db: Db, fileId: string) => Promise<void>;

/** Files and uploads, and where their bytes lie. */
export const filesArea = area({
  name: 'files',
  open: ({ store, upstream, dataDir, settings, now }: FilesParts) => {
    const blobs = openBlobs({ s3: settings.blobs, store, dataDir, upstream });
    const detaching: Detach[] = [];
    const detach: Detach = async (db, fileId) => {
      for (const each of detaching) await each(db, fileId);
    };
    const files = createFiles({ store, blobs, now, detach });
    return {
      gives: {
        files,
        /** For areas whose rows speak of files. */
        detachFiles: (by: Detach): void => void detaching.push(by),
      },
      routes: fileRoutes({ files, uploads: createUploads({ store, blobs, files, now }) }),
      sweepers: [() => startFileSweeper({ store, blobs })],
      ends: fileEndings({ blobs, detach }),
    };
  },
});
