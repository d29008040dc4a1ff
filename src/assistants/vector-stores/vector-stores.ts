import type { Files } from '../../files/files.ts';
import type { WorkProofs } from '../../relay/work-proofs.ts';
import type { Store } from '../../storage/store.ts';
import type { Kind } from '../../work/work.ts';
import type { Workers } from '../../work/workers.ts';
import type { DocumentReader } from '../documents/reader.ts';
import type { ChunkIndex } from './chunk-index.ts';
import { clearKind } from './clearing.ts';
import { createFileBatches, type FileBatches } from './file-batches.ts';
import { ingestKind } from './ingest.ts';
import type { Pictures } from './pictures.ts';
import type { FileSearchParts } from './search/file-search.ts';
import type { Search } from './search/search.ts';
import { createStoreFiles, type StoreFiles } from './store-files.ts';
import { createStores, type Stores } from './stores.ts';
import { createSyncs, type Syncs } from './syncs.ts';

export interface VectorStoresDeps {
  readonly store: Store;
  readonly files: Files;
  readonly index: ChunkIndex;
  readonly search: Search;
  readonly rewrite: FileSearchParts['rewrite'];
  readonly embeds: FileSearchParts['embeds'];
  readonly reader: DocumentReader;
  /** Null: pictures are not read. */
  readonly pictures: Pictures | null;
  /** They need the kinds, so they come after them. */
  readonly workers: () => Workers;
  readonly proofs: Pick<WorkProofs, 'seal' | 'open'>;
  readonly now: () => number;
}

export interface VectorStores {
  readonly stores: Stores;
  readonly files: StoreFiles;
  readonly batches: FileBatches;
  readonly syncs: Syncs;
  readonly search: Search;
  readonly rewrite: FileSearchParts['rewrite'];
  readonly embeds: FileSearchParts['embeds'];
  /** What is done for them beside answering. */
  readonly kinds: readonly Kind[];
}

/** Vector stores, put together. */
export const createVectorStores = (deps: VectorStoresDeps): VectorStores => ({
  stores: createStores(deps),
  files: createStoreFiles(deps),
  batches: createFileBatches(deps),
  syncs: createSyncs(deps),
  search: deps.search,
  rewrite: deps.rewrite,
  embeds: deps.embeds,
  kinds: [ingestKind(deps), clearKind(deps)],
});
