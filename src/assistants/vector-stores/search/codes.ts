import { type Held, kernel, LANES } from './dot-products.ts';
import { type QuantisedQuery, quantised, quantisedQuery } from './quantised.ts';

/**
 * Vectors in an eighth of the memory: a bit for each number. Chunks that follow each other in a file have a centre, and of each
 * vector is kept on which side of it the vector lies, in directions that are turned so that none of them says more than
 * another. From that a cosine is estimated, well enough to tell a thousand vectors that may be the nearest from a million;
 * those are looked at byte for byte.
 */
export interface CodeBlock {
  /** The number of the chunk that its first row belongs to; the others follow. */
  readonly first: number;
  readonly dimensions: number;
  /** The centre of the rows, a byte for each number, and what these are to be multiplied with. */
  readonly centre: Int8Array;
  readonly centreScale: number;
  /** For each row, what the sum of its directions is to be multiplied with; not a number: it has no vector. */
  readonly factors: Float32Array;
  /** For each row, its bits. */
  readonly bits: Uint8Array;
}

/** How many bytes the bits of one row take. */
export const codeBytes = (dimensions: number): number => Math.ceil(dimensions / 8);

const TURNS = 3;
const turnsByLength = new Map<number, Int8Array[]>();

/** Which numbers change their sign before each turn. Codes are stored: these must never be others. */
function signsOf(dimensions: number): Int8Array[] {
  const known = turnsByLength.get(dimensions);
  if (known) return known;
  let state = 0x9e3779b9;
  const sign = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) & 1) === 0 ? 1 : -1;
  };
  const made = Array.from({ length: TURNS }, () => new Int8Array(dimensions).map(sign));
  turnsByLength.set(dimensions, made);
  return made;
}

/** The vector in other directions: lengths and angles stay, and no single number says much any more. */
export function turned(vector: Float32Array): Float32Array {
  const length = vector.length;
  const width = 2 ** Math.floor(Math.log2(length));
  const made = vector.slice();
  for (const signs of signsOf(length)) {
    for (let at = 0; at < length; at++) made[at]! *= signs[at]!;
    hadamard(made, 0, width);
    if (width < length) hadamard(made, length - width, width);
  }
  return made;
}

function hadamard(numbers: Float32Array, from: number, width: number): void {
  const end = from + width;
  for (let half = 1; half < width; half *= 2)
    for (let start = from; start < end; start += 2 * half)
      for (let at = start; at < start + half; at++) {
        const [one, other] = [numbers[at]!, numbers[at + half]!];
        numbers[at] = one + other;
        numbers[at + half] = one - other;
      }
  const scale = 1 / Math.sqrt(width);
  for (let at = from; at < end; at++) numbers[at]! *= scale;
}

/** Vectors of one length that belong together; null is a chunk that has none. */
export function encoded(vectors: readonly (Float32Array | null)[], dimensions: number, first: number): CodeBlock {
  const { rows: centre, scales } = quantised([middleOf(vectors, dimensions)], dimensions, 0);
  const [centreScale] = scales as unknown as [number];
  const width = codeBytes(dimensions);
  const bits = new Uint8Array(vectors.length * width);
  const factors = new Float32Array(vectors.length).fill(Number.NaN);
  for (const [row, vector] of vectors.entries()) {
    if (!vector) continue;
    const rest = turned(vector.map((value, at) => value - centre[at]! * centreScale));
    let [square, sum] = [0, 0];
    for (let at = 0; at < dimensions; at++) {
      const value = rest[at]!;
      square += value * value;
      sum += Math.abs(value);
      if (value >= 0) bits[row * width + (at >> 3)]! |= 1 << (at & 7);
    }
    factors[row] = sum === 0 ? 0 : square / sum;
  }
  return { first, dimensions, centre, centreScale, factors, bits };
}

function middleOf(vectors: readonly (Float32Array | null)[], dimensions: number): Float32Array | null {
  const middle = new Float32Array(dimensions);
  let count = 0;
  for (const vector of vectors) {
    if (!vector) continue;
    count++;
    for (let at = 0; at < dimensions; at++) middle[at]! += vector[at]!;
  }
  return middle.some((value) => value !== 0) ? middle.map((value) => value / count) : null;
}

/** A query, as codes are compared with it. */
export interface CodeQuery {
  readonly whole: QuantisedQuery;
  /** For every eight directions, what each pattern of four of their bits is worth: 16 numbers, and 16 for the other four. */
  readonly tables: Uint8Array;
  /** A sum of numbers of the tables, multiplied with one and added to the other, is the sum of the query in a row's directions. */
  readonly step: number;
  readonly least: number;
}

/** Two numbers of the tables are added in a byte, and all of them in sixteen bits. */
const LARGEST_ENTRY = 127;
const LARGEST_SUM = 65_535;
const BITS = 4;
const PATTERNS = 1 << BITS;

export function codeQuery(vector: Float32Array): CodeQuery {
  const directions = turned(vector);
  const tableCount = codeBytes(vector.length) * 2;
  const worths = new Float32Array(tableCount * PATTERNS);
  let [least, widest] = [0, 0];
  for (let table = 0; table < tableCount; table++) {
    let reach = 0;
    for (let bit = 0; bit < BITS; bit++) reach += Math.abs(directions[table * BITS + bit] ?? 0);
    least -= reach;
    widest = Math.max(widest, 2 * reach);
    for (let pattern = 0; pattern < PATTERNS; pattern++) {
      let worth = reach;
      for (let bit = 0; bit < BITS; bit++)
        worth += ((pattern >> bit) & 1 ? 1 : -1) * (directions[table * BITS + bit] ?? 0);
      worths[table * PATTERNS + pattern] = worth;
    }
  }
  const step = widest / Math.min(LARGEST_ENTRY, Math.floor(LARGEST_SUM / tableCount)) || 1;
  const tables = Uint8Array.from(worths, (worth) => Math.round(worth / step));
  return { whole: quantisedQuery(vector), tables, step, least };
}

/** Blocks of several files in a form that is looked at in one go. It never changes. */
export interface Segment {
  readonly dimensions: number;
  readonly sources: readonly string[];
  /** For each block: of which source, the number of its first chunk, and its first row. */
  readonly sourceOf: Int32Array;
  readonly numberOf: Int32Array;
  /** One more than there are blocks: the end of the last one. */
  readonly rowOf: Int32Array;
  readonly centres: Int8Array | Held;
  readonly centreScales: Float32Array;
  readonly factors: Float32Array;
  /** For each block, the largest of its factors. */
  readonly mostOf: Float32Array;
  /** Of each 16 rows the first byte, then of each the second one, and so on. */
  readonly codes: Uint8Array | Held;
  readonly bytes: number;
}

export function segmentOf(blocks: readonly (readonly [source: string, block: CodeBlock])[]): Segment {
  const { dimensions, centre } = blocks[0]![1];
  const width = codeBytes(dimensions);
  const count = blocks.reduce((sum, [, { factors }]) => sum + factors.length, 0);
  const sources = [...new Set(blocks.map(([source]) => source))];
  const places = new Map(sources.map((source, place) => [source, place]));
  const sourceOf = new Int32Array(blocks.length);
  const numberOf = new Int32Array(blocks.length);
  const rowOf = new Int32Array(blocks.length + 1);
  const centres = new Int8Array(blocks.length * centre.length);
  const centreScales = new Float32Array(blocks.length);
  const factors = new Float32Array(count);
  const mostOf = new Float32Array(blocks.length);
  const codes = new Uint8Array(Math.ceil(count / LANES) * LANES * width);
  let row = 0;
  for (const [index, [source, block]] of blocks.entries()) {
    sourceOf[index] = places.get(source)!;
    numberOf[index] = block.first;
    centres.set(block.centre, index * centre.length);
    centreScales[index] = block.centreScale;
    factors.set(block.factors, row);
    for (const factor of block.factors) if (factor > mostOf[index]!) mostOf[index] = factor;
    for (let own = 0; own < block.factors.length; own++, row++) {
      const group = (row - (row % LANES)) * width + (row % LANES);
      for (let at = 0; at < width; at++) codes[group + at * LANES] = block.bits[own * width + at]!;
    }
    rowOf[index + 1] = row;
  }
  const parts = [sourceOf, numberOf, rowOf, centres, centreScales, factors, mostOf, codes];
  const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { dimensions, sources, sourceOf, numberOf, rowOf, centres, centreScales, factors, mostOf, codes, bytes };
}

export interface Candidate {
  readonly source: string;
  readonly number: number;
  readonly estimate: number;
}

/** So many times more than are asked for are kept before the worse ones are left out. */
const ROOM = 4;

/** The rows that may be nearest to a query, of however many segments are shown to it. */
export class Candidates {
  readonly #query: CodeQuery;
  readonly #most: number;
  readonly #estimates: Float64Array;
  readonly #kept: Candidate[] = [];
  #floor = Number.NEGATIVE_INFINITY;

  constructor(query: CodeQuery, most: number) {
    this.#query = query;
    this.#most = most;
    this.#estimates = new Float64Array(most * ROOM);
  }

  /** Looks at those of the segment's sources that are searched: for each of them 1, for the others 0. */
  look(segment: Segment, searched: Uint8Array) {
    const { whole, tables, step, least } = this.#query;
    const { sources, sourceOf, numberOf, rowOf, factors, centreScales } = segment;
    const { dotProducts, codeSums } = kernel();
    const products = dotProducts(segment.centres, whole.numbers);
    const bases = new Float64Array(products.length);
    for (let block = 0; block < bases.length; block++)
      bases[block] = products[block]! * whole.scale * centreScales[block]!;
    const { groups, sums } = codeSums(segment.codes, tables, this.#enoughOf(segment, searched, bases));
    const rows = rowOf[rowOf.length - 1]!;
    let block = -1;
    let end = 0;
    let enough = 0;
    for (let place = 0; place < groups.length; place++) {
      const from = groups[place]! * LANES;
      const to = Math.min(rows, from + LANES);
      for (let row = from; row < to; row++) {
        if (row >= end) {
          do end = rowOf[++block + 1]!;
          while (row >= end);
          enough = this.#enoughIn(block, segment, searched, bases);
        }
        const sum = sums[place * LANES + row - from]!;
        if (sum < enough) continue;
        const estimate = bases[block]! + factors[row]! * (sum * step + least);
        // Also false for a row that has no vector.
        if (!(estimate > this.#floor)) continue;
        const source = sources[sourceOf[block]!]!;
        this.#add({ source, number: numberOf[block]! + row - rowOf[block]!, estimate });
        enough = this.#enoughIn(block, segment, searched, bases);
      }
    }
  }

  /** The best first. */
  get result(): readonly Candidate[] {
    this.#cut();
    return this.#kept.toSorted((one, other) => other.estimate - one.estimate);
  }

  /** For each group of rows, the least of what is enough in the blocks that it has rows of. */
  #enoughOf(segment: Segment, searched: Uint8Array, bases: Float64Array): Uint16Array {
    const { rowOf } = segment;
    const most = new Uint16Array(Math.ceil(rowOf[rowOf.length - 1]! / LANES)).fill(LARGEST_SUM);
    for (let block = 0; block < bases.length; block++) {
      const enough = this.#enoughIn(block, segment, searched, bases);
      const end = rowOf[block + 1]! / LANES;
      for (let group = Math.floor(rowOf[block]! / LANES); group < end; group++)
        if (enough < most[group]!) most[group] = enough;
    }
    return most;
  }

  /** A row of the block whose sum is less is no candidate. */
  #enoughIn(block: number, { sourceOf, mostOf }: Segment, searched: Uint8Array, bases: Float64Array): number {
    if (searched[sourceOf[block]!] === 0) return Number.POSITIVE_INFINITY;
    const { step, least } = this.#query;
    const gap = this.#floor - bases[block]!;
    // At the base and below it, small factors bring a row nearer: nothing is known by the sum alone.
    if (!(gap > 0)) return 0;
    return Math.max(0, Math.floor((gap / mostOf[block]! - least) / step));
  }

  #add(candidate: Candidate) {
    this.#estimates[this.#kept.length] = candidate.estimate;
    this.#kept.push(candidate);
    if (this.#kept.length === this.#estimates.length) this.#cut();
  }

  /** Leaves the best. */
  #cut() {
    const count = this.#kept.length;
    if (count < this.#most) return;
    const floor = nthOf(this.#estimates.slice(0, count), count - this.#most);
    let kept = 0;
    // Those above first, so that of equal ones no more are left than there is room for.
    let equal = this.#most;
    for (let at = 0; at < count; at++) if (this.#estimates[at]! > floor) equal--;
    for (let at = 0; at < count; at++) {
      const estimate = this.#estimates[at]!;
      if (estimate < floor || (estimate === floor && equal-- <= 0)) continue;
      this.#estimates[kept] = estimate;
      this.#kept[kept++] = this.#kept[at]!;
    }
    this.#kept.length = kept;
    this.#floor = floor;
  }
}

/** The number that would be at this place if they were sorted; changes their order, and sorts no more of them than it must. */
export function nthOf(numbers: Float64Array, place: number): number {
  let [from, to] = [0, numbers.length - 1];
  while (from < to) {
    const middle = numbers[(from + to) >> 1]!;
    let [low, high] = [from, to];
    while (low <= high) {
      while (numbers[low]! < middle) low++;
      while (numbers[high]! > middle) high--;
      if (low > high) break;
      const one = numbers[low]!;
      numbers[low++] = numbers[high]!;
      numbers[high--] = one;
    }
    if (place <= high) to = high;
    else if (place >= low) from = low;
    else break;
  }
  return numbers[place]!;
}
