import { join } from 'node:path';
import type { Store } from '../../../storage/store.ts';
import type { ChunkStore } from './chunk-store.ts';
import { createEmbeddedChunks } from './embedded-chunks.ts';
import { createPostgresChunks } from './postgres-chunks.ts';
import { searchThread } from './thread/client.ts';

export interface OpenChunksOptions {
  readonly store: Store;
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly workerUrl: string | URL;
  /** From so many chunks on, a search may miss some of the nearest. */
  readonly approximateFrom: number;
  readonly now?: () => number;
}

/** Where the chunks of vector stores are: in PostgreSQL, or in a file beside the embedded store. */
export function openChunks({
  store,
  databaseUrl,
  dataDir,
  workerUrl,
  approximateFrom,
  now = Date.now,
}: OpenChunksOptions): ChunkStore {
  if (databaseUrl) {
    const thread = searchThread({ place: { engine: 'postgres', url: databaseUrl }, workerUrl });
    return createPostgresChunks({ store, thread, approximateFrom, now });
  }
  const place = { engine: 'sqlite', file: join(dataDir, 'search.db'), stateFile: join(dataDir, 'state.db') } as const;
  const thread = () => searchThread({ place, workerUrl });
  return createEmbeddedChunks({ store, reader: thread(), scanner: thread(), writer: thread(), approximateFrom });
}
