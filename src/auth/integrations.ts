import { fail } from '../core/errors.ts';
import type { RateLimit, UsageLimit, UsageLimits } from '../core/limits.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { priceMembers } from '../core/price-file.ts';
import type { Prices } from '../core/prices.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import { schemaOf } from '../core/schema.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { VirtualKeyRow, WorkspaceRow } from '../storage/schema.ts';
import type { Store } from '../storage/store.ts';
import { findWorkspace, visibleWorkspaces, workspaceFor } from '../storage/workspace-lookup.ts';
import type { LimitChange, LimitInput } from './owner-limits.ts';
import type { VirtualKey } from './virtual-key.ts';
import type { VirtualKeys } from './virtual-keys.ts';
import { DEFAULT_WORKSPACE } from './workspaces.ts';

/**
 * Integrations and providers are views of virtual keys, in the words of Portkey: an integration is a virtual key with a
 * credential of its own, a provider is any virtual key of a workspace. What opens an integration to another workspace is
 * a virtual key there that is linked to it.
 */

export interface IntegrationInput {
  readonly name: string;
  readonly slug?: string;
  readonly ai_provider_id: string;
  readonly key?: string;
  readonly description?: string | null;
  readonly workspace_id?: string;
  readonly configurations?: Readonly<Record<string, unknown>>;
}
export type IntegrationChange = Partial<Omit<IntegrationInput, 'slug' | 'workspace_id' | 'ai_provider_id'>>;

export interface AccessChange {
  /** Id or slug of a workspace. */
  readonly id: string;
  readonly enabled: boolean;
  readonly rate_limits?: readonly RateLimit[];
  readonly usage_limits?: readonly UsageLimit[];
  readonly reset_usage?: boolean;
}

/** A model with a price of its own, in US dollars per million tokens. */
export interface PricedModel {
  readonly slug: string;
  readonly input?: number;
  readonly output?: number;
}

export interface ProviderInput extends LimitInput {
  readonly name: string;
  readonly slug?: string;
  readonly workspace_id?: string;
  /** Id or slug. */
  readonly integration_id: string;
  readonly note?: string | null;
  readonly expires_at?: string | null;
}
export type ProviderChange = Partial<Omit<ProviderInput, 'slug' | 'workspace_id' | 'integration_id'>> & LimitChange;

/** Which virtual key of which workspace. */
export interface ProviderName {
  /** Id or slug. */
  readonly name: string;
  readonly workspace?: string;
}

/** The most workspaces that are listed with an integration. */
const MOST_WORKSPACES = 1_000;

/** The address is a configuration there and a member of its own here. */
const splitHost = (configurations: Readonly<Record<string, unknown>>) => {
  const { custom_host = null, ...rest } = configurations;
  if (custom_host !== null && typeof custom_host !== 'string')
    fail('invalid_request', 'configurations.custom_host', 'give an address');
  return { custom_host, configurations: rest };
};

export function createIntegrations({
  store,
  virtualKeys,
  prices,
  now,
}: {
  store: Store;
  virtualKeys: VirtualKeys;
  prices: Pick<Prices, 'priceOf'>;
  now: () => number;
}) {
  const { db } = store;
  const visible = (who: Principal) => {
    const query = db.selectFrom('virtual_keys').where('organisation_id', '=', who.organisationId);
    return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
  };
  const nameOf = ({ slug, workspace_id }: VirtualKeyRow) => ({ slug, workspace: workspace_id });

  const defaultWorkspace = ({ organisationId }: Principal): Promise<WorkspaceRow | undefined> =>
    db
      .selectFrom('workspaces')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .where('slug', '=', DEFAULT_WORKSPACE)
      .executeTakeFirst();

  /** By id or slug. Virtual keys of several workspaces may have one slug: then that of the organisation is meant, or the caller's own. */
  const lookedFor = async (who: Principal, name: string): Promise<VirtualKeyRow | undefined> => {
    const rows = await visible(who)
      .selectAll()
      .where('source_id', 'is', null)
      .where((where) => where.or([where('id', '=', name), where('slug', '=', name)]))
      .limit(MOST_WORKSPACES)
      .execute();
    if (rows.length < 2) return rows[0];
    const home = await defaultWorkspace(who);
    const meant =
      rows.find(({ id }) => id === name) ??
      rows.find(({ workspace_id }) => workspace_id === home?.id) ??
      rows.find(({ workspace_id }) => workspace_id === who.workspaceId);
    return meant ?? fail('ambiguous_slug', name.slice(0, 80));
  };
  const find = async (who: Principal, name: string): Promise<VirtualKeyRow> =>
    (await lookedFor(who, name)) ?? fail('integration_not_found', name.slice(0, 80));

  /** One that the caller sees, or that was opened to the workspace. */
  const usableIn = async (who: Principal, name: string, workspaceId: string): Promise<VirtualKeyRow> => {
    const own = await lookedFor(who, name);
    if (own) return own;
    const opened = await db
      .selectFrom('virtual_keys as source')
      .innerJoin('virtual_keys as access', 'access.source_id', 'source.id')
      .selectAll('source')
      .where('access.workspace_id', '=', workspaceId)
      .where('access.link', '=', 'access')
      .where((where) => where.or([where('access.expires_at', 'is', null), where('access.expires_at', '>', now())]))
      .where((where) => where.or([where('source.id', '=', name), where('source.slug', '=', name)]))
      .executeTakeFirst();
    return opened ?? fail('integration_not_found', name.slice(0, 80));
  };

  const accessesOf = (source: VirtualKeyRow) =>
    db
      .selectFrom('virtual_keys')
      .selectAll()
      .where('source_id', '=', source.id)
      .where('link', '=', 'access')
      .limit(MOST_WORKSPACES)
      .execute();

  const isOpen = ({ expires_at }: VirtualKeyRow) => expires_at === null || expires_at > now();

  const shown = async (who: Principal, key: VirtualKey) => {
    const isHome = (await defaultWorkspace(who))?.id === key.workspace_id;
    return {
      id: key.id,
      object: 'integration' as const,
      slug: key.slug,
      name: key.name,
      description: key.note,
      ai_provider_id: key.provider,
      organisation_id: who.organisationId,
      type: isHome ? ('organisation' as const) : ('workspace' as const),
      workspace_id: isHome ? null : key.workspace_id,
      status: key.status === 'expired' ? ('archived' as const) : ('active' as const),
      masked_key: key.masked_key,
      configurations: { ...key.configurations, ...(key.custom_host !== null && { custom_host: key.custom_host }) },
      secret_mappings: [],
      created_at: key.created_at,
      last_updated_at: key.last_updated_at,
    };
  };

  const providerShown = async (key: VirtualKey) => {
    const source = key.source_id
      ? await db.selectFrom('virtual_keys').select('slug').where('id', '=', key.source_id).executeTakeFirst()
      : undefined;
    return {
      id: key.id,
      object: 'provider' as const,
      slug: key.slug,
      name: key.name,
      note: key.note,
      ai_provider_name: key.provider,
      integration_id: source?.slug ?? key.slug,
      workspace_id: key.workspace_id,
      status: key.status,
      rate_limits: key.rate_limits,
      usage_limits: key.usage_limits,
      usage: key.usage,
      expires_at: key.expires_at,
      created_at: key.created_at,
      last_updated_at: key.last_updated_at,
    };
  };

  /** A model that no list of prices has is one of the operator's own. */
  const modelsOf = ({ provider, configurations }: VirtualKey) =>
    Object.entries((configurations.prices ?? {}) as Record<string, { input?: number; output?: number }>).map(
      ([slug, { input, output }]) => ({ slug, input, output, isCustom: prices.priceOf(provider, slug) === null }),
    );

  const findProvider = async (who: Principal, { name, workspace }: ProviderName): Promise<VirtualKeyRow> => {
    const workspaceId = await workspaceFor(db, who, workspace);
    const row = await db
      .selectFrom('virtual_keys')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where((where) => where.or([where('id', '=', name), where('slug', '=', name)]))
      .executeTakeFirst();
    return row ?? fail('virtual_key_not_found', name.slice(0, 80));
  };

  /** Opens an integration to a workspace or closes it, and sets what the workspace may take of it. */
  const changeAccess = async (who: Principal, source: VirtualKeyRow, workspace: WorkspaceRow, change: AccessChange) => {
    const { enabled, rate_limits, usage_limits, reset_usage } = change;
    const limits = { rate_limits, usage_limits };
    const { name, slug: slugLike } = source;
    const opened = { source, link: 'access', workspaceId: workspace.id, name, slugLike, ...limits } as const;
    const access = (await accessesOf(source)).find(({ workspace_id }) => workspace_id === workspace.id);
    if (enabled) {
      if (access) await virtualKeys.update(who, nameOf(access), { ...limits, reset_usage, expires_at: null });
      else await virtualKeys.createLinked(who, opened);
      return;
    }
    const further = await db
      .selectFrom('virtual_keys')
      .select('id')
      .where('source_id', '=', source.id)
      .where('workspace_id', '=', workspace.id)
      .where('link', '=', 'provider')
      .executeTakeFirst();
    // Providers of the workspace end with the access, and come back with it.
    const expires_at = new Date(now()).toISOString();
    if (access && further) await virtualKeys.update(who, nameOf(access), { ...limits, expires_at });
    else if (access) await virtualKeys.delete(who, nameOf(access));
    else if (further) await virtualKeys.createLinked(who, { ...opened, expires_at });
  };

  const workspacesOf = async (who: Principal, source: VirtualKeyRow) => {
    const accesses = await accessesOf(source);
    const all = await visibleWorkspaces(db, who).selectAll().orderBy('slug').limit(MOST_WORKSPACES).execute();
    const workspaces = all.map(({ id, slug }) => {
      const access = accesses.find(({ workspace_id }) => workspace_id === id);
      const isHome = id === source.workspace_id;
      const limited = isHome ? source : access;
      const budgets = limited?.usage_limits ? (JSON.parse(limited.usage_limits) as UsageLimits) : [];
      return {
        // Its client looks for the slug, whichever of the two it was given.
        id: slug,
        workspace_id: id,
        enabled: isHome || (access !== undefined && isOpen(access)),
        usage_limits: Array.isArray(budgets) ? budgets : [budgets],
        rate_limits: limited?.rate_limits ? JSON.parse(limited.rate_limits) : [],
      };
    });
    return { object: 'list' as const, total: workspaces.length, workspaces };
  };

  return {
    async create(who: Principal, input: IntegrationInput) {
      const { name, ai_provider_id: provider, key, description: note, configurations = {} } = input;
      const named = input.workspace_id ?? (reachesOrganisation(who) ? DEFAULT_WORKSPACE : undefined);
      if (input.slug !== undefined && (await lookedFor(who, input.slug))) fail('slug_taken', input.slug);
      const made = await virtualKeys.create(who, {
        name,
        slug: input.slug,
        provider,
        key,
        note,
        workspace_id: named,
        ...splitHost(configurations),
      });
      return shown(who, made);
    },

    async list(
      who: Principal,
      query: PageQuery & { workspace_id?: string; type?: 'workspace' | 'organisation' | 'all' },
    ) {
      const home = await defaultWorkspace(who);
      let matching = visible(who).where('source_id', 'is', null);
      if (query.workspace_id !== undefined)
        matching = matching.where('workspace_id', '=', await workspaceFor(db, who, query.workspace_id));
      if (query.type === 'organisation') matching = matching.where('workspace_id', '=', home?.id ?? '');
      if (query.type === 'workspace') matching = matching.where('workspace_id', '!=', home?.id ?? '');
      const { rows, total } = await rowsOnPage(matching, query);
      const keys = await Promise.all(rows.map((row) => virtualKeys.read(who, nameOf(row))));
      return page(await Promise.all(keys.map((key) => shown(who, key))), total, query);
    },

    async read(who: Principal, name: string) {
      return shown(who, await virtualKeys.read(who, nameOf(await find(who, name))));
    },

    async update(who: Principal, name: string, { description: note, configurations, ...input }: IntegrationChange) {
      const row = await find(who, name);
      const prices = configurations && (await virtualKeys.read(who, nameOf(row))).configurations.prices;
      const split = configurations && splitHost(configurations);
      const next = await virtualKeys.update(who, nameOf(row), {
        name: input.name,
        key: input.key,
        note,
        // Prices of models are set by themselves and stay.
        ...(split && {
          custom_host: split.custom_host,
          configurations: { ...(prices !== undefined && { prices }), ...split.configurations },
        }),
      });
      return shown(who, next);
    },

    async delete(who: Principal, name: string): Promise<string> {
      return virtualKeys.delete(who, nameOf(await find(who, name)));
    },

    async workspaces(who: Principal, name: string) {
      return workspacesOf(who, await find(who, name));
    },

    async openTo(who: Principal, name: string, changes: readonly AccessChange[]) {
      const source = await find(who, name);
      const found = await Promise.all(
        changes.map(async (change) => ({ change, at: await findWorkspace(db, who, change.id) })),
      );
      // All of them are looked at before the first one is changed.
      for (const [index, { change, at }] of found.entries()) {
        const where = `workspaces[${index}]`;
        if (at.id !== source.workspace_id) continue;
        if (!change.enabled)
          fail('invalid_request', `${where}.enabled`, 'an integration can always be used in its own workspace');
        if (change.usage_limits?.length || change.rate_limits?.length)
          fail(
            'invalid_request',
            `${where}.usage_limits`,
            'in its own workspace the limits are those of the virtual key',
          );
      }
      for (const { change, at } of found)
        if (at.id !== source.workspace_id) await changeAccess(who, source, at, change);
      return workspacesOf(who, source);
    },

    /** Models with prices of their own; every other model can be called, too. */
    async models(who: Principal, name: string) {
      return modelsOf(await virtualKeys.read(who, nameOf(await find(who, name))));
    },

    async price(who: Principal, name: string, { set, drop }: { set: readonly PricedModel[]; drop: readonly string[] }) {
      const row = await find(who, name);
      const next = await virtualKeys.reprice(who, nameOf(row), (old) => {
        const kept = Object.fromEntries(Object.entries(old).filter(([model]) => !drop.includes(model)));
        for (const { slug, ...price } of set) kept[slug] = { ...(kept[slug] as object | undefined), ...price };
        const checked = schemaOf(priceMembers).safeParse(kept);
        const [fault] = checked.error?.issues ?? [];
        return fault ? fail('invalid_request', `models.${fault.path.join('.')}`, fault.message) : kept;
      });
      return modelsOf(next);
    },

    providers: {
      async create(who: Principal, input: ProviderInput) {
        const workspaceId = await workspaceFor(db, who, input.workspace_id);
        const source = await usableIn(who, input.integration_id, workspaceId);
        const { name, slug, note, expires_at, rate_limits, usage_limits } = input;
        const own = { name, slug, note, expires_at, rate_limits, usage_limits };
        return providerShown(await virtualKeys.createLinked(who, { source, link: 'provider', workspaceId, ...own }));
      },
      async list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<object>> {
        const { data, total } = await virtualKeys.list(who, query);
        return page(await Promise.all(data.map(providerShown)), total, query);
      },
      async read(who: Principal, name: ProviderName) {
        return providerShown(await virtualKeys.read(who, nameOf(await findProvider(who, name))));
      },
      async update(who: Principal, name: ProviderName, input: ProviderChange) {
        return providerShown(await virtualKeys.update(who, nameOf(await findProvider(who, name)), input));
      },
      async delete(who: Principal, name: ProviderName): Promise<string> {
        return virtualKeys.delete(who, nameOf(await findProvider(who, name)));
      },
    },
  };
}

export type Integrations = ReturnType<typeof createIntegrations>;
