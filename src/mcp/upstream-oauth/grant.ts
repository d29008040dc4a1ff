import type { FetchSmall } from '../../auth/key-sets.ts';
import { fail } from '../../core/errors.ts';
import { reasonOf } from './discovery.ts';
import type { OauthClient } from './oauth-client.ts';

/** What a user has granted: the tokens, where they may go, and all that renews them. */
export interface Grant {
  /** The server they were got for. They go nowhere else. */
  readonly url: string;
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly issuedAt: number;
  /** Milliseconds; null: the issuer does not say. */
  readonly expiresAt: number | null;
  readonly scope: string | null;
  readonly issuer: string | null;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string | null;
  readonly resource: string | null;
  readonly audience: string | null;
  readonly client: OauthClient;
}

/** The issuer answered, and said no; `code` is OAuth's own word for it. */
export class GrantRefused extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`the authorization server refused with ${code}`);
    this.code = code;
  }
}

type Issued = Pick<Grant, 'accessToken' | 'refreshToken' | 'issuedAt' | 'expiresAt' | 'scope'>;

export interface TokenRequest {
  /** For messages. */
  readonly slug: string;
  readonly endpoint: string;
  readonly client: OauthClient;
  readonly form: Readonly<Record<string, string | null>>;
}

export interface TokenEndpointDeps {
  readonly fetch: FetchSmall;
  readonly now: () => number;
}

/** RFC 6750 section 2.1. */
const B64TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;
const ERROR_CODE = /^[\w.-]{1,64}$/;
const MOST_SECONDS = 10 * 365 * 86_400;

/** Asks a token endpoint. Throws `GrantRefused` when it says no, and 502 when it says nothing of use. */
export async function askForTokens(request: TokenRequest, { fetch, now }: TokenEndpointDeps): Promise<Issued> {
  const { slug, endpoint } = request;
  const refuse = (why: string): never => fail('mcp_upstream_oauth_failed', slug, why);
  const issuedAt = now();
  let response: Response;
  try {
    response = await fetch(endpoint, postOf(request));
  } catch (error) {
    return refuse(reasonOf(error));
  }
  const said: unknown = await response.json().catch(() => null);
  const answer = (said !== null && typeof said === 'object' ? said : {}) as Record<string, unknown>;
  if (!response.ok) {
    if (typeof answer.error === 'string' && ERROR_CODE.test(answer.error)) throw new GrantRefused(answer.error);
    return refuse(`${new URL(endpoint).host} answered ${response.status}`);
  }
  const { access_token, refresh_token, token_type, scope } = answer;
  if (typeof access_token !== 'string' || !B64TOKEN.test(access_token))
    return refuse('its answer holds no access_token');
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer')
    return refuse('its tokens are not of the type Bearer');
  const seconds = Number(answer.expires_in ?? Number.NaN);
  return {
    accessToken: access_token,
    refreshToken: typeof refresh_token === 'string' && refresh_token !== '' ? refresh_token : null,
    issuedAt,
    expiresAt: seconds > 0 && seconds < MOST_SECONDS ? issuedAt + Math.floor(seconds * 1_000) : null,
    scope: typeof scope === 'string' ? scope.slice(0, 4_096) : null,
  };
}

/** The same grant with new tokens. An issuer that does not rotate refresh tokens leaves the old one out. */
export async function renewGrant(slug: string, grant: Grant, deps: TokenEndpointDeps): Promise<Grant> {
  const { tokenEndpoint: endpoint, client, refreshToken, resource, audience } = grant;
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken, resource, audience };
  const issued = await askForTokens({ slug, endpoint, client, form }, deps);
  return {
    ...grant,
    ...issued,
    refreshToken: issued.refreshToken ?? refreshToken,
    scope: issued.scope ?? grant.scope,
  };
}

/** RFC 7009, as a courtesy: whatever it answers, the tokens are gone from here. */
export async function revokeGrant({ revocationEndpoint, client, refreshToken, accessToken }: Grant, fetch: FetchSmall) {
  if (revocationEndpoint === null) return;
  const token = refreshToken ?? accessToken;
  const hint = refreshToken === null ? 'access_token' : 'refresh_token';
  const form = { token, token_type_hint: hint };
  await fetch(revocationEndpoint, postOf({ slug: '', endpoint: revocationEndpoint, client, form })).catch(() => {});
}

function postOf({ client, form: given }: TokenRequest) {
  const form: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) if (value !== null) form[name] = value;
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  };
  if (client.secret !== null && client.method === 'client_secret_basic') {
    // RFC 6749 section 2.3.1: both are form-encoded first.
    const pair = [client.id, client.secret].map((each) => new URLSearchParams([['', each]]).toString().slice(1));
    headers.authorization = `Basic ${Buffer.from(pair.join(':')).toString('base64')}`;
  } else {
    form.client_id = client.id;
    if (client.secret !== null && client.method === 'client_secret_post') form.client_secret = client.secret;
  }
  return { method: 'POST', headers, body: new URLSearchParams(form).toString() };
}
