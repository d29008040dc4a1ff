export interface VectorStoreTables {
  vector_stores: VectorStoreRow;
  vector_store_files: VectorStoreFileRow;
  vector_store_batches: VectorStoreBatchRow;
  indexed_stores: IndexedStoreRow;
  indexed_files: IndexedFileRow;
  chunks: ChunkRow;
  chunk_vectors: ChunkVectorsRow;
  chunk_codes: ChunkCodesRow;
}

export interface VectorStoreRow {
  id: string;
  workspace_id: string;
  /** JSON: name, description and metadata. */
  body: string;
  /** It expires so many days after it was last used; null: never. */
  expires_days: number | null;
  last_active_at: number;
  expires_at: number | null;
  /** Since when its chunks are being removed. */
  expired_at: number | null;
  created_at: number;
  deleted_at: number | null;
  /** JSON: the sync that is under way, or the last one; null: there was none. */
  sync: string | null;
}

/** A file in a store. One that was taken out stays as a row for a while, so that paging survives it. */
export interface VectorStoreFileRow {
  store_id: string;
  file_id: string;
  /** New whenever it is taken in: names the attempt, and sorts by the time. */
  position: string;
  /** With which it was added last. */
  batch_id: string | null;
  status: 'in_progress' | 'completed' | 'cancelled' | 'failed';
  /** JSON. */
  last_error: string | null;
  usage_bytes: number;
  /** JSON. */
  attributes: string;
  chunk_tokens: number;
  overlap_tokens: number;
  created_at: number;
  deleted_at: number | null;
  /** Where a sync has it from: the name of what is kept in step, and the path there; null: a caller added it. */
  source: string | null;
  source_path: string | null;
  /** By which a sync tells whether it has changed. */
  digest: string | null;
}

/** Files that were added to a store together. What became of them is counted by their rows until it has ended. */
export interface VectorStoreBatchRow {
  id: string;
  store_id: string;
  status: 'in_progress' | 'completed' | 'cancelled';
  total: number;
  completed: number | null;
  failed: number | null;
  created_at: number;
}

/** By which model the vectors of a store are made, once there are any. */
export interface IndexedStoreRow {
  store_id: string;
  model: string;
  /** How many numbers the model is asked for; null: as many as it gives by itself. */
  dimensions: number | null;
}

/** A file as it was once taken into a store. */
export interface IndexedFileRow {
  /** By which its chunks are known: no two takings-in share one, so a chunk is never mistaken for another. */
  id: string;
  store_id: string;
  file_id: string;
  /** No search finds the chunks of what is not `current`; a sweep removes them. */
  state: 'writing' | 'current' | 'removed';
  chunks: number;
  /** Of its vectors; null: it has none. */
  dimensions: number | null;
  /** Where they are: in blocks that a thread scans, or where pgvector finds them. */
  vectors: 'none' | 'scanned' | 'pgvector';
  touched_at: number;
}

/** On PostgreSQL only. */
export interface ChunkRow {
  /** The id of the indexed file. */
  source: string;
  number: number;
  text: string;
  begins: number;
  ends: number;
  /** Where in its file it is, as JSON; null: that is not known, or was not when it was written. */
  locator: string | null;
  /** In words; null for one that was written before they were counted. */
  length: number | null;
  words: string;
  embedding: string | null;
}

/** On PostgreSQL only: the vectors of some chunks that follow each other. */
export interface ChunkVectorsRow {
  source: string;
  first: number;
  dimensions: number;
  scales: Uint8Array;
  rows: Uint8Array;
}

/** On PostgreSQL only: the same vectors, a bit for each number. */
export interface ChunkCodesRow {
  source: string;
  first: number;
  dimensions: number;
  centre: Uint8Array;
  centre_scale: number;
  factors: Uint8Array;
  bits: Uint8Array;
}
