import { streamOf } from '../http/pulled-stream.ts';
import type { FileSegmentRow } from '../storage/schema.ts';
import type { BlobId, BlobRange, Blobs } from './blobs.ts';

export type Segment = Pick<FileSegmentRow, 'blob' | 'bytes'>;

/** The bytes of segments in their order, or a range of them. A blob is opened when its turn comes. */
async function* piecesOf(
  blobs: Blobs,
  segments: readonly Segment[],
  { start, end = Number.POSITIVE_INFINITY }: BlobRange,
) {
  let offset = 0;
  for (const { blob, bytes } of segments) {
    const [from, to] = [Math.max(start - offset, 0), Math.min(end - offset, bytes)];
    offset += bytes;
    if (from >= to) continue;
    const content = await blobs.get(blob as BlobId, { start: from, end: to });
    if (!content) throw new Error(`blob ${blob} is missing`);
    yield* content as unknown as AsyncIterable<Uint8Array>;
  }
}

/** The same as a stream. Its first bytes are here when this resolves: a store that is away shows before an answer begins. */
export async function openSegments(
  blobs: Blobs,
  segments: readonly Segment[],
  range: BlobRange = { start: 0 },
): Promise<ReadableStream<Uint8Array>> {
  const pieces = piecesOf(blobs, segments, range);
  let first: IteratorResult<Uint8Array> | null = await pieces.next();
  const next = async () => {
    const result = first ?? (await pieces.next());
    first = null;
    return result.done ? null : result.value;
  };
  return streamOf(next, () => pieces.return(undefined));
}
