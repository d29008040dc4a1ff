import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { BoundedMap } from '../core/bounded-map.ts';
import type { Clock } from '../core/clock.ts';
import { fail, GatewayError } from '../core/errors.ts';

/** An unknown key id makes us ask again at most this often, whatever the flood; so does a provider that fails. */
const COOL_DOWN_MS = 30_000;
/** A provider that was never reached is asked again sooner: without its keys, all its tokens are refused. */
const FIRST_RETRY_MS = 2_000;
/** How long keys serve after their time while the provider is away. */
const STALE_MS = 86_400_000;
const MOST_SETS = 1_000;

/** Sends through the egress policy. The answer is small and bounded. */
export type FetchSmall = (
  url: string,
  init?: { method?: string; headers?: Record<string, string>; body?: string },
) => Promise<Response>;

/** The keys of one issuer, by their address. */
export interface KeySet {
  /** The keys, as fresh as asked where the provider answers, else as they were. */
  current(maxAgeMs: number): Promise<JWTVerifyGetKey>;
  /** After a key id that is not there: the keys as the provider shows them now; null when it was asked just before. */
  afterMiss(): Promise<JWTVerifyGetKey | null>;
}

export function createKeySets({ fetch, now }: { fetch: FetchSmall; now: Clock }): (url: string) => KeySet {
  const sets = new BoundedMap<string, RemoteKeySet>(MOST_SETS);
  return (url) => {
    let set = sets.get(url);
    if (!set) {
      set = new RemoteKeySet(url, fetch, now);
      sets.set(url, set);
    }
    return set;
  };
}

interface Loaded {
  readonly find: JWTVerifyGetKey;
  readonly at: number;
  /** What the provider allows, by its Cache-Control. */
  readonly maxAgeMs: number;
}

class RemoteKeySet implements KeySet {
  readonly #url: string;
  readonly #fetch: FetchSmall;
  readonly #now: Clock;
  #loaded: Loaded | null = null;
  #loading: Promise<Loaded> | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  #missedAt = Number.NEGATIVE_INFINITY;

  constructor(url: string, fetch: FetchSmall, now: Clock) {
    this.#url = url;
    this.#fetch = fetch;
    this.#now = now;
  }

  async current(maxAgeMs: number): Promise<JWTVerifyGetKey> {
    const loaded = this.#loaded;
    if (!loaded) {
      if (this.#now() - this.#failedAt < FIRST_RETRY_MS) return this.#unavailable('it did not answer just before');
      return (await this.#load()).find;
    }
    const age = this.#now() - loaded.at;
    const allowed = Math.min(maxAgeMs, loaded.maxAgeMs);
    if (age < allowed) return loaded.find;
    if (this.#now() - this.#failedAt >= COOL_DOWN_MS) {
      try {
        return (await this.#load()).find;
      } catch (error) {
        if (age > allowed + STALE_MS) throw error;
      }
    }
    return age > allowed + STALE_MS ? this.#unavailable('its keys are too old') : loaded.find;
  }

  async afterMiss(): Promise<JWTVerifyGetKey | null> {
    if (!this.#loading) {
      if (this.#now() - this.#missedAt < COOL_DOWN_MS) return null;
      this.#missedAt = this.#now();
    }
    try {
      return (await this.#load()).find;
    } catch {
      return null;
    }
  }

  #load(): Promise<Loaded> {
    this.#loading ??= this.#ask()
      .then(
        (loaded) => {
          this.#loaded = loaded;
          this.#failedAt = Number.NEGATIVE_INFINITY;
          return loaded;
        },
        (error: unknown) => {
          this.#failedAt = this.#now();
          throw error;
        },
      )
      .finally(() => {
        this.#loading = null;
      });
    return this.#loading;
  }

  async #ask(): Promise<Loaded> {
    let response: Response;
    try {
      response = await this.#fetch(this.#url, { headers: { accept: 'application/json, application/jwk-set+json' } });
    } catch (error) {
      // Which rule of the egress policy it was is the operator's to know, and said when the address was stored.
      return this.#unavailable(error instanceof GatewayError ? error.code : 'it did not answer');
    }
    if (!response.ok) return this.#unavailable(`it answered ${response.status}`);
    try {
      const find = createLocalJWKSet((await response.json()) as JSONWebKeySet);
      return { find, at: this.#now(), maxAgeMs: allowedAge(response.headers.get('cache-control')) };
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof SyntaxError)
        return this.#unavailable('its answer is no key set');
      throw error;
    }
  }

  #unavailable(why: string): never {
    return fail('identity_provider_unavailable', new URL(this.#url).host, why);
  }
}

/** A shorter life than ours is honoured; none at all would mean a question for every call. */
function allowedAge(cacheControl: string | null): number {
  if (!cacheControl) return Number.POSITIVE_INFINITY;
  if (/\bno-(store|cache)\b/i.test(cacheControl)) return COOL_DOWN_MS;
  const seconds = /\bmax-age=(\d+)/i.exec(cacheControl)?.[1];
  return seconds === undefined ? Number.POSITIVE_INFINITY : Math.max(COOL_DOWN_MS, Number(seconds) * 1_000);
}
