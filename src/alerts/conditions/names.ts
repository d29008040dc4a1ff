import { fail } from '../../core/errors.ts';
import { findProvider } from '../../providers/registry.ts';
import type { Db } from '../../storage/store.ts';
import type { Condition, Filter } from '../condition.ts';
import { OF_INSTALLATION } from '../condition.ts';
import type { Reach } from './look.ts';

/** The things that rules name, by id, and where people know them by it, by slug. */

const inReach = <Query extends { where(column: 'workspace_id', operator: '=', value: string): Query }>(
  query: Query,
  { workspaceId }: Reach,
): Query => (workspaceId === null ? query : query.where('workspace_id', '=', workspaceId));

export const apiKeysIn = (db: Db, reach: Reach) =>
  inReach(db.selectFrom('api_keys').selectAll().where('organisation_id', '=', reach.organisationId), reach);

export const virtualKeysIn = (db: Db, reach: Reach) =>
  inReach(db.selectFrom('virtual_keys').selectAll().where('organisation_id', '=', reach.organisationId), reach);

export const policiesIn = (db: Db, reach: Reach) =>
  inReach(
    db
      .selectFrom('policies')
      .selectAll()
      .where('organisation_id', '=', reach.organisationId)
      .where('kind', '=', 'usage'),
    reach,
  );

export const workspacesIn = (db: Db, { organisationId, workspaceId }: Reach) => {
  const all = db.selectFrom('workspaces').selectAll().where('organisation_id', '=', organisationId);
  return workspaceId === null ? all : all.where('id', '=', workspaceId);
};

export const configsIn = (db: Db, reach: Reach) =>
  inReach(db.selectFrom('configs').selectAll().where('organisation_id', '=', reach.organisationId), reach);

/** What a rule names and how it is told that it is not there. */
interface Named {
  readonly path: string;
  readonly what: string;
  readonly name: string;
  readonly count: (db: Db, reach: Reach) => Promise<number>;
}

type Finder = (db: Db, reach: Reach, name: string) => Promise<readonly unknown[]>;

const FINDERS: Readonly<Record<string, { readonly what: string; readonly find: Finder }>> = {
  api_key_id: {
    what: 'API key with the id',
    find: (db, reach, id) => apiKeysIn(db, reach).where('id', '=', id).execute(),
  },
  virtual_key: { what: 'virtual key', find: (db, reach, name) => byName(virtualKeysIn(db, reach), name) },
  workspace_id: { what: 'workspace', find: (db, reach, name) => byName(workspacesIn(db, reach), name) },
  policy_id: {
    what: 'usage policy with the id',
    find: (db, reach, id) => policiesIn(db, reach).where('id', '=', id).execute(),
  },
  config: { what: 'config', find: (db, reach, name) => byName(configsIn(db, reach), name) },
};

interface SluggedQuery<Row> {
  // biome-ignore lint/suspicious/noExplicitAny: tables that have both columns are asked in the same way
  where(condition: (where: any) => any): { execute(): Promise<Row[]> };
}

/** The rows with that id, or with that slug. */
export const byName = <Row>(query: unknown, name: string): Promise<Row[]> =>
  (query as SluggedQuery<Row>).where((where) => where.or([where('id', '=', name), where('slug', '=', name)])).execute();

function namedIn(condition: Condition): Named[] {
  const of = 'of' in condition ? entries('condition.of', condition.of) : [];
  const filter = 'filter' in condition ? entries('condition.filter', condition.filter) : [];
  const config =
    condition.type === 'breaker_open' && condition.config
      ? [['condition.config', 'config', condition.config] as const]
      : [];
  return [...of, ...filter, ...config].flatMap(([path, member, name]) => {
    const finder = FINDERS[member];
    if (!finder) return [];
    return [{ path, what: finder.what, name, count: async (db, reach) => (await finder.find(db, reach, name)).length }];
  });
}

const entries = (path: string, given: Readonly<Record<string, string | undefined>> | undefined) =>
  Object.entries(given ?? {}).flatMap(([member, name]) =>
    name === undefined ? [] : [[`${path}.${member}`, member, name] as const],
  );

/** A rule about something that is not there would never fire, and its author would not notice: 400 with the path. */
export async function checkNames(db: Db, reach: Reach, condition: Condition): Promise<void> {
  if (OF_INSTALLATION.has(condition.type) && reach.workspaceId !== null)
    fail(
      'invalid_request',
      'condition.type',
      `${condition.type} is about the whole installation; give organisation_id in place of a workspace`,
    );
  for (const [path, provider] of providersIn(condition))
    if (provider !== undefined && !findProvider(provider))
      fail('invalid_request', path, `there is no provider ${provider}; GET /v1/providers lists them`);
  for (const { path, what, name, count } of namedIn(condition)) {
    const times = await count(db, reach);
    if (times === 0) fail('invalid_request', path, `there is no ${what} ${name} ${placeOf(reach)}`);
    if (times > 1) fail('invalid_request', path, `several workspaces have a ${what} ${name}; give its id`);
  }
}

const placeOf = ({ workspaceId }: Reach): string =>
  workspaceId === null ? 'in this organisation' : 'in the workspace of this alert';

const providersIn = (condition: Condition): [path: string, name: string | undefined][] => [
  ...('provider' in condition ? [['condition.provider', condition.provider] as [string, string | undefined]] : []),
  ...('filter' in condition
    ? [['condition.filter.provider', condition.filter?.provider] as [string, string | undefined]]
    : []),
];

/** What of it has been deleted since: a sentence for people; null: all of it is there. */
export async function missingIn(db: Db, reach: Reach, condition: Condition): Promise<string | null> {
  for (const { path, what, name, count } of namedIn(condition))
    if ((await count(db, reach)) === 0) return `The ${what} ${name} that ${path} names is gone.`;
  return null;
}

/** The log knows virtual keys by their slugs. */
export async function slugOf(db: Db, reach: Reach, { virtual_key: name }: Filter): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const [row] = await byName<{ slug: string }>(virtualKeysIn(db, reach), name);
  return row?.slug ?? name;
}
