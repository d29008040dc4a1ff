import { KERNEL } from './dot-products-kernel.ts';

/**
 * Dot products of one query with many quantised vectors. JavaScript needs ten times as long for them as the vector
 * instructions of WebAssembly, so the inner loop is written in those: `dot-products.wat`.
 */

/** Rows are padded to a multiple of this many bytes. */
export const LANES = 16;

const PAGE = 65_536;

const MODULE = Uint8Array.fromBase64(KERNEL);

interface Exports {
  readonly memory: WebAssembly.Memory;
  readonly dots: (data: number, query: number, out: number, count: number, stride: number) => void;
}

/** Rows, one behind the other, each as long as the query; answers one product per row, valid until the next call. */
export type DotProducts = (rows: Int8Array, query: Int16Array) => Int32Array;

export function createDotProducts(): DotProducts {
  if (!WebAssembly.validate(MODULE)) return plainDotProducts;
  const { memory, dots } = new WebAssembly.Instance(new WebAssembly.Module(MODULE)).exports as unknown as Exports;
  return (rows, query) => {
    const stride = query.length;
    const count = rows.length / stride;
    const outAt = query.byteLength;
    const rowsAt = outAt + Math.ceil((count * 4) / LANES) * LANES;
    const missing = rowsAt + rows.length - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE));
    new Int16Array(memory.buffer, 0, stride).set(query);
    new Int8Array(memory.buffer, rowsAt, rows.length).set(rows);
    if (count > 0) dots(rowsAt, 0, outAt, count, stride);
    return new Int32Array(memory.buffer, outAt, count);
  };
}

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
