import { streamOf } from '../http/pulled-stream.ts';
import type { BlobContent } from './blobs.ts';

/** The content in pieces of exactly that size; only the last may be smaller. No content, no piece. */
export async function* inChunks(content: BlobContent, size: number): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of content as AsyncIterable<Uint8Array>) {
    held.push(piece);
    bytes += piece.byteLength;
    if (bytes < size) continue;
    const joined = held.length === 1 ? piece : Buffer.concat(held);
    let at = 0;
    for (; bytes - at >= size; at += size) yield joined.subarray(at, at + size);
    held = at < bytes ? [joined.subarray(at)] : [];
    bytes -= at;
  }
  if (bytes > 0) yield Buffer.concat(held);
}

export const nothing = (): ReadableStream<Uint8Array> => streamOf(async () => null);
