import type { Budgets } from '../core/budgets.ts';
import { fail } from '../core/errors.ts';
import { isSlug, newId, type VirtualKeyId, type WorkspaceId } from '../core/ids.ts';
import type { MachineIdentities } from '../core/machine-identity.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import { type PriceList, priceListOf } from '../core/prices.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import type { SecretSource } from '../core/secret-reference.ts';
import type { StoredCredential } from '../core/stored-credential.ts';
import type { Sealer } from '../crypto/seal.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { VirtualKeyRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { withFreeSlug, workspaceFor } from '../storage/workspace-lookup.ts';
import { lentTo, refuseIdentity } from './lent-identity.ts';
import { chainOf, endOf, type Held, heldKeys, refuseChangeOfSource, refuseInUse, requireOpen } from './linked-keys.ts';
import {
  budgetsOf,
  type LimitChange,
  type LimitInput,
  limitsOf,
  restartingIfAsked,
  storedLimits,
  withUsage,
} from './owner-limits.ts';
import { createSecretFiller, fetchedNow } from './referenced-secrets.ts';
import {
  changed,
  type EnvironmentCredential,
  maskedKey,
  ownerOf,
  readSealed,
  refuseCredential,
  refuseHost,
  type SealedKey,
  sealedText,
  shownFromEnvironment,
  shownVirtualKey,
  type VirtualKey,
  type VirtualKeyInput,
} from './virtual-key.ts';
import { type KeyIndex, type KnownKey, keyIndexOf, shownKeys } from './virtual-key-index.ts';
import { DEFAULT_WORKSPACE } from './workspaces.ts';

/** Throws when a provider, its configuration or its host cannot be used. Given by the composition. */
export type CheckVirtualKey = (key: {
  provider: string;
  customHost: string | null;
  key: string | null;
  configurations: Readonly<Record<string, unknown>>;
}) => Promise<void>;

/** Prices were checked when the key was saved. */
const pricesIn = ({ prices }: Readonly<Record<string, unknown>>): PriceList | null =>
  prices ? priceListOf(prices as Parameters<typeof priceListOf>[0]) : null;

const visible = (db: Db, who: Principal) => {
  const query = db.selectFrom('virtual_keys').where('organisation_id', '=', who.organisationId);
  return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
};

/** Which virtual key is meant: slugs are unique in a workspace only, the caller's own unless another is named. */
export interface VirtualKeyName {
  readonly slug: string;
  readonly workspace?: string;
}

/** A virtual key that uses the credential of another one. */
export interface LinkedKeyInput extends LimitInput {
  readonly source: VirtualKeyRow;
  readonly link: NonNullable<VirtualKeyRow['link']>;
  /** By id. */
  readonly workspaceId: string;
  readonly name: string;
  readonly slug?: string;
  /** Of what a slug is made where none is asked for; of the name when this is left out. */
  readonly slugLike?: string;
  readonly note?: string | null;
  readonly expires_at?: string | null;
}

/** What opens an integration to a workspace is decided above the workspace, else its own keys could lift its limits. */
const refuseAccess = (who: Principal, { link }: VirtualKeyRow) => {
  if (link === 'access' && !reachesOrganisation(who)) fail('insufficient_scope', 'organisation.manage');
};

async function find(db: Db, who: Principal, { slug, workspace }: VirtualKeyName): Promise<VirtualKeyRow | undefined> {
  const workspaceId = await workspaceFor(db, who, workspace);
  return db
    .selectFrom('virtual_keys')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('slug', '=', slug)
    .executeTakeFirst();
}

const slugOf = async (db: Db, workspaceId: string): Promise<string> =>
  (await db.selectFrom('workspaces').select('slug').where('id', '=', workspaceId).executeTakeFirstOrThrow()).slug;

interface Named {
  readonly who: Principal;
  readonly slug: string;
}

export function createVirtualKeys({
  store,
  changes,
  sealer,
  check,
  secrets,
  identities,
  environment,
  budgets,
  now,
}: {
  store: Store;
  changes: Pick<Changes, 'subscribe' | 'transaction'>;
  sealer: Sealer;
  check: CheckVirtualKey;
  secrets: SecretSource;
  identities: MachineIdentities;
  environment: ReadonlyMap<string, EnvironmentCredential>;
  budgets: Budgets;
  now: () => number;
}) {
  const transaction: Store['transaction'] = (work, who) => changes.transaction('keys', work, who);
  const open = (row: VirtualKeyRow): SealedKey => readSealed(sealer.open('virtual-key', row.id, row.sealed));
  const seal = (id: string, sealed: SealedKey) => sealer.seal('virtual-key', id, sealedText(sealed));
  const filler = createSecretFiller(secrets);

  const shown = async (rows: readonly VirtualKeyRow[]) => {
    const held = await heldKeys(store.db, rows);
    return withUsage(rows, { ownerOf, budgets, now: now() }, (row, limits, isExhausted) => {
      const end = endOf(chainOf(row, held.get(row.id)));
      return shownVirtualKey(row, { limits, isExhausted, configurations: open(row).configurations, end, now: now() });
    });
  };
  const shownOne = async (row: VirtualKeyRow): Promise<VirtualKey> => (await shown([row]))[0]!;

  /** The operator's own keys belong to the default workspace; a stored key of the same slug stands before them. */
  const fromEnvironment = (who: Principal, slug: string) =>
    who.workspaceSlug === DEFAULT_WORKSPACE ? environment.get(slug) : undefined;

  /** The operator's keys that no stored key of the same slug hides. */
  const unshadowed = async (who: Principal): Promise<EnvironmentCredential[]> => {
    if (environment.size === 0 || who.workspaceSlug !== DEFAULT_WORKSPACE) return [];
    const rows = await store.db
      .selectFrom('virtual_keys')
      .select('slug')
      .where('workspace_id', '=', who.workspaceId)
      .where('slug', 'in', [...environment.keys()])
      .execute();
    const hidden = new Set(rows.map(({ slug }) => slug));
    return [...environment].filter(([slug]) => !hidden.has(slug)).map(([, credential]) => credential);
  };

  const findOrFail = async (db: Db, who: Principal, name: VirtualKeyName): Promise<VirtualKeyRow> => {
    const row = await find(db, who, name);
    if (row) return row;
    const fixed = name.workspace === undefined ? fromEnvironment(who, name.slug) : undefined;
    return fixed ? fail('virtual_key_fixed', name.slug, fixed.variable) : fail('virtual_key_not_found', name.slug);
  };

  /** What the operator lends and lists is judged by the workspace that calls, also where the credential is another one's. */
  const openedWith = (row: VirtualKeyRow, held: Held | undefined, workspace: string): StoredCredential => {
    const { provider, custom_host: customHost } = held?.source ?? row;
    const sealed = open(held?.source ?? row);
    const { configurations } = sealed;
    const machine = lentTo({ ...sealed, provider, customHost }, workspace, identities);
    const chain = chainOf(row, held);
    return filler.opened(
      {
        slug: row.slug,
        provider,
        customHost,
        configurations,
        expiresAt: endOf(chain),
        limits: chain.flatMap((each) => limitsOf(ownerOf(each), each, each.created_at)),
        prices: pricesIn(configurations),
        ...(machine && { machine }),
      },
      sealed,
    );
  };

  /** Null: it is linked to a key that is gone. */
  const openedOrGone = async (row: VirtualKeyRow, workspace: string): Promise<StoredCredential | null> => {
    if (row.source_id === null) return openedWith(row, undefined, workspace);
    const held = (await heldKeys(store.db, [row])).get(row.id);
    return held ? openedWith(row, held, workspace) : null;
  };

  const load = async (_key: string, { who, slug }: Named): Promise<StoredCredential | null> => {
    const row = await store.db
      .selectFrom('virtual_keys')
      .selectAll()
      .where('workspace_id', '=', who.workspaceId)
      .where('slug', '=', slug)
      .executeTakeFirst();
    if (row) return openedOrGone(row, who.workspaceSlug);
    const fixed = fromEnvironment(who, slug);
    return fixed
      ? {
          slug,
          provider: fixed.provider,
          credential: fixed.credential,
          customHost: fixed.customHost ?? null,
          configurations: {},
          expiresAt: null,
          limits: [],
          prices: null,
        }
      : null;
  };

  const known = (row: VirtualKeyRow, held: Held | undefined): KnownKey => {
    const source = held?.source ?? row;
    return {
      slug: row.slug,
      provider: source.provider,
      hasOwnHost: source.custom_host !== null,
      expiresAt: endOf(chainOf(row, held)),
      prices: pricesIn(open(source).configurations),
    };
  };

  const loadIndex = async (_workspaceId: string, who: Principal): Promise<KeyIndex> => {
    const rows = await store.db
      .selectFrom('virtual_keys')
      .selectAll()
      .where('workspace_id', '=', who.workspaceId)
      .orderBy('created_at')
      .orderBy('slug')
      .execute();
    const held = await heldKeys(store.db, rows);
    const stored = new Set(rows.map(({ slug }) => slug));
    const fixed = who.workspaceSlug === DEFAULT_WORKSPACE ? [...environment] : [];
    return keyIndexOf([
      ...rows.flatMap((row) => (row.source_id !== null && !held.has(row.id) ? [] : [known(row, held.get(row.id))])),
      ...fixed.flatMap(([slug, { provider, customHost }]) =>
        stored.has(slug)
          ? []
          : [{ slug, provider, hasOwnHost: customHost !== undefined, expiresAt: null, prices: null }],
      ),
    ]);
  };

  const cache = cachedBy(changes, ['keys'], load, { most: 2_000, now });
  const indexes = cachedBy(changes, ['keys'], loadIndex, { most: 500, freshMs: 60_000, now });

  const index = (who: Principal): NowOrLater<KeyIndex> =>
    // A workspace without virtual keys has an index, too.
    indexes.peek(who.workspaceId) ?? indexes.get(who.workspaceId, who).then((loaded) => loaded!);

  const refuseUnknown = async (who: Principal, slug: string): Promise<never> =>
    fail('unknown_virtual_key', slug, shownKeys(who, await index(who)));

  const usable = (found: StoredCredential, slug: string): StoredCredential => {
    if (found.expiresAt !== null && found.expiresAt <= now()) {
      fail('expired_virtual_key', slug, new Date(found.expiresAt).toISOString());
    }
    return found;
  };

  return {
    /** What a row holds, for those who have kept one. */
    async opened(who: Principal, row: VirtualKeyRow): Promise<StoredCredential> {
      const found = (await openedOrGone(row, who.workspaceSlug)) ?? fail('unknown_virtual_key', row.slug);
      return filler.fill(found, who.workspaceSlug);
    },

    /** The opened credential behind a slug of the caller's own workspace; at once when it is in the cache. */
    resolve(who: Principal, slug: string): NowOrLater<StoredCredential> {
      const key = `${who.workspaceId}/${slug}`;
      const found = cache.peek(key);
      if (found) return filler.fill(usable(found, slug), who.workspaceSlug);
      if (!isSlug(slug)) fail('unknown_virtual_key', slug.slice(0, 80));
      return cache
        .get(key, { who, slug })
        .then((loaded) => (loaded ? filler.fill(usable(loaded, slug), who.workspaceSlug) : refuseUnknown(who, slug)));
    },

    /** All of the caller's own workspace; at once when they are in memory. */
    index,

    async create(who: Principal, input: VirtualKeyInput): Promise<VirtualKey> {
      const workspaceId: WorkspaceId = await workspaceFor(store.db, who, input.workspace_id);
      const configurations = input.configurations ?? {};
      const customHost = input.custom_host || null;
      refuseHost(who, { customHost, configurations });
      refuseCredential(input.key);
      const workspace = await slugOf(store.db, workspaceId);
      const fetched = await fetchedNow({ key: input.key || null, customHost, configurations }, workspace, secrets);
      await check({ provider: input.provider, customHost, ...fetched });
      refuseIdentity({ provider: input.provider, customHost, ...fetched }, workspace, identities);
      const made = await withFreeSlug({ asked: input.slug, name: input.name, fallback: 'key' }, async (slug) => {
        const id = newId<VirtualKeyId>();
        const row: VirtualKeyRow = {
          id,
          organisation_id: who.organisationId,
          workspace_id: workspaceId,
          slug,
          name: input.name,
          note: input.note ?? null,
          provider: input.provider,
          custom_host: customHost,
          sealed: seal(id, { key: input.key || null, configurations }),
          masked: maskedKey(input.key || null),
          expires_at: input.expires_at ? Date.parse(input.expires_at) : null,
          ...storedLimits(input),
          source_id: null,
          link: null,
          created_at: now(),
          updated_at: now(),
        };
        // It may take the place of a key from the environment, which others hold in memory.
        await transaction((db) => db.insertInto('virtual_keys').values(row).execute(), who);
        return row;
      });
      return shownOne(made);
    },

    /** For callers who have found that the credential may be used there. */
    async createLinked(who: Principal, input: LinkedKeyInput): Promise<VirtualKey> {
      const { source, link, workspaceId, name, note = null } = input;
      const made = await withFreeSlug(
        { asked: input.slug, name: input.slugLike ?? name, fallback: 'key' },
        async (slug) => {
          const id = newId<VirtualKeyId>();
          const row: VirtualKeyRow = {
            id,
            organisation_id: who.organisationId,
            workspace_id: workspaceId,
            slug,
            name,
            note,
            provider: source.provider,
            custom_host: null,
            sealed: seal(id, { key: null, configurations: {} }),
            masked: '',
            expires_at: input.expires_at ? Date.parse(input.expires_at) : null,
            ...storedLimits(input),
            source_id: source.id,
            link,
            created_at: now(),
            updated_at: now(),
          };
          await transaction(async (db) => {
            const current = await db
              .selectFrom('virtual_keys')
              .select('id')
              .where('id', '=', source.id)
              .executeTakeFirst();
            if (!current) fail('virtual_key_not_found', source.slug);
            if (link === 'provider' && !reachesOrganisation(who)) await requireOpen(db, source, workspaceId, now());
            await db.insertInto('virtual_keys').values(row).execute();
          }, who);
          return row;
        },
      );
      return shownOne(made);
    },

    async list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<VirtualKey>> {
      const workspace = query.workspace_id === undefined ? null : await workspaceFor(store.db, who, query.workspace_id);
      const all = visible(store.db, who);
      const matching = workspace === null ? all : all.where('workspace_id', '=', workspace);
      const { rows, total: stored } = await rowsOnPage(matching, query);
      // The operator's keys stand after all stored ones.
      const isOwn = workspace === null || workspace === who.workspaceId;
      const fixed = isOwn ? await unshadowed(who) : [];
      const start = Math.max(0, query.current_page * query.page_size - stored);
      const shownFixed = fixed.slice(start, start + query.page_size - rows.length);
      return page(
        [...(await shown(rows)), ...shownFixed.map((each) => shownFromEnvironment(who, each))],
        stored + fixed.length,
        query,
      );
    },

    async read(who: Principal, name: VirtualKeyName): Promise<VirtualKey> {
      const row = await find(store.db, who, name);
      if (row) return shownOne(row);
      const fixed = name.workspace === undefined ? fromEnvironment(who, name.slug) : undefined;
      return fixed ? shownFromEnvironment(who, fixed) : fail('virtual_key_not_found', name.slug);
    },

    async update(
      who: Principal,
      name: VirtualKeyName,
      input: Partial<Omit<VirtualKeyInput, 'slug' | 'workspace_id'>> & LimitChange,
    ): Promise<VirtualKey> {
      const old = await findOrFail(store.db, who, name);
      refuseAccess(who, old);
      if (old.source_id !== null) refuseChangeOfSource(input);
      const next = changed(old, open(old), input);
      refuseHost(who, next, { customHost: old.custom_host, configurations: open(old).configurations });
      refuseCredential(input.key);
      if (old.source_id === null) {
        const workspace = await slugOf(store.db, old.workspace_id);
        const fetched = await fetchedNow(next, workspace, secrets);
        await check({ ...next, ...fetched });
        refuseIdentity({ ...next, ...fetched }, workspace, identities);
      }
      const updated = await restartingIfAsked(input, budgets, (restart) =>
        transaction(async (db) => {
          // Decided anew: another change may have come while the host was looked up.
          const current = await findOrFail(db, who, name);
          const { provider, customHost, key, configurations } = changed(current, open(current), input);
          const row: VirtualKeyRow = {
            ...current,
            name: input.name ?? current.name,
            note: input.note === undefined ? current.note : input.note,
            provider,
            custom_host: customHost,
            sealed: seal(current.id, { key, configurations }),
            masked: maskedKey(key),
            expires_at:
              input.expires_at === undefined
                ? current.expires_at
                : input.expires_at
                  ? Date.parse(input.expires_at)
                  : null,
            ...storedLimits(input, current),
            updated_at: now(),
          };
          await db.updateTable('virtual_keys').set(row).where('id', '=', current.id).execute();
          if (provider !== current.provider)
            await db.updateTable('virtual_keys').set({ provider }).where('source_id', '=', current.id).execute();
          await restart(db, budgetsOf(ownerOf(row), row, row.created_at));
          return row;
        }, who),
      );
      return shownOne(updated);
    },

    /** Changes the prices of models and nothing else: other configurations are shown masked, and cannot be sent back. */
    async reprice(
      who: Principal,
      name: VirtualKeyName,
      change: (prices: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
    ): Promise<VirtualKey> {
      const row = await transaction(async (db) => {
        const current = await findOrFail(db, who, name);
        const { key, configurations } = open(current);
        const { prices = {}, ...others } = configurations;
        const next = change(prices as Readonly<Record<string, unknown>>);
        const sealed = seal(current.id, {
          key,
          configurations: { ...others, ...(Object.keys(next).length > 0 && { prices: next }) },
        });
        const updated: VirtualKeyRow = { ...current, sealed, updated_at: now() };
        await db.updateTable('virtual_keys').set(updated).where('id', '=', current.id).execute();
        return updated;
      }, who);
      return shownOne(row);
    },

    /** Answers the id of what is gone. */
    delete(who: Principal, name: VirtualKeyName): Promise<string> {
      return transaction(async (db) => {
        const row = await findOrFail(db, who, name);
        refuseAccess(who, row);
        await refuseInUse(db, row);
        const { id } = row;
        await db.deleteFrom('virtual_keys').where('id', '=', id).execute();
        return id;
      }, who);
    },
  };
}

export type VirtualKeys = ReturnType<typeof createVirtualKeys>;
