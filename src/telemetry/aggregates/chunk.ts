import { type Amount, nothing, SUMS } from './amount.ts';
import { count as countIn, type Histogram, inOrder, type Spectrum } from './histogram.ts';

/**
 * All cells of one cube and one bucket, column by column. The numbers of a column have as many bytes each as the largest
 * needs, so that a reader looks at a column where it lies, and only at the cells it means. Histograms are kept apart: they
 * are longer, and few questions need them.
 */
export interface Packed {
  readonly sums: Uint8Array;
  readonly durations: Uint8Array;
  readonly first_bytes: Uint8Array;
}

export interface Cell {
  /** Ids of kinds. */
  readonly key: readonly number[];
  readonly amount: Amount;
}

class Pen {
  #bytes = new Uint8Array(1_024);
  at = 0;

  put(value: number): void {
    if (this.at + 10 > this.#bytes.length) this.#grow(10);
    const bytes = this.#bytes;
    let left = value;
    while (left >= 0x8000_0000) {
      bytes[this.at++] = (left % 128) | 128;
      left = Math.floor(left / 128);
    }
    while (left >= 128) {
      bytes[this.at++] = (left & 127) | 128;
      left >>>= 7;
    }
    bytes[this.at++] = left;
  }

  putSigned(value: number): void {
    this.put(value < 0 ? -2 * value - 1 : 2 * value);
  }

  /** Puts how many bytes were written since then in front of them. */
  putLengthAt(place: number): void {
    const length = this.at - place;
    const digits = length < 128 ? 1 : length < 16_384 ? 2 : length < 2_097_152 ? 3 : 4;
    if (this.at + digits > this.#bytes.length) this.#grow(digits);
    this.#bytes.copyWithin(place + digits, place, this.at);
    this.at = place;
    this.put(length);
    this.at += length;
  }

  written(): Uint8Array {
    return this.#bytes.slice(0, this.at);
  }

  #grow(by: number): void {
    const larger = new Uint8Array((this.#bytes.length + by) * 2);
    larger.set(this.#bytes.subarray(0, this.at));
    this.#bytes = larger;
  }
}

class Reading {
  readonly #bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  next(): number {
    const bytes = this.#bytes;
    let byte = bytes[this.at++]!;
    if (byte < 128) return byte;
    let value = byte & 127;
    byte = bytes[this.at++]!;
    value |= (byte & 127) << 7;
    if (byte < 128) return value;
    byte = bytes[this.at++]!;
    value |= (byte & 127) << 14;
    if (byte < 128) return value;
    for (let scale = 0x20_0000; byte >= 128; scale *= 128) {
      byte = bytes[this.at++]!;
      value += (byte & 127) * scale;
    }
    return value;
  }

  nextSigned(): number {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

/** What a column is kept in: the first that holds all of it; none where all of it is nothing. */
const KEPT_IN = [Uint8Array, Uint16Array, Int32Array, Float64Array] as const;
export type Column = InstanceType<(typeof KEPT_IN)[number]>;
const NOTHING = 255;
const HEAD_BYTES = 4;

function columnOf(values: readonly number[]): Column | null {
  let [least, most] = [0, 0];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least === 0 && most === 0) return null;
  if (least >= 0 && most < 2 ** 8) return Uint8Array.from(values);
  if (least >= 0 && most < 2 ** 16) return Uint16Array.from(values);
  return least >= -(2 ** 31) && most < 2 ** 31 ? Int32Array.from(values) : Float64Array.from(values);
}

/** Cells that amount to nothing are left out. */
export function pack(cells: Iterable<Cell>, width: number): Packed {
  const kept = [...cells].filter(({ amount }) => SUMS.some((name) => amount.sums[name] !== 0)).sort(byKey);
  const columns = [
    ...Array.from({ length: width }, (_, at) => columnOf(kept.map(({ key }) => key[at]!))),
    ...SUMS.map((name) => columnOf(kept.map(({ amount }) => amount.sums[name]))),
  ];
  const bytes = columns.reduce((total, column) => total + (column?.byteLength ?? 0), HEAD_BYTES + columns.length);
  const sums = new Uint8Array(bytes);
  new DataView(sums.buffer).setUint32(0, kept.length, true);
  let at = HEAD_BYTES + columns.length;
  for (const [place, column] of columns.entries()) {
    sums[HEAD_BYTES + place] = column ? KEPT_IN.findIndex((kind) => column instanceof kind) : NOTHING;
    if (!column) continue;
    sums.set(new Uint8Array(column.buffer), at);
    at += column.byteLength;
  }
  return {
    sums,
    durations: packHistograms(kept.map(({ amount }) => amount.durations)),
    first_bytes: packHistograms(kept.map(({ amount }) => amount.firstBytes)),
  };
}

const byKey = ({ key: one }: Cell, { key: other }: Cell): number => {
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return one[at]! - other[at]!;
  return 0;
};

/** Each with its length, so that those of other cells are passed over. */
function packHistograms(histograms: readonly Histogram[]): Uint8Array {
  const pen = new Pen();
  for (const histogram of histograms) {
    const place = pen.at;
    let last = 0;
    for (const [bucket, times] of inOrder(histogram)) {
      if (times === 0) continue;
      pen.put(bucket - last);
      pen.putSigned(times);
      last = bucket;
    }
    pen.putLengthAt(place);
  }
  return pen.written();
}

/** Keys and sums of a chunk. */
export interface Columns {
  readonly count: number;
  readonly keys: readonly Column[];
  /** By their place among all sums; null: all are nothing. */
  sum(place: number): Column | null;
}

export function unpackColumns(bytes: Uint8Array, width: number): Columns {
  const count = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const starts: number[] = [];
  let at = HEAD_BYTES + width + SUMS.length;
  for (let column = 0; column < width + SUMS.length; column++) {
    starts.push(at);
    at += count * (KEPT_IN[bytes[HEAD_BYTES + column]!]?.BYTES_PER_ELEMENT ?? 0);
  }
  const read = (column: number): Column | null => {
    const Kept = KEPT_IN[bytes[HEAD_BYTES + column]!];
    if (!Kept) return null;
    const start = bytes.byteOffset + starts[column]!;
    // Copied, because longer numbers have to lie at multiples of their length.
    return new Kept(bytes.buffer.slice(start, start + count * Kept.BYTES_PER_ELEMENT) as ArrayBuffer);
  };
  const sums = new Map<number, Column | null>();
  return {
    count,
    keys: Array.from({ length: width }, (_, column) => read(column) ?? new Uint8Array(count)),
    sum: (place) => {
      const known = sums.get(place);
      if (known !== undefined) return known;
      const column = read(width + place);
      sums.set(place, column);
      return column;
    },
  };
}

/** Adds the histogram of each cell to the one it belongs to; null: to none. */
export function addHistograms(bytes: Uint8Array, count: number, to: (cell: number) => Spectrum | null): void {
  readHistograms(bytes, count, to, (spectrum, bucket, times) => spectrum.add(bucket, times));
}

function readHistograms<To>(
  bytes: Uint8Array,
  count: number,
  to: (cell: number) => To | null,
  add: (to: To, bucket: number, times: number) => void,
): void {
  const reading = new Reading(bytes);
  for (let cell = 0; cell < count; cell++) {
    const length = reading.next();
    const histogram = length > 0 ? to(cell) : null;
    const end = reading.at + length;
    let bucket = 0;
    while (histogram && reading.at < end) {
      bucket += reading.next();
      add(histogram, bucket, reading.nextSigned());
    }
    reading.at = end;
  }
}

export function unpack({ sums: bytes, durations, first_bytes }: Packed, width: number): Cell[] {
  const { count, keys, sum } = unpackColumns(bytes, width);
  const sums = SUMS.map((_, place) => sum(place));
  const cells: Cell[] = [];
  for (let cell = 0; cell < count; cell++) {
    const amount = nothing();
    for (let at = 0; at < SUMS.length; at++) amount.sums[SUMS[at]!] = sums[at]?.[cell] ?? 0;
    cells.push({ key: keys.map((key) => key[cell]!), amount });
  }
  readHistograms(durations, count, (cell) => cells[cell]!.amount.durations, countIn);
  readHistograms(first_bytes, count, (cell) => cells[cell]!.amount.firstBytes, countIn);
  return cells;
}
