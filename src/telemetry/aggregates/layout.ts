import { SUMS, type Sum } from './amount.ts';

/**
 * How keys and sums of a chunk lie in its bytes. The numbers of a column have as many bytes each as the largest needs, so
 * that a reader looks at a column where it lies, and only at the cells it means. `plain` is what the version before wrote:
 * all columns, one after the other. `in runs`: every column begins at a multiple of eight, so that nothing is copied to be
 * looked at; cells stand in the order of their keys, so of the first of two keys runs are kept, which a reader passes over
 * as a whole; and sums that few ask for lie in bytes of their own.
 */
export type Layout = 'plain' | 'in runs';

/** What a column is kept in: the first that holds all of it; none where all of it is nothing. */
const KEPT_IN = [Uint8Array, Uint16Array, Int32Array, Float64Array] as const;
export type Column = InstanceType<(typeof KEPT_IN)[number]>;
const NOTHING = 255;

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
  /** By their place among all sums; null: all are nothing. */
  sum(place: number): Column | null;
}

export interface Runs {
  readonly ids: Column;
  readonly lengths: Column;
}

export interface Laid {
  readonly sums: Uint8Array;
  readonly more: Uint8Array | null;
}

type Lay = (count: number, keys: readonly (readonly number[])[], sums: readonly (Column | null)[]) => Laid;

export function columnOf(values: readonly number[]): Column | null {
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

const COUNT_BYTES = 4;
/** Stands in the count of cells that are laid in runs; there are never so many. */
const IN_RUNS = 0x8000_0000;
const EVEN = 8;
const evenly = (at: number): number => Math.ceil(at / EVEN) * EVEN;

export const layPlainly: Lay = (count, keys, sums) => {
  const columns = [...keys.map(columnOf), ...sums];
  return { sums: layColumns([count], columns, (at) => at), more: null };
};

export const layInRuns: Lay = (count, keys, sums) => {
  const [first, ...others] = keys;
  const runs = others.length === 0 ? null : runsOf(first!);
  const leading = runs === null ? [first!] : [runs.ids, runs.lengths];
  const often = [...[...leading, ...others].map(columnOf), ...OFTEN_PLACES.map((place) => sums[place]!)];
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

function runsOf(key: readonly number[]): { readonly ids: number[]; readonly lengths: number[] } {
  const [ids, lengths]: [number[], number[]] = [[], []];
  for (const id of key) {
    if (ids.at(-1) !== id) {
      ids.push(id);
      lengths.push(0);
    }
    lengths[lengths.length - 1]!++;
  }
  return { ids, lengths };
}

/** Some numbers, what each column is kept in, and the columns, each where `placed` says. */
function layColumns(
  head: readonly number[],
  columns: readonly (Column | null)[],
  placed: (at: number) => number,
): Uint8Array {
  const kinds = head.length * COUNT_BYTES;
  const begins = kinds + columns.length;
  let end = begins;
  for (const column of columns) if (column) end = placed(end) + column.byteLength;
  const bytes = new Uint8Array(end);
  const view = new DataView(bytes.buffer);
  for (const [at, number] of head.entries()) view.setUint32(at * COUNT_BYTES, number, true);
  let at = begins;
  for (const [place, column] of columns.entries()) {
    bytes[kinds + place] = column ? KEPT_IN.findIndex((kind) => column instanceof kind) : NOTHING;
    if (!column) continue;
    at = placed(at);
    bytes.set(new Uint8Array(column.buffer), at);
    at += column.byteLength;
  }
  return bytes;
}

type Read = (column: number) => Column | null;

/** The columns that lie in some bytes behind so many numbers, each of its own length. */
function columnsIn(bytes: Uint8Array, head: number, lengths: readonly number[], placed: (at: number) => number): Read {
  const kinds = head * COUNT_BYTES;
  const starts: number[] = [];
  let at = kinds + lengths.length;
  for (const [column, length] of lengths.entries()) {
    const Kept = KEPT_IN[bytes[kinds + column]!];
    if (Kept) at = placed(at);
    starts.push(at);
    at += length * (Kept?.BYTES_PER_ELEMENT ?? 0);
  }
  return (column) => {
    const Kept = KEPT_IN[bytes[kinds + column]!];
    if (!Kept) return null;
    const start = bytes.byteOffset + starts[column]!;
    const length = lengths[column]!;
    // Longer numbers have to lie at multiples of their length; where a store puts bytes is its own affair.
    if (start % Kept.BYTES_PER_ELEMENT === 0) return new Kept(bytes.buffer as ArrayBuffer, start, length);
    return new Kept(bytes.buffer.slice(start, start + length * Kept.BYTES_PER_ELEMENT) as ArrayBuffer);
  };
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
      const column = columns.sum(place);
      return [place, column && picked(column, cells)];
    }),
  );
  return {
    count: cells.length,
    runs: null,
    key: (at) => keys[at]!,
    sum: (place) => {
      const column = sums.get(place);
      if (column === undefined) throw new Error(`${SUMS[place]} was not read`);
      return column;
    },
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
    key: once((at) => read(at) ?? new Uint8Array(count)),
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
    width === 1 ? null : { ids: read(0) ?? new Uint8Array(runCount), lengths: read(1) ?? new Uint8Array(runCount) };
  const before = leading.length - 1;
  return {
    count,
    runs,
    key: once((at) => (at === 0 && runs ? spelledOut(runs, count) : (read(at + before) ?? new Uint8Array(count)))),
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
