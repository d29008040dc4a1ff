import { Candidates, type CodeBlock, codeQuery, type Segment, segmentOf } from '../codes.ts';
import { kernel } from '../dot-products.ts';
import { quantisedQuery, strideOf } from '../quantised.ts';
import type { SearchedFile } from './blocks.ts';
import type { NearPlace, Place } from './requests.ts';

/** A vector, a byte for each number. */
export interface StoredRow extends Place {
  readonly scale: number;
  readonly row: Int8Array;
}

/** What is looked at with all its numbers. */
export interface Compared {
  readonly candidates: readonly Place[];
  /** Sources of which there are no codes: all their chunks. */
  readonly uncoded: readonly string[];
  readonly vector: Float32Array;
  readonly most: number;
}

export interface CodeScanOptions {
  /** The codes of sources, of vectors of one length. */
  readonly load: (sources: readonly string[], dimensions: number) => Promise<Map<string, CodeBlock[]>>;
  /** Those that are nearest, of chunks that may be, nearest first. Those that are gone meanwhile are missing. */
  readonly compare: (asked: Compared) => Promise<readonly NearPlace[]>;
  /** How many bytes of codes stay in memory. */
  readonly keptBytes: number;
  /** How many bytes of codes one search may look at. */
  readonly mostBytes: number;
}

const SOURCES_AT_ONCE = 500;
/** What is looked at in one go fits a processor's cache. */
const SEGMENT_ROWS = 4_096;
/** For each chunk that is asked for, so many are looked at byte for byte. */
const CANDIDATES = 10;

/**
 * Finds the nearest of many vectors by codes that fit the memory, and looks only at those byte for byte that may be among them.
 * A source's codes never change, so segments are kept for as long as there is room; sources that are gone are in no search.
 */
export class CodeScan {
  readonly #options: CodeScanOptions;
  /** In the order in which they were last used. */
  readonly #segments = new Set<Segment>();
  readonly #segmentOf = new Map<string, Segment>();
  #bytes = 0;

  constructor(options: CodeScanOptions) {
    this.#options = options;
  }

  /** Null when there is more to look at than may be. */
  async nearest(
    files: readonly SearchedFile[],
    vector: Float32Array,
    most: number,
  ): Promise<readonly NearPlace[] | null> {
    const searched = files.filter(({ dimensions }) => dimensions === vector.length);
    const chunks = searched.reduce((sum, file) => sum + file.chunks, 0);
    if ((chunks * vector.length) / 8 > this.#options.mostBytes) return null;
    const sources = new Set(searched.map(({ id }) => id));
    const candidates = new Candidates(codeQuery(vector), most * CANDIDATES);
    const waiting = new Set(sources);
    const uncoded: string[] = [];
    while (waiting.size > 0) {
      const some = waiting.values().take(SOURCES_AT_ONCE).toArray();
      for (const segment of await this.#segmentsOf(some, vector.length)) {
        // A segment may have been dropped for want of room and be loaded in another form: none is looked at twice.
        candidates.look(segment, (source) => sources.has(source) && waiting.has(source));
        for (const source of segment.sources) waiting.delete(source);
      }
      for (const source of some) if (waiting.delete(source)) uncoded.push(source);
    }
    return this.#options.compare({ candidates: candidates.result, uncoded, vector, most });
  }

  async #segmentsOf(sources: readonly string[], dimensions: number): Promise<Set<Segment>> {
    const missing = sources.filter((source) => !this.#segmentOf.has(source));
    const made = missing.length > 0 ? segmentsIn(await this.#options.load(missing, dimensions)) : [];
    const used = new Set(sources.flatMap((source) => this.#segmentOf.get(source) ?? []));
    for (const segment of used) {
      this.#segments.delete(segment);
      this.#segments.add(segment);
    }
    for (const segment of made) {
      used.add(segment);
      this.#segments.add(segment);
      this.#bytes += segment.bytes;
      for (const source of segment.sources) this.#segmentOf.set(source, segment);
    }
    this.#makeRoom();
    return used;
  }

  #makeRoom() {
    for (const oldest of this.#segments) {
      if (this.#bytes <= this.#options.keptBytes) return;
      this.#segments.delete(oldest);
      this.#bytes -= oldest.bytes;
      for (const source of oldest.sources) this.#segmentOf.delete(source);
    }
  }
}

/** Each source lies in one segment as a whole. */
function segmentsIn(loaded: ReadonlyMap<string, readonly CodeBlock[]>): Segment[] {
  const segments: Segment[] = [];
  let blocks: [string, CodeBlock][] = [];
  let rows = 0;
  for (const [source, own] of loaded) {
    for (const block of own) {
      blocks.push([source, block]);
      rows += block.factors.length;
    }
    if (rows < SEGMENT_ROWS) continue;
    segments.push(segmentOf(blocks));
    blocks = [];
    rows = 0;
  }
  if (blocks.length > 0) segments.push(segmentOf(blocks));
  return segments;
}

/** The nearest of vectors that lie in bytes. */
export function nearestOf(
  rows: readonly StoredRow[],
  { vector, most }: Pick<Compared, 'vector' | 'most'>,
): NearPlace[] {
  const { numbers, scale } = quantisedQuery(vector);
  const stride = strideOf(numbers.length);
  const together = new Int8Array(rows.length * stride);
  for (const [index, { row }] of rows.entries()) together.set(row, index * stride);
  const products = kernel().dotProducts(together, numbers);
  return rows
    .map(({ source, number, scale: ownScale }, index): NearPlace => {
      return { source, number, similarity: products[index]! * ownScale * scale };
    })
    .sort((one, other) => other.similarity - one.similarity)
    .slice(0, most);
}

/** Codes as a row of a database holds them. */
export interface CodeRow {
  readonly source: string;
  readonly first: number;
  readonly dimensions: number;
  readonly centre: Uint8Array;
  readonly centre_scale: number;
  readonly factors: Uint8Array;
  readonly bits: Uint8Array;
}

const bytesIn = ({ buffer, byteOffset, byteLength }: Int8Array | Uint8Array | Float32Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

export const codeRowOf = (source: string, block: CodeBlock): CodeRow => ({
  source,
  first: block.first,
  dimensions: block.dimensions,
  centre: bytesIn(block.centre),
  centre_scale: block.centreScale,
  factors: bytesIn(block.factors),
  bits: bytesIn(block.bits),
});

export function codesIn(found: readonly CodeRow[]): Map<string, CodeBlock[]> {
  const blocks = new Map<string, CodeBlock[]>();
  for (const { source, first, dimensions, centre, centre_scale, factors, bits } of found) {
    const block: CodeBlock = {
      ...{ first, dimensions, centreScale: centre_scale, bits },
      centre: new Int8Array(centre.buffer, centre.byteOffset, centre.byteLength),
      // A copy begins where numbers of four bytes may begin; a piece of a driver's buffer may not.
      factors: new Float32Array(factors.slice().buffer),
    };
    const known = blocks.get(source);
    if (known) known.push(block);
    else blocks.set(source, [block]);
  }
  return blocks;
}
