import { decodeProtectedHeader } from 'jose';
import type { Clock } from '../core/clock.ts';
import { secondsOf } from '../core/durations.ts';
import { fail, GatewayError } from '../core/errors.ts';
import { endless, type JwtRules, TOLERANCE_SECONDS, TokenRefused, type VerifiedToken } from './jwt-rules.ts';
import type { FetchSmall } from './key-sets.ts';
import type { Claims } from './token-claims.ts';

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

/** The issuer says that it is active; what it says of times must fit, too. */
function checkTimes(claims: Claims, rules: JwtRules, seconds: number) {
  const tolerance = rules.clockTolerance ?? TOLERANCE_SECONDS;
  const { exp, nbf, iat } = claims;
  if (typeof exp !== 'number') throw endless();
  if (exp + tolerance <= seconds) throw new TokenRefused('expired', 'Token is expired');
  if (typeof nbf === 'number' && nbf - tolerance > seconds) throw new TokenRefused('early', 'Token is not yet valid');
  if (rules.maxTokenAge === undefined) return;
  if (typeof iat !== 'number' || iat + secondsOf(rules.maxTokenAge) + tolerance < seconds)
    throw new TokenRefused('expired', 'Token is older than allowed');
}

function checkParties(claims: Claims, { issuer, audience }: JwtRules) {
  const fits = (wanted: string | readonly string[] | undefined, found: unknown) =>
    wanted === undefined || [found].flat().some((each) => typeof each === 'string' && [wanted].flat().includes(each));
  for (const [name, wanted] of [
    ['iss', issuer],
    ['aud', audience],
  ] as const) {
    if (!fits(wanted, claims[name]))
      throw new TokenRefused('claims', `Token is not for this service: the claim ${name} does not fit`);
  }
}

function headerOf(token: string): Claims {
  try {
    return decodeProtectedHeader(token) as unknown as Claims;
  } catch {
    return {};
  }
}
