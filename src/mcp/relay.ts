import { fail } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import { readBytes } from '../http/input.ts';
import type { Call } from '../http/route.ts';
import type { Incoming, Timeouts, Upstream } from '../http/upstream.ts';
import { type Body, closeBody, type Opening } from '../relay/body.ts';
import { readMetadata } from '../relay/metadata.ts';
import { answerOf } from './answer.ts';
import { type Caller, type CallerDeps, findCaller } from './caller.ts';
import { withChallenge } from './challenge.ts';
import { identityHeader } from './identity.ts';
import type { IdentityTokens } from './identity-tokens.ts';
import { isRepeatable, lookAt, type MessageLook } from './message.ts';
import { outgoingHeaders } from './outgoing-headers.ts';
import type { McpServers } from './registry.ts';
import type { McpServer } from './server.ts';
import { isStateless, type Sessions } from './sessions.ts';
import type { UpstreamAuth } from './upstream-auth.ts';

/** One call as limits see it. */
export interface LimitedMcpCall {
  /** The key's; null when a user's token came alone. */
  readonly principal: Principal | null;
  readonly organisationId: string;
  readonly workspaceId: string;
  /** The slug. */
  readonly server: string;
  readonly method: string | null;
  readonly tool: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
}

export interface AdmittedMcpCall {
  /** `x-ratelimit-*`, for the answer. */
  readonly headers: SentHeaders;
  /** Called once, when it is known whether anything was sent to the server. */
  ended(outcome: { readonly isSent: boolean }): void;
}

export interface McpLimits {
  /** Throws 429 or 412 when the call does not fit. */
  admit(call: LimitedMcpCall): AdmittedMcpCall | Promise<AdmittedMcpCall>;
}

export interface McpRelayDeps extends CallerDeps {
  readonly servers: Pick<McpServers, 'find'>;
  readonly sessions: Sessions;
  /** Null: there is no key to sign with. */
  readonly identityTokens: IdentityTokens | null;
  readonly upstreamAuth: UpstreamAuth;
  readonly upstream: Upstream;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
  readonly publicUrl: () => string;
  readonly limits: McpLimits;
}

/** What is known of a call before it goes to the server. */
export interface McpCall {
  readonly server: McpServer;
  readonly caller: Caller;
  readonly look: MessageLook;
  readonly isStateless: boolean;
}

/** Bodies up to this size are read at once, so that it is known what is called. Larger ones stream through. */
const READ_BELOW = 256 << 10;
const CREDENTIAL_HEADERS = ['x-gateway-api-key', 'authorization', 'x-api-key', 'x-goog-api-key'];

/** The life of one MCP call, in the order things happen. Bytes pass both ways as they are. */
export async function relayMcp(call: Call, deps: McpRelayDeps): Promise<Response> {
  const { headers, log } = call;
  log.provider = 'mcp';
  const { server, caller } = await letIn(call, deps);
  call.identify(caller);
  if (call.search !== '') fail('invalid_request', 'query', 'an MCP endpoint takes none; leave it out');

  const body = await openMessage(call, deps.maxBodyBytes);
  const look = lookAt(body && !body.rest ? body.head : null, headers);
  const mcp: McpCall = { server, caller, look, isStateless: isStateless(headerOf(headers, 'mcp-protocol-version')) };
  note(call, mcp);
  const sessionId = sessionIdOf(headers, mcp, deps.sessions);
  const admitted = await deps.limits.admit(limited(mcp, log.metadata));
  let isSent = false;
  try {
    const identity = await identityHeader(server, caller, deps.identityTokens);
    const authorization = await deps.upstreamAuth.authorizationFor(server);
    const outgoing = outgoingHeaders(server, headers, { authorization, identity, sessionId });
    isSent = true;
    const incoming = await send(call, { mcp, body, outgoing }, deps);
    return await answerOf(call, mcp, incoming, { ...deps, notes: admitted.headers });
  } finally {
    admitted.ended({ isSent });
  }
}

/** Whoever does not get in learns where to get a token. */
async function letIn(call: Call, deps: McpRelayDeps): Promise<{ server: McpServer; caller: Caller }> {
  const { headers } = call;
  const slug = call.params.server!;
  const server = await deps.servers.find(slug);
  try {
    const caller = await findCaller({ slug, server, headers }, deps);
    return { server: server ?? fail('mcp_server_not_found', slug), caller };
  } catch (error) {
    const names = server ? [...CREDENTIAL_HEADERS, server.tokenHeader] : CREDENTIAL_HEADERS;
    const hasCredential = names.some((name) => headerOf(headers, name) !== null);
    throw withChallenge(error, { slug, publicUrl: deps.publicUrl(), hasCredential });
  }
}

async function openMessage({ request, headers }: Call, maxBodyBytes: number): Promise<Opening | null> {
  if (request.method !== 'POST') return null;
  const declared = Number(headers['content-length'] ?? Number.NaN);
  if (declared > maxBodyBytes) fail('body_too_large', maxBodyBytes);
  if (declared <= READ_BELOW) return { head: await readBytes(request, READ_BELOW), rest: null };
  return request.body ? { head: new Uint8Array(), rest: request.body as ReadableStream<Uint8Array> } : null;
}

/** What the log learns: which server, which tool, by which way in; of claims not even the names. */
function note({ headers, log }: Call, { server, caller, look }: McpCall) {
  const { method, name } = look;
  log.virtualKey = server.slug;
  log.model = method === 'tools/call' ? (name ?? method) : method;
  // Nothing in an answer is a model's usage.
  log.usage = {};
  log.metadata = {
    ...readMetadata(headers, caller.principal?.defaults.metadata),
    ...(method !== null && { 'mcp.method': method }),
    'mcp.auth': caller.by,
    'mcp.identity': toldBy(server, caller),
  };
}

/** How the server learns who calls; a caller without a token has none to pass on. */
function toldBy({ identity }: McpServer, { accessToken }: Caller): string {
  if (!identity || (identity.method === 'bearer' && accessToken === null)) return 'none';
  return identity.method;
}

/** A client of a stateless version has no session, whatever it sends. */
function sessionIdOf(headers: SentHeaders, { server, caller, isStateless }: McpCall, sessions: Sessions) {
  const sealed = isStateless ? null : headerOf(headers, 'mcp-session-id');
  return sealed === null ? null : sessions.open(server, caller, sealed);
}

const limited = ({ server, caller, look }: McpCall, metadata: LimitedMcpCall['metadata']): LimitedMcpCall => ({
  principal: caller.principal,
  organisationId: caller.organisationId,
  workspaceId: caller.workspaceId,
  server: server.slug,
  method: look.method,
  tool: look.method === 'tools/call' ? look.name : null,
  metadata,
});

interface Sending {
  readonly mcp: McpCall;
  readonly body: Opening | null;
  readonly outgoing: Headers;
}

async function send(call: Call, { mcp, body: opening, outgoing }: Sending, deps: McpRelayDeps): Promise<Incoming> {
  const { request, headers, log } = call;
  const capture = opening && log.captureRequest();
  const body: Body = await closeBody(opening, {
    maxBytes: deps.maxBodyBytes,
    whole: false,
    tap: (piece) => capture?.add(piece),
  });
  const declared = headers['content-length'];
  if (body instanceof ReadableStream && declared !== undefined) outgoing.set('content-length', declared);
  const { connectMs, firstByteMs } = deps.timeouts;
  return deps.upstream.send({
    method: request.method,
    url: mcp.server.url,
    headers: outgoing,
    body,
    signal: request.signal,
    // A stream may be silent for as long as it likes, and one that is opened by GET before its first byte, too.
    timeouts: { connectMs, firstByteMs: request.method === 'GET' ? 0 : firstByteMs, idleMs: 0, totalMs: 0 },
    resend: request.method !== 'POST' || isRepeatable(mcp.look),
  });
}
