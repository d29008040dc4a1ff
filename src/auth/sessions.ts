import { randomBytes } from 'node:crypto';
import { fail } from '../core/errors.ts';
import { forbidsOf } from '../core/forbidden.ts';
import type { ApiKeyId, OrganisationId, UserId, WorkspaceId } from '../core/ids.ts';
import type { Principal, Witnessed } from '../core/principal.ts';
import type { Passwords } from '../crypto/password.ts';
import { type Sealer, sha256 } from '../crypto/seal.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import { cachedBy } from '../storage/cached-by.ts';
import type { Changes } from '../storage/changes.ts';
import type { UserRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import { limitsOf } from './owner-limits.ts';
import { scopesOf } from './roles.ts';
import type { SignInLimits } from './sign-in-limits.ts';
import { isDeactivated, plainEmail } from './users.ts';
import { DEFAULT_WORKSPACE, workspaceOwner } from './workspaces.ts';

const COOKIE = 'gateway_session';
/** Browsers take it over https alone, for the whole host, and from no other host of the domain. */
const SECURE_COOKIE = `__Host-${COOKIE}`;
const LIVES_MS = 12 * 3_600_000;

/** The session of a user who has just signed in. Only the user's browser knows the token. */
export interface NewSession {
  readonly token: string;
  readonly csrfToken: string;
  readonly expiresAt: number;
  readonly user: UserRow;
}

export interface SessionsDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  readonly sealer: Sealer;
  readonly passwords: Passwords;
  readonly limits: SignInLimits;
  readonly organisationId: OrganisationId;
  /** Whether browsers reach us over https; cookies then never leave it. */
  readonly isSecure: () => boolean;
  readonly now: () => number;
}

/** Whether a request must show the token that only our own pages know. */
export interface SessionProof {
  readonly csrf: 'needed' | 'none';
}

/**
 * The token in a request's cookies. Of two that differ, one was planted by another page of this host or its domain. Which one
 * cannot be told, and a user must not act in the session of another.
 */
function tokenIn(headers: SentHeaders, cookie: string): string | null {
  const cookies = headerOf(headers, 'cookie');
  if (!cookies?.includes(cookie)) return null;
  let found: string | null = null;
  for (const pair of cookies.split(';')) {
    const [name, value = ''] = pair.trim().split('=');
    if (name !== cookie || !/^[\w-]{43}$/.test(value)) continue;
    if (found !== null && found !== value) return fail('two_sessions');
    found = value;
  }
  return found;
}

/** Whether a browser has a cookie of ours. Nothing is proved by it. */
export const mayBeSignedIn = (headers: SentHeaders): boolean =>
  headerOf(headers, 'cookie')?.includes(`${COOKIE}=`) ?? false;

/** One of a user's own sessions, as it is shown to that user. */
export interface ShownSession {
  readonly id: string;
  readonly object: 'user-session';
  readonly is_current: boolean;
  readonly created_at: string;
  readonly expires_at: string;
}

interface Asked {
  readonly hash: string;
  /** The workspace that the request names. */
  readonly workspace: string | null;
}

export function createSessions(deps: SessionsDeps) {
  const { store, changes, sealer, passwords, limits, organisationId, now } = deps;
  const cookieName = () => (deps.isSecure() ? SECURE_COOKIE : COOKIE);
  const cookieOf = (token: string, seconds: number) =>
    `${cookieName()}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${deps.isSecure() ? '; Secure' : ''}`;
  const sessionToken = (headers: SentHeaders) => tokenIn(headers, cookieName());
  const csrfOf = (token: string) => sealer.sign('session', `csrf ${sha256(token)}`);

  /** Lets a user in. What they were let in with has been checked. */
  const open = async (db: Db, user: UserRow): Promise<NewSession> => {
    const token = randomBytes(32).toString('base64url');
    const at = now();
    await db.deleteFrom('sessions').where('expires_at', '<=', at).execute();
    await db
      .insertInto('sessions')
      .values({ hash: sha256(token), user_id: user.id, created_at: at, expires_at: at + LIVES_MS })
      .execute();
    return { token, csrfToken: csrfOf(token), expiresAt: at + LIVES_MS, user };
  };

  const principalOf = async (_key: string, { hash, workspace }: Asked): Promise<Principal | null> => {
    const session = await store.db
      .selectFrom('sessions')
      .innerJoin('users', 'users.id', 'sessions.user_id')
      .where('hash', '=', hash)
      .selectAll('users')
      .select('sessions.expires_at')
      .executeTakeFirst();
    if (!session || Number(session.expires_at) <= now() || isDeactivated(session)) return null;
    const who = (await userPrincipal(store.db, session, workspace)) ?? fail('not_a_member', workspace);
    return { ...who, session: { hash, expiresAt: Number(session.expires_at) } };
  };
  // What a user may do follows from workspaces, too, and these are changed with keys.
  const cache = cachedBy(changes, ['users', 'keys'], principalOf, { most: 2_000, staleMs: 60_000, now });

  return {
    open,

    /** The token in a request's cookies. */
    sessionToken,

    /** Signs in with a password. Throws 401, or 429 after too many failures. */
    async signIn(
      { email, password }: { email: string; password: string },
      from: { address: string } & Witnessed,
      /** Gets to know who it is before anything is stored. */
      found: (user: UserRow) => void = () => {},
    ): Promise<NewSession> {
      const name = plainEmail(email);
      await limits.begin(name, from.address);
      const user = await store.db
        .selectFrom('users')
        .selectAll()
        .where('organisation_id', '=', organisationId)
        .where('email', '=', name)
        .executeTakeFirst();
      const isRight = await passwords.matches(password, user?.password_hash ?? null);
      if (!isRight || !user || isDeactivated(user)) return fail('sign_in_failed');
      await limits.succeeded(name, from.address);
      found(user);
      return store.transaction((db) => open(db, user), from);
    },

    /** Who signed in, in the workspace that the request names. A browser sends the cookie along for any page: `csrf` asks
     * for proof that it was our own. */
    async identify(token: string, headers: SentHeaders, { csrf }: SessionProof): Promise<Principal> {
      const workspace = headerOf(headers, 'x-gateway-workspace');
      const hash = sha256(token);
      const principal = await cache.get(`${hash} ${workspace ?? ''}`, { hash, workspace });
      if (!principal || principal.session!.expiresAt <= now()) return fail('invalid_api_key');
      if (csrf === 'needed' && headerOf(headers, 'x-gateway-csrf') !== csrfOf(token)) fail('csrf_token_missing');
      return principal;
    },

    /** What the page of a signed-in user needs to go on. */
    async current(who: Principal, headers: SentHeaders) {
      const token = sessionToken(headers);
      if (!who.session || !token) return fail('session_required');
      return { csrfToken: csrfOf(token), expiresAt: who.session.expiresAt };
    },

    async end(who: Principal): Promise<void> {
      const { hash } = who.session ?? fail('session_required');
      await changes.transaction('users', (db) => db.deleteFrom('sessions').where('hash', '=', hash).execute(), who);
    },

    /** A user's own password. Every session ends but the one that asks, and so do MCP clients and programs
     * that the user has let in. */
    async changePassword(who: Principal, input: { current_password: string; new_password: string }): Promise<void> {
      const { hash } = who.session ?? fail('session_required');
      const id = who.userId!;
      const user = await store.db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      await limits.begin(user.email, hash);
      const isRight = await passwords.matches(input.current_password, user.password_hash);
      if (!isRight) fail('invalid_request', 'current_password', 'is not the password of this user');
      await limits.succeeded(user.email, hash);
      const password_hash = await passwords.hash(input.new_password);
      await changes.transaction(
        'users',
        async (db) => {
          await db.updateTable('users').set({ password_hash, updated_at: now() }).where('id', '=', id).execute();
          await db.deleteFrom('sessions').where('user_id', '=', id).where('hash', '!=', hash).execute();
          await db.deleteFrom('mcp_grants').where('user_id', '=', id).execute();
          await db.deleteFrom('api_keys').where('user_id', '=', id).where('origin', '=', 'login').execute();
        },
        who,
      );
    },

    /** The sessions of the user who asks, the newest first. */
    async list(who: Principal): Promise<ShownSession[]> {
      const { hash } = who.session ?? fail('session_required');
      const rows = await store.db
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', who.userId!)
        .where('expires_at', '>', now())
        .orderBy('created_at', 'desc')
        .execute();
      return rows.map((row) => ({
        id: shownId(row.hash),
        object: 'user-session',
        is_current: row.hash === hash,
        created_at: new Date(Number(row.created_at)).toISOString(),
        expires_at: new Date(Number(row.expires_at)).toISOString(),
      }));
    },

    /** Ends one of the sessions of the user who asks. */
    async endOne(who: Principal, id: string): Promise<void> {
      // A key has none.
      if (!who.session) fail('session_not_found', id.slice(0, 80));
      const mine = await store.db.selectFrom('sessions').select('hash').where('user_id', '=', who.userId!).execute();
      const { hash } = mine.find((row) => shownId(row.hash) === id) ?? fail('session_not_found', id.slice(0, 80));
      await changes.transaction('users', (db) => db.deleteFrom('sessions').where('hash', '=', hash).execute(), who);
    },

    cookie: (token: string) => cookieOf(token, LIVES_MS / 1_000),
    endCookie: () => cookieOf('', 0),
  };
}

export type Sessions = ReturnType<typeof createSessions>;

/** Says which session is meant, and is of no use as anything else. */
const shownId = (hash: string): string => sha256(`shown ${hash}`).slice(0, 32);

/** A user in the workspace that is named; null: they do not belong to it, or were shut out. */
export async function userPrincipal(
  db: Db,
  user: Pick<UserRow, 'id' | 'organisation_id' | 'role' | 'email' | 'deactivated_at'>,
  workspace: string | null,
): Promise<Principal | null> {
  if (isDeactivated(user)) return null;
  const place = await placeOf(db, user, workspace);
  const scopes = place && scopesOf(user.role, place.member_role);
  if (!place || !scopes) return null;
  return {
    organisationId: user.organisation_id as OrganisationId,
    workspaceId: place.id as WorkspaceId,
    workspaceSlug: place.slug,
    keyId: user.id as string as ApiKeyId,
    keyName: user.email,
    userId: user.id as UserId,
    scopes,
    defaults: JSON.parse(place.defaults),
    limits: limitsOf(workspaceOwner(place), place, place.created_at),
    forbids: forbidsInWorkspace(place),
  };
}

/** For callers without a key, such as sessions and machines: what their workspace and organisation forbid. */
export const forbidsInWorkspace = (place: {
  readonly slug: string;
  readonly forbidden: string | null;
  readonly organisation_forbidden: string | null;
}) =>
  forbidsOf({
    organisation: place.organisation_forbidden,
    workspace: { slug: place.slug, stored: place.forbidden },
  });

/** The workspace a user acts in: the one that is named, else `default`, else the first they belong to. */
async function placeOf(db: Db, user: Pick<UserRow, 'id' | 'organisation_id' | 'role'>, named: string | null) {
  const reachable = db
    .selectFrom('workspaces')
    .innerJoin('organisations', 'organisations.id', 'workspaces.organisation_id')
    .leftJoin('workspace_members', (join) =>
      join.onRef('workspace_members.workspace_id', '=', 'workspaces.id').on('workspace_members.user_id', '=', user.id),
    )
    .where('workspaces.organisation_id', '=', user.organisation_id)
    .selectAll('workspaces')
    .select(['workspace_members.role as member_role', 'organisations.forbidden as organisation_forbidden']);
  const own = user.role === 'member' ? reachable.where('workspace_members.role', 'is not', null) : reachable;
  if (named !== null)
    return own
      .where((where) => where.or([where('workspaces.id', '=', named), where('workspaces.slug', '=', named)]))
      .executeTakeFirst();
  const rows = await own.orderBy('workspaces.id').limit(1_000).execute();
  return rows.find(({ slug }) => slug === DEFAULT_WORKSPACE) ?? rows[0];
}
