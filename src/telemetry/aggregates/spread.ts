import { type Amount, addAmount, copyOf, nothing } from './amount.ts';
import type { Cell } from './chunk.ts';
import { CORE, type Cube, OTHER_ID, TOTAL, WHOLE } from './cubes.ts';
import type { Whole } from './wholes.ts';

/** Ids of the kinds that entries count for. */
export interface Ids {
  readonly core: CoreIds;
  readonly user: number;
  readonly combined: number;
  /** By cube, those of people. */
  readonly metadata: readonly (readonly [cube: `metadata.${string}`, id: number])[];
}

/** Shared by all that differ in nothing but people. */
export interface CoreIds {
  readonly id: number;
  readonly total: number;
  readonly dimensions: readonly (readonly [cube: Cube, id: number])[];
}

/** So many cells of a bucket that differ by people are kept; others are counted together, by their core. */
const MOST_CELLS = 200_000;
/** Ids are smaller than this, so that two of them are one number. */
const MOST_IDS = 2 ** 26;

/** The cells of one cube and one bucket. */
export class Cells {
  readonly #cells = new Map<number | string, { readonly key: readonly number[]; amount: Amount; isOwn: boolean }>();
  readonly #most: number;

  constructor(most = MOST_CELLS) {
    this.#most = most;
  }

  /** Nearly all cells that differ by people are of one call: what is added first is kept as it is, and never changed. */
  add(key: readonly number[], amount: Amount): void {
    const place =
      key.length === 1 ? key[0]! : key.length === 2 ? key[0]! * MOST_IDS + key[1]! : `${key[0]} ${key[1]} ${key[2]}`;
    const cell = this.#cells.get(place);
    if (cell) {
      if (!cell.isOwn) Object.assign(cell, { amount: copyOf(cell.amount), isOwn: true });
      addAmount(cell.amount, amount);
      return;
    }
    const isOneTooMany = this.#cells.size >= this.#most && key.length > 1 && key[1] !== OTHER_ID;
    if (isOneTooMany) this.add([key[0]!, ...key.slice(1).map(() => OTHER_ID)], amount);
    else this.#cells.set(place, { key, amount, isOwn: false });
  }

  values(): Iterable<Cell> {
    return this.#cells.values();
  }

  get size(): number {
    return this.#cells.size;
  }
}

/** By cube and bucket. */
export type Spread = Map<Cube, Map<number, Cells>>;

function madeIn<Key, Made>(map: Map<Key, Made>, key: Key, make: () => Made): Made {
  let made = map.get(key);
  if (made === undefined) {
    made = make();
    map.set(key, made);
  }
  return made;
}

function cellsIn(spread: Spread, cube: Cube, bucket: number): Cells {
  return madeIn(
    madeIn(spread, cube, () => new Map<number, Cells>()),
    bucket,
    () => new Cells(),
  );
}

/** The cells of every cube that these count for. What differs by people only is added up before it is told apart further. */
export function spread(wholes: Iterable<Whole>, idsOf: (text: string) => Ids): Spread {
  const cells: Spread = new Map();
  const cores = new Map<CoreIds, Map<number, Amount>>();
  for (const { text, bucket, amount } of wholes) {
    const { core, user, combined, metadata } = idsOf(text);
    cellsIn(cells, WHOLE, bucket).add([core.id, user, combined], amount);
    for (const [cube, id] of [['user_id', user] as const, ...metadata]) {
      cellsIn(cells, cube, bucket).add([id], amount);
      cellsIn(cells, `${CORE}${cube}`, bucket).add([core.id, id], amount);
    }
    const buckets = madeIn(cores, core, () => new Map<number, Amount>());
    addAmount(madeIn(buckets, bucket, nothing), amount);
  }
  for (const [{ id, total, dimensions }, buckets] of cores)
    for (const [bucket, amount] of buckets) {
      cellsIn(cells, TOTAL, bucket).add([total], amount);
      cellsIn(cells, CORE, bucket).add([id], amount);
      for (const [cube, part] of dimensions) cellsIn(cells, cube, bucket).add([part], amount);
    }
  return cells;
}
