import { kernel, LANES } from './dot-products.ts';

/**
 * Vectors of length one, a byte for each number. What is lost changes a cosine in its third decimal; what is won is a
 * quarter of the memory, and whole numbers, with which a scan is fast enough to be exact.
 */
export interface VectorBlock {
  /** The number of the chunk that its first row belongs to; the others follow. */
  readonly first: number;
  readonly dimensions: number;
  /** What a row's numbers are to be multiplied with. */
  readonly scales: Float32Array;
  /** The rows, each padded to a multiple of 16 bytes. */
  readonly rows: Int8Array;
}

export const MOST_DIMENSIONS = 8_192;
const LARGEST_BYTE = 127;
/** Larger, a sum of products of the most dimensions could overflow. */
const LARGEST_QUERY_NUMBER = 1_023;

export const strideOf = (dimensions: number): number => Math.ceil(dimensions / LANES) * LANES;

/** Scaled to length one; null for a vector that points nowhere, or is not made of numbers. */
export function normalised(vector: ArrayLike<number>): Float32Array | null {
  const made = Float32Array.from(vector);
  const length = Math.sqrt(made.reduce((sum, value) => sum + value * value, 0));
  return length > 0 && Number.isFinite(length) ? made.map((value) => value / length) : null;
}

/** Vectors of one length; null is a chunk that has none, which no query is near to. */
export function quantised(vectors: readonly (Float32Array | null)[], dimensions: number, first: number): VectorBlock {
  const stride = strideOf(dimensions);
  const rows = new Int8Array(vectors.length * stride);
  const scales = new Float32Array(vectors.length);
  for (const [row, vector] of vectors.entries()) {
    if (!vector) continue;
    const scale = largestOf(vector) / LARGEST_BYTE;
    scales[row] = scale;
    for (let column = 0; column < dimensions; column++)
      rows[row * stride + column] = Math.round(vector[column]! / scale);
  }
  return { first, dimensions, scales, rows };
}

const largestOf = (vector: Float32Array): number => vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

export interface QuantisedQuery {
  readonly dimensions: number;
  readonly numbers: Int16Array;
  readonly scale: number;
}

export function quantisedQuery(vector: Float32Array): QuantisedQuery {
  const scale = largestOf(vector) / LARGEST_QUERY_NUMBER;
  const numbers = new Int16Array(strideOf(vector.length));
  for (const [column, value] of vector.entries()) numbers[column] = Math.round(value / scale);
  return { dimensions: vector.length, numbers, scale };
}

export interface Near {
  readonly source: string;
  readonly number: number;
  readonly similarity: number;
}

/** The rows nearest to a query, nearest first, of however many blocks are shown to it. */
export class NearestRows {
  readonly #query: QuantisedQuery;
  readonly #most: number;
  #kept: Near[] = [];
  /** A vector that is no nearer than this is not among the nearest. */
  #floor = Number.NEGATIVE_INFINITY;

  constructor(query: QuantisedQuery, most: number) {
    this.#query = query;
    this.#most = most;
  }

  look(source: string, { first, dimensions, scales, rows }: VectorBlock) {
    const { numbers, scale } = this.#query;
    if (dimensions !== this.#query.dimensions) return;
    const products = kernel().dotProducts(rows, numbers);
    for (let row = 0; row < scales.length; row++) {
      const similarity = products[row]! * scales[row]! * scale;
      if (similarity <= this.#floor || scales[row] === 0) continue;
      this.#kept.push({ source, number: first + row, similarity });
      if (this.#kept.length >= this.#most * 4) this.#cut();
    }
  }

  get result(): readonly Near[] {
    this.#cut();
    return this.#kept;
  }

  #cut() {
    this.#kept.sort((one, other) => other.similarity - one.similarity);
    this.#kept = this.#kept.slice(0, this.#most);
    if (this.#kept.length === this.#most) this.#floor = this.#kept.at(-1)!.similarity;
  }
}
