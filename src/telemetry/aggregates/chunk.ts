import { type Amount, nothing, SUMS } from './amount.ts';
import { count as countIn, type Histogram, inOrder } from './histogram.ts';
import { LAYS, type Layout, readColumns } from './layout.ts';

/**
 * All cells of one cube and one bucket, column by column (`layout.ts`). Histograms are kept apart: they are longer, and few
 * questions need them; so are sums that few ask for.
 */
export interface Packed {
  readonly sums: Uint8Array;
  readonly durations: Uint8Array;
  readonly first_bytes: Uint8Array;
  /** Null: all sums are in `sums`, as the version before laid them. */
  readonly more: Uint8Array | null;
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

  /** Where a histogram ends, which begins with its length. */
  endOfNext(): number {
    const length = this.next();
    return this.at + length;
  }

  nextSigned(): number {
    const value = this.next();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}

/** Cells that amount to nothing are left out. */
export function pack(cells: Iterable<Cell>, width: number, layout: Layout): Packed {
  const kept = [...cells].filter(({ amount }) => SUMS.some((name) => amount.sums[name] !== 0)).sort(byKey);
  const keys = Array.from({ length: width }, (_, at) => kept.map(({ key }) => key[at]!));
  const sums = SUMS.map((name) => kept.map(({ amount }) => amount.sums[name]));
  return {
    ...LAYS[layout](kept.length, keys, sums),
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

function readHistograms(bytes: Uint8Array, to: readonly Histogram[]): void {
  const reading = new Reading(bytes);
  for (const histogram of to) {
    const end = reading.endOfNext();
    for (let bucket = 0; reading.at < end; ) {
      bucket += reading.next();
      countIn(histogram, bucket, reading.nextSigned());
    }
  }
}

export function unpack({ sums: bytes, more, durations, first_bytes }: Packed, width: number): Cell[] {
  const { count, key, sum } = readColumns(bytes, more, width);
  const keys = Array.from({ length: width }, (_, at) => key(at));
  const sums = SUMS.map((_, place) => sum(place));
  const cells: Cell[] = [];
  for (let cell = 0; cell < count; cell++) {
    const amount = nothing();
    for (let at = 0; at < SUMS.length; at++) amount.sums[SUMS[at]!] = sums[at]!.column?.[cell] ?? 0;
    cells.push({ key: keys.map((column) => column[cell]!), amount });
  }
  for (const [place, { large }] of sums.entries())
    for (const [at, cell] of large?.cells.entries() ?? []) cells[cell]!.amount.sums[SUMS[place]!] = large!.values[at]!;
  readHistograms(
    durations,
    cells.map(({ amount }) => amount.durations),
  );
  readHistograms(
    first_bytes,
    cells.map(({ amount }) => amount.firstBytes),
  );
  return cells;
}
