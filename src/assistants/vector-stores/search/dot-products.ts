import { KERNEL } from './dot-products-kernel.ts';

/**
 * What a search computes for each vector. JavaScript needs ten times as long for it as the vector instructions of
 * WebAssembly, so the inner loops are written in those: `dot-products.wat`.
 */

/** Rows are padded to a multiple of this many bytes, and codes come in groups of as many rows. */
export const LANES = 16;

const PAGE = 65_536;

const MODULE = Uint8Array.fromBase64(KERNEL);

interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly dots: (data: number, query: number, out: number, count: number, stride: number) => void;
  readonly sums: (codes: number, tables: number, out: number, groups: number, pairs: number) => void;
}

/** Rows, one behind the other, each as long as the query; answers one product per row, valid until the next call. */
export type DotProducts = (rows: Int8Array, query: Int16Array) => Int32Array;

/**
 * Codes in groups of 16 rows, of each row a byte, then of each the next one. Tables have 32 numbers for every such byte: 16 for
 * its lower half, 16 for its upper one. Answers one sum per row, valid until the next call.
 */
export type CodeSums = (codes: Uint8Array, tables: Uint8Array) => Uint16Array;

export interface Kernel {
  readonly dotProducts: DotProducts;
  readonly codeSums: CodeSums;
}

export function createKernel(): Kernel {
  if (!WebAssembly.validate(MODULE)) return { dotProducts: plainDotProducts, codeSums: plainCodeSums };
  const { memory, dots, sums } = new WebAssembly.Instance(new WebAssembly.Module(MODULE)).exports as unknown as Exports;
  const makeRoom = (bytes: number) => {
    const missing = bytes - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
  };
  return {
    dotProducts: (rows, query) => {
      const stride = query.length;
      const count = rows.length / stride;
      const outAt = query.byteLength;
      const rowsAt = outAt + Math.ceil((count * 4) / LANES) * LANES;
      makeRoom(rowsAt + rows.length);
      new Int16Array(memory.buffer, 0, stride).set(query);
      new Int8Array(memory.buffer, rowsAt, rows.length).set(rows);
      if (count > 0) dots(rowsAt, 0, outAt, count, stride);
      return new Int32Array(memory.buffer, outAt, count);
    },
    codeSums: (codes, tables) => {
      const pairs = tables.length / (2 * LANES);
      const groups = codes.length / (pairs * LANES);
      const outAt = tables.length;
      const codesAt = outAt + groups * LANES * 2;
      makeRoom(codesAt + codes.length);
      new Uint8Array(memory.buffer, 0, tables.length).set(tables);
      new Uint8Array(memory.buffer, codesAt, codes.length).set(codes);
      if (groups > 0) sums(codesAt, 0, outAt, groups, pairs);
      return new Uint16Array(memory.buffer, outAt, groups * LANES);
    },
  };
}

let shared: Kernel | null = null;

/** One for each thread. */
export const kernel = (): Kernel => (shared ??= createKernel());

/** The same without vector instructions. */
export const plainDotProducts: DotProducts = (rows, query) => {
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
export const plainCodeSums: CodeSums = (codes, tables) => {
  const pairs = tables.length / (2 * LANES);
  const sums = new Uint16Array(codes.length / pairs);
  for (let at = 0; at < codes.length; at++) {
    const pair = Math.floor(at / LANES) % pairs;
    const row = Math.floor(at / (LANES * pairs)) * LANES + (at % LANES);
    const byte = codes[at]!;
    sums[row]! += tables[pair * 2 * LANES + (byte & 15)]! + tables[pair * 2 * LANES + LANES + (byte >> 4)]!;
  }
  return sums;
};
