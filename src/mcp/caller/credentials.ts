import type { Authenticator } from '../../auth/authenticate.ts';
import { readKeys } from '../../auth/authenticate.ts';
import { looksLikeJwt } from '../../auth/jwt-verify.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';
import type { McpServer } from '../server/server.ts';
import { isAccessToken } from './access-tokens.ts';

export interface CredentialDeps {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
}

/** What a request brings, before any of it is checked. */
export interface Credentials {
  readonly key: string | null;
  /** A token of ours. */
  readonly own: string | null;
  /** What the user's token is checked by. */
  readonly token: string | null;
}

const GATEWAY_KEY = /^gw-/;
/** Keys, and codes and tokens of our authorization server. */
const OURS = /^gw(?:-|[a-z]_)/;
/** RFC 6750 section 2.1. */
const B64TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

export async function readCredentials(
  server: McpServer | null,
  sent: SentHeaders,
  deps: CredentialDeps,
): Promise<Credentials> {
  const bearer = /^bearer\s+(\S+)$/i.exec(headerOf(sent, 'authorization')?.trim() ?? '')?.[1] ?? '';
  if (!isAccessToken(bearer)) return { ...(await readOthers(server, sent, deps)), own: null };
  return { ...(await readOthers(server, { ...sent, authorization: '' }, deps)), own: bearer };
}

async function readOthers(
  server: McpServer | null,
  headers: SentHeaders,
  { authenticator }: CredentialDeps,
): Promise<Omit<Credentials, 'own'>> {
  const key = headerOf(headers, 'x-gateway-api-key');
  const { gatewayKey } = readKeys(headers);
  const rules = server?.jwtValidation;
  if (!server || !rules) return { key: gatewayKey, token: null };
  const token = tokenIn(headers, server.tokenHeader);
  if (key !== null) return { key, token: token === key ? null : token };
  if (token === null || server.tokenHeader !== 'authorization') return { key: gatewayKey, token };
  // One header, one credential: the form says which it is, else whether it is one of our keys.
  if (looksLikeJwt(token)) return { key: null, token };
  if (GATEWAY_KEY.test(token) || !rules.introspectEndpoint) return { key: token, token: null };
  return (await isKnownKey(token, authenticator)) ? { key: token, token: null } : { key: null, token };
}

async function isKnownKey(key: string, authenticator: CredentialDeps['authenticator']): Promise<boolean> {
  try {
    await authenticator.authenticate(key);
    return true;
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'invalid_api_key') return false;
    // An expired key of ours is still ours, and no server may see it.
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
export async function ownToken(
  headers: SentHeaders,
  { identity, jwtValidation }: McpServer,
  { authenticator }: CredentialDeps,
): Promise<string | null> {
  if (identity?.method !== 'bearer' || jwtValidation) return null;
  const { providerKey } = readKeys({
    'x-gateway-api-key': headers['x-gateway-api-key'] ?? '',
    authorization: headers.authorization ?? '',
  });
  if (providerKey === null || !B64TOKEN.test(providerKey)) return null;
  if (looksLikeJwt(providerKey)) return providerKey;
  // Whatever else a client mixed up: a credential of this gateway must not reach a server.
  return OURS.test(providerKey) || (await isKnownKey(providerKey, authenticator)) ? null : providerKey;
}
