import { copyOf } from '../core/bytes.ts';

/** Beyond the cap only the end is remembered, because that is where providers report usage. */
export const TAIL_BYTES = 16 * 1024;

/** Smaller chunks after the first are gathered: hundreds of tiny arrays would cost more memory than their bytes. */
const GATHER_BELOW = 4 * 1024;
const FIRST_BLOCK = 1024;
const LARGEST_BLOCK = 16 * 1024;

/** A first chunk below this is copied at once: asking for its buffer makes Bun lay one out, which takes longer. */
const COPY_BELOW = 2 * 1024;

/** A chunk that fills less than a quarter of its buffer would keep the rest of that buffer alive. */
const isSliver = (chunk: Uint8Array) => chunk.byteLength * 4 < chunk.buffer.byteLength;

/**
 * What the log keeps of a body while it passes by: the first `capBytes` bytes and the last few. Large chunks are kept
 * by reference and never copied on the way, so the code that adds a chunk must not write to it afterwards.
 */
export class BodyCapture {
  readonly capBytes: number;
  /**
   * No code reads or writes the added chunks after the entry is closed, so their buffers may be moved to the writer.
   */
  transferable = false;
  /** All bytes that passed, kept or not. */
  totalBytes = 0;

  #keptBytes = 0;
  #pieces: Uint8Array[] = [];
  #block: Uint8Array | null = null;
  #blockUsed = 0;
  #ring: Uint8Array | null = null;
  #ringEnd = 0;

  constructor(capBytes: number) {
    this.capBytes = capBytes;
  }

  get keptBytes(): number {
    return this.#keptBytes;
  }

  get truncated(): boolean {
    return this.totalBytes > this.#keptBytes;
  }

  add(chunk: Uint8Array): void {
    const size = chunk.byteLength;
    if (size === 0) return;
    this.totalBytes += size;
    const room = this.capBytes - this.#keptBytes;
    if (size <= room) {
      this.#keep(chunk);
      return;
    }
    if (room > 0) this.#keep(chunk.subarray(0, room));
    this.#remember(room > 0 ? chunk.subarray(room) : chunk);
  }

  /** The kept bytes in order; views that stay valid until the next `add`. */
  pieces(): Uint8Array[] {
    if (!this.#block || this.#blockUsed === 0) return this.#pieces;
    return [...this.#pieces, this.#block.subarray(0, this.#blockUsed)];
  }

  /** The whole body when that needs no copy, else its first bytes. */
  head(atMost: number): Uint8Array {
    const pieces = this.pieces();
    return pieces.length === 1 ? pieces[0]! : join(pieces, atMost);
  }

  /** The last bytes of all that passed; null when `head` already holds them. */
  tail(headBytes: number): Uint8Array | null {
    if (this.#ring) return this.#readRing();
    if (headBytes >= this.totalBytes) return null;
    const last: Uint8Array[] = [];
    let size = 0;
    for (const piece of this.pieces().toReversed()) {
      last.unshift(piece);
      size += piece.byteLength;
      if (size >= TAIL_BYTES) break;
    }
    const joined = join(last, size);
    return joined.subarray(Math.max(0, size - TAIL_BYTES));
  }

  #keep(chunk: Uint8Array) {
    const size = chunk.byteLength;
    this.#keptBytes += size;
    const isOnly = this.#keptBytes === size;
    if (isOnly && size < COPY_BELOW) {
      this.#pieces.push(copyOf(chunk));
      return;
    }
    if ((size < GATHER_BELOW && !isOnly) || isSliver(chunk)) {
      this.#gather(chunk);
      return;
    }
    this.#sealBlock();
    this.#pieces.push(chunk);
  }

  #gather(chunk: Uint8Array) {
    const size = chunk.byteLength;
    if (!this.#block || this.#blockUsed + size > this.#block.byteLength) {
      const grown = this.#block ? Math.min(LARGEST_BLOCK, this.#block.byteLength * 2) : FIRST_BLOCK;
      this.#sealBlock();
      this.#block = new Uint8Array(Math.max(grown, size));
    }
    this.#block.set(chunk, this.#blockUsed);
    this.#blockUsed += size;
  }

  #sealBlock() {
    if (this.#block && this.#blockUsed > 0) this.#pieces.push(this.#block.subarray(0, this.#blockUsed));
    this.#block = null;
    this.#blockUsed = 0;
  }

  #remember(chunk: Uint8Array) {
    this.#ring ??= new Uint8Array(TAIL_BYTES);
    const last = chunk.byteLength > TAIL_BYTES ? chunk.subarray(chunk.byteLength - TAIL_BYTES) : chunk;
    const start = this.#ringEnd % TAIL_BYTES;
    const fits = Math.min(last.byteLength, TAIL_BYTES - start);
    this.#ring.set(last.subarray(0, fits), start);
    if (fits < last.byteLength) this.#ring.set(last.subarray(fits), 0);
    this.#ringEnd += last.byteLength;
  }

  /** A short stretch beyond the cap is preceded by the end of what was kept, so that nothing falls between. */
  #readRing(): Uint8Array {
    const ring = this.#ring!;
    if (this.#ringEnd >= TAIL_BYTES) {
      const start = this.#ringEnd % TAIL_BYTES;
      return join([ring.subarray(start), ring.subarray(0, start)], TAIL_BYTES);
    }
    const kept = join(this.pieces(), this.#keptBytes);
    const before = kept.subarray(Math.max(0, kept.byteLength - (TAIL_BYTES - this.#ringEnd)));
    return join([before, ring.subarray(0, this.#ringEnd)], TAIL_BYTES);
  }
}

function join(pieces: readonly Uint8Array[], atMost: number): Uint8Array {
  let size = 0;
  for (const piece of pieces) size += piece.byteLength;
  const joined = new Uint8Array(Math.min(size, atMost));
  let at = 0;
  for (const piece of pieces) {
    if (at >= joined.byteLength) break;
    const part = piece.byteLength > joined.byteLength - at ? piece.subarray(0, joined.byteLength - at) : piece;
    joined.set(part, at);
    at += part.byteLength;
  }
  return joined;
}
