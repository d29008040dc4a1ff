import { type Packed, pack, unpack } from './chunk.ts';
import { type Cube, columnsOfCube } from './cubes.ts';
import type { Dictionary } from './dictionary.ts';
import { digested, digestsOf, FIRST_WITH_DIGESTS, isDigest } from './digests.ts';
import { GRAINS, HOURS } from './grains.ts';
import { Cells, spread } from './spread.ts';
import { finerThan, type State } from './state.ts';
import type { Statements } from './statements.ts';
import { rebucketed, type Whole } from './wholes.ts';
import type { Work } from './work.ts';

type ChunkRow = Packed & { readonly grain: number; readonly cube: Cube; readonly bucket: number };

/** Cells as they stand in the store: all of a cube and a bucket in one row. */
export class CellStore {
  readonly #sql: Statements;
  readonly #dictionary: Dictionary;

  constructor(sql: Statements, dictionary: Dictionary) {
    this.#sql = sql;
    this.#dictionary = dictionary;
  }

  /** Adds what came, in minutes; and in longer buckets where these have been made already. */
  *add(wholes: readonly Whole[], state: State): Work<void> {
    if (wholes.length === 0) return;
    const idsOf = yield* this.#dictionary.settle(wholes, state.kindsChanged);
    for (const [grain, { name, ms }] of GRAINS.entries()) {
      const kept = wholes.filter(({ bucket }) => {
        const begins = Math.floor((bucket * GRAINS[0].ms) / ms) * ms;
        return begins >= state.prunedBefore[name] && begins < state.rolledBefore[name];
      });
      if (kept.length === 0) continue;
      const cells = spread(grain === 0 ? kept : rebucketed(kept, ms / GRAINS[0].ms).values(), idsOf);
      const added = [...cells].flatMap(([cube, buckets]) =>
        [...buckets].map(([bucket, of]) => ({ grain, cube, bucket, cells: of })),
      );
      yield* this.#merge([...added, ...added.flatMap((each) => digestsIn(each, state))], state);
    }
  }

  /** Makes a bucket of the shorter ones; says whether there is anything in it. */
  *roll(grain: number, begins: number, state: State): Work<boolean> {
    const [{ ms, id }, finer] = [GRAINS[grain]!, GRAINS[finerThan(grain, begins, state)]!];
    const bucket = begins / ms;
    const range = [finer.id, begins / finer.ms, (begins + ms) / finer.ms] as const;
    yield { text: this.#sql.dropBetween, values: [id, bucket, bucket + 1] };
    const cubes = (yield { text: this.#sql.cubesBetween, values: range }) as { cube: Cube }[];
    for (const { cube } of cubes) {
      // Made of the cells, and not of digests of shorter ones: those need not agree in which core stands for others.
      if (isDigest(cube)) continue;
      const cells = new Cells();
      const [finerGrain, from, until] = range;
      const rows = yield { text: this.#sql.cellsBetween, values: [finerGrain, cube, from, until] };
      for (const row of rows as ChunkRow[]) addTo(cells, row);
      const made = { grain, cube, bucket, cells };
      yield* this.#put([made, ...digestsIn(made, state)], state);
    }
    return cubes.length > 0;
  }

  /** Makes the digests of the last bucket of a grain before a moment; says which it is, null: there is none. */
  *digestLastBefore(grain: number, moment: number, state: State): Work<number | null> {
    const { ms, id } = GRAINS[grain]!;
    const [{ bucket }] = (yield { text: this.#sql.lastBefore, values: [id, moment / ms] }) as [
      { bucket: number | null },
    ];
    if (bucket === null) return null;
    const cubes = (yield { text: this.#sql.cubesBetween, values: [id, bucket, bucket + 1] }) as { cube: Cube }[];
    for (const { cube } of cubes) {
      if (digestsOf(cube).length === 0) continue;
      const cells = new Cells();
      for (const row of (yield { text: this.#sql.cellsBetween, values: [id, cube, bucket, bucket + 1] }) as ChunkRow[])
        addTo(cells, row);
      yield* this.#put(
        digestsOf(cube).map((digest) => ({ grain, cube: digest, bucket, cells })),
        state,
      );
    }
    return bucket * ms;
  }

  /** Whether anything is kept of a time. */
  *isThere(grain: number, from: number, until: number): Work<boolean> {
    const { ms, id } = GRAINS[grain]!;
    return (yield { text: this.#sql.cubesBetween, values: [id, from / ms, until / ms] }).length > 0;
  }

  /** Of an hour, what is to be counted anew. */
  *dropHour(hour: number): Work<void> {
    for (const { ms, id } of GRAINS.slice(0, HOURS + 1))
      yield { text: this.#sql.dropBetween, values: [id, hour / ms, (hour + GRAINS[HOURS].ms) / ms] };
  }

  *dropBefore(grain: number, moment: number): Work<void> {
    const { ms, id } = GRAINS[grain]!;
    yield { text: this.#sql.dropBefore, values: [id, moment / ms] };
  }

  *#merge(added: readonly Added[], state: State): Work<void> {
    const rows = added.map(({ grain, cube, bucket }) => [GRAINS[grain]!.id, cube, bucket]);
    const byPlace = new Map(added.map((each) => [placeOf(each), each.cells]));
    const there = new Map<string, Cells>();
    for (const row of (yield { text: this.#sql.findCells, rows }) as ChunkRow[]) {
      // What was there stays told apart; if there are too many, new ones are not.
      const cells = new Cells();
      addTo(cells, row);
      for (const { key, amount } of byPlace.get(placeOf(row))!.values()) cells.add(key, amount);
      there.set(placeOf(row), cells);
    }
    const merged = added.map((each) => ({ ...each, cells: there.get(placeOf(each)) ?? each.cells }));
    yield* this.#put(merged, state);
  }

  *#put(chunks: readonly Added[], { layout, kindsChanged }: State): Work<void> {
    const coreOf = yield* this.#dictionary.coresOf(
      chunks.filter(({ cube }) => isDigest(cube)).map(({ cells }) => cells),
      kindsChanged,
    );
    const packed = chunks.map(({ grain, cube, bucket, cells: added }) => {
      const cells = isDigest(cube) ? digested(added, cube, coreOf) : added;
      const { sums, durations, first_bytes, more } = pack(cells.values(), columnsOfCube(cube).length, layout);
      return [GRAINS[grain]!.id, cube, bucket, sums, durations, first_bytes, more] as const;
    });
    // Of nothing, there is no row.
    const gone = packed.filter(([, , , , durations]) => durations.length === 0);
    const kept = packed.filter(([, , , , durations]) => durations.length > 0);
    if (gone.length > 0) yield { text: this.#sql.dropCells, rows: gone.map((row) => row.slice(0, 3)) };
    if (kept.length > 0) yield { text: this.#sql.putCells, rows: kept };
  }
}

interface Added {
  readonly grain: number;
  readonly cube: Cube;
  readonly bucket: number;
  readonly cells: Cells;
}

/** The cells of which digests are to be made: `#put` adds them up. */
function digestsIn({ grain, cube, bucket, cells }: Added, { digestedFrom }: State): Added[] {
  const { name, ms } = GRAINS[grain]!;
  if (grain < FIRST_WITH_DIGESTS || bucket * ms < digestedFrom[name]) return [];
  return digestsOf(cube).map((digest) => ({ grain, cube: digest, bucket, cells }));
}

const placeOf = ({ cube, bucket }: Pick<Added, 'cube' | 'bucket'>): string => `${bucket} ${cube}`;

function addTo(cells: Cells, row: ChunkRow): void {
  for (const { key, amount } of unpack(row, columnsOfCube(row.cube).length)) cells.add(key, amount);
}
