import { allowedModels } from '../core/allowed-models.ts';
import { fail } from '../core/errors.ts';
import { forbidsOf } from '../core/forbidden.ts';
import type { ApiKeyId, OrganisationId, UserId, WorkspaceId } from '../core/ids.ts';
import type { Limit } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import { sha256 } from '../crypto/seal.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import type { Db, Store } from '../storage/store.ts';
import { apiKeyOwner } from './api-keys.ts';
import { isMembers, type MemberKeyRule, memberLimits, memberOwner, ruleIn, underRule } from './member-keys.ts';
import { limitsOf } from './owner-limits.ts';
import { keyScopes, keysWithStanding } from './user-scopes.ts';
import { workspaceOwner } from './workspaces.ts';

/** Headers in which unmodified SDKs send the only key they have. */
const SDK_KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key'] as const;

interface KnownKey {
  readonly principal: Principal;
  readonly expiresAt: number | null;
}

/**
 * The gateway key of a request, and the provider credential beside it. With `x-gateway-api-key` present the SDK's header
 * carries the provider's credential; without it that header carries the gateway key.
 */
export function readKeys(headers: SentHeaders): { gatewayKey: string | null; providerKey: string | null } {
  const own = headerOf(headers, 'x-gateway-api-key');
  let sdkKey: string | null = null;
  for (const name of SDK_KEY_HEADERS) {
    const value = headerOf(headers, name);
    if (value === null) continue;
    sdkKey = name === 'authorization' ? bearer(value) : value;
    if (sdkKey !== null) break;
  }
  if (own === null) return { gatewayKey: sdkKey, providerKey: null };
  // An SDK that was given our key in both places: it is ours, and no provider's.
  return { gatewayKey: own, providerKey: sdkKey === own ? null : sdkKey };
}

const bearer = (value: string): string | null => /^bearer\s+(\S+)$/i.exec(value.trim())?.[1] ?? null;

const knownKeys = (db: Db) =>
  keysWithStanding(db)
    .innerJoin('workspaces', 'workspaces.id', 'api_keys.workspace_id')
    .innerJoin('organisations', 'organisations.id', 'api_keys.organisation_id')
    .select([
      'api_keys.id',
      'api_keys.name',
      'api_keys.organisation_id',
      'api_keys.workspace_id',
      'api_keys.user_id',
      'api_keys.scopes',
      'api_keys.defaults',
      'api_keys.expires_at',
      'api_keys.rate_limits',
      'api_keys.usage_limits',
      'api_keys.forbidden',
      'api_keys.models',
      'api_keys.origin',
      'api_keys.created_at',
      'users.email as user_email',
      'workspaces.slug as workspace_slug',
      'workspaces.defaults as workspace_defaults',
      'workspaces.rate_limits as workspace_rate_limits',
      'workspaces.usage_limits as workspace_usage_limits',
      'workspaces.forbidden as workspace_forbidden',
      'workspaces.member_keys as workspace_member_keys',
      'workspaces.created_at as workspace_created_at',
      'organisations.forbidden as organisation_forbidden',
    ]);

type KeyRow = NonNullable<Awaited<ReturnType<ReturnType<typeof knownKeys>['executeTakeFirst']>>>;

async function findKey(db: Db, hash: string): Promise<KnownKey | null> {
  const row = await knownKeys(db)
    .innerJoin('api_key_secrets', 'api_key_secrets.api_key_id', 'api_keys.id')
    .select('api_key_secrets.valid_until')
    .where('api_key_secrets.hash', '=', hash)
    .executeTakeFirst();
  return row ? knownKey(row, row.valid_until) : null;
}

async function findKeyById(db: Db, id: string): Promise<KnownKey | null> {
  const row = await knownKeys(db).where('api_keys.id', '=', id).executeTakeFirst();
  return row ? knownKey(row, null) : null;
}

/** Null: its user is gone, or may not act in its workspace, or may not have keys there any more. */
function knownKey(found: KeyRow, validUntil: number | null): KnownKey | null {
  const rule = ruleIn(found.workspace_member_keys);
  const row = underRule(found, rule);
  const scopes = row && keyScopes(row, row);
  if (!row || !scopes) return null;
  const ends = [row.expires_at, validUntil].filter((end) => end !== null);
  return {
    expiresAt: ends.length > 0 ? Math.min(...ends) : null,
    principal: {
      organisationId: row.organisation_id as OrganisationId,
      workspaceId: row.workspace_id as WorkspaceId,
      workspaceSlug: row.workspace_slug,
      keyId: row.id as ApiKeyId,
      keyName: row.name,
      userId: row.user_id as UserId | null,
      scopes,
      defaults: withWorkspace(JSON.parse(row.defaults), JSON.parse(row.workspace_defaults)),
      limits: [
        ...limitsOf(apiKeyOwner(row), row, row.created_at),
        ...sharedLimits(row, rule),
        ...limitsOf(
          workspaceOwner({ id: row.workspace_id, slug: row.workspace_slug }),
          { rate_limits: row.workspace_rate_limits, usage_limits: row.workspace_usage_limits },
          row.workspace_created_at,
        ),
      ],
      forbids: forbidsOf({
        organisation: row.organisation_forbidden,
        workspace: { slug: row.workspace_slug, stored: row.workspace_forbidden },
        key: { name: row.name, stored: row.forbidden },
      }),
      models: allowedModels(row.models),
    },
  };
}

/** Of a key that its user made: those that it shares with the others of that user. */
const sharedLimits = (row: KeyRow, rule: MemberKeyRule | null): readonly Limit[] =>
  isMembers(row) && rule && row.user_id !== null
    ? memberLimits(
        rule,
        memberOwner(row.workspace_id, { id: row.user_id, email: row.user_email ?? '' }),
        row.workspace_created_at,
      )
    : [];

/** Metadata that the workspace fixes stand above what the key says; what it assumes, beneath. */
const withWorkspace = (own: Principal['defaults'], workspace: Principal['defaults']): Principal['defaults'] => ({
  ...(workspace.mcp_tools && { mcp_tools: workspace.mcp_tools }),
  ...own,
  ...(workspace.metadata && { metadata: { ...own.metadata, ...workspace.metadata } }),
});

export interface AuthenticatorDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly now: () => number;
}

/** Finds who a key belongs to: from a bounded cache, which serves known keys even while the store is away. */
export function createAuthenticator({ store, changes, now }: AuthenticatorDeps) {
  // What a key may do follows from what its user may do.
  const byHash = cachedBy(changes, ['keys', 'users'], (hash) => findKey(store.db, hash), { most: 10_000, now });
  const byId = cachedBy(changes, ['keys', 'users'], (id) => findKeyById(store.db, id), { most: 10_000, now });
  const valid = (known: KnownKey | null): Principal => {
    if (!known) fail('invalid_api_key');
    const { expiresAt, principal } = known;
    if (expiresAt !== null && expiresAt <= now()) fail('expired_api_key', new Date(expiresAt).toISOString());
    return principal;
  };
  return {
    /** Answers at once when the key is in the cache. */
    authenticate(gatewayKey: string | null): NowOrLater<Principal> {
      if (gatewayKey === null) fail('missing_api_key');
      const hash = sha256(gatewayKey);
      const known = byHash.peek(hash);
      return known ? valid(known) : byHash.get(hash).then(valid);
    },
    /** Who a key belongs to that began something which goes on without it: a batch, a run. Fails as its next call would. */
    principalOf(keyId: string): Promise<Principal> {
      return byId.get(keyId).then(valid);
    },
  };
}

export type Authenticator = ReturnType<typeof createAuthenticator>;
