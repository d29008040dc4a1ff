import { Candidates, type CodeBlock, codeQuery, type Segment, segmentOf } from '../codes.ts';
import { Held, kernel } from '../dot-products.ts';
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

/** What a search looks at. */
interface Chosen {
  readonly chunks: number;
  /** The segments that are there, with which of their sources are searched. */
  readonly known: ReadonlyMap<Segment, Uint8Array>;
  /** The sources that are in none of them. */
  readonly missing: readonly string[];
}

/**
 * Finds the nearest of many vectors by codes that fit the memory, and looks only at those byte for byte that may be among them.
 * A source's codes never change, so segments are kept for as long as there is room; sources that are gone are in no search.
 */
export class CodeScan {
  readonly #options: CodeScanOptions;
  /** In the order in which they were last used. */
  readonly #segments = new Set<Segment>();
  readonly #placeOf = new Map<string, { readonly segment: Segment; readonly index: number }>();
  #bytes = 0;
  /** What the last search looked at, until other segments are there: the next one mostly asks for the same files. */
  #last: { readonly files: readonly SearchedFile[]; readonly dimensions: number; readonly chosen: Chosen } | null =
    null;

  constructor(options: CodeScanOptions) {
    this.#options = options;
  }

  /** Null when there is more to look at than may be. */
  async nearest(
    files: readonly SearchedFile[],
    vector: Float32Array,
    most: number,
  ): Promise<readonly NearPlace[] | null> {
    const { chunks, known, missing } = this.#chosen(files, vector.length);
    if ((chunks * vector.length) / 8 > this.#options.mostBytes) return null;
    const candidates = new Candidates(codeQuery(vector), most * CANDIDATES);
    for (const [segment, isSearched] of known) {
      this.#segments.delete(segment);
      this.#segments.add(segment);
      candidates.look(segment, isSearched);
    }
    const uncoded: string[] = [];
    for (let at = 0; at < missing.length; at += SOURCES_AT_ONCE) {
      const some = missing.slice(at, at + SOURCES_AT_ONCE);
      const loaded = await this.#options.load(some, vector.length);
      for (const segment of this.#keep(segmentsIn(loaded)))
        candidates.look(segment, new Uint8Array(segment.sources.length).fill(1));
      this.#makeRoom();
      uncoded.push(...some.filter((source) => !loaded.has(source)));
    }
    return this.#options.compare({ candidates: candidates.result, uncoded, vector, most });
  }

  /**
   * The segments that are there, with which of their sources are searched, and the sources that are in none. Each source is looked
   * for once: a million chunks have many, and their names are long.
   */
  #chosen(files: readonly SearchedFile[], dimensions: number): Chosen {
    if (this.#last?.files === files && this.#last.dimensions === dimensions) return this.#last.chosen;
    const known = new Map<Segment, Uint8Array>();
    const missing: string[] = [];
    let chunks = 0;
    for (const file of files) {
      if (file.dimensions !== dimensions) continue;
      chunks += file.chunks;
      const place = this.#placeOf.get(file.id);
      if (!place) {
        missing.push(file.id);
        continue;
      }
      const { segment, index } = place;
      const isSearched = known.get(segment) ?? new Uint8Array(segment.sources.length);
      known.set(segment, isSearched);
      isSearched[index] = 1;
    }
    const chosen = { chunks, known, missing };
    this.#last = { files, dimensions, chosen };
    return chosen;
  }

  /** They are there until room is made, which may take the place of any of them. */
  #keep(made: readonly Segment[]): readonly Segment[] {
    const kept = made.map(heldByKernel);
    if (kept.length > 0) this.#last = null;
    for (const segment of kept) {
      this.#segments.add(segment);
      this.#bytes += segment.bytes;
      for (const [index, source] of segment.sources.entries()) this.#placeOf.set(source, { segment, index });
    }
    return kept;
  }

  #makeRoom() {
    for (const oldest of this.#segments) {
      if (this.#bytes <= this.#options.keptBytes) return;
      this.#last = null;
      this.#segments.delete(oldest);
      this.#bytes -= oldest.bytes;
      for (const part of [oldest.centres, oldest.codes]) if (part instanceof Held) kernel().letGo(part);
      // Another search may have loaded a source meanwhile.
      for (const source of oldest.sources)
        if (this.#placeOf.get(source)?.segment === oldest) this.#placeOf.delete(source);
    }
  }
}

/** The same, its large parts where the kernel looks at them, as far as there is room. */
const heldByKernel = (segment: Segment): Segment => ({
  ...segment,
  centres: heldOr(segment.centres),
  codes: heldOr(segment.codes),
});

const heldOr = <Bytes extends Int8Array | Uint8Array>(bytes: Bytes | Held): Bytes | Held =>
  bytes instanceof Held ? bytes : (kernel().hold(bytes) ?? bytes);

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
