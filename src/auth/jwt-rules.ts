import type { JwtRules as TokenRules } from '../core/jwt.ts';
import type { ClaimRules, Claims } from './token-claims.ts';

/** How tokens of an external identity provider are checked, and what they must say. */
export interface JwtRules extends TokenRules, ClaimRules {}

export interface VerifiedToken {
  readonly claims: Claims;
  readonly header: Claims;
}

/** How far clocks may differ, unless the rules say otherwise. */
export const TOLERANCE_SECONDS = 5;
/** The token is refused. The message may be shown to the client that sent it: it holds no value of a claim. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
  readonly reason:
    | 'malformed'
    | 'algorithm'
    | 'signature'
    | 'unknown_key'
    | 'expired'
    | 'early'
    | 'claims'
    | 'inactive';

  constructor(reason: TokenRefused['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/**
 * A stolen token works until it expires, so a token without an expiry is refused, even if a trusted issuer signed it.
 */
export const endless = (): TokenRefused =>
  new TokenRefused('claims', 'Missing required claims: exp (a number); a token that never ends is refused');
