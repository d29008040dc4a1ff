import { Cells } from './cells.ts';
import { type Packed, type Part, partIn } from './chunk.ts';
import { type Cube, columnsOfCube, type Digest, type Kind } from './cubes.ts';
import type { Dictionary } from './dictionary.ts';
import { digestsOf, FIRST_WITH_DIGESTS, isDigest, standInsAmong } from './digests.ts';
import { GRAINS, HOURS } from './grains.ts';
import { spread } from './spread.ts';
import { finerThan, type State } from './state.ts';
import type { Statements } from './statements.ts';
import type { Whole } from './wholes.ts';
import type { Work } from './work.ts';

type ChunkRow = Packed & { readonly grain: number; readonly cube: Cube; readonly bucket: number };

/** Cells of a cube and a bucket that are to be written, and what they are added up of: what comes first stays told apart. */
interface Sum {
  readonly grain: number;
  readonly cube: Cube;
  readonly bucket: number;
  readonly parts: readonly Part[];
}

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
      const added = spread(kept, ms / GRAINS[0].ms, idsOf).map(({ part, ...place }) => ({
        grain,
        ...place,
        parts: [part],
      }));
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
      const made = { grain, cube, bucket, parts: yield* this.#partsBetween(cube, range) };
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
    const range = [id, bucket, bucket + 1] as const;
    const cubes = (yield { text: this.#sql.cubesBetween, values: range }) as { cube: Cube }[];
    for (const { cube } of cubes) {
      if (digestsOf(cube).length === 0) continue;
      const parts = yield* this.#partsBetween(cube, range);
      yield* this.#put(
        digestsOf(cube).map((digest) => ({ grain, cube: digest, bucket, parts })),
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

  *#partsBetween(cube: Cube, [grain, from, until]: readonly [number, number, number]): Work<Part[]> {
    const rows = yield { text: this.#sql.cellsBetween, values: [grain, cube, from, until] };
    return (rows as ChunkRow[]).map((row) => partIn(row, columnsOfCube(cube).length));
  }

  *#merge(added: readonly Sum[], state: State): Work<void> {
    const rows = added.map(({ grain, cube, bucket }) => [GRAINS[grain]!.id, cube, bucket]);
    const found = (yield { text: this.#sql.findCells, rows }) as ChunkRow[];
    const there = new Map(found.map((row) => [placeOf(row), partIn(row, columnsOfCube(row.cube).length)]));
    const merged = added.map((sum) => {
      const before = there.get(placeOf(sum));
      return before ? { ...sum, parts: [before, ...sum.parts] } : sum;
    });
    yield* this.#put(merged, state);
  }

  *#put(sums: readonly Sum[], { layout, kindsChanged }: State): Work<void> {
    const cores = sums.filter(({ cube }) => isDigest(cube)).flatMap(({ parts }) => parts.map(({ keys }) => keys[0]!));
    const coreOf = yield* this.#dictionary.coresOf(idsIn(cores), kindsChanged);
    const packed = sums.map(({ grain, cube, bucket, parts }) => {
      const cells = new Cells(columnsOfCube(cube).length);
      for (const part of isDigest(cube) ? digested(parts, cube, coreOf) : parts) cells.add(part);
      const { sums, durations, first_bytes, more } = cells.pack(layout);
      return [GRAINS[grain]!.id, cube, bucket, sums, durations, first_bytes, more] as const;
    });
    // Of nothing, there is no row.
    const gone = packed.filter(([, , , , durations]) => durations.length === 0);
    const kept = packed.filter(([, , , , durations]) => durations.length > 0);
    if (gone.length > 0) yield { text: this.#sql.dropCells, rows: gone.map((row) => row.slice(0, 3)) };
    if (kept.length > 0) yield { text: this.#sql.putCells, rows: kept };
  }
}

/** The cells of which digests are to be made: `#put` calls them by the cores that stand for theirs. */
function digestsIn({ grain, cube, bucket, parts }: Sum, { digestedFrom }: State): Sum[] {
  const { name, ms } = GRAINS[grain]!;
  if (grain < FIRST_WITH_DIGESTS || bucket * ms < digestedFrom[name]) return [];
  return digestsOf(cube).map((digest) => ({ grain, cube: digest, bucket, parts }));
}

function digested(parts: readonly Part[], digest: Digest, coreOf: (id: number) => Kind | null): Part[] {
  const standIns = standInsAmong(idsIn(parts.map(({ keys }) => keys[0]!)), digest, coreOf);
  return parts.map(({ chunk, keys: [cores, ...people] }) => ({
    chunk,
    keys: [cores!.map((core) => standIns.get(core) ?? -1), ...people],
  }));
}

function idsIn(columns: readonly Int32Array[]): Set<number> {
  const ids = new Set<number>();
  let last = -1;
  for (const column of columns)
    for (const id of column) {
      // Cells stand in the order of their cores.
      if (id !== last) ids.add(id);
      last = id;
    }
  return ids;
}

const placeOf = ({ cube, bucket }: Pick<Sum, 'cube' | 'bucket'>): string => `${bucket} ${cube}`;
