import { SUMS } from './amount.ts';
import type { Chunk, Keys, Packed, Part } from './chunk.ts';
import { OTHER_ID } from './cubes.ts';
import { LAYS, type Layout } from './layout.ts';
import { HistogramSums } from './packed-histograms.ts';

/** So many cells of a bucket that differ by people are kept; others are counted together, by their core. */
const MOST_CELLS = 200_000;
const FEW = 256;

/** The cells of one cube and one bucket, added up column by column: there may be as many of them as there were calls. */
export class Cells {
  readonly #width: number;
  readonly #most: number;
  /** Keys, of which narrower cells leave the last at nothing; there is room for more cells. */
  #ones = new Int32Array(FEW);
  #twos = new Int32Array(FEW);
  #threes = new Int32Array(FEW);
  /** By their place among all sums; null: all of them are nothing. */
  #sums: (Float64Array | null)[] = SUMS.map(() => null);
  readonly #durations = new HistogramSums();
  readonly #firstBytes = new HistogramSums();
  #count = 0;
  /** Cells by their keys, counted from 1: each stands where its key says, or in the first free place after it. Half of it is free. */
  #table = new Int32Array(2 * FEW);

  /** `width`: how many ids a key has, three at most. */
  constructor(width: number, most = MOST_CELLS) {
    this.#width = width;
    this.#most = most;
  }

  add({ chunk, keys }: Part): void {
    const to = this.#cellsCalled(keys, chunk.count);
    for (let place = 0; place < SUMS.length; place++) this.#addSums(place, chunk, to);
    this.#durations.add(chunk.durations, to);
    this.#firstBytes.add(chunk.firstBytes, to);
  }

  /** Cells that amount to nothing are left out. */
  pack(layout: Layout): Packed {
    const order = this.#inOrder();
    const keys = [this.#ones, this.#twos, this.#threes].slice(0, this.#width);
    const picked = keys.map((column) => order.map((cell) => column[cell]!));
    const sums = this.#sums.map((column) => column && pickedSums(column, order));
    return {
      ...LAYS[layout](order.length, picked, sums),
      durations: this.#durations.write(order),
      first_bytes: this.#firstBytes.write(order),
    };
  }

  #cellsCalled(keys: readonly Keys[], count: number): Int32Array {
    const [one, two, three] = keys;
    const cells = new Int32Array(count);
    for (let at = 0; at < count; at++)
      cells[at] = one![at]! < 0 ? -1 : this.#cellCalled(one![at]!, two ? two[at]! : 0, three ? three[at]! : 0);
    return cells;
  }

  #cellCalled(one: number, two: number, three: number): number {
    const [ones, twos, threes, table] = [this.#ones, this.#twos, this.#threes, this.#table];
    let place = this.#placeOf(one, two, three);
    for (let cell = table[place]! - 1; cell >= 0; cell = table[place]! - 1) {
      if (ones[cell] === one && twos[cell] === two && threes[cell] === three) return cell;
      place = (place + 1) & (table.length - 1);
    }
    const isOneTooMany = this.#count >= this.#most && this.#width > 1 && two !== OTHER_ID;
    if (isOneTooMany) return this.#cellCalled(one, OTHER_ID, OTHER_ID);
    if (this.#count === ones.length) {
      this.#grow();
      return this.#cellCalled(one, two, three);
    }
    const cell = this.#count++;
    ones[cell] = one;
    twos[cell] = two;
    threes[cell] = three;
    table[place] = cell + 1;
    return cell;
  }

  /** Any three odd numbers that spread ids, which follow each other, over all bits. */
  #placeOf(one: number, two: number, three: number): number {
    const mixed = Math.imul(one, 0x9e3779b1) ^ Math.imul(two, 0x85ebca6b) ^ Math.imul(three, 0xc2b2ae35);
    return (mixed ^ (mixed >>> 15)) & (this.#table.length - 1);
  }

  #grow(): void {
    const room = 2 * this.#ones.length;
    this.#ones = widened(this.#ones, new Int32Array(room));
    this.#twos = widened(this.#twos, new Int32Array(room));
    this.#threes = widened(this.#threes, new Int32Array(room));
    this.#sums = this.#sums.map((column) => column && widened(column, new Float64Array(room)));
    this.#table = new Int32Array(2 * room);
    for (let cell = 0; cell < this.#count; cell++) {
      let place = this.#placeOf(this.#ones[cell]!, this.#twos[cell]!, this.#threes[cell]!);
      while (this.#table[place] !== 0) place = (place + 1) & (this.#table.length - 1);
      this.#table[place] = cell + 1;
    }
  }

  #addSums(place: number, chunk: Chunk, to: Int32Array): void {
    const { column, large } = chunk.sum(place);
    if (column === null) return;
    const sums = this.#sums[place] ?? new Float64Array(this.#ones.length);
    this.#sums[place] = sums;
    // Of one kind of numbers: a loop that has met several is much slower.
    const values = column instanceof Float64Array ? column : new Float64Array(column);
    for (let cell = 0; cell < to.length; cell++) if (to[cell]! >= 0) sums[to[cell]!]! += values[cell]!;
    for (const [at, cell] of large?.cells.entries() ?? []) if (to[cell]! >= 0) sums[to[cell]!]! += large!.values[at]!;
  }

  /** Those that amount to something, by their keys. */
  #inOrder(): Int32Array {
    const isKept = new Uint8Array(this.#count);
    for (const column of this.#sums)
      for (let cell = 0; column && cell < isKept.length; cell++) if (column[cell] !== 0) isKept[cell] = 1;
    const kept = new Int32Array(this.#count);
    let count = 0;
    for (let cell = 0; cell < isKept.length; cell++) if (isKept[cell] === 1) kept[count++] = cell;
    const [ones, twos, threes] = [this.#ones, this.#twos, this.#threes];
    return kept
      .subarray(0, count)
      .sort((one, other) => ones[one]! - ones[other]! || twos[one]! - twos[other]! || threes[one]! - threes[other]!);
  }
}

function widened<Numbers extends Int32Array | Float64Array>(column: Numbers, wider: Numbers): Numbers {
  wider.set(column);
  return wider;
}

function pickedSums(column: Float64Array, cells: Int32Array): Float64Array {
  const picked = new Float64Array(cells.length);
  for (let at = 0; at < cells.length; at++) picked[at] = column[cells[at]!]!;
  return picked;
}
