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

/** A stream that asks for the next piece only when its reader does; `end` is called once, however it ends. */
export function streamOf(next: () => Promise<Uint8Array | null>, end: () => unknown = () => {}) {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const piece = await next();
          if (piece) return controller.enqueue(piece);
          await end();
          controller.close();
        } catch (error) {
          await end();
          controller.error(error);
        }
      },
      cancel: async () => {
        await end();
      },
    },
    { highWaterMark: 0 },
  );
}

export const nothing = (): ReadableStream<Uint8Array> => streamOf(async () => null);
