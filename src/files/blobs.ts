/** Made by us, never taken from a request: a name, not a path. `blobId` makes one. */
export type BlobId = string & { readonly __id: 'blob' };

const ID = /^[A-Za-z0-9_-]{1,128}$/;

export function blobId(text: string): BlobId {
  if (!ID.test(text)) throw new Error('A blob id has 1 to 128 letters, digits, hyphens and underscores.');
  return text as BlobId;
}

export type BlobContent = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** Bytes from `start` up to and without `end`; what lies beyond the blob is left out. */
export interface BlobRange {
  readonly start: number;
  readonly end?: number;
}

export interface BlobEntry {
  readonly id: BlobId;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
}

/**
 * Where files and batch results lie: bytes under an id, of any size, never wholly in memory.
 *
 *     const size = await blobs.put(id, request.body);
 *     const content = await blobs.get(id, { start: 100, end: 200 });
 */
export interface Blobs {
  /** Stores the content under the id, in place of what was there; it is seen only when it is whole. Answers its size. */
  put(id: BlobId, content: BlobContent): Promise<number>;
  /** The bytes, or null when there is no such blob. The stream fails rather than end early. */
  get(id: BlobId, range?: BlobRange): Promise<ReadableStream<Uint8Array> | null>;
  size(id: BlobId): Promise<number | null>;
  /** Harmless when there is none. */
  delete(id: BlobId): Promise<void>;
  /** Every blob, in no particular order; one that comes or goes meanwhile may be missing. */
  list(): AsyncIterable<BlobEntry>;
  /** Removes what is left of puts that began before then and never finished. Answers how many. */
  sweep(before: number): Promise<number>;
}
