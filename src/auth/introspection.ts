import { decodeProtectedHeader } from 'jose';
import type { Clock } from '../core/clock.ts';
import { fail, GatewayError } from '../core/errors.ts';
import { type JwtRules, TokenRefused, type VerifiedToken } from './jwt-rules.ts';
import type { FetchSmall } from './key-sets.ts';
import type { Claims } from './token-claims.ts';
import { checkParties, checkTimes } from './token-facts.ts';

const FORM = 'application/x-www-form-urlencoded';

/** Asks the issuer about a token (RFC 7662). */
export async function introspect(
  token: string,
  rules: JwtRules,
  { fetch, now }: { fetch: FetchSmall; now: Clock },
): Promise<VerifiedToken> {
  const type = rules.introspectContentType ?? FORM;
  const url = rules.introspectEndpoint!;
  const unavailable = (why: string): never => fail('identity_provider_unavailable', new URL(url).host, why);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': type, accept: 'application/json', ...clientCredentials(rules) },
    body: type === FORM ? new URLSearchParams({ token }).toString() : JSON.stringify({ token }),
  }).catch((error: unknown) => unavailable(error instanceof GatewayError ? error.code : 'it did not answer'));
  if (!response.ok) return unavailable(`it answered ${response.status}`);
  const claims = (await response.json().catch(() => unavailable('its answer is not JSON'))) as unknown;
  if (claims === null || typeof claims !== 'object' || Array.isArray(claims))
    return unavailable('its answer is no object');
  const { active, ...said } = claims as Record<string, unknown>;
  if (active !== true) throw new TokenRefused('inactive', 'Token is not active');
  checkTimes(said, rules, now() / 1_000);
  checkParties(said, rules);
  return { claims: said, header: headerOf(token) };
}

function clientCredentials({ introspectClientId, introspectClientSecret }: JwtRules): Record<string, string> {
  if (introspectClientId === undefined) return {};
  // RFC 6749 section 2.3.1: both are form-encoded before they are joined.
  const pair = [introspectClientId, introspectClientSecret ?? ''].map(encodeURIComponent).join(':');
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

function headerOf(token: string): Claims {
  try {
    return decodeProtectedHeader(token) as unknown as Claims;
  } catch {
    return {};
  }
}
