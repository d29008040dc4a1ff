import { BoundedMap } from '../../core/bounded-map.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import type { SigningKey } from '../../crypto/rsa.ts';
import { sha256 } from '../../crypto/seal.ts';
import { SIGNERS_CLAIMS } from '../server/configuration.ts';

/** What a signed identity token says, and for whom it is made. */
export interface TokenAsk {
  /** The whole identity of the caller: tokens of two callers are never the same one. */
  readonly callerId: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly expirySeconds: number;
  readonly audience: string | null;
}

export interface IdentityTokens {
  /** A token with enough life left for the call it is for. */
  get(ask: TokenAsk): NowOrLater<string>;
  readonly size: number;
}

export interface IdentityTokensDeps {
  readonly key: SigningKey;
  readonly now: () => number;
  readonly capacity?: number;
}

export const ISSUER = 'service-mcp-gateway';
/** spec 8. */
const CAPACITY = 10_000;
const LAST_MOMENTS_MS = 5_000;

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface Entry {
  readonly token: string;
  /** Served until then: a little before the token dies. */
  readonly until: number;
}

/** Signs who is calling, once per identity and lifetime: a signature costs a thousand times a look into the cache. */
export function createIdentityTokens({ key, now, capacity = CAPACITY }: IdentityTokensDeps): IdentityTokens {
  const entries = new BoundedMap<string, Entry>(capacity);
  const signing = new Map<string, Promise<string>>();
  /**
   * One after the other, and calls that came meanwhile before the next one: a burst of new users must not take every
   * core from the calls of the others, nor the only one.
   */
  let turn: Promise<unknown> = Promise.resolve();

  const sign = async (cacheKey: string, { claims, expirySeconds, audience }: TokenAsk): Promise<string> => {
    // Rounded down: a server whose clock is behind would find the future in it.
    const iat = Math.floor(now() / 1_000);
    const exp = iat + expirySeconds;
    const payload: Record<string, unknown> = Object.create(null);
    for (const name in claims) if (!SIGNERS_CLAIMS.has(name)) payload[name] = claims[name];
    Object.assign(payload, { iss: ISSUER, iat, exp, ...(audience !== null && { aud: audience }) });
    const token = await key.sign(JSON.stringify(payload));
    const margin = Math.min(LAST_MOMENTS_MS, expirySeconds * 100);
    entries.set(cacheKey, { token, until: exp * 1_000 - margin });
    return token;
  };

  return {
    get size() {
      return entries.size;
    },
    get: (ask) => {
      const { callerId, claims, expirySeconds, audience } = ask;
      const cacheKey = sha256(JSON.stringify([key.kid, expirySeconds, audience, callerId, claims]));
      const known = entries.get(cacheKey);
      if (known && now() < known.until) {
        entries.set(cacheKey, known); // youngest again
        return known.token;
      }
      entries.delete(cacheKey);
      let waiting = signing.get(cacheKey);
      if (!waiting) {
        waiting = turn
          .then(nextTurn)
          .then(() => sign(cacheKey, ask))
          .finally(() => signing.delete(cacheKey));
        turn = waiting.catch(() => {});
        signing.set(cacheKey, waiting);
      }
      return waiting;
    },
  };
}
