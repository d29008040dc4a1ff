import { decodeProtectedHeader } from 'jose';
import { fail } from '../core/errors.ts';
import type { ApiKeyId, OrganisationId, WorkspaceId } from '../core/ids.ts';
import { isTokenRefused } from '../core/jwt.ts';
import { changedAddress, maskedAddress } from '../core/masked-address.ts';
import type { Principal } from '../core/principal.ts';
import { DATA_SCOPES, SCOPES, type Scope } from '../core/scopes.ts';
import { type Sealer, sha256 } from '../crypto/seal.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import type { Db, Store } from '../storage/store.ts';
import type { JwtRules } from './jwt-rules.ts';
import { type JwtVerifier, looksLikeJwt } from './jwt-verify.ts';
import { limitsOf } from './owner-limits.ts';
import { forbidsInWorkspace } from './sessions.ts';
import type { Claims } from './token-claims.ts';
import { DEFAULT_WORKSPACE, workspaceOwner } from './workspaces.ts';

/** Whose tokens an organisation believes in place of a key, as people set it up. */
export interface MachineTokenRules {
  readonly jwks_uri?: string;
  readonly jwks?: { readonly keys: readonly Readonly<Record<string, unknown>>[] };
  readonly issuer?: string;
  readonly audience?: string;
  /** Seconds. */
  readonly clock_tolerance?: number;
}

export interface MachineTokensDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  readonly sealer: Sealer;
  readonly verifier: JwtVerifier;
  readonly organisationId: OrganisationId;
  readonly now: () => number;
}

interface Shown {
  readonly token: string;
  readonly checks: JwtRules;
}

const KNOWN = new Set<string>(SCOPES);
/** No token makes its sender an owner: an owner is a person. */
const NEVER: Scope = 'owners.manage';

export function createMachineTokens(deps: MachineTokensDeps) {
  const { store, changes, sealer, verifier, organisationId, now } = deps;
  /** Sealed, because the address of a key set may hold a secret. Rows of before hold the rules themselves. */
  const opened = (stored: string): MachineTokenRules =>
    JSON.parse(stored.startsWith('{') ? stored : sealer.open('machine-tokens', organisationId, stored));
  const read = async (db: Db = store.db): Promise<MachineTokenRules | null> => {
    const row = await db
      .selectFrom('organisations')
      .select('machine_tokens')
      .where('id', '=', organisationId)
      .executeTakeFirst();
    return row?.machine_tokens ? opened(row.machine_tokens) : null;
  };
  const save = (db: Db, machine_tokens: string | null) =>
    db.updateTable('organisations').set({ machine_tokens }).where('id', '=', organisationId).execute();
  // Rules are changed as users, and the workspaces that tokens name are changed with keys.
  const topics = ['users', 'keys'] as const;
  const rules = cachedBy(changes, topics, async () => ({ compiled: rulesFrom(await read()) }), { most: 10, now });
  const compiled = async (): Promise<JwtRules | null> => (await rules.get(organisationId))!.compiled;

  const principalOf = async (_key: string, { token, checks }: Shown) => {
    const { claims, header } = await verifier.verify(token, checks).catch((error: unknown) => {
      if (isTokenRefused(error)) return fail('invalid_machine_token', error.message);
      throw error;
    });
    if (typeof header.kid !== 'string' || header.kid === '') fail('invalid_machine_token', 'its header names no kid');
    if (claimOf(claims, 'organisation_id', 'gateway_oid') !== organisationId)
      fail('invalid_machine_token', 'organisation_id is not that of this gateway');
    const slug = claimOf(claims, 'workspace_slug', 'workspace', 'gateway_workspace') ?? DEFAULT_WORKSPACE;
    const workspace = await store.db
      .selectFrom('workspaces')
      .innerJoin('organisations', 'organisations.id', 'workspaces.organisation_id')
      .selectAll('workspaces')
      .select('organisations.forbidden as organisation_forbidden')
      .where('organisations.id', '=', organisationId)
      .where((where) => where.or([where('workspaces.slug', '=', slug), where('workspaces.id', '=', slug)]))
      .executeTakeFirst();
    if (!workspace) return fail('invalid_machine_token', 'its workspace does not exist');
    const name = claimOf(claims, 'email_id', 'sub', 'uid') ?? 'machine';
    const who: Principal = {
      organisationId,
      workspaceId: workspace.id as WorkspaceId,
      workspaceSlug: workspace.slug,
      keyId: idOf(`${organisationId} ${name}`),
      keyName: name,
      userId: null,
      isMachine: true,
      scopes: scopesIn(claims),
      defaults: JSON.parse(workspace.defaults),
      limits: limitsOf(workspaceOwner(workspace), workspace, workspace.created_at),
      forbids: forbidsInWorkspace(workspace),
    };
    return { who, expiresAt: Number(claims.exp) * 1_000 };
  };
  const principals = cachedBy(changes, topics, principalOf, { most: 5_000, staleMs: 60_000, now });

  return {
    /** Whether this is to be looked at as a token of a machine. */
    async takes(key: string): Promise<boolean> {
      return looksLikeJwt(key) && hasAlgorithm(key) && (await compiled()) !== null;
    },

    /** Throws 401, or 503 when the keys of the issuer cannot be had. */
    async identify(token: string): Promise<Principal> {
      const checks = (await compiled()) ?? fail('invalid_api_key');
      const found = await principals.get(sha256(token), { token, checks });
      if (found!.expiresAt <= now()) fail('invalid_machine_token', 'Token is expired');
      return found!.who;
    },

    /** Whether any machine is let in by a token. */
    isConfigured: async (): Promise<boolean> => (await read()) !== null,

    /** The rules as people see them. */
    async read(): Promise<MachineTokenRules | null> {
      const rules = await read();
      return rules && shownRules(rules);
    },

    async set(who: Principal, wanted: MachineTokenRules): Promise<MachineTokenRules> {
      const stored = await changes.transaction(
        'users',
        async (db) => {
          const { jwks_uri } = wanted;
          const old = (await read(db))?.jwks_uri ?? '';
          const next =
            jwks_uri === undefined ? wanted : { ...wanted, jwks_uri: changedAddress(jwks_uri, old, 'jwks_uri') };
          await save(db, sealer.seal('machine-tokens', organisationId, JSON.stringify(next)));
          return next;
        },
        who,
      );
      return shownRules(stored);
    },

    async remove(who: Principal): Promise<void> {
      await changes.transaction('users', (db) => save(db, null), who);
    },
  };
}

export type MachineTokens = ReturnType<typeof createMachineTokens>;

const shownRules = (rules: MachineTokenRules): MachineTokenRules =>
  rules.jwks_uri === undefined ? rules : { ...rules, jwks_uri: maskedAddress(rules.jwks_uri) };

function rulesFrom(given: MachineTokenRules | null): JwtRules | null {
  if (!given) return null;
  return {
    jwksUri: given.jwks_uri,
    jwks: given.jwks,
    algorithms: ['RS256'],
    issuer: given.issuer,
    audience: given.audience,
    clockTolerance: given.clock_tolerance,
  };
}

function hasAlgorithm(token: string): boolean {
  try {
    return typeof decodeProtectedHeader(token).alg === 'string';
  } catch {
    return false;
  }
}

/** The first of these claims that says something. */
function claimOf(claims: Claims, ...names: string[]): string | null {
  for (const name of names) {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
}

function scopesIn(claims: Claims): ReadonlySet<Scope> {
  const given = claims.scopes ?? claims.scope;
  if (given === undefined) return new Set(DATA_SCOPES);
  const names: unknown[] = Array.isArray(given)
    ? given
    : String(given)
        .split(/[\s,]+/)
        .filter(Boolean);
  for (const name of names) {
    if (typeof name !== 'string' || !KNOWN.has(name))
      fail('invalid_machine_token', `it names a scope that does not exist: ${String(name).slice(0, 80)}`);
    if (name === NEVER) fail('invalid_machine_token', `${NEVER} is for people who signed in`);
  }
  return new Set(names as Scope[]);
}

/** The same machine is the same caller in logs, limits and records, whichever token it brings. */
function idOf(text: string): ApiKeyId {
  const hex = sha256(text);
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return uuid as ApiKeyId;
}
