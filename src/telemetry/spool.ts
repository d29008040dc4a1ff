import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { isAlive, processTag } from '../storage/process-tag.ts';
import type { LogRow } from './log-columns.ts';
import type { LogBatch } from './log-sink.ts';
import { sizeOf } from './packed-bodies.ts';

export interface SpoolOptions {
  readonly folder: string;
  readonly maxBytes: number;
  readonly processId: number;
  readonly now: () => number;
}

/** What had to go so that the spool keeps its bound. */
export interface Shed {
  readonly records: number;
  readonly bodies: number;
}

const FILE = /^(\d+)-(\d+)-(\d+(?:\.\d+)?)(-lean)?\.spool$/;
const LARGEST_FILE = 16 * 1024 * 1024;
/** Lengths of the two parts and their checksum, 4 bytes each. */
const FRAME_HEAD = 12;

/**
 * Batches on disk while the store is away. A file is a row of frames (lengths, checksum, rows as JSON, bodies); each is
 * forced to disk before it counts as kept. A torn last frame, left by a kill, is recognised and ignored.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #owner: string;
  #current: { name: string; descriptor: number; size: number } | null = null;
  #made = 0;
  #bytes: number;

  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#owner = processTag(options.processId);
    this.#bytes = this.#names().reduce((total, name) => total + this.#size(name), 0);
  }

  append(batch: LogBatch): Shed {
    const frame = encode(batch);
    const file = this.#current ?? this.#start();
    try {
      writeAll(file.descriptor, frame);
      fsyncSync(file.descriptor);
    } catch (error) {
      // What was half written is a torn end now; the next batch starts a new file.
      this.seal();
      throw error;
    }
    file.size += frame.byteLength;
    this.#bytes += frame.byteLength;
    if (file.size >= Math.min(LARGEST_FILE, this.#options.maxBytes / 8)) this.seal();
    return this.#bytes > this.#options.maxBytes ? this.#shed() : { records: 0, bodies: 0 };
  }

  /** Ends the current file, so that it can be replayed. */
  seal(): void {
    if (this.#current) closeSync(this.#current.descriptor);
    this.#current = null;
  }

  /** Finished files that are ours to replay, oldest first. Those of another living process are left to it. */
  files(): string[] {
    return this.#names().filter((name) => name !== this.#current?.name && this.#isOurs(name));
  }

  read(name: string): LogBatch[] {
    return decodeAll(readFileSync(this.#path(name)));
  }

  /** Only after its rows are committed. */
  remove(name: string): void {
    this.#bytes -= this.#size(name);
    try {
      unlinkSync(this.#path(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  #start() {
    const { now } = this.#options;
    mkdirSync(this.#options.folder, { recursive: true, mode: 0o700 });
    const name = `${String(now()).padStart(15, '0')}-${String(this.#made++).padStart(6, '0')}-${this.#owner}.spool`;
    this.#current = { name, descriptor: openSync(this.#path(name), 'a', 0o600), size: 0 };
    return this.#current;
  }

  #shed(): Shed {
    let records = 0;
    let bodies = 0;
    for (const name of this.files()) {
      if (this.#bytes <= this.#options.maxBytes) break;
      if (!name.includes('-lean')) bodies += this.#dropBodies(name);
    }
    for (const name of this.files()) {
      if (this.#bytes <= this.#options.maxBytes) break;
      for (const batch of this.read(name)) records += batch.rows.length;
      this.remove(name);
    }
    return { records, bodies };
  }

  #dropBodies(name: string): number {
    const batches = this.read(name);
    const lean = batches.map(({ rows }) => encode({ rows, bodies: rows.map(() => null) }));
    const leanName = name.replace('.spool', '-lean.spool');
    const draft = this.#path(`${leanName}.draft`);
    writeFileSync(draft, Buffer.concat(lean), { mode: 0o600, flush: true });
    renameSync(draft, this.#path(leanName));
    this.#bytes += this.#size(leanName);
    this.remove(name);
    return batches.reduce((total, batch) => total + batch.bodies.filter(Boolean).length, 0);
  }

  #names(): string[] {
    if (!existsSync(this.#options.folder)) return [];
    return readdirSync(this.#options.folder)
      .filter((name) => FILE.test(name))
      .sort();
  }

  #isOurs(name: string): boolean {
    const owner = FILE.exec(name)![3]!;
    return owner === this.#owner || owner === String(this.#options.processId) || !isAlive(owner);
  }

  #path(name: string): string {
    return join(this.#options.folder, name);
  }

  #size(name: string): number {
    try {
      return statSync(this.#path(name)).size;
    } catch {
      return 0;
    }
  }
}

function writeAll(descriptor: number, bytes: Uint8Array) {
  let at = 0;
  while (at < bytes.byteLength) at += writeSync(descriptor, bytes, at);
}

interface FrameMeta {
  readonly rows: LogRow[];
  /** Bytes of each row's body; 0: none. */
  readonly sizes: number[];
}

function encode({ rows, bodies }: LogBatch): Buffer {
  const meta: FrameMeta = { rows: [...rows], sizes: bodies.map((body) => (body ? sizeOf(body) : 0)) };
  const json = Buffer.from(JSON.stringify(meta));
  const payload = Buffer.concat([json, ...bodies.flatMap((body) => body ?? [])]);
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt32LE(json.byteLength, 0);
  head.writeUInt32LE(payload.byteLength - json.byteLength, 4);
  head.writeUInt32LE(Bun.hash.crc32(payload), 8);
  return Buffer.concat([head, payload]);
}

function decodeAll(file: Buffer): LogBatch[] {
  const batches: LogBatch[] = [];
  for (let at = 0; at + FRAME_HEAD <= file.byteLength; ) {
    const jsonBytes = file.readUInt32LE(at);
    const bodyBytes = file.readUInt32LE(at + 4);
    const start = at + FRAME_HEAD;
    const end = start + jsonBytes + bodyBytes;
    if (end > file.byteLength) break;
    const payload = file.subarray(start, end);
    if (Bun.hash.crc32(payload) !== file.readUInt32LE(at + 8)) break;
    batches.push(decode(payload, jsonBytes));
    at = end;
  }
  return batches;
}

function decode(payload: Buffer, jsonBytes: number): LogBatch {
  const { rows, sizes } = JSON.parse(payload.toString('utf8', 0, jsonBytes)) as FrameMeta;
  let at = jsonBytes;
  const bodies = sizes.map((size) => {
    at += size;
    return size === 0 ? null : [payload.subarray(at - size, at)];
  });
  return { rows, bodies };
}
