import {
  CORE,
  CORE_DIMENSIONS,
  type CoreDigest,
  type Cube,
  DIGEST_OF_PEOPLE,
  type Digest,
  isPersonal,
  type Kind,
  valueIn,
} from './cubes.ts';
import type { Dimension } from './fact.ts';
import { FIVES, GRAINS } from './grains.ts';

/**
 * A digest has the cells of a cube that crosses the core, with most of the core added up: a question that asks about few dimensions
 * reads a fifth of the cells or fewer. Where cells agree in what the digest tells apart, one of their cores stands for all
 * of them, and which one does not matter: no question asks it for anything else. So a digest needs no kinds of its own, and one cell that is
 * added under another core is as right as one that is added to the cell there is.
 *
 * They are made of buckets that are made of shorter ones, not of minutes: those are written all the time.
 */
export const FIRST_WITH_DIGESTS = FIVES;
export const GRAINS_WITH_DIGESTS = GRAINS.slice(FIRST_WITH_DIGESTS);

const OUTCOMES: ReadonlySet<Dimension> = new Set(['provider', 'model', 'status']);
const TOLD: Readonly<Record<CoreDigest, ReadonlySet<Dimension>>> = {
  outcomes: OUTCOMES,
  models: new Set(CORE_DIMENSIONS.filter((name) => name !== 'api_key_id' && name !== 'virtual_key')),
  keys: new Set(['api_key_id', 'virtual_key', 'provider', 'model']),
};
const isOfCore = (cube: string): cube is CoreDigest => Object.hasOwn(TOLD, cube);

/** The smallest first. */
const ofCore: readonly Digest[] = ['outcomes', 'keys', 'models'];

export const isDigest = (cube: Cube): cube is Digest => isOfCore(cube) || cube.startsWith(DIGEST_OF_PEOPLE);

/** Those that are made of the cells of a cube. */
export function digestsOf(cube: Cube): readonly Digest[] {
  if (cube === CORE) return ofCore;
  const person = cube.slice(CORE.length);
  return cube.startsWith(CORE) && isPersonal(person) ? [`${DIGEST_OF_PEOPLE}${person}`] : [];
}

const toldBy = (digest: Digest): ReadonlySet<Dimension> => (isOfCore(digest) ? TOLD[digest] : OUTCOMES);

/** The digest of a cube that knows all of these; null: there is none. */
export function digestKnowing(cube: Cube, names: Iterable<string>): Digest | null {
  const ofCores = [...names].filter((name) => !isPersonal(name)) as Dimension[];
  return digestsOf(cube).find((digest) => ofCores.every((name) => toldBy(digest).has(name))) ?? null;
}

/**
 * Which of these cores stands for others, the first that got an id of those that agree in what the digest tells apart. `coreOf`:
 * null where the workspace of the core was deleted; no question finds what is left of it, and nothing stands for it.
 */
export function standInsAmong(
  ids: ReadonlySet<number>,
  digest: Digest,
  coreOf: (id: number) => Kind | null,
): ReadonlyMap<number, number> {
  const told = CORE_DIMENSIONS.filter((name) => toldBy(digest).has(name));
  const firsts = new Map<string, number>();
  const standIns = new Map<number, number>();
  for (const id of [...ids].sort((one, other) => one - other)) {
    const core = coreOf(id);
    if (core === null) continue;
    const { organisationId, workspaceId } = core;
    const text = JSON.stringify([organisationId, workspaceId, ...told.map((name) => valueIn(core, name))]);
    const first = firsts.get(text) ?? id;
    firsts.set(text, first);
    standIns.set(id, first);
  }
  return standIns;
}
