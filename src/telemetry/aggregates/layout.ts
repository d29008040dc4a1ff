import { SUMS, type Sum } from './amount.ts';

/**
 * How keys and sums of a chunk lie in its bytes. The numbers of a column have as many bytes each as the largest needs, so
 * that a reader looks at a column where it lies, and only at the cells it means. `plain` is what the version before wrote:
 * all columns, one after the other. `in runs`: every column begins at a multiple of eight, so that nothing is copied to be
 * looked at; cells stand in the order of their keys, so of the first of two keys runs are kept, which a reader passes over
 * as a whole; and sums that few ask for lie in bytes of their own. `in narrow runs`: where few sums of a column are much larger than
 * the others, these lie behind it, and the column is as narrow as the others need.
 */
export type Layout = 'plain' | 'in runs' | 'in narrow runs';

/** What a column is kept in: the first that holds all of it; none where all of it is nothing. */
const KEPT_IN = [Uint8Array, Uint16Array, Int32Array, Float64Array] as const;
export type Column = InstanceType<(typeof KEPT_IN)[number]>;
const NOTHING = 255;
/** Added to what a column is kept in where larger numbers lie behind it. */
const WITH_LARGE = 16;

/** Of a column, the few numbers that are larger than the others; in the column itself there is 0 in their place. */
export interface Large {
  /** In order. */
  readonly cells: Int32Array;
  readonly values: Float64Array;
}

export interface Sums {
  /** Null: all of them are nothing. */
  readonly column: Column | null;
  readonly large: Large | null;
}

/** These are asked for seldom: a month of people is read in two thirds of the bytes without them. */
const SELDOM: ReadonlySet<Sum> = new Set([
  'client_errors',
  'gateway_errors',
  'provider_errors',
  'request_bytes',
  'response_bytes',
  'first_byte',
  'first_bytes',
]);
const OFTEN_PLACES = SUMS.flatMap((name, place) => (SELDOM.has(name) ? [] : place));
const SELDOM_PLACES = SUMS.flatMap((name, place) => (SELDOM.has(name) ? place : []));

/** Whether any of these lie apart. */
export const areSeldom = (sums: readonly Sum[]): boolean => sums.some((name) => SELDOM.has(name));

/** Keys and sums of a chunk. */
export interface Columns {
  readonly count: number;
  /** The ids of the first key, and how many cells each has; null: every cell has its own. */
  readonly runs: Runs | null;
  key(at: number): Column;
  /** By their place among all sums. */
  sum(place: number): Sums;
}

export interface Runs {
  readonly ids: Column;
  readonly lengths: Column;
}

export interface Laid {
  readonly sums: Uint8Array;
  readonly more: Uint8Array | null;
}

/** Sums are null where all of them are nothing. */
type Lay = (count: number, keys: readonly Int32Array[], sums: readonly (Float64Array | null)[]) => Laid;

function columnOf(values: Int32Array | Float64Array): Column | null {
  let [least, most] = [0, 0];
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  if (least === 0 && most === 0) return null;
  if (least >= 0 && most < 2 ** 8) return new Uint8Array(values);
  if (least >= 0 && most < 2 ** 16) return new Uint16Array(values);
  return least >= -(2 ** 31) && most < 2 ** 31 ? new Int32Array(values) : new Float64Array(values);
}

const NO_SUMS: Sums = { column: null, large: null };
const wide = (values: Int32Array | Float64Array | null): Sums =>
  values === null ? NO_SUMS : { column: columnOf(values), large: null };

/** What a number too many for its column takes: where it is, and eight bytes. */
const LARGE_BYTES = 12;

/** In as few bytes as it takes: calls without a user, or those of one that calls all day, are few and much larger than the others. */
function narrow(values: Float64Array | null): Sums {
  const { column } = wide(values);
  if (values === null || column === null || column instanceof Uint8Array) return { column, large: null };
  const [beyondByte, beyondTwo, beyondFour] = [8, 16, 31].map((bits) => beyond(values, bits)) as [
    number,
    number,
    number,
  ];
  const widths = [
    { Kept: Uint8Array, bits: 8, bytes: values.length + beyondByte * LARGE_BYTES },
    { Kept: Uint16Array, bits: 16, bytes: 2 * values.length + beyondTwo * LARGE_BYTES },
    { Kept: Int32Array, bits: 31, bytes: 4 * values.length + beyondFour * LARGE_BYTES },
  ];
  const { Kept, bits, bytes } = widths.reduce((one, other) => (other.bytes < one.bytes ? other : one));
  if (bytes + 2 * EVEN >= column.byteLength) return { column, large: null };
  const cells: number[] = [];
  const small = values.map((value, cell) => {
    if (isWithin(value, bits)) return value;
    cells.push(cell);
    return 0;
  });
  return {
    column: new Kept(small),
    large: { cells: Int32Array.from(cells), values: Float64Array.from(cells, (cell) => values[cell]!) },
  };
}

const isWithin = (value: number, bits: number): boolean => value >= 0 && value < 2 ** bits;

function beyond(values: Float64Array, bits: number): number {
  let count = 0;
  for (let at = 0; at < values.length; at++) if (!isWithin(values[at]!, bits)) count++;
  return count;
}

const COUNT_BYTES = 4;
/** Stands in the count of cells that are laid in runs; there are never so many. */
const IN_RUNS = 0x8000_0000;
const EVEN = 8;
const evenly = (at: number): number => Math.ceil(at / EVEN) * EVEN;

const layPlainly: Lay = (count, keys, sums) => {
  const columns = [...keys, ...sums].map(wide);
  return { sums: layColumns([count], columns, (at) => at), more: null };
};

const layRuns =
  (sumsOf: (values: Float64Array | null) => Sums): Lay =>
  (count, keys, values) => {
    const sums = values.map(sumsOf);
    const [first, ...others] = keys;
    const runs = others.length === 0 ? null : runsOf(first!);
    const leading = runs === null ? [first!] : [runs.ids, runs.lengths];
    const often = [...[...leading, ...others].map(wide), ...OFTEN_PLACES.map((place) => sums[place]!)];
    const head = [count + IN_RUNS, runs?.ids.length ?? 0];
    return {
      sums: layColumns(head, often, evenly),
      more: layColumns(
        [],
        SELDOM_PLACES.map((place) => sums[place]!),
        evenly,
      ),
    };
  };

export const LAYS: Readonly<Record<Layout, Lay>> = {
  plain: layPlainly,
  'in runs': layRuns(wide),
  'in narrow runs': layRuns(narrow),
};

function runsOf(key: Int32Array): { readonly ids: Int32Array; readonly lengths: Int32Array } {
  const [ids, lengths] = [new Int32Array(key.length), new Int32Array(key.length)];
  let last = -1;
  for (let at = 0; at < key.length; at++) {
    if (last < 0 || ids[last] !== key[at]) ids[++last] = key[at]!;
    lengths[last]!++;
  }
  return { ids: ids.subarray(0, last + 1), lengths: lengths.subarray(0, last + 1) };
}

/** Some numbers, what each column is kept in, and the columns, each where `placed` says. */
function layColumns(head: readonly number[], columns: readonly Sums[], placed: (at: number) => number): Uint8Array {
  const kinds = head.length * COUNT_BYTES;
  const begins = kinds + columns.length;
  let end = begins;
  for (const { column, large } of columns) {
    if (column) end = placed(end) + column.byteLength;
    if (large) end = placesOfLarge(end, large.cells.length).end;
  }
  const bytes = new Uint8Array(end);
  const view = new DataView(bytes.buffer);
  for (const [at, number] of head.entries()) view.setUint32(at * COUNT_BYTES, number, true);
  let at = begins;
  for (const [place, { column, large }] of columns.entries()) {
    const kept = column ? KEPT_IN.findIndex((kind) => column instanceof kind) : NOTHING;
    bytes[kinds + place] = large ? kept + WITH_LARGE : kept;
    if (!column) continue;
    at = placed(at);
    bytes.set(new Uint8Array(column.buffer), at);
    at += column.byteLength;
    if (!large) continue;
    const places = placesOfLarge(at, large.cells.length);
    view.setUint32(places.count, large.cells.length, true);
    bytes.set(new Uint8Array(large.cells.buffer), places.cells);
    bytes.set(new Uint8Array(large.values.buffer), places.values);
    at = places.end;
  }
  return bytes;
}

/** Behind a column: how many, which cells, and what they have. */
function placesOfLarge(at: number, count: number) {
  const [begins, cells] = [evenly(at), evenly(at) + EVEN];
  const values = evenly(cells + count * Int32Array.BYTES_PER_ELEMENT);
  return { count: begins, cells, values, end: values + count * Float64Array.BYTES_PER_ELEMENT };
}

type Read = (column: number) => Sums;

/** The columns that lie in some bytes behind so many numbers, each of its own length. */
function columnsIn(bytes: Uint8Array, head: number, lengths: readonly number[], placed: (at: number) => number): Read {
  const kinds = head * COUNT_BYTES;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const starts: number[] = [];
  let at = kinds + lengths.length;
  for (const [column, length] of lengths.entries()) {
    const { Kept, hasLarge } = keptIn(bytes[kinds + column]!);
    if (Kept) at = placed(at);
    starts.push(at);
    at += length * (Kept?.BYTES_PER_ELEMENT ?? 0);
    if (hasLarge) at = placesOfLarge(at, view.getUint32(evenly(at), true)).end;
  }
  return (column) => {
    const { Kept, hasLarge } = keptIn(bytes[kinds + column]!);
    if (!Kept) return NO_SUMS;
    const start = starts[column]!;
    const length = lengths[column]!;
    const read = { column: lookedAt(Kept, bytes, start, length), large: null };
    if (!hasLarge) return read;
    const behind = start + length * Kept.BYTES_PER_ELEMENT;
    const count = view.getUint32(evenly(behind), true);
    const { cells, values } = placesOfLarge(behind, count);
    const large = {
      cells: lookedAt(Int32Array, bytes, cells, count) as Int32Array,
      values: lookedAt(Float64Array, bytes, values, count) as Float64Array,
    };
    return { ...read, large };
  };
}

const keptIn = (kind: number) => ({
  Kept: KEPT_IN[kind & ~WITH_LARGE],
  hasLarge: kind !== NOTHING && kind >= WITH_LARGE,
});

function lookedAt(Kept: (typeof KEPT_IN)[number], bytes: Uint8Array, at: number, length: number): Column {
  const start = bytes.byteOffset + at;
  // Longer numbers have to lie at multiples of their length; where a store puts bytes is its own affair.
  if (start % Kept.BYTES_PER_ELEMENT === 0) return new Kept(bytes.buffer as ArrayBuffer, start, length);
  return new Kept(bytes.buffer.slice(start, start + length * Kept.BYTES_PER_ELEMENT) as ArrayBuffer);
}

/** `more`: null as well where none of it is asked for. */
export function readColumns(bytes: Uint8Array, more: Uint8Array | null, width: number): Columns {
  const head = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  return head >= IN_RUNS ? inRuns(bytes, more, width, head - IN_RUNS) : plain(bytes, width, head);
}

/** Some cells alone, in memory of their own: a filter often means few of many. `hasMore`: sums that few ask for were read, too. */
export function narrowed(columns: Columns, cells: Int32Array, width: number, hasMore: boolean): Columns {
  const { runs } = columns;
  const keys = Array.from({ length: width }, (_, at) =>
    at === 0 && runs ? pickedOfRuns(runs, cells) : picked(columns.key(at), cells),
  );
  const places = hasMore ? [...OFTEN_PLACES, ...SELDOM_PLACES] : OFTEN_PLACES;
  const sums = new Map(
    places.map((place) => {
      const { column, large } = columns.sum(place);
      return [place, { column: column && picked(column, cells), large: large && largeOf(large, cells) }];
    }),
  );
  return {
    count: cells.length,
    runs: null,
    key: (at) => keys[at]!,
    sum: (place) => {
      const found = sums.get(place);
      if (found === undefined) throw new Error(`${SUMS[place]} was not read`);
      return found;
    },
  };
}

/** Both are in order. Gives to `take` which of the cells have a larger number, and that number. */
export function eachLarge(large: Large, cells: Int32Array, take: (at: number, value: number) => void): void {
  let from = 0;
  for (let next = 0; next < large.cells.length; next++) {
    const cell = large.cells[next]!;
    const at = cells[cell] === cell ? cell : firstNotBefore(cells, cell, from);
    if (at === cells.length) return;
    if (cells[at] === cell) take(at, large.values[next]!);
    from = at;
  }
}

function firstNotBefore(cells: Int32Array, cell: number, from: number): number {
  let [low, high] = [from, Math.min(cells.length, cell)];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cells[middle]! < cell) low = middle + 1;
    else high = middle;
  }
  return low;
}

function largeOf(large: Large, cells: Int32Array): Large {
  const found: [at: number, value: number][] = [];
  eachLarge(large, cells, (at, value) => void found.push([at, value]));
  return {
    cells: Int32Array.from(found, ([at]) => at),
    values: Float64Array.from(found, ([, value]) => value),
  };
}

/** Runs are walked along, and not spelled out: cells are in order. */
function pickedOfRuns({ ids, lengths }: Runs, cells: Int32Array): Column {
  const found = new Int32Array(cells.length);
  let run = 0;
  let end = lengths[0]!;
  for (let at = 0; at < cells.length; at++) {
    while (cells[at]! >= end) end += lengths[++run]!;
    found[at] = ids[run]!;
  }
  return found;
}

/** The same four times, once for each kind of numbers: a loop that has met several kinds is much slower. */
const PICKERS = {
  1: (column: Uint8Array, cells: Int32Array): Column => {
    const found = new Uint8Array(cells.length);
    for (let at = 0; at < cells.length; at++) found[at] = column[cells[at]!]!;
    return found;
  },
  2: (column: Uint16Array, cells: Int32Array): Column => {
    const found = new Uint16Array(cells.length);
    for (let at = 0; at < cells.length; at++) found[at] = column[cells[at]!]!;
    return found;
  },
  4: (column: Int32Array, cells: Int32Array): Column => {
    const found = new Int32Array(cells.length);
    for (let at = 0; at < cells.length; at++) found[at] = column[cells[at]!]!;
    return found;
  },
  8: (column: Float64Array, cells: Int32Array): Column => {
    const found = new Float64Array(cells.length);
    for (let at = 0; at < cells.length; at++) found[at] = column[cells[at]!]!;
    return found;
  },
} as const;

const picked = (column: Column, cells: Int32Array): Column =>
  PICKERS[column.BYTES_PER_ELEMENT as keyof typeof PICKERS](column as never, cells);

function plain(bytes: Uint8Array, width: number, count: number): Columns {
  const lengths = Array.from({ length: width + SUMS.length }, () => count);
  const read = columnsIn(bytes, 1, lengths, (at) => at);
  return {
    count,
    runs: null,
    key: once((at) => read(at).column ?? new Uint8Array(count)),
    sum: once((place) => read(width + place)),
  };
}

function inRuns(bytes: Uint8Array, more: Uint8Array | null, width: number, count: number): Columns {
  const runCount = new DataView(bytes.buffer, bytes.byteOffset).getUint32(COUNT_BYTES, true);
  const leading = width === 1 ? [count] : [runCount, runCount];
  const lengths = [...leading, ...Array.from({ length: width - 1 + OFTEN_PLACES.length }, () => count)];
  const read = columnsIn(bytes, 2, lengths, evenly);
  const readMore =
    more &&
    columnsIn(
      more,
      0,
      SELDOM_PLACES.map(() => count),
      evenly,
    );
  const runs =
    width === 1
      ? null
      : { ids: read(0).column ?? new Uint8Array(runCount), lengths: read(1).column ?? new Uint8Array(runCount) };
  const before = leading.length - 1;
  return {
    count,
    runs,
    key: once((at) =>
      at === 0 && runs ? spelledOut(runs, count) : (read(at + before).column ?? new Uint8Array(count)),
    ),
    sum: once((place) => {
      const often = OFTEN_PLACES.indexOf(place);
      if (often >= 0) return read(before + width + often);
      if (!readMore) throw new Error(`${SUMS[place]} was not read`);
      return readMore(SELDOM_PLACES.indexOf(place));
    }),
  };
}

function spelledOut({ ids, lengths }: Runs, count: number): Column {
  const key = new Int32Array(count);
  let at = 0;
  for (let run = 0; run < ids.length; run++) {
    const end = at + lengths[run]!;
    // Most runs are short, and a call for each takes longer than to fill them.
    for (const id = ids[run]!; at < end; at++) key[at] = id;
  }
  return key;
}

function once<Made>(make: (at: number) => Made): (at: number) => Made {
  const made = new Map<number, Made>();
  return (at) => {
    if (!made.has(at)) made.set(at, make(at));
    return made.get(at)!;
  };
}
