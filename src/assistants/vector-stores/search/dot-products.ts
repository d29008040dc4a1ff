/**
 * Dot products of one query with many quantised vectors. JavaScript needs ten times as long for them as the vector
 * instructions that WebAssembly has, so the inner loop is written in those, by hand: it is short, and every toolchain that
 * could make it is larger than all of this folder.
 *
 *     dots(data, query, out, count, stride)
 *       for each of `count` rows of `stride` bytes at `data`:
 *         sum = 0
 *         for each 16 bytes of the row and the 16 16-bit numbers of the query that belong to them: sum += byte × number
 *         out[row] = sum
 */

/** Rows are padded to a multiple of this many bytes. */
export const LANES = 16;

const PAGE = 65_536;
const I32 = 0x7f;
const V128 = 0x7b;

const unsigned = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)]);
const list = (items: readonly (readonly number[])[]): number[] => [...unsigned(items.length), ...items.flat()];
const section = (id: number, body: readonly number[]): number[] => [id, ...unsigned(body.length), ...body];
const name = (text: string): number[] => [...unsigned(text.length), ...Buffer.from(text)];

const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const tee = (local: number): number[] => [0x22, local];
const constant = (value: number): number[] => [0x41, value];
const simd = (code: number): number[] => [0xfd, ...unsigned(code)];
const loadVector = (offset: number): number[] => [...simd(0), 4, ...unsigned(offset)];
const lane = (index: number): number[] => [...simd(0x1b), index];
const ADD = 0x6a;
const SUBTRACT = 0x6b;
const IS_LESS = 0x49;
const STORE = [0x36, 2, 0];
const LOOP = [0x03, 0x40];
const AGAIN_IF = [0x0d, 0];
const END = 0x0b;
const ZERO = [...simd(12), ...new Array<number>(LANES).fill(0)];
const LOW_TO_16_BIT = simd(0x87);
const HIGH_TO_16_BIT = simd(0x88);
const MULTIPLY_AND_ADD_PAIRS = simd(0xba);
const ADD_VECTORS = simd(0xae);

const [data, query, out, count, stride, rowEnd, queryAt, sum, bytes] = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;

const code = [
  ...list([
    [2, I32],
    [2, V128],
  ]),
  ...LOOP,
  ...[...get(data), ...get(stride), ADD, ...set(rowEnd)],
  ...[...get(query), ...set(queryAt)],
  ...[...ZERO, ...set(sum)],
  ...LOOP,
  ...[...get(data), ...loadVector(0), ...set(bytes)],
  ...get(sum),
  ...[...get(bytes), ...LOW_TO_16_BIT, ...get(queryAt), ...loadVector(0), ...MULTIPLY_AND_ADD_PAIRS, ...ADD_VECTORS],
  ...[...get(bytes), ...HIGH_TO_16_BIT, ...get(queryAt), ...loadVector(16), ...MULTIPLY_AND_ADD_PAIRS, ...ADD_VECTORS],
  ...set(sum),
  ...[...get(queryAt), ...constant(32), ADD, ...set(queryAt)],
  ...[...get(data), ...constant(16), ADD, ...tee(data), ...get(rowEnd), IS_LESS, ...AGAIN_IF],
  END,
  ...get(out),
  ...[...get(sum), ...lane(0), ...get(sum), ...lane(1), ADD],
  ...[...get(sum), ...lane(2), ADD, ...get(sum), ...lane(3), ADD],
  ...STORE,
  ...[...get(out), ...constant(4), ADD, ...set(out)],
  ...[...get(count), ...constant(1), SUBTRACT, ...tee(count), ...AGAIN_IF],
  END,
  END,
];

const MODULE = new Uint8Array([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, list([[0x60, 5, I32, I32, I32, I32, I32, 0]])),
  ...section(3, list([[0]])),
  ...section(5, list([[0, 1]])),
  ...section(
    7,
    list([
      [...name('memory'), 2, 0],
      [...name('dots'), 0, 0],
    ]),
  ),
  ...section(10, list([[...unsigned(code.length), ...code]])),
]);

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
