import { fail } from '../core/errors.ts';
import { refuseForbidden } from '../core/forbidden.ts';
import { isSlug, newId } from '../core/ids.ts';
import { MASKED, maskedAddress } from '../core/masked-address.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import { schemaOf } from '../core/schema.ts';
import { isAddressName } from '../core/secret-names.ts';
import { mask, type Sealer } from '../crypto/seal.ts';
import { isInline } from '../http/forbidden-headers.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { ConfigRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { withFreeSlug, workspaceFor } from '../storage/workspace-lookup.ts';
import { broughtBy, chosenModels } from './brought-members.ts';
import { type ConfigObject, type ConfigOrigin, checkConfig, configSchema } from './config.ts';
import { createInlineConfigs } from './inline-configs.ts';
import { type NamingConfig, sidesNaming } from './named-guardrails.ts';
import { compilePlan, type Plan } from './plan.ts';

/** A stored config as callers see it. */
export interface Config {
  readonly id: string;
  readonly object: 'config';
  readonly slug: string;
  readonly name: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly status: string;
  readonly is_default: 0;
  readonly version_id: string;
  readonly owner_id: string;
  readonly updated_by: string;
  readonly created_at: string;
  readonly last_updated_at: string;
}

export interface ConfigInput {
  readonly name: string;
  readonly slug?: string;
  readonly config: unknown;
  readonly workspace_id?: string;
}

/**
 * Slugs are unique in a workspace: the caller's own, unless another is named. A caller that reaches the whole
 * organisation also finds a config of another workspace, if one workspace alone has that slug.
 */
export interface ConfigName {
  readonly slug: string;
  readonly workspace?: string;
}

export interface ConfigVersion {
  readonly id: string;
  readonly object: 'config-version';
  readonly version_id: string;
  readonly config: unknown;
  readonly created_by: string;
  readonly created_at: string;
}

const MOST_LOOKED_THROUGH = 1_000;

/** Members that may lead a call to any host. */
const HOSTS = ['custom_host', 'azure_foundry_url'];
const SECRET_NAME = /secret|pass|token|private|credential|service_account|access_key|api_key|authorization|^headers$/i;

const shown = (row: ConfigRow): Config => ({
  id: row.id,
  object: 'config',
  slug: row.slug,
  name: row.name,
  organisation_id: row.organisation_id,
  workspace_id: row.workspace_id,
  status: row.status,
  is_default: 0,
  version_id: row.version_id,
  owner_id: row.owner_id,
  updated_by: row.updated_by,
  created_at: new Date(row.created_at).toISOString(),
  last_updated_at: new Date(row.updated_at).toISOString(),
});

/** Credentials in a config are shown as little as those of virtual keys. */
function masked(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => masked(item, name));
  if (value !== null && typeof value === 'object') {
    if (SECRET_NAME.test(name)) return MASKED;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked(item, key)]));
  }
  if (typeof value !== 'string') return value;
  if (SECRET_NAME.test(name)) return mask(value);
  return isAddressName(name) ? maskedAddress(value) : value;
}

/** What was read back with its secrets masked must not be stored like that. */
function refuseMasked(value: unknown, path: string, name = '') {
  if (value !== null && typeof value === 'object') {
    for (const [key, item] of Object.entries(value)) {
      refuseMasked(
        item,
        Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`,
        Array.isArray(value) ? name : key,
      );
    }
  } else if (typeof value === 'string' && value.includes(MASKED)) {
    if (SECRET_NAME.test(name)) fail('invalid_config', path, 'is masked; send the secret itself');
    if (isAddressName(name)) fail('invalid_config', path, 'is masked; send the whole address');
  }
}

export interface ConfigsDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  readonly now: () => number;
  /** The provider options a target may carry. */
  readonly optionNames: readonly string[];
  /** Throws when a target names a provider that does not exist, or guardrails are no guardrails or too many. */
  readonly check: (config: ConfigObject, origin: ConfigOrigin) => void;
}

interface Named {
  readonly who: Principal;
  readonly slug: string;
}

export function createConfigs({ store, sealer, changes, now, optionNames, check }: ConfigsDeps) {
  const schema = () => configSchema(optionNames);
  const options = new Set(optionNames);

  const compile = (value: unknown, id: string, origin: ConfigOrigin = 'stored'): Plan => {
    const config = checkConfig(value, schemaOf(schema), origin);
    check(config, origin);
    return compilePlan(config, id, options, origin);
  };

  const inline = createInlineConfigs((value, id) => compile(value, id, 'inline'));

  const open = (versionId: string, sealed: string): unknown => JSON.parse(sealer.open('config', versionId, sealed));

  const visible = (db: Db, who: Principal) => {
    const query = db.selectFrom('configs').where('organisation_id', '=', who.organisationId);
    return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
  };

  const find = async (db: Db, who: Principal, { slug, workspace }: ConfigName): Promise<ConfigRow> => {
    const workspaceId = await workspaceFor(db, who, workspace);
    const row = await db
      .selectFrom('configs')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where((where) => where.or([where('slug', '=', slug), where('id', '=', slug)]))
      .executeTakeFirst();
    if (row) return row;
    if (workspace !== undefined || !reachesOrganisation(who)) fail('config_not_found', slug.slice(0, 80));
    const elsewhere = await visible(db, who)
      .selectAll()
      .where((where) => where.or([where('slug', '=', slug), where('id', '=', slug)]))
      .limit(2)
      .execute();
    if (elsewhere.length > 1) fail('ambiguous_slug', slug.slice(0, 80));
    return elsewhere[0] ?? fail('config_not_found', slug.slice(0, 80));
  };

  /** A slug made of a name is free in the whole organisation, so that it is enough to name the config. */
  const isTaken = async (who: Principal, slug: string): Promise<boolean> =>
    (await store.db
      .selectFrom('configs')
      .select('id')
      .where('organisation_id', '=', who.organisationId)
      .where('slug', '=', slug)
      .executeTakeFirst()) !== undefined;

  const addVersion = async (db: Db, who: Principal, configId: string, config: unknown): Promise<string> => {
    const id = newId<string>();
    const sealed = sealer.seal('config', id, JSON.stringify(config));
    const version = { id, config_id: configId, sealed, created_by: who.keyId, created_at: now() };
    await db.insertInto('config_versions').values(version).execute();
    return id;
  };

  /** A client may delete the config after its row was read here: then it is as missing as if it had never been. */
  const configOf = async (db: Db, { slug, version_id }: Pick<ConfigRow, 'slug' | 'version_id'>): Promise<unknown> => {
    const row = await db.selectFrom('config_versions').select('sealed').where('id', '=', version_id).executeTakeFirst();
    return row ? open(version_id, row.sealed) : fail('config_not_found', slug);
  };

  const load = async (_key: string, { who, slug }: Named): Promise<Plan | null> => {
    const row = await store.db
      .selectFrom('configs')
      .innerJoin('config_versions', 'config_versions.id', 'configs.version_id')
      .select(['configs.version_id', 'config_versions.sealed'])
      .where('configs.workspace_id', '=', who.workspaceId)
      .where('configs.status', '=', 'active')
      .where((where) => where.or([where('configs.slug', '=', slug), where('configs.id', '=', slug)]))
      .executeTakeFirst();
    return row ? compile(open(row.version_id, row.sealed), row.version_id) : null;
  };
  const cache = cachedBy(changes, ['configs'], load, { most: 2_000, now });

  /** Where hosts are forbidden, only a caller that manages the organisation may store a config with a host. */
  const refuseHosts = (who: Principal, config: unknown) => {
    if (!who.forbids || reachesOrganisation(who)) return;
    const brings = broughtBy(config as ConfigObject);
    for (const name of HOSTS) if (brings.has(name)) refuseForbidden(who.forbids, name, brings.get(name)!);
  };

  /** The default config of a key may choose models that the key may not call, so such a key writes none that does. */
  const refuseModels = (who: Principal, config: unknown) => {
    if (!who.models) return;
    for (const name of chosenModels(config as ConfigObject))
      if (!who.models.allows(name)) fail('model_not_allowed', name, who.models.names);
  };

  return {
    /** The plan behind a slug of the caller's workspace, or behind a config object given as JSON. */
    resolve(who: Principal, reference: string): NowOrLater<Plan> {
      if (isInline(reference)) return inline.planOf(reference, who.forbids);
      const slug = reference.trim();
      const key = `${who.workspaceId}/${slug}`;
      const found = cache.peek(key);
      if (found) return found;
      if (!isSlug(slug)) fail('unknown_config', slug.slice(0, 80));
      return cache.get(key, { who, slug }).then((loaded) => loaded ?? fail('unknown_config', slug));
    },

    /** The plan of a config that is being written. What is masked in it may stay so: nothing is stored or called. */
    planOf: (config: unknown): Plan => compile(config, 'draft'),

    /** The form of a config, for editors. */
    schema: () => schemaOf(schema),

    /** Throws unless the workspace has a config of that slug: for those who refer to one. */
    async exists(db: Db, workspaceId: string, slug: string): Promise<boolean> {
      const row = await db
        .selectFrom('configs')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where((where) => where.or([where('slug', '=', slug), where('id', '=', slug)]))
        .executeTakeFirst();
      return row !== undefined;
    },

    async create(who: Principal, input: ConfigInput): Promise<Config & { config: unknown }> {
      compile(input.config, 'new');
      refuseMasked(input.config, 'config');
      refuseHosts(who, input.config);
      refuseModels(who, input.config);
      const workspaceId = await workspaceFor(store.db, who, input.workspace_id);
      const made = await withFreeSlug(
        { asked: input.slug, name: input.name, fallback: 'config', isTaken: (slug) => isTaken(who, slug) },
        (slug) =>
          changes.transaction(
            'configs',
            async (db) => {
              const row: ConfigRow = {
                id: newId(),
                organisation_id: who.organisationId,
                workspace_id: workspaceId,
                slug,
                name: input.name,
                status: 'active',
                version_id: '',
                owner_id: who.keyId,
                updated_by: who.keyId,
                created_at: now(),
                updated_at: now(),
              };
              await db.insertInto('configs').values(row).execute();
              row.version_id = await addVersion(db, who, row.id, input.config);
              await db.updateTable('configs').set({ version_id: row.version_id }).where('id', '=', row.id).execute();
              return row;
            },
            who,
          ),
      );
      return { ...shown(made), config: masked(input.config) };
    },

    async list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<Config>> {
      const all = visible(store.db, who);
      const matching =
        query.workspace_id === undefined
          ? all
          : all.where('workspace_id', '=', await workspaceFor(store.db, who, query.workspace_id));
      const { rows, total } = await rowsOnPage(matching, query);
      return page(rows.map(shown), total, query);
    },

    async read(who: Principal, name: ConfigName): Promise<Config & { config: unknown }> {
      const row = await find(store.db, who, name);
      return { ...shown(row), config: masked(await configOf(store.db, row)) };
    },

    /** A new config is a new version; the earlier ones stay readable. */
    async update(
      who: Principal,
      name: ConfigName,
      input: { name?: string; config?: unknown; status?: 'active' | 'archived' },
    ): Promise<Config & { config: unknown }> {
      if (input.config !== undefined) {
        compile(input.config, 'new');
        refuseMasked(input.config, 'config');
        refuseHosts(who, input.config);
        refuseModels(who, input.config);
      }
      const { row, config } = await changes.transaction(
        'configs',
        async (db) => {
          const current = await find(db, who, name);
          const versionId =
            input.config === undefined ? current.version_id : await addVersion(db, who, current.id, input.config);
          const next: ConfigRow = {
            ...current,
            name: input.name ?? current.name,
            status: input.status ?? current.status,
            version_id: versionId,
            updated_by: who.keyId,
            updated_at: now(),
          };
          await db.updateTable('configs').set(next).where('id', '=', current.id).execute();
          return { row: next, config: await configOf(db, next) };
        },
        who,
      );
      return { ...shown(row), config: masked(config) };
    },

    /** Those of the caller's workspace that name one of these guardrails, and on which side. */
    async naming(who: Principal, guardrails: ReadonlySet<string>): Promise<NamingConfig[]> {
      const rows = await store.db
        .selectFrom('configs')
        .innerJoin('config_versions', 'config_versions.id', 'configs.version_id')
        .select(['configs.slug', 'configs.name', 'configs.version_id', 'config_versions.sealed'])
        .where('configs.workspace_id', '=', who.workspaceId)
        .orderBy('configs.name')
        .limit(MOST_LOOKED_THROUGH)
        .execute();
      return rows.flatMap(({ slug, name, version_id, sealed }) => {
        const on = sidesNaming(open(version_id, sealed) as ConfigObject, guardrails);
        return on.length > 0 ? [{ kind: 'config' as const, id: slug, name, on }] : [];
      });
    },

    /** Answers the id of what is gone. */
    delete(who: Principal, name: ConfigName): Promise<string> {
      return changes.transaction(
        'configs',
        async (db) => {
          const { id } = await find(db, who, name);
          await db.deleteFrom('config_versions').where('config_id', '=', id).execute();
          await db.deleteFrom('configs').where('id', '=', id).execute();
          return id;
        },
        who,
      );
    },

    /** Newest first. */
    async versions(who: Principal, name: ConfigName, query: PageQuery): Promise<Page<ConfigVersion>> {
      const { id } = await find(store.db, who, name);
      const all = store.db.selectFrom('config_versions').where('config_id', '=', id);
      const { rows, total } = await rowsOnPage(all, query, 'desc');
      const data = rows.map((row) => ({
        id: row.id,
        object: 'config-version' as const,
        version_id: row.id,
        config: masked(open(row.id, row.sealed)),
        created_by: row.created_by,
        created_at: new Date(row.created_at).toISOString(),
      }));
      return page(data, total, query);
    },
  };
}

export type Configs = ReturnType<typeof createConfigs>;
