import {
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose';
import { BoundedMap } from '../core/bounded-map.ts';
import type { Clock } from '../core/clock.ts';
import { secondsOf } from '../core/durations.ts';
import { sha256 } from '../crypto/seal.ts';
import { introspect } from './introspection.ts';
import { endless, type JwtRules, TOLERANCE_SECONDS, TokenRefused, type VerifiedToken } from './jwt-rules.ts';
import { createKeySets, type FetchSmall, type KeySet } from './key-sets.ts';
import { type Claims, claimFault } from './token-claims.ts';

export { type JwtRules, TokenRefused, type VerifiedToken } from './jwt-rules.ts';

export interface JwtVerifier {
  /** Throws `TokenRefused`, or 503 `identity_provider_unavailable` when it cannot be found out. */
  verify(token: string, rules: JwtRules): Promise<VerifiedToken>;
}

export interface JwtVerifierDeps {
  /** Sends through the egress policy. */
  readonly fetch: FetchSmall;
  readonly now: Clock;
}

const DEFAULT_CACHE_SECONDS = 86_400;
/** A verified token is believed this long without looking again: a signature costs a hundred times a hash. */
const BELIEVED_MS = 60_000;
const MOST_BELIEVED = 10_000;
export const looksLikeJwt = (token: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);

interface Believed {
  readonly verified: VerifiedToken;
  readonly until: number;
}

export function createJwtVerifier({ fetch, now }: JwtVerifierDeps): JwtVerifier {
  const keySetAt = createKeySets({ fetch, now });
  const inlineSets = new WeakMap<object, JWTVerifyGetKey>();
  const rulesIds = new WeakMap<JwtRules, string>();
  const believed = new BoundedMap<string, Believed>(MOST_BELIEVED);

  const idOf = (rules: JwtRules): string => {
    let id = rulesIds.get(rules);
    if (id === undefined) {
      id = sha256(JSON.stringify(rules));
      rulesIds.set(rules, id);
    }
    return id;
  };

  const remember = (key: string, verified: VerifiedToken, rules: JwtRules) => {
    const forMs = rules.introspectEndpoint ? (rules.introspectCacheMaxAge ?? 0) * 1_000 : BELIEVED_MS;
    const until = Math.min(now() + forMs, Number(verified.claims.exp) * 1_000);
    if (until <= now()) return;
    believed.set(key, { verified, until });
  };

  const inlineKeys = (jwks: NonNullable<JwtRules['jwks']>): JWTVerifyGetKey => {
    let keys = inlineSets.get(jwks);
    if (!keys) {
      keys = createLocalJWKSet(jwks as unknown as JSONWebKeySet);
      inlineSets.set(jwks, keys);
    }
    return keys;
  };

  const checkSignature = async (token: string, rules: JwtRules): Promise<VerifiedToken> => {
    const options = verifyOptions(rules, now());
    if (rules.jwks) return verifyWith(token, inlineKeys(rules.jwks), options);
    const set: KeySet = keySetAt(rules.jwksUri!);
    const keys = await set.current((rules.cacheMaxAge ?? DEFAULT_CACHE_SECONDS) * 1_000);
    try {
      return await verifyWith(token, keys, options);
    } catch (error) {
      if (!(error instanceof TokenRefused) || error.reason !== 'unknown_key') throw error;
      const fresh = await set.afterMiss();
      if (!fresh) throw error;
      return verifyWith(token, fresh, options);
    }
  };

  const check = async (token: string, rules: JwtRules): Promise<VerifiedToken> => {
    const verified = rules.introspectEndpoint
      ? await introspect(token, rules, { fetch, now })
      : await checkSignature(token, rules);
    const fault = claimFault(rules, verified.claims, verified.header);
    if (fault !== null) throw new TokenRefused('claims', fault);
    return verified;
  };

  return {
    verify: async (token, rules) => {
      const key = `${sha256(token)} ${idOf(rules)}`;
      const known = believed.get(key);
      if (known && known.until > now()) return known.verified;
      believed.delete(key);
      const verified = await check(token, rules);
      remember(key, verified, rules);
      return verified;
    },
  };
}

function verifyOptions(rules: JwtRules, now: number): JWTVerifyOptions {
  return {
    algorithms: [...(rules.algorithms ?? ['RS256'])],
    clockTolerance: rules.clockTolerance ?? TOLERANCE_SECONDS,
    currentDate: new Date(now),
    requiredClaims: ['exp'],
    ...(rules.maxTokenAge !== undefined && { maxTokenAge: secondsOf(rules.maxTokenAge) }),
    ...(rules.issuer !== undefined && { issuer: [rules.issuer].flat().flatMap(spellings) }),
    ...(rules.audience !== undefined && { audience: [rules.audience].flat() }),
  };
}

/** Issuers that are addresses are written with and without a slash at their end, and mean the same. */
export function spellings(issuer: string): string[] {
  if (!/^https?:\/\//.test(issuer)) return [issuer];
  const bare = issuer.replace(/\/$/, '');
  return [bare, `${bare}/`];
}

async function verifyWith(token: string, keys: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<VerifiedToken> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, options);
    return { claims: payload, header: protectedHeader as unknown as Claims };
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return verifyWithEach(token, error, options);
    throw refusalOf(error);
  }
}

/** A token without a key id may be signed by any of several keys. */
async function verifyWithEach(token: string, keys: errors.JWKSMultipleMatchingKeys, options: JWTVerifyOptions) {
  let last: unknown;
  for await (const key of keys) {
    try {
      const { payload } = await jwtVerify(token, key, options);
      return { claims: payload, header: decodeProtectedHeader(token) as unknown as Claims };
    } catch (error) {
      last = error;
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) break;
    }
  }
  throw refusalOf(last);
}

/** The words name the check and never a value: they reach the client that sent the token. */
function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) {
    const isTooOld = error.claim === 'iat';
    return new TokenRefused('expired', isTooOld ? 'Token is older than allowed' : 'Token is expired');
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'exp') return endless();
    if (error.claim === 'nbf') return new TokenRefused('early', 'Token is not yet valid');
    return new TokenRefused('claims', `Token is not for this service: the claim ${error.claim} does not fit`);
  }
  if (error instanceof errors.JWKSNoMatchingKey)
    return new TokenRefused('unknown_key', 'No matching key for the token');
  if (error instanceof errors.JOSEAlgNotAllowed)
    return new TokenRefused('algorithm', 'The algorithm of the token is not allowed');
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return new TokenRefused('signature', 'The signature of the token does not hold');
  if (error instanceof errors.JOSEError || error instanceof TypeError)
    return new TokenRefused('malformed', 'The token cannot be read as a JWT');
  return error;
}
