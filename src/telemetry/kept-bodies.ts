import type { BodyCapture } from './capture.ts';
import type { LogRow } from './log-columns.ts';
import type { OutgoingBatch } from './log-port.ts';
import { type HeadText, writeHead } from './packed-bodies.ts';

/** Below this, copying into the slab is cheaper than moving a buffer of its own. */
const MOVE_FROM_BYTES = 16 * 1024;

/** What is stored of the bodies of an entry, as it was captured. */
export interface KeptBodies {
  readonly head: HeadText;
  readonly request: BodyCapture | null;
  readonly response: BodyCapture | null;
  readonly upstream: readonly BodyCapture[];
  readonly bytes: number;
}

/**
 * Lays the bodies of a batch one after the other into one buffer. Large pieces that are used only here are moved
 * instead; a view on a larger buffer, or one that is used twice, cannot be.
 */
export function pack(
  rows: readonly LogRow[],
  kept: readonly (KeptBodies | null)[] | null,
): Omit<OutgoingBatch, 'traces'> {
  if (!kept) return { rows, parts: rows.map(() => null), slab: null, moved: [] };
  const moved = new Set<ArrayBuffer>();
  const copied: (HeadText | Uint8Array)[] = [];
  let size = 0;
  const parts = kept.map((bodies) => {
    if (!bodies) return null;
    const sizes: number[] = [];
    copied.push(bodies.head);
    let run = bodies.head.bytes;
    const copy = (piece: Uint8Array) => {
      copied.push(piece);
      run += piece.byteLength;
    };
    for (const capture of [bodies.request, bodies.response, ...bodies.upstream]) {
      for (const piece of capture?.pieces() ?? []) {
        if (!capture!.transferable || !isMovable(piece) || moved.has(piece.buffer)) {
          copy(piece);
          continue;
        }
        if (run > 0) sizes.push(run);
        size += run;
        run = 0;
        moved.add(piece.buffer);
        sizes.push(-1);
      }
    }
    if (run > 0) sizes.push(run);
    size += run;
    return sizes;
  });
  const slab = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const piece of copied) {
    if (piece instanceof Uint8Array) {
      slab.set(piece, at);
      at += piece.byteLength;
    } else at = writeHead(piece, slab, at);
  }
  return { rows, parts, slab: slab.buffer, moved: [...moved] };
}

const isMovable = (piece: Uint8Array): piece is Uint8Array<ArrayBuffer> =>
  piece.byteLength >= MOVE_FROM_BYTES &&
  piece.byteLength === piece.buffer.byteLength &&
  piece.buffer instanceof ArrayBuffer;
