import { type Amount, SUMS } from './amount.ts';
import { readColumns, type Sums } from './layout.ts';
import { packHistograms } from './packed-histograms.ts';

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

/** What some cells amount to, column by column, with their histograms as `packHistograms` writes them. */
export interface Chunk {
  readonly count: number;
  /** By their place among all sums. */
  sum(place: number): Sums;
  readonly durations: Uint8Array;
  readonly firstBytes: Uint8Array;
}

/** Ids of kinds, one for each cell. */
export type Keys = Int32Array;

/** Cells, and what they are to be called: some of them may be called the same. */
export interface Part {
  readonly chunk: Chunk;
  /** As many as the key of a cell is wide; a cell of which the first is negative is left out. */
  readonly keys: readonly Keys[];
}

export function partIn({ sums, more, durations, first_bytes }: Packed, width: number): Part {
  const { count, key, sum } = readColumns(sums, more, width);
  const keys = Array.from({ length: width }, (_, at) => new Int32Array(key(at)));
  return { chunk: { count, sum, durations, firstBytes: first_bytes }, keys };
}

export function chunkOf(amounts: readonly Amount[]): Chunk {
  return {
    count: amounts.length,
    sum: (place) => {
      const name = SUMS[place]!;
      const column = new Float64Array(amounts.length);
      for (let at = 0; at < amounts.length; at++) column[at] = amounts[at]!.sums[name];
      return { column, large: null };
    },
    durations: packHistograms(amounts.map(({ durations }) => durations)),
    firstBytes: packHistograms(amounts.map(({ firstBytes }) => firstBytes)),
  };
}
