import type { WorkspaceId } from '../../core/ids.ts';
import type { Proven } from '../../guardrails/proof.ts';
import type { Db } from '../../storage/store.ts';
import type { Chunk } from '../documents/chunks.ts';

export type { Chunk };

/** What a client says about a file in a store, for filters. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface IndexedFile {
  readonly storeId: string;
  readonly fileId: string;
  readonly workspaceId: WorkspaceId;
}

/** How `put` writes: each transaction begins with proof that the file is still being taken in here, and throws otherwise. */
export type FencedTransaction = <Result>(step: (db: Db) => Promise<Result>) => Promise<Result>;

export interface PutOptions {
  readonly signal: AbortSignal;
  readonly transaction: FencedTransaction;
  /** What the caller that added the file has proven to guardrails, which judge calls of the embedding model. */
  readonly proven?: Proven;
}

/**
 * Where the chunks of vector stores are kept and found. Chunks are written before their file is called `completed` in
 * `vector_store_files`; search finds those of completed files only, and reads their attributes there, where they may change.
 */
export interface ChunkIndex {
  /**
   * All chunks of one file in one store, in place of those that were there. It may take long and have any number of
   * transactions; begun again after a kill, it leaves what doing it once leaves. `usageBytes`: what they take up.
   */
  put(
    file: IndexedFile,
    chunks: AsyncIterable<Chunk> | readonly Chunk[],
    options: PutOptions,
  ): Promise<{ readonly usageBytes: number }>;
  /** Made in the transaction that changes the file's row. */
  remove(db: Db, storeId: string, fileId: string): Promise<void>;
  /** Whatever belongs to the store and to none of its files, when the last file is removed. */
  removeStore(db: Db, storeId: string): Promise<void>;
  /** The texts of a file's chunks, in their order in the file. */
  content(storeId: string, fileId: string): Promise<readonly string[]>;
}
