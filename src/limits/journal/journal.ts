import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

const SEGMENT = /^(\d{12})-(\d+)\.journal$/;

export interface JournalOptions {
  readonly folder: string;
  readonly processId: number;
  /** Whether other processes may keep segments in the same folder; those of living ones are left to them. */
  readonly isShared: boolean;
}

/**
 * Records on disk, one line each, in numbered segments. An append is one `write` without fsync: what it wrote survives
 * the end of the process, however sudden, and may be lost with the power. A torn end, left by a kill, is ignored, and so
 * is what the power took; a damaged record with good ones after it is not, because then more of the file may be wrong.
 */
export class Journal {
  readonly #options: JournalOptions;
  #current: { readonly name: string; readonly descriptor: number } | null = null;
  #size = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    if (!options.isShared)
      for (const name of readdirSync(options.folder)) if (name.endsWith('.draft')) this.remove(name);
  }

  /** Bytes in the segment that is being written; 0 when the next append begins one. */
  get size(): number {
    return this.#size;
  }

  /** Takes lines of `recordOf`. Either all of it is written, or it throws and nothing is. */
  append(records: string): void {
    const { descriptor } = this.#current ?? this.#begin();
    try {
      this.#size += writeWhole(descriptor, records);
    } catch (error) {
      this.#undo();
      throw error;
    }
  }

  /** Starts a segment with these records, at once or not at all, and answers those before it. Not in a shared folder. */
  startWith(records: string): string[] {
    const before = [...this.finished(), ...(this.#current ? [this.#current.name] : [])];
    const name = this.#nextName();
    const draft = name.replace('.journal', '.draft');
    const descriptor = this.#create(draft);
    let size: number;
    try {
      size = writeWhole(descriptor, records);
      renameSync(join(this.#options.folder, draft), join(this.#options.folder, name));
    } catch (error) {
      closeSync(descriptor);
      this.remove(draft);
      throw error;
    }
    this.finish();
    this.#current = { name, descriptor };
    this.#size = size;
    return before;
  }

  /** Ends the current segment; the next append begins another. */
  finish(): void {
    if (this.#current) closeSync(this.#current.descriptor);
    this.#current = null;
    this.#size = 0;
  }

  /** Ends the current segment and deletes it. */
  discard(): void {
    const name = this.#current?.name;
    this.finish();
    if (name) this.remove(name);
  }

  /** Empties the current segment. */
  clear(): void {
    if (!this.#current || this.#size === 0) return;
    ftruncateSync(this.#current.descriptor, 0);
    this.#size = 0;
  }

  /** Ended segments that are ours to read, oldest first. */
  finished(): string[] {
    return this.#names().filter((name) => name !== this.#current?.name && this.#isOurs(name));
  }

  read(name: string): unknown[] {
    const file = join(this.#options.folder, name);
    return recordsIn(readFileSync(file, 'utf8'), file);
  }

  remove(name: string): void {
    try {
      unlinkSync(join(this.#options.folder, name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  #begin() {
    const name = this.#nextName();
    this.#current = { name, descriptor: this.#create(name) };
    return this.#current;
  }

  #create(name: string): number {
    return openSync(join(this.#options.folder, name), 'ax', 0o600);
  }

  /** Half a record must not stand before the next one; if it cannot be cut off, the next one goes elsewhere. */
  #undo() {
    try {
      ftruncateSync(this.#current!.descriptor, this.#size);
    } catch {
      this.finish();
    }
  }

  #nextName(): string {
    const last = this.#names().at(-1);
    const number = last ? Number(SEGMENT.exec(last)![1]) + 1 : 1;
    return `${String(number).padStart(12, '0')}-${this.#options.processId}.journal`;
  }

  #names(): string[] {
    return readdirSync(this.#options.folder)
      .filter((name) => SEGMENT.test(name))
      .sort();
  }

  #isOurs(name: string): boolean {
    const owner = Number(SEGMENT.exec(name)![2]);
    return !this.#options.isShared || owner === this.#options.processId || !isAlive(owner);
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function writeWhole(descriptor: number, records: string): number {
  const bytes = Buffer.from(records);
  for (let at = 0; at < bytes.byteLength; ) at += writeSync(descriptor, bytes, at);
  return bytes.byteLength;
}

const checksum = (json: string) => Bun.hash.crc32(json).toString(16).padStart(8, '0');

export function recordOf(value: unknown): string {
  const json = JSON.stringify(value);
  return `${checksum(json)} ${json}\n`;
}

function recordsIn(text: string, file: string): unknown[] {
  const lines = text.split('\n');
  // What stands after the last line break is torn, or nothing.
  lines.pop();
  const records = lines.filter((line) => !isLost(line)).map(parse);
  while (records.length > 0 && records.at(-1) === undefined) records.pop();
  const damaged = records.indexOf(undefined);
  if (damaged >= 0) {
    throw new Error(
      `${file} is damaged: record ${damaged + 1} of ${lines.length} cannot be read, and whole ones follow it. It holds what calls have cost. Restore the file from a backup, or move it away and accept that what is in it is not counted.`,
    );
  }
  return records;
}

/** The power went before this part of the file was on disk, and zeros stand in its place. No record contains one. */
const isLost = (line: string) => line.includes('\0');

function parse(line: string): unknown {
  const json = line.slice(9);
  if (line[8] !== ' ' || checksum(json) !== line.slice(0, 8)) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
