/** How tokens of an external identity provider are checked. One of `jwksUri`, `jwks` and `introspectEndpoint` is given. */
export interface JwtRules {
  readonly jwksUri?: string;
  readonly jwks?: { readonly keys: readonly Readonly<Record<string, unknown>>[] };
  readonly introspectEndpoint?: string;
  readonly introspectContentType?: 'application/x-www-form-urlencoded' | 'application/json';
  readonly introspectClientId?: string;
  readonly introspectClientSecret?: string;
  /** Seconds; 0 or absent: every call asks. */
  readonly introspectCacheMaxAge?: number;
  /** Signature algorithms that may be used, whatever a token says of itself. */
  readonly algorithms?: readonly string[];
  /** Seconds. */
  readonly clockTolerance?: number;
  /** Seconds that a key set is kept. */
  readonly cacheMaxAge?: number;
  /** Seconds, or `30m`, `12h`, `1d`. */
  readonly maxTokenAge?: number | string;
  readonly issuer?: string | readonly string[];
  readonly audience?: string | readonly string[];
}

/** What a token says once it is believed. */
export interface VerifiedJwt {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly header: Readonly<Record<string, unknown>>;
}

/**
 * Believes a token or throws: an error named `TokenRefused` when the token is at fault, with a message that may be
 * shown to the client that sent it; any other error when it cannot be found out. What it learns it keeps by the
 * identity of the rules, so rules are made once and used for many tokens. A port: the composition gives it.
 */
export type VerifyJwt = (token: string, rules: JwtRules) => Promise<VerifiedJwt>;

/**
 * Holds a token that was believed at `at` (milliseconds) against rules that may have changed since: times as they were
 * then, issuer, audience and algorithm as they are asked for now. Throws as `VerifyJwt` does; makes no network calls.
 */
export type RecheckJwt = (verified: VerifiedJwt, rules: JwtRules, at: number) => void;

export const isTokenRefused = (error: unknown): error is Error =>
  error instanceof Error && error.name === 'TokenRefused';
