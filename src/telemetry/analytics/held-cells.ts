import { totalmem } from 'node:os';
import { giveBackMemory } from '../../core/runtime/idle-memory.ts';
import type { Cube } from '../aggregates/cubes.ts';
import { GRAINS } from '../aggregates/grains.ts';
import type { CubePiece } from './plan.ts';
import type { CellBytes, CellColumn } from './snapshots.ts';

export interface HeldOptions {
  readonly mostBytes: number;
  /** What no question has asked for in so long is let go. */
  readonly unusedMs: number;
  readonly now: () => number;
}

/** A month of everything but people is 50 MB where ten million entries are of thirty days, of people crossed with it 70, and beside their bytes rows take 20. */
const MOST_BYTES = 144 << 20;
/** What one part in so many of the process's memory is, where that is less. */
const SHARE = 16;
const mostBytes = Math.min(MOST_BYTES, Math.floor((process.constrainedMemory() || totalmem()) / SHARE));

const DEFAULTS: HeldOptions = { mostBytes, unusedMs: 90_000, now: () => performance.now() };

/** PostgreSQL numbers transactions in 32 bits: nothing is held long enough to meet a number again. */
const LONGEST_MS = 3_600_000;
/** What a row takes beside its bytes, taken apart as questions have read it (`figures.ts`). */
const ROW_BYTES = 6_000;
/** When room is made, so much of it is: to find what was not used lately takes longer than to read a row again. */
const ROOM = 0.1;

/** A row of the cells. */
export interface RowPlace {
  readonly cube: Cube;
  readonly grain: number;
  readonly bucket: number;
}

interface Held {
  /** The transaction that wrote the row. */
  readonly version: number;
  readonly columns: Partial<Record<CellColumn, Uint8Array | null>>;
  readonly readAt: number;
  readonly bytes: number;
  usedAt: number;
  /** The last moment that used it. */
  moment: number;
}

/** Rows of a cube and a grain, by bucket. */
type Rows = Map<number, Held>;

/** Of each bucket of a piece, up to the last that is held. */
export type HeldVersions = readonly number[];
/** No transaction has this number. */
export const NOT_HELD = 0;

/**
 * Cells as they were read, each with the transaction that wrote its row. Cells of a time that is over hardly ever change: a server
 * that is asked for versions need not send them again. What is held answers nothing by itself. In every moment the server says which
 * rows there are and of which versions, and a row of any other version is read anew.
 */
export class HeldCells {
  readonly #options: HeldOptions;
  readonly #rows = new Map<string, Rows>();
  #history = '';
  #moment = 0;
  #bytes = 0;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(options: Partial<HeldOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `history`: versions of another one say nothing about rows of this one. */
  begin(history: string): void {
    if (history !== this.#history) this.clear();
    this.#history = history;
    this.#moment++;
  }

  clear(): void {
    this.#rows.clear();
    this.#bytes = 0;
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** The versions of rows of a piece that are held with this column; they stay until the moment is over. */
  versions({ cube, grain, from, until }: CubePiece, column: CellColumn): HeldVersions {
    const versions: number[] = [];
    const rows = this.#rows.get(keyOf({ cube, grain }));
    if (!rows) return versions;
    const { ms } = GRAINS[grain]!;
    const [first, end, now] = [from / ms, until / ms, this.#options.now()];
    for (let bucket = first; bucket < end; bucket++) {
      const held = rows.get(bucket);
      if (!held || held.readAt < now - LONGEST_MS) continue;
      if (held.columns[column] === undefined) continue;
      held.usedAt = now;
      held.moment = this.#moment;
      while (versions.length < bucket - first) versions.push(NOT_HELD);
      versions.push(held.version);
    }
    return versions;
  }

  /** A column of a row that is held; the server has said that it is of this version. */
  held(place: RowPlace, version: number, column: CellColumn): CellBytes[number] {
    const held = this.#rows.get(keyOf(place))?.get(place.bucket);
    if (held?.version !== version) throw new Error(`Cells of ${place.bucket} are not held as of ${version}.`);
    return held.columns[column]!;
  }

  /** Whether there is room for a row. What this moment uses is let go for none. */
  hasRoom(bytes: number): boolean {
    const room = this.#options.mostBytes - bytes - ROW_BYTES;
    if (this.#bytes <= room) return true;
    const unused = [...this.#all()].filter(({ held }) => held.moment !== this.#moment);
    unused.sort((one, other) => one.held.usedAt - other.held.usedAt);
    for (const { rows, bucket } of unused) {
      if (this.#bytes <= room - this.#options.mostBytes * ROOM) break;
      this.#drop(rows, bucket);
    }
    return this.#bytes <= room;
  }

  /** Holds columns of a row as they were read. */
  keep(place: RowPlace, version: number, read: Held['columns']): void {
    const key = keyOf(place);
    const rows: Rows = this.#rows.get(key) ?? new Map();
    this.#rows.set(key, rows);
    const now = this.#options.now();
    const before = rows.get(place.bucket);
    const isSame = before?.version === version && before.readAt >= now - LONGEST_MS;
    const columns = isSame ? { ...before.columns, ...read } : read;
    const bytes = Object.values(columns).reduce((sum, each) => sum + (each?.length ?? 0), ROW_BYTES);
    this.#drop(rows, place.bucket);
    const readAt = isSame ? before.readAt : now;
    rows.set(place.bucket, { version, columns, bytes, readAt, usedAt: now, moment: this.#moment });
    this.#bytes += bytes;
    this.#watch();
  }

  /** The row is not there any more. */
  drop(place: RowPlace): void {
    const rows = this.#rows.get(keyOf(place));
    if (rows) this.#drop(rows, place.bucket);
  }

  /** Of what no question has asked for lately. */
  letGo(): void {
    const before = this.#bytes;
    const since = this.#options.now() - this.#options.unusedMs;
    for (const { rows, bucket, held } of this.#all()) if (held.usedAt < since) this.#drop(rows, bucket);
    if (this.#bytes > 0) return;
    this.clear();
    if (before > 0) giveBackMemory();
  }

  *#all(): Generator<{ rows: Rows; bucket: number; held: Held }> {
    for (const rows of this.#rows.values()) for (const [bucket, held] of rows) yield { rows, bucket, held };
  }

  #drop(rows: Rows, bucket: number): void {
    this.#bytes -= rows.get(bucket)?.bytes ?? 0;
    rows.delete(bucket);
  }

  #watch(): void {
    if (this.#timer !== null) return;
    this.#timer = setInterval(() => this.letGo(), this.#options.unusedMs / 2);
    this.#timer.unref();
  }
}

const keyOf = ({ cube, grain }: Omit<RowPlace, 'bucket'>): string => `${grain} ${cube}`;
