import type { Authenticator } from '../auth/authenticate.ts';
import type { JwtVerifier } from '../auth/jwt-verify.ts';
import type { ProgramSettings } from '../core/allowed-programs.ts';
import { fail } from '../core/errors.ts';
import type { PageQuery } from '../core/paging.ts';
import type { Principal } from '../core/principal.ts';
import { createSigningKey, publicJwk } from '../crypto/rsa.ts';
import type { Sealer } from '../crypto/seal.ts';
import type { EgressPolicy } from '../http/egress.ts';
import type { AnonymousCall, AnonymousCallAt } from '../http/route.ts';
import { fetchSmall, type Timeouts, type Upstream } from '../http/upstream.ts';
import type { TokenSource } from '../providers/provider.ts';
import type { Guard } from '../relay/guarding/guard.ts';
import type { Changes } from '../storage/changes.ts';
import type { Store } from '../storage/store.ts';
import { type Address, type AggregateDeps, createAggregate } from './aggregate/aggregate.ts';
import { createAccessTokens } from './caller/access-tokens.ts';
import { callerOfKey } from './caller/caller.ts';
import { resourceMetadata } from './caller/challenge.ts';
import { previewIdentity } from './caller/identity-preview.ts';
import { createIdentityTokens } from './caller/identity-tokens.ts';
import { createKeySet } from './caller/key-set.ts';
import { createOrigins } from './caller/origin.ts';
import { createFindUser } from './caller/users.ts';
import { createFindWorkspace } from './caller/workspaces.ts';
import { createOauth, type OauthDeps, type OauthSettings } from './oauth/oauth.ts';
import { MOST_DESCRIPTION_BYTES } from './openapi/reading.ts';
import { createCapabilities } from './policy/capabilities.ts';
import { createMcpPolicy } from './policy/policy.ts';
import { createPolicyStore, type PolicyStoreDeps } from './policy/stored.ts';
import { createUsage, type UsageDeps } from './policy/usage.ts';
import { createUserAccess } from './policy/user-access.ts';
import type { McpLimits } from './relay/limits-port.ts';
import { createOpenStreams } from './relay/open-streams.ts';
import { probe } from './relay/probe.ts';
import { type McpRelayDeps, relayMcp, relayTo } from './relay/relay.ts';
import { createServerTransport } from './relay/server-transport.ts';
import { createSessions } from './relay/sessions.ts';
import { createUpstreamAuth } from './relay/upstream-auth.ts';
import type { ResolveGuardrail } from './server/check-guardrails.ts';
import { createListing } from './server/listing.ts';
import { createMcpServers } from './server/registry.ts';
import { commonResource } from './server/resources.ts';
import { createToolSets } from './tools/tool-sets.ts';
import { createUpstreamOauth, type UpstreamOauthDeps } from './upstream-oauth/upstream-oauth.ts';

export interface McpDeps {
  readonly log: UsageDeps['log'] & AggregateDeps['log'];
  /** Runs programs of models; null: this gateway runs none. */
  readonly runner: AggregateDeps['runner'];
  /** Tells the operator of a failure that could not be foreseen. */
  readonly report: AggregateDeps['report'];
  readonly store: Store;
  readonly sealer: Sealer;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction' | 'announce' | 'catchUp' | 'notify' | 'onNotify'>;
  readonly egress: EgressPolicy;
  readonly upstream: Upstream;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly verifier: JwtVerifier;
  readonly tokens: TokenSource;
  /** People who sign in. */
  readonly people: Pick<UpstreamOauthDeps, 'hasIdentityProvider'> &
    Pick<OauthDeps, 'sessions' | 'oidc' | 'oidcProvider' | 'logins' | 'deviceCodes'>;
  readonly oauth: OauthSettings;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
  readonly publicUrl: () => string;
  readonly allowedOrigins: readonly string[];
  /** PEM; null: identities cannot be signed. */
  readonly signingKey: string | null;
  /** PEMs of keys that come next or have been in use: published, never signed with. */
  readonly extraPublicKeys: readonly string[];
  /** Programs that the gateway runs as servers. */
  readonly programs: ProgramSettings;
  readonly guard: Guard;
  readonly resolveGuardrail: ResolveGuardrail;
  /** Is told of users who have connected an account of theirs. */
  readonly connected: UpstreamOauthDeps['connected'];
  /** Is told of definitions that a manager should look at. */
  readonly flagged: PolicyStoreDeps['report'];
  /** Absent: nothing is limited. */
  readonly limits?: McpLimits;
  readonly version: string;
  readonly now: () => number;
}

const UNLIMITED: McpLimits = { counts: async () => false, admit: async () => ({ headers: {}, ended: () => {} }) };

/** The MCP gateway, put together from its parts. */
export function createMcp(deps: McpDeps) {
  const { store, sealer, now, publicUrl } = deps;
  const key = deps.signingKey === null ? null : createSigningKey(deps.signingKey);
  const published = [...(key ? [key.jwk] : []), ...deps.extraPublicKeys.map(publicJwk)];
  const allowedPrograms = deps.programs.allowed;
  const fetchDescription = (url: string) =>
    fetchSmall(deps.upstream, url, { timeoutMs: 20_000, maxBytes: MOST_DESCRIPTION_BYTES });
  const servers = createMcpServers({ ...deps, canSign: key !== null, fetchDescription, allowedPrograms });
  const upstreamOauth = createUpstreamOauth({
    ...deps,
    ...deps.people,
    fetch: (url, init) => fetchSmall(deps.upstream, url, { ...init, timeoutMs: 8_000, maxBytes: 256 << 10 }),
  });
  const { userTokens } = upstreamOauth;
  const findUser = createFindUser(deps);
  const findWorkspace = createFindWorkspace(deps);
  const accessTokens = createAccessTokens({ ...deps, findUser, findWorkspace });
  const transport = createServerTransport(deps);
  const endings = (['mcp-servers', 'keys'] as const).map((topic) =>
    deps.changes.subscribe(topic, () => void transport.review(servers.byId)),
  );
  const relayDeps: McpRelayDeps = {
    ...deps,
    servers,
    transport,
    sessions: createSessions({ sealer, now }),
    identityTokens: key && createIdentityTokens({ key, now }),
    upstreamAuth: createUpstreamAuth({ ...deps, userTokens }),
    findUser,
    findWorkspace,
    accessTokens,
    openStreams: createOpenStreams(deps),
    limits: deps.limits ?? UNLIMITED,
    policy: createMcpPolicy({ stored: createPolicyStore({ ...deps, report: deps.flagged }), guard: deps.guard }),
  };
  const probeDeps = { ...relayDeps, version: deps.version };
  const capabilities = createCapabilities({
    ...deps,
    find: servers.open,
    readAnew: servers.readAnew,
    probe: probeDeps,
    report: deps.flagged,
  });
  const relay: AggregateDeps['relay'] = (call, admitted) => relayTo(call, admitted, relayDeps);
  const toolSets = createToolSets(deps);
  const aggregate = createAggregate({ ...deps, ...relayDeps, relay, servers, toolSets });
  const origins = createOrigins({ publicUrl, allowed: deps.allowedOrigins });
  return {
    close: async () => {
      for (const end of endings) end();
      await transport.close();
    },
    usage: createUsage({ ...deps, find: servers.open }),
    origins,
    toolSets,
    keySet: createKeySet([...new Map(published.map((each) => [each.kid, each])).values()]),
    list: createListing({ store, publicUrl }),
    metadata: async (slug: string | null) =>
      resourceMetadata(publicUrl(), slug, slug === null ? null : await servers.find(slug)),
    oauth: createOauth({ ...deps, ...deps.people, settings: deps.oauth, servers }),
    commonMetadata: () => ({ ...resourceMetadata(publicUrl(), null, null), resource: commonResource(publicUrl()).uri }),
    connect: upstreamOauth.pagesFor(servers, origins),
    ownConnections: upstreamOauth.ownConnections,
    clientDocument: upstreamOauth.clientDocument,
    relay: (call: AnonymousCallAt<'server'>) => {
      origins.check(call.headers);
      return relayMcp(call, relayDeps);
    },
    /** A call that the gateway makes for a client of another API: no page of another site can have sent it. */
    relayInside: (call: AnonymousCallAt<'server'>, who: Principal) => relayMcp(call, relayDeps, who),
    relayToAny: (call: AnonymousCall, address: Address) => {
      origins.check(call.headers);
      const { method } = call.request;
      if (method === 'DELETE') return aggregate.leave(call, address);
      return method === 'POST' ? aggregate.handle(call, address) : aggregate.listen(call, address);
    },
    /** What the admin routes need. */
    servers: {
      ...servers,
      connections: async (who: Principal, idOrSlug: string, query: PageQuery) =>
        upstreamOauth.connections((await servers.open(who, idOrSlug)).id, query),
      disconnect: async (who: Principal, idOrSlug: string, userId: string) => {
        const { id, slug } = await servers.open(who, idOrSlug);
        const wasConnected = await upstreamOauth.disconnect({ serverId: id, userId }, who);
        if (!wasConnected) fail('mcp_connection_not_found', userId.slice(0, 80), slug);
      },
      identity: async (who: Principal, idOrSlug: string) =>
        previewIdentity(await servers.open(who, idOrSlug), await callerOfKey(who, null, relayDeps), {
          maySign: relayDeps.identityTokens !== null,
        }),
      test: async (who: Principal, idOrSlug: string) => {
        const tested = await probe(await servers.open(who, idOrSlug), who, probeDeps);
        if (tested.success) await capabilities.sync(who, idOrSlug);
        return tested;
      },
    },
    capabilities: { ...capabilities, userAccess: createUserAccess({ ...deps, find: servers.open }) },
  };
}

export type Mcp = ReturnType<typeof createMcp>;
