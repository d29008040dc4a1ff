import { chosenValue, DIMENSIONS, type Dimension, OTHER, type Value } from './fact.ts';

/** A workspace alone. */
export const TOTAL = '';
/** All dimensions together but those that tell people apart: of these there are few kinds, however many calls. */
export const CORE = '+';
/** The chosen keys of metadata together. */
export const COMBINED = 'metadata';
/** Everything together; the finest there is. */
export const WHOLE = '*';

export type MetadataCube = `metadata.${string}`;
/** What kinds are named by. */
export type KindCube = typeof TOTAL | typeof CORE | typeof COMBINED | Dimension | MetadataCube;
/** What people are told apart by, and may be as many as there are people. */
export type PersonalCube = 'user_id' | MetadataCube;
/** What cells are kept by: one kind each, or the core crossed with who it was; and digests of those (`digests.ts`). */
export type Cube = Exclude<KindCube, typeof COMBINED> | `+${PersonalCube}` | typeof WHOLE | Digest;
/** Of the core: what became of calls of which models, who paid for which models, and all but who paid. */
export type CoreDigest = 'outcomes' | 'keys' | 'models';
/** Of the core crossed with people, what became of their calls of which models. */
export type Digest = CoreDigest | `+outcomes/${PersonalCube}`;
export const DIGEST_OF_PEOPLE = '+outcomes/';

export const metadataCube = (key: string): MetadataCube => `metadata.${key}`;
export const isPersonal = (cube: string): cube is PersonalCube => cube === 'user_id' || cube.startsWith('metadata.');
export const CORE_DIMENSIONS: readonly Dimension[] = DIMENSIONS.filter((name) => name !== 'user_id');

/** Of which kinds the key of a cell is made. */
export function columnsOfCube(cube: Cube): readonly KindCube[] {
  if (cube === WHOLE) return [CORE, 'user_id', COMBINED];
  if (cube === 'outcomes' || cube === 'keys' || cube === 'models') return [CORE];
  if (cube.startsWith(DIGEST_OF_PEOPLE)) return [CORE, cube.slice(DIGEST_OF_PEOPLE.length) as PersonalCube];
  return cube.startsWith(CORE) && cube !== CORE ? [CORE, cube.slice(CORE.length) as PersonalCube] : [cube as KindCube];
}

/** The smallest cube that knows all of these. */
export function cubeKnowing(names: ReadonlySet<Dimension | MetadataCube>): Cube {
  const [only] = names;
  if (only === undefined) return TOTAL;
  if (names.size === 1) return only;
  const [person, another] = [...names].filter(isPersonal);
  if (person === undefined) return CORE;
  return another === undefined ? `${CORE}${person}` : WHOLE;
}

/** What the entries of a cell have in common, or a part of that. */
export interface Kind {
  readonly cube: KindCube;
  readonly organisationId: string | null;
  readonly workspaceId: string | null;
  /** Of the dimension; of the core, all of them; of the metadata, pairs as JSON. */
  readonly values: readonly Value[];
}

export const textOfKind = ({ cube, organisationId, workspaceId, values }: Kind): string =>
  JSON.stringify([cube, organisationId, workspaceId, ...values]);

export function kindOf(text: string): Kind {
  const [cube, organisationId, workspaceId, ...values] = JSON.parse(text) as [KindCube, string | null, string | null];
  return { cube, organisationId, workspaceId, values };
}

/** Whether kinds of a cube say this. */
export const knows = (cube: KindCube, name: Dimension | MetadataCube): boolean =>
  cube === name || (cube === CORE ? !isPersonal(name) : cube === COMBINED && name.startsWith('metadata.'));

export function valueIn({ cube, values }: Kind, name: Dimension | MetadataCube): Value {
  if (cube === name) return values[0] ?? null;
  if (cube === COMBINED) return chosenValue(values[0] as string | null, name.slice('metadata.'.length));
  return values[CORE_DIMENSIONS.indexOf(name as Dimension)] ?? null;
}

/** Of a cell whose bucket had too many of its kind (`cells.ts`). */
export const OTHER_ID = 0;
export const otherKind = (cube: KindCube): Kind => ({ cube, organisationId: null, workspaceId: null, values: [OTHER] });
