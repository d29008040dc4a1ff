import { closeSync, ftruncateSync, openSync, unlinkSync, writeSync } from 'node:fs';

/** A new file of a journal. What is appended survives the end of the process, and may be lost with the power. */
export interface Segment {
  readonly size: number;
  /** Bytes that can still be appended. */
  readonly room: number;
  /** All of it, or it throws and the file is as before. */
  append(records: string): void;
  clear(): void;
  /** Nothing may be appended after this. */
  close(): void;
}

/** Grows with one `write` for each append. */
export class WrittenSegment implements Segment {
  readonly #descriptor: number;
  #size = 0;
  #isTorn = false;

  constructor(file: string) {
    this.#descriptor = openSync(file, 'ax', 0o600);
  }

  get size(): number {
    return this.#size;
  }

  get room(): number {
    return this.#isTorn ? 0 : Number.POSITIVE_INFINITY;
  }

  append(records: string): void {
    try {
      this.#size += writeWhole(this.#descriptor, records);
    } catch (error) {
      this.#undo();
      throw error;
    }
  }

  clear(): void {
    if (this.#size > 0) ftruncateSync(this.#descriptor, 0);
    this.#size = 0;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Half a record must not stand before the next one; if it cannot be cut off, the next one goes elsewhere. */
  #undo() {
    try {
      ftruncateSync(this.#descriptor, this.#size);
    } catch {
      this.#isTorn = true;
    }
  }
}

/**
 * Has its size from the start and lies in memory: an append is a copy, and what is copied is the kernel's, as if it had
 * been written. Behind it stand zeros, which no record contains. They are on disk before anything takes their place, so
 * a disk that is full is an error of the constructor, and not a signal that ends the process later.
 */
export class MappedSegment implements Segment {
  readonly #descriptor: number;
  readonly #bytes: Buffer;
  #size = 0;

  constructor(file: string, size: number) {
    this.#descriptor = openSync(file, 'wx', 0o600);
    try {
      const zeros = new Uint8Array(64 << 10);
      for (let at = 0; at < size; at += zeros.byteLength)
        writeBytes(this.#descriptor, zeros, Math.min(zeros.byteLength, size - at));
      const mapped = Bun.mmap(file, { shared: true });
      this.#bytes = Buffer.from(mapped.buffer, mapped.byteOffset, mapped.byteLength);
    } catch (error) {
      // On a full disk each call would try again, and leave one more behind.
      closeSync(this.#descriptor);
      unlinkSync(file);
      throw error;
    }
  }

  get size(): number {
    return this.#size;
  }

  get room(): number {
    return this.#bytes.byteLength - this.#size;
  }

  append(records: string): void {
    this.#size += this.#bytes.write(records, this.#size);
  }

  clear(): void {
    this.#bytes.fill(0, 0, this.#size);
    this.#size = 0;
  }

  /** Memory behind the end of its file must not be touched, so no method may be called after this. */
  close(): void {
    ftruncateSync(this.#descriptor, this.#size);
    closeSync(this.#descriptor);
  }
}

const MOST_BYTES_PER_UNIT = 3;
export const mostBytes = (records: string): number => records.length * MOST_BYTES_PER_UNIT;

/** Most appends are a record or a few, and a buffer for each would cost as much as the write. */
const scratch = Buffer.allocUnsafeSlow(16 << 10);

function writeWhole(descriptor: number, records: string): number {
  const fits = mostBytes(records) <= scratch.byteLength;
  const bytes = fits ? scratch : Buffer.from(records);
  const size = fits ? scratch.write(records) : bytes.byteLength;
  writeBytes(descriptor, bytes, size);
  return size;
}

function writeBytes(descriptor: number, bytes: Uint8Array, size: number) {
  for (let at = 0; at < size; ) at += writeSync(descriptor, bytes, at, size - at);
}
