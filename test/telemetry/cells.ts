import { type Amount, nothing, SUMS } from '../../src/telemetry/aggregates/amount.ts';
import { Cells } from '../../src/telemetry/aggregates/cells.ts';
import { chunkOf, type Packed, type Part } from '../../src/telemetry/aggregates/chunk.ts';
import { count as countIn, type Histogram } from '../../src/telemetry/aggregates/histogram.ts';
import { type Layout, readColumns } from '../../src/telemetry/aggregates/layout.ts';

export interface Cell {
  /** Ids of kinds. */
  readonly key: readonly number[];
  readonly amount: Amount;
}

export const partOf = (cells: readonly Cell[], width: number): Part => ({
  chunk: chunkOf(cells.map(({ amount }) => amount)),
  keys: Array.from({ length: width }, (_, at) => Int32Array.from(cells, ({ key }) => key[at]!)),
});

export function pack(cells: readonly Cell[], width: number, layout: Layout): Packed {
  const all = new Cells(width);
  all.add(partOf(cells, width));
  return all.pack(layout);
}

/** Cell by cell, as nothing but tests reads them. */
export function unpack({ sums: bytes, more, durations, first_bytes }: Packed, width: number): Cell[] {
  const { count, key, sum } = readColumns(bytes, more, width);
  const cells = Array.from(
    { length: count },
    (_, cell): Cell => ({ key: Array.from({ length: width }, (_, at) => key(at)[cell]!), amount: nothing() }),
  );
  for (const [place, name] of SUMS.entries()) {
    const { column, large } = sum(place);
    for (const [cell, { amount }] of cells.entries()) amount.sums[name] = column?.[cell] ?? 0;
    for (const [at, cell] of large?.cells.entries() ?? []) cells[cell]!.amount.sums[name] = large!.values[at]!;
  }
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

function readHistograms(bytes: Uint8Array, to: readonly Histogram[]): void {
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let scale = 1, byte = 128; byte >= 128; scale *= 128) {
      byte = bytes[at++]!;
      value += (byte & 127) * scale;
    }
    return value;
  };
  for (const histogram of to) {
    const length = next();
    const end = at + length;
    for (let bucket = 0; at < end; ) {
      bucket += next();
      const signed = next();
      countIn(histogram, bucket, signed % 2 === 0 ? signed / 2 : -(signed + 1) / 2);
    }
  }
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes lie behind the last histogram.`);
}
