import { type CodeBlock, encoded } from '../codes.ts';
import { NearestRows, quantised, quantisedQuery, strideOf, type VectorBlock } from '../quantised.ts';
import type { NearPlace } from './requests.ts';

/** A file that is searched, as a row of the question which they are. */
export interface SearchedFile {
  readonly id: string;
  readonly chunks: number;
  readonly dimensions: number | null;
}

/** Blocks of a source never change, so they may be kept for as long as there is room. */
export type LoadBlocks = (sources: readonly string[]) => Promise<Map<string, VectorBlock[]>>;

export interface BlockScanOptions {
  readonly load: LoadBlocks;
  /** How many bytes of vectors stay in memory. */
  readonly keptBytes: number;
  /** How many bytes of vectors one search may look at. */
  readonly mostBytes: number;
}

const SOURCES_AT_ONCE = 500;

/** Whether files have so many chunks, or so long vectors, that not every one of these is looked at byte for byte. */
export function isApproximate(
  files: readonly SearchedFile[],
  dimensions: number,
  { from, keptBytes }: { readonly from: number; readonly keptBytes: number },
): boolean {
  const chunks = files.reduce((sum, file) => sum + (file.dimensions === dimensions ? file.chunks : 0), 0);
  return chunks >= from || chunks * strideOf(dimensions) > keptBytes;
}

const bytesOf = (blocks: readonly VectorBlock[]): number => blocks.reduce((sum, { rows }) => sum + rows.length, 0);

/** Looks at every vector there is: exact, and fast enough because it is done a byte for a number. */
export class BlockScan {
  readonly #options: BlockScanOptions;
  /** In the order in which they were last used. */
  readonly #kept = new Map<string, VectorBlock[]>();
  #bytes = 0;

  constructor(options: BlockScanOptions) {
    this.#options = options;
  }

  /** Null when there is more to look at than may be. */
  async nearest(
    files: readonly SearchedFile[],
    vector: Float32Array,
    most: number,
  ): Promise<readonly NearPlace[] | null> {
    const searched = files.filter(({ dimensions }) => dimensions === vector.length);
    const stride = strideOf(vector.length);
    const chunks = searched.reduce((sum, file) => sum + file.chunks, 0);
    if (chunks * stride > this.#options.mostBytes) return null;
    const nearest = new NearestRows(quantisedQuery(vector), most);
    for (let at = 0; at < searched.length; at += SOURCES_AT_ONCE) {
      const sources = searched.slice(at, at + SOURCES_AT_ONCE).map(({ id }) => id);
      for (const [source, blocks] of await this.#blocksOf(sources))
        for (const block of blocks) nearest.look(source, block);
    }
    return nearest.result;
  }

  async #blocksOf(sources: readonly string[]): Promise<Map<string, VectorBlock[]>> {
    const missing = sources.filter((source) => !this.#kept.has(source));
    const loaded = missing.length > 0 ? await this.#options.load(missing) : new Map<string, VectorBlock[]>();
    const all = new Map<string, VectorBlock[]>();
    for (const source of sources) {
      const blocks = this.#kept.get(source) ?? loaded.get(source) ?? [];
      all.set(source, blocks);
      this.#keep(source, blocks);
    }
    return all;
  }

  #keep(source: string, blocks: VectorBlock[]) {
    if (this.#kept.delete(source)) this.#bytes -= bytesOf(blocks);
    this.#kept.set(source, blocks);
    this.#bytes += bytesOf(blocks);
    for (const [oldest, old] of this.#kept) {
      if (this.#bytes <= this.#options.keptBytes) return;
      this.#kept.delete(oldest);
      this.#bytes -= bytesOf(old);
    }
  }
}

/** A block as a row of a database holds it. */
export interface BlockRow {
  readonly source: string;
  readonly first: number;
  readonly dimensions: number;
  readonly scales: Uint8Array;
  readonly rows: Uint8Array;
}

export const rowOf = (source: string, { first, dimensions, scales, rows }: VectorBlock): BlockRow => ({
  source,
  first,
  dimensions,
  scales: Buffer.from(scales.buffer, scales.byteOffset, scales.byteLength),
  rows: Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength),
});

export const blockOf = ({ first, dimensions, scales, rows }: Omit<BlockRow, 'source'>): VectorBlock => ({
  first,
  dimensions,
  // A copy begins where numbers of four bytes may begin; a piece of a driver's buffer may not.
  scales: new Float32Array(scales.slice().buffer),
  rows: new Int8Array(rows.buffer, rows.byteOffset, rows.byteLength),
});

export function blocksIn(found: readonly BlockRow[]): Map<string, VectorBlock[]> {
  const blocks = new Map<string, VectorBlock[]>();
  for (const { source, ...row } of found) {
    const block = blockOf(row);
    const known = blocks.get(source);
    if (known) known.push(block);
    else blocks.set(source, [block]);
  }
  return blocks;
}

/** So large a block may be: of one vector among the nearest, no more has to be read than its block. */
const MOST_BLOCK_BYTES = 16 << 10;

/** Some chunks' vectors, in blocks that are written as rows. */
export function blocksOf(vectors: readonly (Float32Array | null)[], dimensions: number, first: number): VectorBlock[] {
  const most = Math.max(1, Math.floor(MOST_BLOCK_BYTES / strideOf(dimensions)));
  const blocks: VectorBlock[] = [];
  for (let at = 0; at < vectors.length; at += most)
    blocks.push(quantised(vectors.slice(at, at + most), dimensions, first + at));
  return blocks;
}

/** The codes of vectors that were stored before there were any. */
export const codesOf = ({ first, dimensions, scales, rows }: VectorBlock): CodeBlock => {
  const stride = strideOf(dimensions);
  const vectors = Array.from(scales, (scale, row) =>
    scale === 0
      ? null
      : Float32Array.from(rows.subarray(row * stride, row * stride + dimensions), (value) => value * scale),
  );
  return encoded(vectors, dimensions, first);
};
