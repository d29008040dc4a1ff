import { mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { MappedSegment, mostBytes, type Segment, WrittenSegment } from './segment.ts';

const SEGMENT = /^(\d{12})-(\d+)\.journal$/;

export interface JournalOptions {
  readonly folder: string;
  readonly processId: number;
  /** Whether other processes may keep segments in the same folder; those of living ones are left to them. */
  readonly isShared: boolean;
  /** Segments of at least this size are mapped into memory, for records that are written one by one. */
  readonly mappedBytes?: number;
}

/**
 * Records on disk, one line each, in numbered segments, without fsync: what was appended survives the end of the
 * process, however sudden, and may be lost with the power. A torn end, left by a kill, is ignored, and so is what the
 * power took; a damaged record with good ones after it is not, because then more of the file may be wrong.
 */
export class Journal {
  readonly #options: JournalOptions;
  #current: { readonly name: string; readonly segment: Segment } | null = null;

  constructor(options: JournalOptions) {
    this.#options = options;
    mkdirSync(options.folder, { recursive: true, mode: 0o700 });
    if (!options.isShared)
      for (const name of readdirSync(options.folder)) if (name.endsWith('.draft')) this.remove(name);
  }

  /** Bytes in the segment that is being written. */
  get size(): number {
    return this.#current?.segment.size ?? 0;
  }

  /** Bytes that the segment still takes. */
  get room(): number {
    return this.#current?.segment.room ?? 0;
  }

  /** Whether these go into the segment that is being written. Otherwise an append begins another. */
  hasRoomFor(records: string): boolean {
    return mostBytes(records) <= this.room;
  }

  /** Takes lines of `recordOf`. Either all of it is written, or it throws and nothing is. */
  append(records: string): void {
    if (!this.hasRoomFor(records)) this.#begin(records);
    this.#current!.segment.append(records);
  }

  /** Starts a segment with these records, at once or not at all, and answers those before it. Not in a shared folder. */
  startWith(records: string): string[] {
    const before = [...this.finished(), ...(this.#current ? [this.#current.name] : [])];
    const name = this.#nextName();
    const draft = name.replace('.journal', '.draft');
    const segment = this.#create(draft, records);
    try {
      segment.append(records);
      renameSync(join(this.#options.folder, draft), join(this.#options.folder, name));
    } catch (error) {
      segment.close();
      this.remove(draft);
      throw error;
    }
    this.finish();
    this.#current = { name, segment };
    return before;
  }

  /** Ends the current segment; the next append begins another. */
  finish(): void {
    this.#current?.segment.close();
    this.#current = null;
  }

  /** Ends the current segment and deletes it. */
  discard(): void {
    const name = this.#current?.name;
    this.finish();
    if (name) this.remove(name);
  }

  /** Empties the current segment. */
  clear(): void {
    this.#current?.segment.clear();
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

  #begin(records: string) {
    this.finish();
    const name = this.#nextName();
    this.#current = { name, segment: this.#create(name, records) };
  }

  /** With room for as many again. */
  #create(name: string, records: string): Segment {
    const { folder, mappedBytes } = this.#options;
    const file = join(folder, name);
    return mappedBytes === undefined
      ? new WrittenSegment(file)
      : new MappedSegment(file, Math.max(mappedBytes, 2 * mostBytes(records)));
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

/** Zeros stood there before the record, and the power went before it was on disk: not every page is in its turn. */
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
