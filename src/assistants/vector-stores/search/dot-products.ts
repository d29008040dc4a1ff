import { KERNEL } from './dot-products-kernel.ts';
import { Regions } from './regions.ts';

/**
 * What a search computes for each vector. JavaScript needs ten times as long for it as the vector instructions of
 * WebAssembly, so the inner loops are written in those: `dot-products.wat`.
 */

/** Rows are padded to a multiple of this many bytes, and codes come in groups of as many rows. */
export const LANES = 16;

const PAGE = 65_536;
/** So large the memory of a kernel may become by what is held there: with room for two that hold 256 MiB each, and for holes. */
const MOST_HELD = 640 << 20;

/** Of a group of codes: the sums of its rows, its number, and what is enough there. */
const BYTES_PER_GROUP = LANES * 2 + 4 + 2;

const MODULE = Uint8Array.fromBase64(KERNEL);

interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly dots: (data: number, query: number, out: number, count: number, stride: number) => void;
  readonly sums: (
    ...[codes, tables, least, found, out, groups, pairs]: [number, number, number, number, number, number, number]
  ) => number;
}

/** Bytes that lie in the kernel's own memory: what is looked at by every search is not copied for each of them. */
export class Held {
  readonly at: number;
  readonly length: number;

  constructor(at: number, length: number) {
    this.at = at;
    this.length = length;
  }
}

/** Rows, one behind the other, each as long as the query; answers one product per row, valid until the next call. */
export type DotProducts = (rows: Int8Array | Held, query: Int16Array) => Int32Array;

/**
 * Codes in groups of 16 rows, of each row a byte, then of each the next one. Tables have 32 numbers for every such byte: 16 for
 * its lower half, 16 for its upper one. Answers the groups in which the sum of a row is at least what is said for its group, valid
 * until the next call: nearly all rows are looked at here and nowhere else.
 */
export type CodeSums = (codes: Uint8Array | Held, tables: Uint8Array, least: Uint16Array) => GroupSums;

export interface GroupSums {
  /** Their numbers. */
  readonly groups: Int32Array;
  /** The sums of each, of all its 16 rows. */
  readonly sums: Uint16Array;
}

export interface Kernel {
  readonly dotProducts: DotProducts;
  readonly codeSums: CodeSums;
  /** Null: there is no room for it, or no memory of the kernel's own. */
  readonly hold: (bytes: Int8Array | Uint8Array) => Held | null;
  /** Its place is another's from then on. */
  readonly letGo: (held: Held) => void;
}

export function createKernel(mostHeld = MOST_HELD): Kernel {
  if (!WebAssembly.validate(MODULE)) return PLAIN;
  const { memory, dots, sums } = new WebAssembly.Instance(new WebAssembly.Module(MODULE)).exports as unknown as Exports;
  const regions = new Regions();
  /** A query, the answer, and behind them what it is compared with, unless that is held. */
  let desk = new Held(0, 0);

  const makeRoom = () => {
    const missing = Math.ceil((regions.end - memory.buffer.byteLength) / PAGE);
    // By a quarter at least: growing may move all of it.
    if (missing > 0) memory.grow(Math.max(missing, Math.ceil(memory.buffer.byteLength / PAGE / 4)));
  };
  const deskOf = (bytes: number): number => {
    if (bytes <= desk.length) return desk.at;
    regions.giveBack(desk.at, desk.length);
    desk = new Held(regions.take(bytes, Number.POSITIVE_INFINITY)!, bytes);
    makeRoom();
    return desk.at;
  };
  /** Where it lies; a copy of what is not held goes there. */
  const placed = (bytes: Int8Array | Uint8Array | Held, free: number): number => {
    if (bytes instanceof Held) return bytes.at;
    new Int8Array(memory.buffer, free, bytes.length).set(bytes);
    return free;
  };
  return {
    dotProducts: (rows, query) => {
      const stride = query.length;
      const count = rows.length / stride;
      const ahead = query.byteLength + Math.ceil((count * 4) / LANES) * LANES;
      const queryAt = deskOf(ahead + (rows instanceof Held ? 0 : rows.length));
      const outAt = queryAt + query.byteLength;
      new Int16Array(memory.buffer, queryAt, stride).set(query);
      const rowsAt = placed(rows, queryAt + ahead);
      if (count > 0) dots(rowsAt, queryAt, outAt, count, stride);
      return new Int32Array(memory.buffer, outAt, count);
    },
    codeSums: (codes, tables, least) => {
      const pairs = tables.length / (2 * LANES);
      const groups = codes.length / (pairs * LANES);
      const tablesAt = deskOf(
        tables.length + groups * BYTES_PER_GROUP + 2 * LANES + (codes instanceof Held ? 0 : codes.length),
      );
      const outAt = tablesAt + tables.length;
      const foundAt = outAt + groups * LANES * 2;
      const leastAt = foundAt + groups * 4;
      new Uint8Array(memory.buffer, tablesAt, tables.length).set(tables);
      new Uint16Array(memory.buffer, leastAt, groups).set(least);
      const codesAt = placed(codes, Math.ceil((leastAt + groups * 2) / LANES) * LANES);
      const count = groups > 0 ? sums(codesAt, tablesAt, leastAt, foundAt, outAt, groups, pairs) : 0;
      return {
        groups: new Int32Array(memory.buffer, foundAt, count),
        sums: new Uint16Array(memory.buffer, outAt, count * LANES),
      };
    },
    hold: (bytes) => {
      const at = regions.take(bytes.length, mostHeld);
      if (at === null) return null;
      try {
        makeRoom();
      } catch {
        // The machine has no more memory in one piece.
        regions.giveBack(at, bytes.length);
        return null;
      }
      new Int8Array(memory.buffer, at, bytes.length).set(bytes);
      return new Held(at, bytes.length);
    },
    letGo: ({ at, length }) => regions.giveBack(at, length),
  };
}

let shared: Kernel | null = null;

/** One for each thread. */
export const kernel = (): Kernel => (shared ??= createKernel());

/** The same without vector instructions. */
export const plainDotProducts = (rows: Int8Array, query: Int16Array): Int32Array => {
  const stride = query.length;
  const products = new Int32Array(rows.length / stride);
  for (let row = 0, at = 0; row < products.length; row++) {
    let sum = 0;
    for (let column = 0; column < stride; column++) sum += rows[at++]! * query[column]!;
    products[row] = sum;
  }
  return products;
};

/** The same without vector instructions. */
export const plainCodeSums = (codes: Uint8Array, tables: Uint8Array, least: Uint16Array): GroupSums => {
  const pairs = tables.length / (2 * LANES);
  const all = new Uint16Array(codes.length / pairs);
  for (let at = 0; at < codes.length; at++) {
    const pair = Math.floor(at / LANES) % pairs;
    const row = Math.floor(at / (LANES * pairs)) * LANES + (at % LANES);
    const byte = codes[at]!;
    all[row]! += tables[pair * 2 * LANES + (byte & 15)]! + tables[pair * 2 * LANES + LANES + (byte >> 4)]!;
  }
  const sumsOf = (group: number) => all.subarray(group * LANES, (group + 1) * LANES);
  const groups = Int32Array.from(least.keys()).filter((group) => sumsOf(group).some((sum) => sum >= least[group]!));
  const sums = new Uint16Array(groups.length * LANES);
  for (const [place, group] of groups.entries()) sums.set(sumsOf(group), place * LANES);
  return { groups, sums };
};

/** Holds nothing, so it is shown nothing that is held. */
const PLAIN: Kernel = {
  dotProducts: (rows, query) => plainDotProducts(rows as Int8Array, query),
  codeSums: (codes, tables, least) => plainCodeSums(codes as Uint8Array, tables, least),
  hold: () => null,
  letGo: () => {},
};
