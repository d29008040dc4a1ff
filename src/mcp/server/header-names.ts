/** Which headers may travel to an MCP server, and which never do, however they are spelt. */

/** Servers behind CGI or WSGI read `X_User_Claims` and `X-User-Claims` as one name, and some `X.User.Claims`, too. */
export const normalised = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-');

export const isHeaderName = (name: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);

/** Connection-level headers (RFC 9110 section 7.6.1), and what frames and addresses a request. */
const TRANSPORT = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'expect',
  'accept-encoding',
  'date',
]);

/** What MCP itself needs; `mcp-*` as well. */
const PROTOCOL = new Set([
  'accept',
  'content-type',
  'content-length',
  'content-encoding',
  'last-event-id',
  'traceparent',
  'tracestate',
  'baggage',
  'user-agent',
]);

/** Identities, credentials, and what proxies say of a client. No setting lets a client's own through. */
const PROTECTED = new Set([
  'x-user-claims',
  'x-user-jwt',
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'apikey',
  'x-auth-token',
  'x-access-token',
  'forwarded',
  'via',
  'x-real-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'true-client-ip',
  'cf-connecting-ip',
]);

/** Names under which proxies and sign-in services tell a server who the user is. A server that trusts them trusts all. */
const IDENTITIES =
  /^(?:x-)?(?:remote-(?:user|email|name|groups?)|auth-request-.*|webauth-.*|authentik-.*|authenticated-.*|authelia-.*|vouch-.*|pomerium-.*|ssl-client-.*|client-cert.*|tailscale-.*|ms-client-principal.*|ms-token-.*|amzn-oidc-.*|goog-authenticated-user-.*|goog-iap-.*|cf-access-.*|gateway-.*|forwarded-.*)$/;

/** All of these take normalised names. */
export const isProtected = (name: string): boolean => PROTECTED.has(name) || IDENTITIES.test(name);

export const isTransport = (name: string): boolean =>
  TRANSPORT.has(name) || name.startsWith('content-') || name.startsWith('sec-') || name.startsWith('access-control-');

/** As it came: `mcp_session_id` is no header of the protocol. */
export const isProtocol = (name: string): boolean => PROTOCOL.has(name) || name.startsWith('mcp-');

/** What `forward_headers` may speak of. */
export const isForwardable = (name: string): boolean => !isProtected(name) && !isTransport(name) && !isProtocol(name);

/** What the configuration may set itself, in the place of whatever a client sent. */
export const isSettable = (name: string): boolean =>
  !isTransport(name) && !name.startsWith('mcp-') && name !== 'accept' && name !== 'last-event-id';

/** Where a credential or an identity may stand: what MCP itself needs goes on as it came. */
export const isCarrier = (name: string): boolean => isSettable(name) && !isProtocol(name) && name !== 'cookie';
