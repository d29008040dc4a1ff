import { type Kysely, sql } from 'kysely';
import {
  type Cube,
  columnsOfCube,
  cubeKnowing,
  type Digest,
  type Kind,
  type KindCube,
  kindOf,
  knows,
  type MetadataCube,
  metadataCube,
  OTHER_ID,
  otherKind,
  valueIn,
} from '../aggregates/cubes.ts';
import { digestKnowing } from '../aggregates/digests.ts';
import { ANY, type Dimension, OTHER, type Value } from '../aggregates/fact.ts';
import { type Shared, sharedValue } from '../aggregates/wholes.ts';
import type { LogTables } from '../log-columns.ts';
import type { LogFilter } from '../log-query.ts';
import { keptTerm } from './kept-terms.ts';

/** By what figures can be told apart. */
export type By = Dimension | 'workspace_id' | { readonly metadata: string };

type Name = Dimension | MetadataCube;
/** Whether a value is meant; null: that cannot be told from it. */
type Test = (value: Value) => boolean | null;
type Conditions = ReadonlyMap<Name, Test>;

/** What a filter asks of kinds; null: more than they say. */
export function conditionsIn(filter: LogFilter): Conditions | null {
  const { organisationId: _, workspaceId: __, pathPrefix, metadata = {}, isStream, terms = [], ...others } = filter;
  const { status, failedBy, provider, model, virtualKey, apiKeyId, userId, ...unkept } = others;
  // Whatever else a filter may come to say: the log knows it.
  if (Object.values<unknown>(unkept).some((wish) => wish !== undefined)) return null;
  const kept = terms.map(keptTerm);
  if (kept.includes(null)) return null;
  const wanted: Partial<Record<Dimension, Value | undefined>> = {
    status,
    failed_by: failedBy,
    provider,
    model,
    virtual_key: virtualKey,
    api_key_id: apiKeyId,
    user_id: userId,
    is_stream: isStream === undefined ? undefined : Number(isStream),
  };
  const conditions = new Map<Name, Test>();
  const is = (wish: Value) => (value: Value) => (value === OTHER ? null : value === wish);
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) conditions.set(name as Name, is(value));
  if (pathPrefix !== undefined) conditions.set('endpoint', (value) => beginsWith(String(value), pathPrefix));
  for (const [key, value] of Object.entries(metadata)) conditions.set(metadataCube(key), is(value));
  for (const term of kept) conditions.set(term!.name, both(conditions.get(term!.name), term!.test));
  return conditions;
}

const both = (one: Test | undefined, other: Test): Test => {
  if (!one) return other;
  return (value) => {
    const verdicts = [one(value), other(value)];
    return verdicts.includes(false) ? false : verdicts.includes(null) ? null : true;
  };
};

/** Paths are kept without their queries and without what calls name in them. */
function beginsWith(endpoint: string, prefix: string): boolean | null {
  if (endpoint === OTHER) return null;
  const any = endpoint.indexOf(ANY);
  const plain = any < 0 ? endpoint : endpoint.slice(0, any);
  if (plain.startsWith(prefix)) return true;
  if (!prefix.startsWith(plain)) return false;
  return any < 0 && prefix[plain.length] !== '?' ? false : null;
}

export interface Meant {
  readonly cube: Cube;
  /** Of its cells, if there is one that knows enough. */
  readonly digest: Digest | null;
  /** Whether entries that share this are meant; null: that cannot be told. */
  readonly includes: (shared: Shared) => boolean | null;
  /** The same, of each kind that the key of a cell is made of: all of them have to be meant. */
  readonly columns: readonly MeantColumn[];
  /** What entries are called by the first thing they are told apart by, then by the second. */
  readonly names: readonly Naming[];
}

interface MeantColumn {
  readonly cube: KindCube;
  readonly includes: (kind: Kind) => boolean | null;
}

interface Naming {
  readonly ofShared: (shared: Shared) => Value;
  /** Which column says it. */
  readonly column: number;
  readonly ofKind: (kind: Kind) => Value;
}

/** What of the kinds answers a question. Null: nothing does. */
export function meantBy(filter: LogFilter, by: readonly By[]): Meant | null {
  const conditions = conditionsIn(filter);
  if (!conditions) return null;
  const names = new Set(conditions.keys());
  for (const each of by) if (each !== 'workspace_id') names.add(nameOfBy(each));
  const cube = cubeKnowing(names);
  const columns = columnsOfCube(cube);
  const isInReach = ({ organisationId, workspaceId }: Pick<Kind, 'organisationId' | 'workspaceId'>) =>
    organisationId === filter.organisationId && (filter.workspaceId === null || workspaceId === filter.workspaceId);
  return {
    cube,
    digest: digestKnowing(cube, names),
    includes: (shared) => isInReach(shared) && verdict(conditions, (name) => sharedValue(shared, name)),
    columns: columns.map((kinds, at) => {
      const own = new Map([...conditions].filter(([name]) => knows(kinds, name)));
      return {
        cube: kinds,
        // Of others of its bucket, the first column says where it belongs.
        includes: (kind) => (at > 0 || isInReach(kind)) && verdict(own, (name) => valueIn(kind, name)),
      };
    }),
    names: by.map((each) => namingBy(each, columns)),
  };
}

const nameOfBy = (by: Exclude<By, 'workspace_id'>): Name => (typeof by === 'string' ? by : metadataCube(by.metadata));

function namingBy(by: By, columns: readonly KindCube[]): Naming {
  if (by === 'workspace_id')
    return { column: 0, ofShared: ({ workspaceId }) => workspaceId, ofKind: ({ workspaceId }) => workspaceId };
  const name = nameOfBy(by);
  return {
    column: columns.findIndex((kinds) => knows(kinds, name)),
    ofShared: (shared) => sharedValue(shared, name),
    ofKind: (kind) => valueIn(kind, name),
  };
}

function verdict(conditions: Conditions, saying: (name: Name) => Value): boolean | null {
  let isMeant: boolean | null = true;
  for (const [name, test] of conditions) {
    const found = test(saying(name));
    if (found === false) return false;
    if (found === null) isMeant = null;
  }
  return isMeant;
}

interface Known {
  readonly id: number;
  readonly kind: Kind;
}

/** Kinds as they were read, by cube: they are only ever added to, until some are renamed or deleted. */
export class Kinds {
  #byCube = new Map<KindCube, { readonly list: Known[]; knownTo: number }>();
  #changed = -1;

  /** `newest`: no kind of any cube has a greater id. */
  async of(db: Kysely<LogTables>, cube: KindCube, changed: number, newest: number): Promise<readonly Known[]> {
    if (changed !== this.#changed) this.#byCube = new Map();
    this.#changed = changed;
    const known = this.#byCube.get(cube) ?? { list: [{ id: OTHER_ID, kind: otherKind(cube) }], knownTo: 0 };
    this.#byCube.set(cube, known);
    const { list } = known;
    if (known.knownTo >= newest) return list;
    const { rows } = await sql<{ id: number; text: string }>`
      select id, text from analytics_kinds where cube = ${cube} and id > ${list.at(-1)!.id} order by id`.execute(db);
    for (const { id, text } of rows) list.push({ id, kind: kindOf(text) });
    known.knownTo = newest;
    return list;
  }
}
