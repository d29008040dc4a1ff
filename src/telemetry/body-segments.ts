import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeSync,
  writevSync,
} from 'node:fs';
import { join } from 'node:path';
import { compress, decompress, type PackedBody, sizeOf } from './packed-bodies.ts';

/** Large enough that files are few, small enough that retention frees disk in useful steps. */
const LARGEST_SEGMENT = 64 * 1024 * 1024;
/** To read one body, its whole block is read and unpacked. */
const LARGEST_BLOCK = 4 * 1024 * 1024;
const SEGMENT = /^(\d+)\.bodies$/;

/**
 * Bodies beside the embedded database: whole batches appended to plain files, in blocks of some megabytes. A database
 * would copy every body into its log, then into its pages, and clean up row by row; here a block is one write, and what
 * is too old goes with its file. A block that a crash left without records is never looked at.
 */
export class BodySegments {
  readonly #folder: string;
  readonly #compressing: Share;
  #current: { name: string; descriptor: number; size: number } | null = null;

  constructor(folder: string, { now = () => performance.now() }: { now?: () => number } = {}) {
    this.#folder = folder;
    this.#compressing = new Share(now);
  }

  /** Stores the bodies of a batch and says where each is: null where there was none. */
  append(bodies: readonly (PackedBody | null)[]): (string | null)[] {
    const places: (string | null)[] = [];
    for (let start = 0; start < bodies.length; ) {
      const end = endOfBlock(bodies, start);
      places.push(...this.#appendBlock(bodies.slice(start, end)));
      start = end;
    }
    return places;
  }

  #appendBlock(bodies: readonly (PackedBody | null)[]): (string | null)[] {
    const plain = bodies.flatMap((body) => body ?? []);
    if (plain.length === 0) return bodies.map(() => null);
    const compressed = this.#compressing.spend(() => compress(Buffer.concat(plain)));
    const block = compressed ? [compressed] : plain;
    const length = sizeOf(block);
    const { name, offset } = this.#write(block, length);
    const where = `${name}:${offset}:${length}`;
    let at = 0;
    return bodies.map((body) => {
      if (!body) return null;
      const size = sizeOf(body);
      const place = `${where}:${at}:${size}`;
      at += size;
      return place;
    });
  }

  /** The body at a place, or null when its file is gone. */
  read(place: string): Uint8Array | null {
    const [name, offset, length, at, size] = place.split(':').map(Number) as [number, number, number, number, number];
    const path = this.#path(String(name));
    if (!existsSync(path)) return null;
    const descriptor = openSync(path, 'r');
    try {
      const block = new Uint8Array(length);
      if (readSync(descriptor, block, 0, length, offset) < length) return null;
      const body = plainBlock(block).subarray(at, at + size);
      // Erased a moment ago: no body begins with zeros.
      return body.byteLength < size || startOf(body) === 0 ? null : body;
    } finally {
      closeSync(descriptor);
    }
  }

  /**
   * Overwrites bodies with zeros where they lie; those beside them in their blocks stay. Doing it again does no harm.
   * Answers which blocks were left as they are, because what is left of them would not fit into their place: the caller
   * moves that elsewhere and blanks them.
   */
  erase(places: readonly string[]): string[] {
    const crowded: string[] = [];
    for (const [where, bodies] of Map.groupBy(places, blockOf)) {
      const ranges = bodies.map((place) => place.split(':').slice(3).map(Number) as [number, number]);
      const isDone = this.#overwrite(where, (block) => blockWithout(block, ranges));
      if (!isDone) crowded.push(where);
    }
    return crowded;
  }

  /** Overwrites a whole block with zeros. */
  blank(where: string): void {
    this.#overwrite(where, (block) => new Uint8Array(block.byteLength));
  }

  /** Puts another block in the place of one. False: there is none to put there. */
  #overwrite(where: string, change: (block: Uint8Array) => Uint8Array | null): boolean {
    const [name, offset, length] = where.split(':').map(Number) as [number, number, number];
    const path = this.#path(String(name));
    if (!existsSync(path)) return true;
    const { atime, mtime } = statSync(path);
    const descriptor = openSync(path, 'r+');
    try {
      const block = new Uint8Array(length);
      if (readSync(descriptor, block, 0, length, offset) < length) return true;
      const next = change(block);
      if (!next) return false;
      writeSync(descriptor, next, 0, length, offset);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    // Retention goes by when the last body was written.
    utimesSync(path, atime, mtime);
    return true;
  }

  /** Deletes files whose last byte is older than this moment. */
  prune(before: number): void {
    if (!existsSync(this.#folder)) return;
    for (const file of readdirSync(this.#folder)) {
      const name = SEGMENT.exec(file)?.[1];
      if (name === undefined || name === this.#current?.name) continue;
      if (statSync(join(this.#folder, file)).mtimeMs < before) unlinkSync(join(this.#folder, file));
    }
  }

  close(): void {
    if (this.#current) closeSync(this.#current.descriptor);
    this.#current = null;
  }

  #write(pieces: readonly Uint8Array[], length: number): { name: string; offset: number } {
    if (this.#current && this.#current.size + length > LARGEST_SEGMENT) this.close();
    this.#current ??= this.#start();
    const { name, descriptor, size: offset } = this.#current;
    for (let at = 0; at < pieces.length; at += MOST_PIECES) writeAll(descriptor, pieces.slice(at, at + MOST_PIECES));
    this.#current.size += length;
    return { name, offset };
  }

  #start() {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    let name = Date.now();
    while (existsSync(this.#path(String(name)))) name++;
    return { name: String(name), descriptor: openSync(this.#path(String(name)), 'ax', 0o600), size: 0 };
  }

  #path(name: string): string {
    return join(this.#folder, `${name}.bodies`);
  }
}

/** Begins a block out of which bodies were erased: then come the bytes of what is left, compressed, and zeros to its end. */
const REWRITTEN = 0xfd2fb5ff;
const REWRITTEN_HEAD = 8;
/** Harder each time: the block has to fit into its old place, and mostly does at the first attempt. */
const LEVELS = [3, 9, 19];

/** The name, offset and length of the block in which a body lies. */
export const blockOf = (place: string): string => place.split(':', 3).join(':');

const startOf = (bytes: Uint8Array): number => new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);

/** The bodies of a block, one after the other, with zeros for those that were erased. */
function plainBlock(block: Uint8Array): Uint8Array {
  if (startOf(block) !== REWRITTEN) return decompress(block);
  const length = new DataView(block.buffer, block.byteOffset).getUint32(4, true);
  return decompress(block.subarray(REWRITTEN_HEAD, REWRITTEN_HEAD + length));
}

const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

/** The block as long as before, with zeros for some of its bodies; null when what is left does not fit into it. */
function blockWithout(block: Uint8Array, ranges: readonly [number, number][]): Uint8Array | null {
  if (isBlank(block)) return block;
  const found = plainBlock(block);
  const plain = new Uint8Array(found);
  for (const [at, size] of ranges) plain.fill(0, at, at + size);
  if (isBlank(plain)) return new Uint8Array(block.byteLength);
  // It was not compressed.
  if (found === block) return plain;
  for (const level of LEVELS) {
    const packed = Bun.zstdCompressSync(plain, { level });
    if (packed.byteLength + REWRITTEN_HEAD > block.byteLength) continue;
    const written = Buffer.alloc(block.byteLength);
    written.writeUInt32LE(REWRITTEN, 0);
    written.writeUInt32LE(packed.byteLength, 4);
    written.set(packed, REWRITTEN_HEAD);
    return written;
  }
  return null;
}

/** Behind the last body that the block still takes; the first one it takes whatever its size. */
function endOfBlock(bodies: readonly (PackedBody | null)[], start: number): number {
  let end = start;
  for (let size = 0; end < bodies.length; end++) {
    const body = bodies[end];
    if (body) size += sizeOf(body);
    if (size > LARGEST_BLOCK && end > start) break;
  }
  return end;
}

/** What one call of the system takes (IOV_MAX). */
const MOST_PIECES = 1_000;

/** Pieces as they lie in memory. A disk that is nearly full takes less than all; the rest then fails loudly. */
function writeAll(descriptor: number, pieces: readonly Uint8Array[]) {
  const written = writevSync(descriptor, pieces as Uint8Array[]);
  if (written === sizeOf(pieces)) return;
  const rest = Buffer.concat(pieces).subarray(written);
  for (let at = 0; at < rest.byteLength; ) at += writeSync(descriptor, rest, at);
}

/**
 * Compressing is the dearest part of writing a log. It may take this share of one core; what comes beyond that is stored
 * as it is, because under such load the calls need the processor more than the disk needs the room.
 */
const COMPRESSING_SHARE = 0.05;
const WINDOW_MS = 100;
/** A node that needed more than its share stays busy, and compressing a twentieth of the bodies saves too little. */
const PAUSE_MS = 2_000;

/**
 * Work that may take a share of the time; when there is more of it, it is left undone for a while. `now` is a monotonic
 * clock in milliseconds.
 */
export class Share {
  readonly #now: () => number;
  #windowStart: number;
  #spentMs = 0;
  /** Work has been left undone in this window. */
  #isBusy = false;

  constructor(now: () => number) {
    this.#now = now;
    this.#windowStart = now();
  }

  spend<Result>(work: () => Result): Result | null {
    const start = this.#now();
    const isSpent = this.#spentMs >= WINDOW_MS * COMPRESSING_SHARE;
    if (start - this.#windowStart >= (this.#isBusy ? PAUSE_MS : WINDOW_MS)) {
      this.#windowStart = start;
      this.#spentMs = 0;
      this.#isBusy = false;
    } else if (isSpent) {
      this.#isBusy = true;
      return null;
    }
    const result = work();
    this.#spentMs += this.#now() - start;
    return result;
  }
}
