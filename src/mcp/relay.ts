import type { Principal } from '../core/principal.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import type { Call } from '../http/route.ts';
import type { Incoming, Timeouts, Upstream } from '../http/upstream.ts';
import { closeBody, type Opening } from '../relay/body.ts';
import { readMetadata } from '../relay/metadata.ts';
import { answerOf } from './answer.ts';
import { type Caller, type CallerDeps, findCaller } from './caller.ts';
import { withChallenge } from './challenge.ts';
import { type IdentityHeader, identityHeader } from './identity.ts';
import type { IdentityTokens } from './identity-tokens.ts';
import { isRepeatable, lookAt, type MessageLook } from './message.ts';
import { outgoingHeaders } from './outgoing-headers.ts';
import type { McpServers } from './registry.ts';
import type { McpServer } from './server.ts';
import { isStateless, type Sessions } from './sessions.ts';
import type { UpstreamAuth } from './upstream-auth.ts';

/** One call as limits see it. */
export interface LimitedMcpCall {
  readonly principal: Principal | null;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly server: string;
  readonly method: string | null;
  readonly tool: string | null;
  readonly metadata: Readonly<Record<string, string>> | null;
}

export interface AdmittedMcpCall {
  /** `x-ratelimit-*`, for the answer. */
  readonly headers: SentHeaders;
  /** Called once, when it is known whether the server was reached. */
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

/** Bodies up to this size are read at once, so that the log knows what was called. Larger ones stream through. */
const READ_BELOW = 256 << 10;
export const CREDENTIAL_HEADERS = ['x-gateway-api-key', 'authorization', 'x-api-key', 'x-goog-api-key'];

/** What is known of a call when it goes to the server. */
export interface McpCall {
  readonly server: McpServer;
  readonly caller: Caller;
  readonly look: MessageLook;
  readonly isStateless: boolean;
}

/** The life of one MCP call, in the order things happen. Bytes pass both ways as they are. */
export async function relayMcp(call: Call, deps: McpRelayDeps): Promise<Response> {
  const { headers, request, log } = call;
  const slug = call.params.server!;
  log.provider = 'mcp';
  const server = await deps.servers.find(slug);
  const caller = await knock(slug, server, headers, deps);
  const found = server!;
  call.identify(caller);
  log.virtualKey = found.slug;
  const body = await openMessage(request, headers);
  const look = lookAt(body && !body.rest ? body.head : null, headers);
  log.model = look.method === 'tools/call' ? (look.name ?? look.method) : look.method;
  log.metadata = metadataOf(call, found, caller, look);

  const stateless = isStateless(headerOf(headers, 'mcp-protocol-version'));
  const sealed = stateless ? null : headerOf(headers, 'mcp-session-id');
  const sessionId = sealed === null ? null : deps.sessions.open(found, caller, sealed);
  const admitted = await deps.limits.admit({
    principal: caller.principal,
    organisationId: caller.organisationId,
    workspaceId: caller.workspaceId,
    server: found.slug,
    method: look.method,
    tool: look.method === 'tools/call' ? look.name : null,
    metadata: log.metadata,
  });
  let isSent = false;
  try {
    const identity = await identityHeader(found, caller, deps.identityTokens);
    const authorization = await deps.upstreamAuth.authorizationFor(found);
    const outgoing = outgoingHeaders(found, headers, { authorization, identity, sessionId });
    isSent = true;
    const incoming = await send(call, { found, body, look, outgoing }, deps);
    return await answerOf({ server: found, caller, look, isStateless: stateless }, call, incoming, {
      notes: admitted.headers,
      sessions: deps.sessions,
      upstreamAuth: deps.upstreamAuth,
    });
  } finally {
    admitted.ended({ isSent });
  }
}

/** Whoever does not get in learns where to get a token. */
async function knock(
  slug: string,
  server: McpServer | null,
  headers: SentHeaders,
  deps: McpRelayDeps,
): Promise<Caller> {
  try {
    return await findCaller({ slug, server, headers }, deps);
  } catch (error) {
    const names = server ? [...CREDENTIAL_HEADERS, server.tokenHeader] : CREDENTIAL_HEADERS;
    const hasCredential = names.some((name) => headerOf(headers, name) !== null);
    throw withChallenge(error, slug, deps.publicUrl(), hasCredential);
  }
}

async function openMessage(request: Request, headers: SentHeaders): Promise<Opening | null> {
  if (request.method !== 'POST') return null;
  const length = headers['content-length'];
  if (length !== undefined && Number(length) <= READ_BELOW) return { head: await readWhole(request), rest: null };
  return request.body ? { head: new Uint8Array(), rest: request.body as ReadableStream<Uint8Array> } : null;
}
