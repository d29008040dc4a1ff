import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
  writevSync,
} from 'node:fs';
import { join } from 'node:path';
import { compress, decompress, type PackedBody, sizeOf } from './packed-bodies.ts';

/** Large enough that files are few, small enough that retention frees disk in useful steps. */
const LARGEST_SEGMENT = 64 * 1024 * 1024;
/** Whoever wants one body of a block reads and unpacks all of it. */
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
      return decompress(block).subarray(at, at + size);
    } finally {
      closeSync(descriptor);
    }
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
/** Whoever needed more than that is as busy in the next moment: a twentieth of the bodies is not worth the time. */
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
