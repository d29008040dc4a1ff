import type { Authenticator } from '../auth/authenticate.ts';
import type { JwtVerifier } from '../auth/jwt-verify.ts';
import type { Principal } from '../core/principal.ts';
import { createSigningKey, publicJwk } from '../crypto/rsa.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { EgressPolicy } from '../http/egress.ts';
import type { Call } from '../http/route.ts';
import type { Timeouts, Upstream } from '../http/upstream.ts';
import type { TokenSource } from '../providers/provider.ts';
import type { Changes } from '../storage/changes.ts';
import type { Store } from '../storage/store.ts';
import { resourceMetadata } from './challenge.ts';
import { createIdentityTokens } from './identity-tokens.ts';
import { createKeySet } from './key-set.ts';
import { createListing } from './listing.ts';
import { createOrigins } from './origin.ts';
import { probe } from './probe.ts';
import { createMcpServers } from './registry.ts';
import { type McpLimits, type McpRelayDeps, relayMcp } from './relay.ts';
import { createSessions } from './sessions.ts';
import { createUpstreamAuth } from './upstream-auth.ts';
import { createFindUser } from './users.ts';

export interface McpDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  readonly egress: EgressPolicy;
  readonly upstream: Upstream;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly verifier: JwtVerifier;
  readonly tokens: TokenSource;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
  readonly publicUrl: () => string;
  readonly allowedOrigins: readonly string[];
  /** PEM; null: identities cannot be signed. */
  readonly signingKey: string | null;
  /** PEMs of keys that come next or have been in use: published, never signed with. */
  readonly extraPublicKeys: readonly string[];
  /** Absent: nothing is limited. */
  readonly limits?: McpLimits;
  readonly version: string;
  readonly now: () => number;
}

const UNLIMITED: McpLimits = { admit: () => ({ headers: {}, ended: () => {} }) };

/** The MCP gateway, put together from its parts. */
export function createMcp(deps: McpDeps) {
  const { store, sealer, now, publicUrl } = deps;
  const key = deps.signingKey === null ? null : createSigningKey(deps.signingKey);
  const published = [...(key ? [key.jwk] : []), ...deps.extraPublicKeys.map(publicJwk)];
  const servers = createMcpServers({ ...deps, canSign: key !== null });
  const relayDeps: McpRelayDeps = {
    ...deps,
    servers,
    sessions: createSessions({ sealer, now }),
    identityTokens: key && createIdentityTokens({ key, now }),
    upstreamAuth: createUpstreamAuth(deps),
    findUser: createFindUser({ store, now }),
    limits: deps.limits ?? UNLIMITED,
  };
  const origins = createOrigins({ publicUrl, allowed: deps.allowedOrigins });
  return {
    origins,
    keySet: createKeySet([...new Map(published.map((each) => [each.kid, each])).values()]),
    list: createListing({ store, publicUrl }),
    metadata: async (slug: string | null) =>
      resourceMetadata(publicUrl(), slug, slug === null ? null : await servers.find(slug)),
    relay: (call: Call) => {
      origins.check(call.headers);
      return relayMcp(call, relayDeps);
    },
    /** What the admin routes need. */
    servers: {
      ...servers,
      test: async (who: Principal, idOrSlug: string) =>
        probe(await servers.open(who, idOrSlug), who, { ...relayDeps, version: deps.version }),
    },
  };
}

export type Mcp = ReturnType<typeof createMcp>;
