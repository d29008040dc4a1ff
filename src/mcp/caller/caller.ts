import type { Authenticator } from '../../auth/authenticate.ts';
import { TokenRefused } from '../../auth/jwt-rules.ts';
import type { JwtVerifier } from '../../auth/jwt-verify.ts';
import type { Claims } from '../../auth/token-claims.ts';
import { fail } from '../../core/errors.ts';
import type { ApiKeyId, OrganisationId, UserId, WorkspaceId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import { sha256 } from '../../crypto/seal.ts';
import type { SentHeaders } from '../../http/headers.ts';
import type { LoggedCaller } from '../../http/route.ts';
import type { JwtValidation } from '../server/configuration.ts';
import { commonResource } from '../server/resources.ts';
import type { McpServer } from '../server/server.ts';
import { endpointOf } from '../server/shown.ts';
import type { AccessTokens, TokenHolder } from './access-tokens.ts';
import { ownToken, readCredentials } from './credentials.ts';
import { type FindUser, mayCall, userClaims } from './users.ts';
import type { FindWorkspace } from './workspaces.ts';

/** Who calls an MCP server: a gateway key, a user with a token of ours or of an identity provider, or both at once. */
export interface Caller {
  /** Whose sessions and identity tokens these are. It outlives the tokens themselves. */
  readonly id: string;
  readonly by: WayIn;
  readonly organisationId: OrganisationId;
  readonly workspaceId: WorkspaceId;
  readonly keyId: ApiKeyId | null;
  readonly userId: UserId | null;
  /** As whom limits and policies count the call: the key, else the user in the workspace of the server. */
  readonly principal: Principal;
  readonly claims: Claims;
  /** When the token of ours that let them in runs out; null: there was none. */
  readonly grantedUntil: number | null;
  /** The user's own token of an identity provider, for servers that check it themselves; never one of ours. */
  readonly accessToken: string | null;
}

/** The caller as logs and metrics know it. */
export const loggedAs = ({ principal, keyId, userId }: Caller): LoggedCaller => ({ ...principal, keyId, userId });

/** `oauth` is a token of our own authorization server, `token` one of an identity provider. */
export type WayIn =
  | 'api_key'
  | 'oauth'
  | 'token'
  | 'api_key+oauth'
  | 'api_key+token'
  | 'oauth+token'
  | 'api_key+oauth+token';

export interface CallerDeps {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly verifier: JwtVerifier;
  readonly findUser: FindUser;
  readonly findWorkspace: FindWorkspace;
  readonly accessTokens: Pick<AccessTokens, 'identify'>;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

/** A request before it is known who sent it. */
export interface UnidentifiedRequest {
  readonly slug: string;
  /** Null: there is none of that slug. */
  readonly server: McpServer | null;
  readonly headers: SentHeaders;
}

/** Finds out who is calling, or throws; a credential that was sent and does not hold is never passed over. */
export async function findCaller({ slug, server, headers }: UnidentifiedRequest, deps: CallerDeps): Promise<Caller> {
  const { key, own, token } = await readCredentials(server, headers, deps);
  const keyHolder = key === null ? null : await deps.authenticator.authenticate(key);
  if (!keyHolder && own === null && token === null) return fail('missing_api_key');
  if (keyHolder) checkAccess(keyHolder, server, slug);
  const holder =
    own === null ? null : await deps.accessTokens.identify(own, server && endpointOf(deps.publicUrl(), slug));
  if (!server) return fail('invalid_api_key');
  if (holder && holder.principal.workspaceId !== server.workspaceId) fail('invalid_access_token');
  const rules = server.jwtValidation;
  if (rules?.required && token === null) fail('invalid_user_token', `${rules.headerKey ?? 'Authorization'} holds none`);
  if (token !== null && rules)
    return ofToken(server, { keyHolder, holder, token }, await verified(token, rules, deps), deps);
  if (holder) return callerOfGrant(holder, keyHolder, deps);
  return callerOfKey(keyHolder!, await ownToken(headers, server, deps), deps);
}

/**
 * The caller of all servers at once. Tokens of identity providers are checked by single servers, and let no caller in
 * here.
 */
export async function findCommonCaller(headers: SentHeaders, deps: CallerDeps): Promise<Caller> {
  const { key, own } = await readCredentials(null, headers, deps);
  const keyHolder = key === null ? null : await deps.authenticator.authenticate(key);
  if (keyHolder && !keyHolder.scopes.has('mcp.invoke')) fail('insufficient_scope', 'mcp.invoke');
  const holder = own === null ? null : await deps.accessTokens.identify(own, commonResource(deps.publicUrl()).uri);
  if (keyHolder && holder && keyHolder.workspaceId !== holder.token.workspaceId) fail('invalid_access_token');
  if (holder) return callerOfGrant(holder, keyHolder, deps);
  return keyHolder ? callerOfKey(keyHolder, null, deps) : fail('missing_api_key');
}

/** A caller that was let in before, with what it sent then. */
export interface AdmittedRequest {
  /** Null: they call all servers. */
  readonly server: McpServer | null;
  readonly headers: SentHeaders;
  readonly resource: string;
  readonly caller: Caller;
}

/**
 * Throws when a caller that was let in would not be now: its key, user or token was taken away. A token that has come
 * to its own end is another matter; what was begun with it goes on.
 */
export async function checkAgain(
  { server, headers, resource, caller }: AdmittedRequest,
  deps: CallerDeps,
): Promise<void> {
  const { key, own } = await readCredentials(server, headers, deps);
  if (key !== null) {
    const { scopes } = await deps.authenticator.authenticate(key);
    if (!scopes.has('mcp.invoke')) fail('insufficient_scope', 'mcp.invoke');
  }
  if (own === null) return;
  if ((caller.grantedUntil ?? 0) > deps.now()) return void (await deps.accessTokens.identify(own, resource));
  const user = caller.userId && (await deps.findUser(caller.userId, caller.workspaceId));
  if (!user || !mayCall(user)) fail('invalid_access_token');
}

/** A server of another workspace is like one that does not exist. */
function checkAccess(principal: Principal, server: McpServer | null, slug: string) {
  if (!principal.scopes.has('mcp.invoke')) fail('insufficient_scope', 'mcp.invoke');
  if (server?.workspaceId !== principal.workspaceId) fail('mcp_server_not_found', slug.slice(0, 80));
}

async function verified(token: string, rules: JwtValidation, { verifier }: CallerDeps): Promise<Claims> {
  try {
    return (await verifier.verify(token, rules)).claims;
  } catch (error) {
    if (error instanceof TokenRefused) fail('invalid_user_token', error.message);
    throw error;
  }
}

/** A caller of another API that came in by a cookie, which goes no further. */
export async function callerInside(principal: Principal, server: McpServer, deps: CallerDeps): Promise<Caller> {
  checkAccess(principal, server, server.slug);
  if (server.jwtValidation?.required) fail('invalid_user_token', 'the caller has none');
  return callerOfKey(principal, null, deps);
}

/** Of a key alone. */
export async function callerOfKey(
  principal: Principal,
  accessToken: string | null,
  { findUser }: Pick<CallerDeps, 'findUser'>,
): Promise<Caller> {
  const { keyId, userId, organisationId, workspaceId } = principal;
  const user = userId === null ? null : await findUser(userId, workspaceId);
  return {
    id: `key:${keyId}`,
    by: 'api_key',
    organisationId,
    workspaceId,
    keyId,
    userId,
    principal,
    grantedUntil: null,
    accessToken,
    claims: {
      sub: userId ?? `apikey:${keyId}`,
      ...userClaims(user),
      user_id: userId,
      ...tenantClaims(principal),
      scope: [...principal.scopes].join(' '),
      client_id: keyId,
    },
  };
}

/** Of a token of ours: the user's. A key beside it says who counts the call. */
export async function callerOfGrant(
  { token, principal: user }: TokenHolder,
  keyHolder: Principal | null,
  { findUser }: Pick<CallerDeps, 'findUser'>,
): Promise<Caller> {
  const principal = keyHolder ?? user;
  const { organisationId, workspaceId } = principal;
  const { userId, clientId, scope } = token;
  const known = await findUser(userId, token.workspaceId);
  const id = `user:${userId} ${clientId}`;
  return {
    id: keyHolder ? `key:${keyHolder.keyId} ${id}` : id,
    by: keyHolder ? 'api_key+oauth' : 'oauth',
    organisationId,
    workspaceId,
    keyId: keyHolder?.keyId ?? null,
    userId,
    principal,
    grantedUntil: token.expiresAt,
    accessToken: null,
    claims: {
      sub: userId,
      ...userClaims(known),
      user_id: userId,
      ...tenantClaims(principal),
      scope,
      client_id: clientId,
    },
  };
}

const tenantClaims = ({ organisationId, workspaceId, workspaceSlug }: Principal) => ({
  workspace_id: workspaceId,
  workspace: workspaceSlug,
  organisation_id: organisationId,
});

/** What came together with a user's token of an identity provider. */
interface TokenCredentials {
  readonly keyHolder: Principal | null;
  readonly holder: TokenHolder | null;
  readonly token: string;
}

/** The user is the token's; the tenant is the key's, else the one that the server belongs to, and never the token's. */
async function ofToken(
  server: McpServer,
  { keyHolder, holder, token }: TokenCredentials,
  said: Claims,
  deps: CallerDeps,
): Promise<Caller> {
  const user = `jwt:${JSON.stringify([said.iss, said.sub ?? said.client_id ?? said.azp ?? sha256(token)])}`;
  const door = keyHolder ? `key:${keyHolder.keyId}` : holder ? `user:${holder.token.userId}` : `server:${server.id}`;
  const id = `${door} ${user}`;
  const principal = keyHolder ?? holder?.principal ?? (await strangerIn(server, id, deps));
  return {
    id,
    by: [keyHolder && 'api_key', holder && 'oauth', 'token'].filter(Boolean).join('+') as WayIn,
    organisationId: principal.organisationId,
    workspaceId: principal.workspaceId,
    keyId: keyHolder?.keyId ?? null,
    userId: holder?.token.userId ?? null,
    principal,
    grantedUntil: holder?.token.expiresAt ?? null,
    accessToken: token,
    claims: {
      ...said,
      sub: said.sub === undefined || said.sub === null ? undefined : String(said.sub),
      user_id: undefined,
      ...tenantClaims(principal),
      scope: said.scope ?? (Array.isArray(said.scp) ? said.scp.join(' ') : said.scp),
      client_id: said.client_id ?? said.azp,
    },
  };
}

/** A user whom only an identity provider knows: counted by themselves, in the workspace of the server. */
async function strangerIn(
  { workspaceId, slug }: McpServer,
  id: string,
  { findWorkspace }: CallerDeps,
): Promise<Principal> {
  const workspace = (await findWorkspace(workspaceId)) ?? fail('mcp_server_not_found', slug);
  const hex = sha256(id);
  const keyId = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  return {
    ...workspace,
    keyId: keyId as ApiKeyId,
    keyName: 'user token',
    userId: null,
    scopes: new Set(['mcp.invoke']),
  };
}
