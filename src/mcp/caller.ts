import type { Authenticator } from '../auth/authenticate.ts';
import { readKeys } from '../auth/authenticate.ts';
import { TokenRefused } from '../auth/jwt-rules.ts';
import { type JwtVerifier, looksLikeJwt } from '../auth/jwt-verify.ts';
import type { Claims } from '../auth/token-claims.ts';
import { fail, GatewayError } from '../core/errors.ts';
import type { ApiKeyId, OrganisationId, UserId, WorkspaceId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { sha256 } from '../crypto/seal.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import type { JwtValidation } from './configuration.ts';
import type { McpServer } from './server.ts';
import type { FindUser } from './users.ts';

/** Who calls an MCP server: a gateway key, a user of an external identity provider, or both at once. */
export interface Caller {
  /** Whose sessions and identity tokens these are. It outlives the tokens themselves. */
  readonly id: string;
  readonly by: 'api_key' | 'token' | 'api_key+token';
  readonly organisationId: OrganisationId;
  readonly workspaceId: WorkspaceId;
  readonly keyId: ApiKeyId | null;
  readonly userId: UserId | null;
  /** The key's, when there is one. */
  readonly principal: Principal | null;
  readonly claims: Claims;
  /** The user's own access token, for servers that check it themselves. */
  readonly accessToken: string | null;
}

export interface CallerDeps {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly verifier: JwtVerifier;
  readonly findUser: FindUser;
}

/** A request before it is known who sent it. */
export interface Knock {
  readonly slug: string;
  /** Null: there is none of that slug. */
  readonly server: McpServer | null;
  readonly headers: SentHeaders;
}

interface Credentials {
  readonly key: string | null;
  /** What the user's token is checked by. */
  readonly token: string | null;
}

const GATEWAY_KEY = /^gw-/;
/** RFC 6750 section 2.1. */
const B64TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** Finds out who is calling, or throws; a credential that was sent and does not hold is never passed over. */
export async function findCaller({ slug, server, headers }: Knock, deps: CallerDeps): Promise<Caller> {
  const { key, token } = await readCredentials(server, headers, deps);
  const principal = key === null ? null : await deps.authenticator.authenticate(key);
  if (!principal && token === null) return fail('invalid_api_key');
  if (principal) checkAccess(principal, server, slug);
  if (!server) return fail('invalid_api_key');
  const rules = server.jwtValidation;
  if (rules?.required && token === null) fail('invalid_user_token', `${rules.headerKey ?? 'Authorization'} holds none`);
  if (token !== null && rules) return ofToken(server, principal, token, await verified(token, rules, deps));
  return callerOfKey(principal!, ownToken(headers, server), deps);
}

/** A server of another workspace is like one that does not exist. */
function checkAccess(principal: Principal, server: McpServer | null, slug: string) {
  if (!principal.scopes.has('mcp.invoke')) fail('insufficient_scope', 'mcp.invoke');
  if (server?.workspaceId !== principal.workspaceId) fail('mcp_server_not_found', slug.slice(0, 80));
}

async function readCredentials(
  server: McpServer | null,
  headers: SentHeaders,
  { authenticator }: CallerDeps,
): Promise<Credentials> {
  const own = headerOf(headers, 'x-gateway-api-key');
  const { gatewayKey } = readKeys(headers);
  const rules = server?.jwtValidation;
  if (!server || !rules) return { key: gatewayKey, token: null };
  const token = tokenIn(headers, server.tokenHeader);
  if (own !== null) return { key: own, token: token === own ? null : token };
  if (token === null || server.tokenHeader !== 'authorization') return { key: gatewayKey, token };
  // One header, one credential: the form says which it is, else whether it is one of our keys.
  if (looksLikeJwt(token)) return { key: null, token };
  if (GATEWAY_KEY.test(token) || !rules.introspectEndpoint) return { key: token, token: null };
  return (await isKnownKey(token, authenticator)) ? { key: token, token: null } : { key: null, token };
}

async function isKnownKey(key: string, authenticator: CallerDeps['authenticator']): Promise<boolean> {
  try {
    await authenticator.authenticate(key);
    return true;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_api_key') return false;
    // An expired key of ours is ours all the same, and nobody else's to see.
    if (error instanceof GatewayError && error.code === 'expired_api_key') return true;
    throw error;
  }
}

function tokenIn(headers: SentHeaders, name: string): string | null {
  const value = headerOf(headers, name)?.trim();
  if (!value) return null;
  const bearer = /^bearer\s+(\S+)$/i.exec(value)?.[1];
  const token = bearer ?? (name === 'authorization' ? '' : value);
  return B64TOKEN.test(token) ? token : fail('invalid_user_token', `${name} is not of the form Bearer <token>`);
}

/** A token beside the gateway key, which this gateway does not check: only for a server that does so itself. */
function ownToken(headers: SentHeaders, { identity, jwtValidation }: McpServer): string | null {
  if (identity?.method !== 'bearer' || jwtValidation) return null;
  const { providerKey } = readKeys({
    'x-gateway-api-key': headers['x-gateway-api-key'] ?? '',
    authorization: headers.authorization ?? '',
  });
  return providerKey !== null && B64TOKEN.test(providerKey) ? providerKey : null;
}

async function verified(token: string, rules: JwtValidation, { verifier }: CallerDeps): Promise<Claims> {
  try {
    return (await verifier.verify(token, rules)).claims;
  } catch (error) {
    if (error instanceof TokenRefused) fail('invalid_user_token', error.message);
    throw error;
  }
}

/** Of a key alone. */
export async function callerOfKey(
  principal: Principal,
  accessToken: string | null,
  { findUser }: Pick<CallerDeps, 'findUser'>,
): Promise<Caller> {
  const { keyId, userId, organisationId, workspaceId } = principal;
  const user = userId === null ? null : await findUser(userId);
  return {
    id: `key:${keyId}`,
    by: 'api_key',
    organisationId,
    workspaceId,
    keyId,
    userId,
    principal,
    accessToken,
    claims: {
      sub: userId ?? `apikey:${keyId}`,
      email: user?.email,
      username: user?.username,
      user_id: userId,
      workspace_id: workspaceId,
      organisation_id: organisationId,
      scope: [...principal.scopes].join(' '),
      client_id: keyId,
    },
  };
}

/** The user is the token's; the tenant is the key's, else the one that the server belongs to, and never the token's. */
function ofToken(server: McpServer, principal: Principal | null, token: string, said: Claims): Caller {
  const { organisationId, workspaceId } = principal ?? server;
  const user = `jwt:${JSON.stringify([said.iss, said.sub ?? said.client_id ?? said.azp ?? sha256(token)])}`;
  return {
    id: principal ? `key:${principal.keyId} ${user}` : `server:${server.id} ${user}`,
    by: principal ? 'api_key+token' : 'token',
    organisationId,
    workspaceId,
    keyId: principal?.keyId ?? null,
    userId: null,
    principal,
    accessToken: token,
    claims: {
      ...said,
      sub: said.sub === undefined || said.sub === null ? undefined : String(said.sub),
      user_id: undefined,
      workspace_id: workspaceId,
      organisation_id: organisationId,
      scope: said.scope ?? (Array.isArray(said.scp) ? said.scp.join(' ') : said.scp),
      client_id: said.client_id ?? said.azp,
    },
  };
}
