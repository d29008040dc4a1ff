import type { FetchSmall } from '../../auth/key-sets.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import { maskedAddress } from '../../core/masked-address.ts';
import type { EgressPolicy } from '../../http/egress.ts';
import { type Upstream, UpstreamFailure } from '../../http/upstream.ts';
import { outgoingHeaders } from '../server/outgoing-headers.ts';
import type { McpServer } from '../server/server.ts';
import { type Challenge, challengeIn, coversServer, issuerMetadataUrls, resourceMetadataUrls } from './well-known.ts';

/** Who issues tokens for a server, and how they are asked for. */
export interface Discovered {
  /** Null: the endpoints are configured, and the configuration does not say whose they are. */
  readonly issuer: string | null;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | null;
  readonly revocationEndpoint: string | null;
  /** How clients may prove themselves at the token endpoint. */
  readonly authMethods: readonly string[];
  /** Every answer names its issuer (RFC 9207), so one that does not is not theirs. */
  readonly namesItself: boolean;
  /** A client may be the address of a document about it. */
  readonly takesDocuments: boolean;
  /** What the tokens are for; null where the issuer is not to be told. */
  readonly resource: string | null;
  readonly scope: string | null;
}

export interface DiscoveryDeps {
  readonly fetch: FetchSmall;
  readonly upstream: Upstream;
  readonly egress: EgressPolicy;
  readonly now: () => number;
}

export interface Discovery {
  discover(server: McpServer): Promise<Discovered>;
  /** After a refusal: the server may have moved to another issuer. */
  forget(server: McpServer): void;
}

/** Users who connect at the same time; each node keeps its own. */
const KEPT_MS = 60_000;
const MOST_KEPT = 1_000;
const GREETING_MS = 10_000;
const OFFLINE = 'offline_access';

type Document = Readonly<Record<string, unknown>>;

/** Looks a server's issuer up (RFC 9728, RFC 8414, OpenID Connect Discovery) and remembers it for a while. */
export function createDiscovery(deps: DiscoveryDeps): Discovery {
  const kept = new BoundedMap<string, { readonly found: Promise<Discovered>; readonly until: number }>(MOST_KEPT);
  const keyOf = ({ version, url }: McpServer) => `${version} ${url}`;
  return {
    discover: (server) => {
      const key = keyOf(server);
      const known = kept.get(key);
      if (known && known.until > deps.now()) return known.found;
      const found = discover(server, deps);
      kept.set(key, { found, until: deps.now() + KEPT_MS });
      found.catch(() => kept.delete(key));
      return found;
    },
    forget: (server) => void kept.delete(keyOf(server)),
  };
}

async function discover(server: McpServer, deps: DiscoveryDeps): Promise<Discovered> {
  const refuse = (why: string): never => fail('mcp_upstream_oauth_failed', server.slug, why);
  const given = server.oauth ?? {};
  const isConfigured = given.authorization_endpoint !== undefined && given.token_endpoint !== undefined;
  const challenge = isConfigured ? NO_CHALLENGE : await challengeOf(server, deps);
  const about = isConfigured ? null : await resourceMetadata(server, challenge, deps);
  const named = given.issuer ?? (isConfigured ? null : issuerIn(about, server, refuse));
  const said = isConfigured ? {} : await issuerMetadata(named!, server.slug, deps);
  // As it spells itself: it does so in its answers, too.
  const issuer = textIn(said, 'issuer') ?? named;
  const endpoint = (name: string, configured: string | undefined) => configured ?? textIn(said, name);
  const found: Discovered = {
    issuer,
    authorizationEndpoint:
      endpoint('authorization_endpoint', given.authorization_endpoint) ??
      refuse(`${issuer} names no authorization_endpoint`),
    tokenEndpoint: endpoint('token_endpoint', given.token_endpoint) ?? refuse(`${issuer} names no token_endpoint`),
    registrationEndpoint: endpoint('registration_endpoint', given.registration_endpoint),
    revocationEndpoint: endpoint('revocation_endpoint', given.revocation_endpoint),
    authMethods: textsIn(said, 'token_endpoint_auth_methods_supported') ?? ['client_secret_basic'],
    namesItself: said.authorization_response_iss_parameter_supported === true,
    takesDocuments: said.client_id_metadata_document_supported === true,
    resource: given.omit_resource ? null : (given.resource ?? textIn(about ?? {}, 'resource') ?? resourceOf(server)),
    scope: given.scope ?? withOffline(challenge.scope ?? textsIn(about ?? {}, 'scopes_supported')?.join(' '), said),
  };
  // Without it a thief could use a stolen code, and nothing says that the issuer would notice.
  if (!isConfigured && !textsIn(said, 'code_challenge_methods_supported')?.includes('S256'))
    refuse(`${issuer} does not say that it supports PKCE with S256`);
  await checkPage(found.authorizationEndpoint, deps.egress, refuse);
  return found;
}

/** Browsers carry it to the issuer: without the query, where a secret of the server may stand (RFC 8707 section 2). */
const resourceOf = ({ url }: McpServer): string => url.split('?')[0]!;

const NO_CHALLENGE: Challenge = { resourceMetadata: null, scope: null, error: null };

/** What the server says to a client without a token; nothing when it lets every client greet it. */
async function challengeOf(server: McpServer, { upstream }: DiscoveryDeps): Promise<Challenge> {
  const sent = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const nothing = { authorization: null, identity: null, sessionId: null };
  try {
    const incoming = await upstream.send({
      method: 'POST',
      url: server.url,
      headers: outgoingHeaders(server, sent, nothing),
      body: Buffer.from(JSON.stringify(GREETING)),
      timeouts: { connectMs: GREETING_MS, firstByteMs: GREETING_MS, idleMs: GREETING_MS, totalMs: GREETING_MS },
    });
    incoming.cancel();
    return incoming.status === 401 ? challengeIn(incoming.headers.get('www-authenticate')) : NO_CHALLENGE;
  } catch (error) {
    return fail('mcp_upstream_oauth_failed', server.slug, reasonOf(error));
  }
}

const GREETING = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'gateway', version: '1' } },
};

/** The document about the server (RFC 9728); null where it has none, as servers before 2025-06-18. */
async function resourceMetadata(
  server: McpServer,
  challenge: Challenge,
  deps: DiscoveryDeps,
): Promise<Document | null> {
  const named = challenge.resourceMetadata;
  const refuse = (why: string): never => fail('mcp_upstream_oauth_failed', server.slug, why);
  // Elsewhere it could speak for a server that is not its own.
  if (named !== null && URL.parse(named)?.origin !== new URL(server.url).origin)
    refuse('its resource_metadata lies on another host than the server itself');
  for (const url of named === null ? resourceMetadataUrls(server.url) : [named]) {
    const found = await documentAt(url, server.slug, deps);
    if (!found) continue;
    if (!coversServer(textIn(found, 'resource') ?? '', server.url))
      refuse(`${maskedAddress(url)} speaks of another resource than ${maskedAddress(server.url)}`);
    return found;
  }
  return null;
}

function issuerIn(about: Document | null, server: McpServer, refuse: (why: string) => never): string {
  if (!about) return new URL(server.url).origin;
  const issuer = textsIn(about, 'authorization_servers')?.[0];
  return issuer !== undefined && URL.canParse(issuer) ? issuer : refuse('its metadata names no authorization server');
}

async function issuerMetadata(issuer: string, slug: string, deps: DiscoveryDeps): Promise<Document> {
  for (const url of issuerMetadataUrls(issuer)) {
    const found = await documentAt(url, slug, deps);
    if (!found) continue;
    // RFC 8414 section 3.3: a document that speaks for another issuer is an attack, or a mistake that looks like one.
    if (withoutSlash(found.issuer) !== withoutSlash(issuer))
      fail('mcp_upstream_oauth_failed', slug, `${maskedAddress(url)} names another issuer than ${issuer}`);
    return found;
  }
  return fail('mcp_upstream_oauth_failed', slug, `${issuer} publishes no metadata`);
}

/** With a slash at its end or without, it is the same address. */
const withoutSlash = (issuer: unknown): unknown => (typeof issuer === 'string' ? issuer.replace(/\/$/, '') : issuer);

/** Null: there is none. Redirects are not followed. */
async function documentAt(url: string, slug: string, { fetch }: DiscoveryDeps): Promise<Document | null> {
  let response: Response;
  try {
    response = await fetch(url, { headers: { accept: 'application/json' } });
  } catch (error) {
    return fail('mcp_upstream_oauth_failed', slug, reasonOf(error));
  }
  if (response.status >= 500)
    return fail('mcp_upstream_oauth_failed', slug, `${maskedAddress(url)} answered ${response.status}`);
  if (response.status !== 200) return null;
  const value: unknown = await response.json().catch(() => null);
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Document;
  return fail('mcp_upstream_oauth_failed', slug, `${maskedAddress(url)} holds no JSON object`);
}

/** A browser is sent there: no script may run there, and no code may go where an attacker could read along. */
async function checkPage(url: string, egress: EgressPolicy, refuse: (why: string) => never) {
  const protocol = URL.parse(url)?.protocol;
  if (protocol === 'https:') return;
  if (protocol !== 'http:') refuse('its authorization_endpoint is no https address');
  await Promise.resolve(egress.admit(url)).catch((error) => refuse(reasonOf(error)));
}

/** So that users need not come back when a token expires; only where the issuer knows the word. */
function withOffline(scope: string | undefined, said: Document): string | null {
  if (scope === undefined || scope === '') return null;
  const isKnown = textsIn(said, 'scopes_supported')?.includes(OFFLINE);
  return isKnown && !scope.split(' ').includes(OFFLINE) ? `${scope} ${OFFLINE}` : scope;
}

export const reasonOf = (error: unknown): string => {
  if (error instanceof GatewayError) return error.message.replace(/\.$/, '');
  if (error instanceof UpstreamFailure) return error.toGatewayError().message.replace(/\.$/, '');
  throw error;
};

const textIn = (document: Document, name: string): string | null => {
  const value = document[name];
  return typeof value === 'string' && value !== '' ? value : null;
};
const textsIn = (document: Document, name: string): string[] | null => {
  const value = document[name];
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : null;
};
