import { modelsIn, storedModels } from '../core/allowed-models.ts';
import type { Budgets } from '../core/budgets.ts';
import { fail } from '../core/errors.ts';
import { rulesIn, storedRules } from '../core/forbidden.ts';
import { type ApiKeyId, newApiKey, newId } from '../core/ids.ts';
import type { LimitOwner } from '../core/limits.ts';
import { type Page, type PageQuery, page } from '../core/paging.ts';
import type { Principal } from '../core/principal.ts';
import { DATA_SCOPES, type Scope } from '../core/scopes.ts';
import { mask, sha256 } from '../crypto/seal.ts';
import { rowsOnPage } from '../storage/page-rows.ts';
import type { ApiKeyRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { workspaceFor } from '../storage/workspace-lookup.ts';
import {
  checkGrant,
  checkKeyChange,
  checkKeyUser,
  checkModelsKept,
  checkRulesKept,
  findApiKey,
  findChangeableKey,
  findRotatableKey,
  suspendedAmong,
  visibleKeys,
} from './api-key-rules.ts';
import { type DefaultsChange, defaultsAfter } from './changed-defaults.ts';
import { isMembers, rulesFor, underRule } from './member-keys.ts';
import {
  budgetsOf,
  type LimitChange,
  type LimitInput,
  restartingIfAsked,
  type ShownLimits,
  storedLimits,
  withUsage,
} from './owner-limits.ts';

export interface ApiKey extends ShownLimits {
  readonly id: ApiKeyId;
  readonly object: 'api-key';
  readonly type: 'organisation-service' | 'workspace-service' | 'workspace-user';
  readonly name: string;
  readonly description: string | null;
  readonly masked_key: string;
  readonly organisation_id: string;
  readonly workspace_id: string;
  readonly user_id: string | null;
  /** Its user made it, as the rule of the workspace allows. */
  readonly is_own: boolean;
  /** A program of its user signed in: it renews itself, and cannot be rotated. */
  readonly is_login: boolean;
  readonly scopes: readonly Scope[];
  readonly defaults: Principal['defaults'] & { readonly config_id?: string; readonly allow_config_override?: boolean };
  readonly forbidden: readonly string[] | null;
  readonly models: readonly string[] | null;
  readonly expires_at: string | null;
  /** `suspended`: its user may not act in its workspace any more. */
  readonly status: 'active' | 'exhausted' | 'expired' | 'suspended';
  readonly created_at: string;
  readonly last_updated_at: string;
}

export interface ApiKeyInput extends LimitInput {
  readonly name: string;
  readonly description?: string | null;
  readonly scopes?: readonly Scope[];
  readonly workspace_id?: string;
  readonly user_id?: string | null;
  readonly defaults?: Principal['defaults'];
  readonly forbidden?: readonly string[] | null;
  /** Whether calls may bring a config: takes the rule against it out of those that are forbidden, or adds it. */
  readonly allow_config_override?: boolean;
  readonly models?: readonly string[] | null;
  readonly expires_at?: string | null;
}

/** A secret of which only the hash is known, and how people recognise it. */
export interface KnownSecret {
  readonly hash: string;
  readonly masked: string;
}

/** That a user makes a key themself. */
export interface OwnKey {
  /** Throws when the rule of the workspace is against it; in the transaction that makes the key. */
  readonly check: (db: Db) => Promise<void>;
}

/** Both secrets of a rotated key are valid this long, unless the caller says otherwise. */
export const TRANSITION_MS = 30 * 60_000;

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
const millis = (text: string | null | undefined) => (text ? Date.parse(text) : null);

export const apiKeyOwner = ({ id, name }: { id: string; name: string }): LimitOwner => ({ kind: 'api-key', id, name });

const statusOf = (
  row: ApiKeyRow,
  { isSuspended, isExhausted }: { isSuspended: boolean; isExhausted: boolean },
  now: number,
): ApiKey['status'] => {
  if (row.expires_at !== null && row.expires_at <= now) return 'expired';
  if (isSuspended) return 'suspended';
  return isExhausted ? 'exhausted' : 'active';
};

/** The rules after a change; undefined: they stay as they are. */
function rulesAfter({ forbidden, allow_config_override }: Partial<ApiKeyInput>, old: readonly string[] | null) {
  if (allow_config_override === undefined) return forbidden;
  const others = (forbidden ?? (forbidden === undefined ? old : null) ?? []).filter((rule) => rule !== 'config');
  return allow_config_override ? others : [...others, 'config'];
}

const typeOf = ({ user_id, scopes }: ApiKeyRow): ApiKey['type'] => {
  if (user_id !== null) return 'workspace-user';
  return (JSON.parse(scopes) as Scope[]).includes('organisation.manage') ? 'organisation-service' : 'workspace-service';
};

/** A default config is shown under the name that Terraform has for it, too. */
function shownDefaults({ defaults, forbidden }: ApiKeyRow): ApiKey['defaults'] {
  const own: Principal['defaults'] = JSON.parse(defaults);
  if (own.config === undefined) return own;
  return { ...own, config_id: own.config, allow_config_override: !rulesIn(forbidden)?.includes('config') };
}

const shownWith = (row: ApiKeyRow, limits: ShownLimits, status: ApiKey['status']): ApiKey => ({
  id: row.id as ApiKeyId,
  object: 'api-key',
  type: typeOf(row),
  name: row.name,
  description: row.description,
  masked_key: row.masked,
  organisation_id: row.organisation_id,
  workspace_id: row.workspace_id,
  user_id: row.user_id,
  is_own: isMembers(row),
  is_login: row.origin === 'login',
  scopes: JSON.parse(row.scopes),
  defaults: shownDefaults(row),
  forbidden: rulesIn(row.forbidden),
  models: modelsIn(row.models),
  expires_at: iso(row.expires_at),
  ...limits,
  status,
  created_at: new Date(row.created_at).toISOString(),
  last_updated_at: new Date(row.updated_at).toISOString(),
});

export function createApiKeys({
  store,
  transaction = store.transaction,
  budgets,
}: {
  store: Store;
  /** For what others may hold in memory: one that tells them. */
  transaction?: Store['transaction'];
  budgets: Budgets;
}) {
  const shown = async (rows: readonly ApiKeyRow[], now: number): Promise<ApiKey[]> => {
    const suspended = await suspendedAmong(store.db, rows);
    const rules = await rulesFor(store.db, rows);
    return withUsage(rows, { ownerOf: apiKeyOwner, budgets, now }, (row, limits, isExhausted) => {
      const bounded = underRule(row, rules.get(row.workspace_id) ?? null);
      const isSuspended = suspended.has(row.id) || bounded === null;
      return shownWith(bounded ?? row, limits, statusOf(bounded ?? row, { isSuspended, isExhausted }, now));
    });
  };
  const shownOne = async (row: ApiKeyRow, now: number): Promise<ApiKey> => (await shown([row], now))[0]!;

  /** A key whose secret exists already and is known by its hash alone: clients that move in keep theirs. */
  const adopt = async (
    who: Principal,
    input: ApiKeyInput,
    { id, hash, masked }: KnownSecret & { readonly id: ApiKeyId },
    now: number,
    own?: OwnKey,
  ): Promise<ApiKey> => {
    const scopes = input.scopes ?? DATA_SCOPES;
    const forbidden = rulesAfter(input, null);
    checkGrant(who, scopes);
    checkRulesKept(who, forbidden);
    checkModelsKept(who, input.models ?? null, input.defaults);
    const row = await store.transaction(async (db) => {
      const workspaceId = await workspaceFor(db, who, input.workspace_id);
      const userId = input.user_id ?? null;
      await checkKeyUser(db, who, workspaceId, userId);
      await own?.check(db);
      const made: ApiKeyRow = {
        id,
        organisation_id: who.organisationId,
        workspace_id: workspaceId,
        user_id: userId,
        name: input.name,
        description: input.description ?? null,
        scopes: JSON.stringify(scopes),
        defaults: JSON.stringify(input.defaults ?? {}),
        masked,
        origin: own ? 'member' : 'api',
        expires_at: millis(input.expires_at),
        ...storedLimits(input),
        forbidden: storedRules(forbidden),
        models: storedModels(input.models),
        created_at: now,
        updated_at: now,
      };
      await db.insertInto('api_keys').values(made).execute();
      await db
        .insertInto('api_key_secrets')
        .values({ hash, api_key_id: id, valid_until: null, created_at: now })
        .execute();
      return made;
    }, who);
    return shownOne(row, now);
  };

  return {
    async create(who: Principal, input: ApiKeyInput, now: number, own?: OwnKey): Promise<ApiKey & { key: string }> {
      const key = newApiKey();
      const secret = { id: newId<ApiKeyId>(), hash: sha256(key), masked: mask(key) };
      return { ...(await adopt(who, input, secret, now, own)), key };
    },

    adopt,

    /** Rows of keys, for who has found that they may be seen. */
    shown,

    async list(who: Principal, query: PageQuery & { workspace_id?: string }, now: number): Promise<Page<ApiKey>> {
      const all = visibleKeys(store.db, who);
      const matching =
        query.workspace_id === undefined
          ? all
          : all.where('workspace_id', '=', await workspaceFor(store.db, who, query.workspace_id));
      const { rows, total } = await rowsOnPage(matching, query);
      return page(await shown(rows, now), total, query);
    },

    async read(who: Principal, id: string, now: number): Promise<ApiKey> {
      return shownOne(await findApiKey(store.db, who, id), now);
    },

    async update(
      who: Principal,
      id: string,
      input: Partial<Omit<ApiKeyInput, 'workspace_id' | 'user_id'>> & DefaultsChange & LimitChange,
      now: number,
    ): Promise<ApiKey> {
      if (input.scopes) checkGrant(who, input.scopes);
      checkModelsKept(who, input.models, input.defaults);
      const row = await restartingIfAsked(input, budgets, (restart) =>
        transaction(async (db) => {
          const old = await findChangeableKey(db, who, id);
          const forbidden = rulesAfter(input, rulesIn(old.forbidden));
          if (forbidden !== undefined) checkRulesKept(who, forbidden);
          const updated: ApiKeyRow = {
            ...old,
            name: input.name ?? old.name,
            description: input.description === undefined ? old.description : input.description,
            scopes: input.scopes ? JSON.stringify(input.scopes) : old.scopes,
            defaults: input.defaults ? JSON.stringify(defaultsAfter(input, old.defaults)) : old.defaults,
            expires_at: input.expires_at === undefined ? old.expires_at : millis(input.expires_at),
            ...storedLimits(input, old),
            forbidden: forbidden === undefined ? old.forbidden : storedRules(forbidden),
            models: input.models === undefined ? old.models : storedModels(input.models),
            updated_at: now,
          };
          checkKeyChange(who, old, updated);
          await db.updateTable('api_keys').set(updated).where('id', '=', id).execute();
          await restart(db, budgetsOf(apiKeyOwner(updated), updated, updated.created_at));
          return updated;
        }, who),
      );
      return shownOne(row, now);
    },

    /** A new secret; the old one stays valid for the transition, so that clients can change over. */
    async rotate(
      who: Principal,
      id: string,
      { key_transition_period_ms = TRANSITION_MS }: { key_transition_period_ms?: number },
      now: number,
    ): Promise<{ id: string; key: string; object: 'api-key'; key_transition_expires_at: string }> {
      const key = newApiKey();
      const until = now + key_transition_period_ms;
      await transaction(async (db) => {
        await findRotatableKey(db, who, id);
        const open = await db
          .selectFrom('api_key_secrets')
          .select('valid_until')
          .where('api_key_id', '=', id)
          .where('valid_until', '>', now)
          .executeTakeFirst();
        if (open) fail('rotation_in_progress', id, iso(open.valid_until) ?? '');
        await db
          .deleteFrom('api_key_secrets')
          .where('api_key_id', '=', id)
          .where('valid_until', 'is not', null)
          .execute();
        await db.updateTable('api_key_secrets').set({ valid_until: until }).where('api_key_id', '=', id).execute();
        await db
          .insertInto('api_key_secrets')
          .values({ hash: sha256(key), api_key_id: id, valid_until: null, created_at: now })
          .execute();
        await db
          .updateTable('api_keys')
          .set({ masked: mask(key), updated_at: now })
          .where('id', '=', id)
          .execute();
      }, who);
      return { id, key, object: 'api-key', key_transition_expires_at: new Date(until).toISOString() };
    },

    /** Gives a key another known secret; every earlier one ends at once. */
    async replaceSecret(who: Principal, id: string, { hash, masked }: KnownSecret, now: number): Promise<void> {
      await transaction(async (db) => {
        await findRotatableKey(db, who, id);
        await db.deleteFrom('api_key_secrets').where('api_key_id', '=', id).execute();
        await db
          .insertInto('api_key_secrets')
          .values({ hash, api_key_id: id, valid_until: null, created_at: now })
          .execute();
        await db.updateTable('api_keys').set({ masked, updated_at: now }).where('id', '=', id).execute();
      }, who);
    },

    async delete(who: Principal, id: string): Promise<void> {
      await transaction(async (db) => {
        await findChangeableKey(db, who, id);
        await db.deleteFrom('api_key_secrets').where('api_key_id', '=', id).execute();
        await db.deleteFrom('api_keys').where('id', '=', id).execute();
      }, who);
    },
  };
}

export type ApiKeys = ReturnType<typeof createApiKeys>;
