import { secondsOf } from '../core/durations.ts';
import { endless, type JwtRules, TOLERANCE_SECONDS, TokenRefused, type VerifiedToken } from './jwt-rules.ts';
import type { Claims } from './token-claims.ts';

/** Whether a token that its issuer vouches for is good at a time, too. */
export function checkTimes(claims: Claims, rules: JwtRules, seconds: number) {
  const tolerance = rules.clockTolerance ?? TOLERANCE_SECONDS;
  const { exp, nbf, iat } = claims;
  if (typeof exp !== 'number') throw endless();
  if (exp + tolerance <= seconds) throw new TokenRefused('expired', 'Token is expired');
  if (typeof nbf === 'number' && nbf - tolerance > seconds) throw new TokenRefused('early', 'Token is not yet valid');
  if (rules.maxTokenAge === undefined) return;
  if (typeof iat !== 'number' || iat + secondsOf(rules.maxTokenAge) + tolerance < seconds)
    throw new TokenRefused('expired', 'Token is older than allowed');
}

export function checkParties(claims: Claims, { issuer, audience }: JwtRules) {
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

/** A token that was verified at `at`, under rules that may have changed since. Who vouches for it has not. */
export function recheck({ claims, header }: VerifiedToken, rules: JwtRules, at: number): void {
  const { algorithms = ['RS256'] } = rules;
  // The issuer was asked about a token that may have been opaque.
  if (!rules.introspectEndpoint && !algorithms.includes(String(header.alg)))
    throw new TokenRefused('algorithm', 'The algorithm of the token is not allowed');
  checkTimes(claims, rules, at / 1_000);
  checkParties(claims, rules);
}
