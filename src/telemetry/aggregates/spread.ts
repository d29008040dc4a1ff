import type { Amount } from './amount.ts';
import { Cells } from './cells.ts';
import { chunkOf, type Keys, type Part, partIn } from './chunk.ts';
import { CORE, type Cube, TOTAL, WHOLE } from './cubes.ts';
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

export interface Added {
  readonly cube: Cube;
  readonly bucket: number;
  readonly part: Part;
}

/** What these add to the cells of every cube, in buckets that are so many times as long as theirs. */
export function spread(wholes: readonly Whole[], scale: number, idsOf: (text: string) => Ids): Added[] {
  const byBucket = Map.groupBy(wholes, ({ bucket }) => Math.floor(bucket / scale));
  return [...byBucket].flatMap(([bucket, own]) => {
    const ids = own.map(({ text }) => idsOf(text));
    return partsOf(
      ids,
      own.map(({ amount }) => amount),
    ).map(([cube, part]) => ({ cube, bucket, part }));
  });
}

/** What differs by people only is added up before it is told apart further. */
function partsOf(ids: readonly Ids[], amounts: readonly Amount[]): [Cube, Part][] {
  const chunk = chunkOf(amounts);
  const core = keysOf(ids, (each) => each.core.id);
  const people: [`metadata.${string}` | 'user_id', Keys][] = [
    ['user_id', keysOf(ids, ({ user }) => user)],
    ...ids[0]!.metadata.map(([cube], at): [typeof cube, Keys] => [
      cube,
      keysOf(ids, ({ metadata }) => metadata[at]![1]),
    ]),
  ];
  const cores = [...new Set(ids.map((each) => each.core))];
  const numbers = new Map(cores.map((each, number) => [each, number]));
  const together = new Cells(1);
  together.add({ chunk, keys: [keysOf(ids, (each) => numbers.get(each.core)!)] });
  const byCore = partIn(together.pack('in runs'), 1);
  const keysOfCores = (idOf: (core: CoreIds) => number): Part => ({
    chunk: byCore.chunk,
    keys: [byCore.keys[0]!.map((number) => idOf(cores[number]!))],
  });
  return [
    [WHOLE, { chunk, keys: [core, people[0]![1], keysOf(ids, ({ combined }) => combined)] }],
    ...people.flatMap(([cube, own]): [Cube, Part][] => [
      [cube, { chunk, keys: [own] }],
      [`${CORE}${cube}`, { chunk, keys: [core, own] }],
    ]),
    [TOTAL, keysOfCores(({ total }) => total)],
    [CORE, keysOfCores(({ id }) => id)],
    ...cores[0]!.dimensions.map(([cube], at): [Cube, Part] => [
      cube,
      keysOfCores(({ dimensions }) => dimensions[at]![1]),
    ]),
  ];
}

function keysOf(ids: readonly Ids[], idOf: (each: Ids) => number): Keys {
  const keys = new Int32Array(ids.length);
  for (let at = 0; at < ids.length; at++) keys[at] = idOf(ids[at]!);
  return keys;
}
