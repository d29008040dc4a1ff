import { type Kysely, sql } from 'kysely';
import { type Cube, type Kind, kindOf, METADATA_AT, TOTAL, WHOLE } from '../aggregates/cells.ts';
import { ANY, chosenValue, DIMENSIONS, type Dimension, type Fact, OTHER, type Value } from '../aggregates/fact.ts';
import type { LogTables } from '../log-columns.ts';
import type { LogFilter } from '../log-query.ts';

/** By what figures can be told apart. */
export type By = Dimension | 'workspace_id' | { readonly metadata: string };

/** Whether a value is meant; null: that cannot be told from it. */
type Test = (value: Value) => boolean | null;
type Conditions = ReadonlyMap<Cube, Test>;

export const cubeOf = (by: Exclude<By, 'workspace_id'>): Cube =>
  typeof by === 'string' ? by : `metadata.${by.metadata}`;

/** What a filter asks of kinds; null: more than they say. */
export function conditionsIn(filter: LogFilter): Conditions | null {
  const { organisationId: _, workspaceId: __, pathPrefix, metadata = {}, isStream, ...others } = filter;
  const { status, failedBy, provider, model, virtualKey, apiKeyId, userId, ...unkept } = others;
  // Whatever else a filter may come to say: the log knows it.
  if (Object.values<unknown>(unkept).some((wish) => wish !== undefined && !isEmptyList(wish))) return null;
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
  const conditions = new Map<Cube, Test>();
  const is = (wish: Value) => (value: Value) => (value === OTHER ? null : value === wish);
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) conditions.set(name as Cube, is(value));
  if (pathPrefix !== undefined) conditions.set('endpoint', (value) => beginsWith(String(value), pathPrefix));
  for (const [key, value] of Object.entries(metadata)) conditions.set(`metadata.${key}`, is(value));
  return conditions;
}

const isEmptyList = (wish: unknown): boolean => Array.isArray(wish) && wish.length === 0;

/** Paths are kept without their queries and without what calls name in them. */
function beginsWith(endpoint: string, prefix: string): boolean | null {
  if (endpoint === OTHER) return null;
  const any = endpoint.indexOf(ANY);
  const plain = any < 0 ? endpoint : endpoint.slice(0, any);
  if (plain.startsWith(prefix)) return true;
  if (!prefix.startsWith(plain)) return false;
  return any < 0 && prefix[plain.length] !== '?' ? false : null;
}

/** The values of a kind by what it was asked for. */
function valueIn(kind: Kind, cube: Cube): Value {
  if (kind.cube === cube) return kind.values[0] ?? null;
  if (cube.startsWith('metadata.'))
    return chosenValue(kind.values[METADATA_AT] as string | null, cube.slice('metadata.'.length));
  return kind.values[DIMENSIONS.indexOf(cube as Dimension)] ?? null;
}

export interface Meant {
  readonly cube: Cube;
  /** Whether the entries of a kind are meant; null: that cannot be told. */
  readonly includes: (kind: Kind) => boolean | null;
  /** Those of the kinds that are meant; null: that cannot be told. */
  readonly among: (kinds: readonly Known[]) => Known[] | null;
  readonly nameOf: (kind: Kind) => Value;
}

export interface Known {
  readonly id: number;
  readonly kind: Kind;
}

/** What of the kinds answers a question. Null: nothing does. */
export function meantBy(filter: LogFilter, by: By | null): Meant | null {
  const conditions = conditionsIn(filter);
  if (!conditions) return null;
  const cubes = new Set(conditions.keys());
  if (by !== null && by !== 'workspace_id') cubes.add(cubeOf(by));
  const [only] = cubes;
  const includes = (kind: Kind): boolean | null => {
    if (kind.organisationId !== filter.organisationId) return false;
    if (filter.workspaceId !== null && kind.workspaceId !== filter.workspaceId) return false;
    let isMeant: boolean | null = true;
    for (const [cube, test] of conditions) {
      const verdict = test(valueIn(kind, cube));
      if (verdict === false) return false;
      if (verdict === null) isMeant = null;
    }
    return isMeant;
  };
  return {
    cube: cubes.size > 1 ? WHOLE : (only ?? TOTAL),
    includes,
    among: (kinds) => {
      const verdicts = kinds.map(({ kind }) => includes(kind));
      return verdicts.includes(null) ? null : kinds.filter((_, at) => verdicts[at]);
    },
    nameOf: (kind) => (by === null ? null : by === 'workspace_id' ? kind.workspaceId : valueIn(kind, cubeOf(by))),
  };
}

/** What an entry is called when entries are told apart by that. */
export const nameIn = (fact: Fact, by: By): Value => {
  if (by === 'workspace_id') return fact.workspace_id;
  return typeof by === 'string' ? fact[by] : chosenValue(fact.metadata, by.metadata);
};

/** Kinds as they were read, by cube: they are only ever added to, until some are renamed or deleted. */
export class Kinds {
  #byCube = new Map<Cube, Known[]>();
  #last = 0;
  #changed = -1;

  async of(db: Kysely<LogTables>, cube: Cube, changed: number) {
    if (changed !== this.#changed) {
      this.#byCube = new Map();
      this.#last = 0;
    }
    this.#changed = changed;
    const { rows } = await sql<{ id: number; text: string }>`
      select id, text from analytics_kinds where id > ${this.#last} order by id`.execute(db);
    for (const { id, text } of rows) {
      const kind = kindOf(text);
      const list = this.#byCube.get(kind.cube) ?? [];
      list.push({ id, kind });
      this.#byCube.set(kind.cube, list);
      this.#last = id;
    }
    return this.#byCube.get(cube) ?? [];
  }
}
