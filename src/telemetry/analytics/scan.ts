import { SUMS } from '../aggregates/amount.ts';
import type { Kind } from '../aggregates/cubes.ts';
import type { Value } from '../aggregates/fact.ts';
import { Spectra } from '../aggregates/histogram.ts';
import { type Column, type Columns, eachLarge } from '../aggregates/layout.ts';
import type { Counted, HistogramName, Wish } from './figures.ts';
import type { Meant } from './kinds.ts';

const MEANT = 1;
const UNTOLD = 2;

/** What is read of a bucket. */
export interface Chunk {
  readonly bucket: number;
  readonly columns: Columns;
  readonly histograms: Readonly<Partial<Record<HistogramName, Uint8Array>>>;
}

export type Known = readonly { readonly id: number; readonly kind: Kind }[];

/** Whether the kinds of a column are meant, by their ids. */
export function verdictsOn(known: Known, includes: (kind: Kind) => boolean | null): Uint8Array {
  const verdicts = new Uint8Array((known.at(-1)?.id ?? 0) + 1);
  for (const { id, kind } of known) {
    const isMeant = includes(kind);
    if (isMeant !== false) verdicts[id] = isMeant ? MEANT : UNTOLD;
  }
  return verdicts;
}

/** Which cells of a chunk are meant. Null: of some, that cannot be told. */
export function cellsMeant(columns: Columns, verdicts: readonly Uint8Array[]): Int32Array | null {
  const { count, runs } = columns;
  const cells = new Int32Array(count);
  const [first, ...others] = verdicts;
  const otherKeys = others.map((_, at) => columns.key(at + 1));
  const ids = runs?.ids ?? columns.key(0);
  let meant = 0;
  let cell = 0;
  for (let run = 0; run < ids.length; run++) {
    const end = cell + (runs?.lengths[run] ?? 1);
    const ofRun = first![ids[run]!]!;
    if (!ofRun) cell = end;
    for (; cell < end; cell++) {
      let verdict = ofRun;
      for (let at = 0; at < others.length && verdict; at++) {
        const other = others[at]![otherKeys[at]![cell]!]!;
        verdict = other ? verdict | other : 0;
      }
      if (!verdict) continue;
      if (verdict >= UNTOLD) return null;
      cells[meant++] = cell;
    }
  }
  return cells.subarray(0, meant);
}

/** The names that kinds of one column give, numbered, and their numbers by ids of kinds. */
export interface Names {
  readonly column: number;
  readonly numbers: Int32Array;
  readonly names: readonly Value[];
}

/** Of the kinds that are meant. */
export function namesBy({ column, ofKind }: Meant['names'][number], known: Known, verdicts: Uint8Array): Names {
  const numbers = new Int32Array(verdicts.length);
  const names = new Map<Value, number>();
  for (const { id, kind } of known) {
    if (verdicts[id] === 0) continue;
    const name = ofKind(kind);
    const number = names.get(name) ?? names.size;
    names.set(name, number);
    numbers[id] = number;
  }
  return { column, numbers, names: [...names.keys()] };
}

/** What was added up of the first sum, by bucket and name, each pair of them once. */
export interface Tallied {
  readonly names: readonly Value[];
  readonly buckets: readonly number[];
  /** Which of the names. */
  readonly numbers: readonly number[];
  readonly totals: Float64Array;
}

/** Of so many names, each bucket has a table; of more, most are in few buckets. */
const MOST_AT_ONCE = 20_000;

/** Of names; two things that each have very many may have more of them together than fit into four bytes. */
type Numbers = Int32Array | Float64Array;

/** By numbers: one more than what was found for each, 0 or nothing where it is not known yet. */
type Indexes = Int32Array | Map<number, number>;

const tableOf = (names: number): Indexes => (names <= MOST_AT_ONCE ? new Int32Array(names) : new Map<number, number>());

function setIndex(indexes: Indexes, number: number, index: number): number {
  if (indexes instanceof Int32Array) indexes[number] = index;
  else indexes.set(number, index);
  return index;
}

/** Puts what is found for numbers in their place. Twice the same, because a loop that has met both kinds is much slower. */
function lookUp(numbers: Numbers, indexes: Indexes, find: (number: number) => number): void {
  if (indexes instanceof Int32Array)
    for (let at = 0; at < numbers.length; at++) {
      const number = numbers[at]!;
      numbers[at] = (indexes[number] || find(number)) - 1;
    }
  else
    for (let at = 0; at < numbers.length; at++) {
      const number = numbers[at]!;
      numbers[at] = (indexes.get(number) ?? find(number)) - 1;
    }
}

interface Naming {
  readonly cells: Int32Array;
  /** By ids. */
  readonly numbers: Int32Array;
  /** What the numbers of names are put into, behind those of a first thing, and how many names there are. */
  readonly to: Numbers;
  readonly count: number;
}

/** As `ADDERS`. */
const NAMERS = {
  1: (ids: Uint8Array, { cells, numbers, to, count }: Naming) => {
    for (let at = 0; at < cells.length; at++) to[at] = to[at]! * count + numbers[ids[cells[at]!]!]!;
  },
  2: (ids: Uint16Array, { cells, numbers, to, count }: Naming) => {
    for (let at = 0; at < cells.length; at++) to[at] = to[at]! * count + numbers[ids[cells[at]!]!]!;
  },
  4: (ids: Int32Array, { cells, numbers, to, count }: Naming) => {
    for (let at = 0; at < cells.length; at++) to[at] = to[at]! * count + numbers[ids[cells[at]!]!]!;
  },
  8: (ids: Float64Array, { cells, numbers, to, count }: Naming) => {
    for (let at = 0; at < cells.length; at++) to[at] = to[at]! * count + numbers[ids[cells[at]!]!]!;
  },
} as const;

const nameColumn = (ids: Column, naming: Naming): void =>
  NAMERS[ids.BYTES_PER_ELEMENT as keyof typeof NAMERS](ids as never, naming);

interface Adding {
  readonly cells: Int32Array;
  /** Where each of those belongs. */
  readonly places: Numbers;
  readonly totals: Float64Array;
  /** How many sums a place has, and which of them this is. */
  readonly width: number;
  readonly at: number;
}

/**
 * The same four times, once for each kind of numbers: a loop that has met several kinds takes six times as long for each
 * number, and this is the one that long questions spend their time in.
 */
const ADDERS = {
  1: (column: Uint8Array, { cells, places, totals, width, at }: Adding) => {
    for (let next = 0; next < cells.length; next++) totals[places[next]! * width + at]! += column[cells[next]!]!;
  },
  2: (column: Uint16Array, { cells, places, totals, width, at }: Adding) => {
    for (let next = 0; next < cells.length; next++) totals[places[next]! * width + at]! += column[cells[next]!]!;
  },
  4: (column: Int32Array, { cells, places, totals, width, at }: Adding) => {
    for (let next = 0; next < cells.length; next++) totals[places[next]! * width + at]! += column[cells[next]!]!;
  },
  8: (column: Float64Array, { cells, places, totals, width, at }: Adding) => {
    for (let next = 0; next < cells.length; next++) totals[places[next]! * width + at]! += column[cells[next]!]!;
  },
} as const;

const addColumn = (column: Column, adding: Adding): void =>
  ADDERS[column.BYTES_PER_ELEMENT as keyof typeof ADDERS](column as never, adding);

/** Adds up the cells that are meant, by bucket and name. */
export class Scan {
  readonly #wish: Wish;
  readonly #sums: readonly number[];
  readonly #names: readonly Names[];
  /** Where among the places something stands, by bucket and then by name: one more than its index, 0 where it is not yet. */
  readonly #indexes = new Map<number, Indexes>();
  /** Which line a name belongs to, one more than its number: each is looked up once, and not in every bucket. */
  readonly #lines: Indexes | null;
  /** Of each place, its bucket and the number of its name or line. There may be a hundred thousand: as objects they would take longer than adding up. */
  readonly #buckets: number[] = [];
  readonly #numbers: number[] = [];
  /** Those that are wanted, of each place. */
  readonly #histograms: readonly (readonly [name: HistogramName, spectra: Spectra])[];
  /** One place after the other, all sums of each. */
  #totals = new Float64Array(1_024);

  constructor(names: readonly Names[], wish: Wish) {
    this.#names = names;
    this.#wish = wish;
    this.#sums = wish.sums.map((name) => SUMS.indexOf(name));
    this.#histograms = (wish.histograms ?? []).map((name) => [name, new Spectra()]);
    this.#lines = wish.lines ? tableOf(this.#nameCount) : null;
  }

  add(chunk: Chunk, cells: Int32Array): void {
    const bucket = this.#wish.isTogether ? 0 : chunk.bucket;
    const sums = this.#sums.map((place) => chunk.columns.sum(place));
    const width = sums.length;
    const places = this.#nameCount < 2 ** 31 ? new Int32Array(cells.length) : new Float64Array(cells.length);
    for (const { column, numbers, names } of this.#names)
      nameColumn(chunk.columns.key(column), { cells, numbers, to: places, count: names.length });
    if (this.#lines) lookUp(places, this.#lines, (number) => this.#lineFound(number));
    const indexes = this.#indexesIn(bucket);
    lookUp(places, indexes, (number) => this.#placed(bucket, number, indexes));
    for (let at = 0; at < width; at++) {
      const { column, large } = sums[at]!;
      const totals = this.#totals;
      if (column) addColumn(column, { cells, places, totals, width, at });
      if (!large) continue;
      eachLarge(large, cells, (next, value) => {
        totals[places[next]! * width + at]! += value;
      });
    }
    if (this.#histograms.length === 0) return;
    const numbers = places instanceof Int32Array ? places : Int32Array.from(places);
    for (const [name, spectra] of this.#histograms) spectra.add(chunk.histograms[name]!, cells, numbers);
  }

  found(): Counted[] {
    const { sums, lines } = this.#wish;
    const width = sums.length;
    return this.#buckets.map((bucket, index) => {
      const number = this.#numbers[index]!;
      const [name, then] = lines ? [number, null] : this.#called(number);
      const counted: Record<string, unknown> = { bucket, name, then };
      for (let at = 0; at < width; at++) counted[sums[at]!] = this.#totals[index * width + at];
      for (const [name, spectra] of this.#histograms) counted[name] = spectra.of(index);
      return counted as Counted;
    });
  }

  /** Where one sum was wished for, by one name. */
  tallied(): Tallied {
    return {
      names: this.#names[0]!.names,
      buckets: this.#buckets,
      numbers: this.#numbers,
      totals: this.#totals,
    };
  }

  #indexesIn(bucket: number): Indexes {
    const known = this.#indexes.get(bucket);
    if (known) return known;
    const indexes = tableOf(this.#wish.lines?.count ?? this.#nameCount);
    this.#indexes.set(bucket, indexes);
    return indexes;
  }

  get #nameCount(): number {
    return this.#names.reduce((product, { names }) => product * names.length, 1);
  }

  #placed(bucket: number, number: number, indexes: Indexes): number {
    return setIndex(indexes, number, this.#newPlace(bucket, number));
  }

  #lineFound(number: number): number {
    const line = this.#wish.lines!.of(...this.#called(number)) + 1;
    return setIndex(this.#lines!, number, line);
  }

  #called(number: number): readonly [name: Value, then: Value] {
    const [first, second] = this.#names;
    const others = second?.names.length ?? 1;
    return [first?.names[Math.floor(number / others)] ?? null, second?.names[number % others] ?? null];
  }

  #newPlace(bucket: number, number: number): number {
    for (const [, spectra] of this.#histograms) spectra.begin();
    this.#numbers.push(number);
    const count = this.#buckets.push(bucket);
    const width = this.#sums.length;
    if (count * width > this.#totals.length) {
      const larger = new Float64Array(this.#totals.length * 2 + width);
      larger.set(this.#totals);
      this.#totals = larger;
    }
    return count;
  }
}
