import { fail, GatewayError } from '../../core/errors.ts';
import type { Principal } from '../../core/principal.ts';
import { arrivingBody } from '../../http/arriving.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';
import { readBytes } from '../../http/input.ts';
import { json } from '../../http/reply.ts';
import type { AnonymousCall, AnonymousCallAt } from '../../http/route.ts';
import type { Opening } from '../../relay/call.ts';
import { type CallerDeps, callerInside, checkAgain, findCaller, loggedAs } from '../caller/caller.ts';
import { withChallenge } from '../caller/challenge.ts';
import { identityHeader } from '../caller/identity.ts';
import type { IdentityTokens } from '../caller/identity-tokens.ts';
import { lookAt, type MessageLook } from '../message/look.ts';
import { traceIn } from '../message/trace-meta.ts';
import { isStateless } from '../message/versions.ts';
import { outgoingHeaders } from '../server/outgoing-headers.ts';
import type { McpServers } from '../server/registry.ts';
import { endpointOf } from '../server/shown.ts';
import { connectionAnswer } from '../upstream-oauth/connect-prompt.ts';
import { answerOf } from './answer.ts';
import type { AdmittedCaller, McpCall } from './call.ts';
import { noteCall } from './call-note.ts';
import type { LimitedMcpCall, McpLimits } from './limits-port.ts';
import type { OpenStreams } from './open-streams.ts';
import type { McpPolicy } from './policy-port.ts';
import { hasSession, isOfRequest, toldFailure, withoutStatus } from './refusal.ts';
import { type SendingDeps, send } from './sending.ts';
import type { KnownSession, Sessions } from './sessions.ts';
import { UNCONNECTED, unconnectedAnswer } from './unconnected.ts';

export interface McpRelayDeps extends CallerDeps, SendingDeps {
  readonly servers: Pick<McpServers, 'find'>;
  readonly sessions: Sessions;
  /** Null: there is no key to sign with. */
  readonly identityTokens: IdentityTokens | null;
  readonly publicUrl: () => string;
  readonly limits: McpLimits;
  readonly policy: McpPolicy;
  readonly openStreams: OpenStreams;
  readonly version: string;
}

/** Bodies up to this size are read at once, so that it is known what is called. Larger ones stream through. */
const READ_BELOW = 256 << 10;
const CREDENTIAL_HEADERS = ['x-gateway-api-key', 'authorization', 'x-api-key', 'x-goog-api-key'];

/**
 * A call of the server that its path names. Once it is let in, what becomes of it is told in a message of JSON-RPC. `who` is
 * known where the gateway itself makes the call, for a caller of another API.
 */
export async function relayMcp(
  call: AnonymousCallAt<'server'>,
  deps: McpRelayDeps,
  who: Principal | null = null,
): Promise<Response> {
  call.log.provider = 'mcp';
  const isInside = who !== null && !CREDENTIAL_HEADERS.some((name) => headerOf(call.headers, name) !== null);
  const admitted = isInside ? await letInside(call, who, deps) : await letIn(call, deps);
  const heard: Heard = { body: null };
  const { headers } = call;
  if (isOldTransport(call)) throw new GatewayError('mcp_transport_unsupported', [], { allow: 'POST, GET, DELETE' });
  try {
    const response = await relayTo(call, admitted, deps, heard);
    if (response.status < 400) return response;
    const { body } = heard;
    return await withoutStatus(response, { body, isKeptAlive: hasSession(headers, body) }, admitted.server.slug);
  } catch (error) {
    const { body } = heard;
    return toldFailure(call, error, { body, isOfRequest, isKeptAlive: hasSession(headers, body) });
  }
}

/** A client of 2024-11-05 begins with a stream, and waits on it to be told where to send its messages. */
export const isOldTransport = ({ request, headers }: AnonymousCall): boolean =>
  request.method === 'GET' &&
  headerOf(headers, 'accept') === 'text/event-stream' &&
  headerOf(headers, 'mcp-session-id') === null &&
  headerOf(headers, 'mcp-protocol-version') === null;

/** What was read of a call, for the case that it fails. */
export interface Heard {
  body: Uint8Array | null;
}

/**
 * The life of one MCP call, in the order things happen, however its server was found. Bytes pass both ways as they are.
 */
export async function relayTo(
  call: AnonymousCall,
  { server, caller, again }: AdmittedCaller,
  deps: McpRelayDeps,
  heard?: Heard,
): Promise<Response> {
  const { headers, log } = call;
  call.identify(loggedAs(caller));
  if (call.search !== '') fail('invalid_request', 'query', 'an MCP endpoint takes none; leave it out');

  const isCounted = await deps.limits.counts({ principal: caller.principal, server });
  const policed = await deps.policy.open({ server, caller, method: call.request.method, headers, isCounted, log });
  const body = await openMessage(call, deps.maxBodyBytes, policed?.mostBytes);
  const seen = body && !body.rest ? body.head : null;
  if (heard) heard.body = seen;
  const look = lookAt(seen, headers);
  const mcp: McpCall = { server, caller, look, isStateless: isStateless(headerOf(headers, 'mcp-protocol-version')) };
  noteCall(call, mcp, seen);
  const told = seen && log.callTrace() ? traceIn(seen) : null;
  if (told) log.continuesTrace(told);
  const counted = policed?.read(seen) ?? look;
  const session = sessionOf(headers, mcp, deps.sessions);
  const admitted = await deps.limits.admit(limited(mcp, counted, log.metadata));
  let isSent = false;
  try {
    const passed = policed ? await policed.admit() : { body: null, headers };
    const identity = await identityHeader(server, caller, deps.identityTokens);
    const authorization = await deps.upstreamAuth.authorizationFor(server, caller);
    if (session?.id === UNCONNECTED) fail('mcp_session_not_found');
    const headersWith = (value: string | null) =>
      outgoingHeaders(server, passed.headers, { authorization: value, identity, sessionId: session?.id ?? null });
    isSent = true;
    const message = passed.body ? { head: passed.body, rest: null } : body;
    const incoming = await send(call, { mcp, body: message, authorization, headersWith }, deps);
    return await answerOf(call, mcp, incoming, {
      ...deps,
      notes: admitted.headers,
      session,
      policed,
      again: () => checkOpen({ server, caller, again }, deps),
    });
  } catch (error) {
    const { method } = call.request;
    const welcome = heard ? unconnectedAnswer(error, mcp, { method, body: seen }, deps) : null;
    if (welcome) return welcome;
    const answer = connectionAnswer(error, { body: seen, headers });
    if (!answer) throw error;
    log.close({ status: 200, failedBy: 'gateway', errorCode: 'mcp_connection_required' });
    return json(answer);
  } finally {
    admitted.ended({ isSent });
  }
}

/** Throws when what lets a caller use a server has gone since. */
async function checkOpen({ server, caller, again }: AdmittedCaller, { servers, policy }: McpRelayDeps): Promise<void> {
  await again();
  const current = await servers.find(server.slug);
  if (current?.id !== server.id) fail('mcp_server_not_found', server.slug);
  if (!(await policy.isOpen(server, caller))) fail('mcp_access_denied', server.slug);
}

async function letInside(call: AnonymousCallAt<'server'>, who: Principal, deps: McpRelayDeps): Promise<AdmittedCaller> {
  const slug = call.params.server;
  const server = (await deps.servers.find(slug)) ?? fail('mcp_server_not_found', slug);
  return { server, caller: await callerInside(who, server, deps), again: async () => {} };
}

/** A caller that does not get in learns where to get a token. */
async function letIn(call: AnonymousCallAt<'server'>, deps: McpRelayDeps): Promise<AdmittedCaller> {
  const { headers } = call;
  const slug = call.params.server;
  const server = await deps.servers.find(slug);
  try {
    const caller = await findCaller({ slug, server, headers }, deps);
    const resource = endpointOf(deps.publicUrl(), slug);
    return {
      server: server ?? fail('mcp_server_not_found', slug),
      caller,
      again: () => checkAgain({ server, headers, resource, caller }, deps),
    };
  } catch (error) {
    const names = server ? [...CREDENTIAL_HEADERS, server.tokenHeader] : CREDENTIAL_HEADERS;
    const hasCredential = names.some((name) => headerOf(headers, name) !== null);
    throw withChallenge(error, { slug, publicUrl: deps.publicUrl(), hasCredential });
  }
}

/** A message that a policy reads is read whole. */
async function openMessage(
  { request, headers }: AnonymousCall,
  maxBodyBytes: number,
  read?: number,
): Promise<Opening | null> {
  if (request.method !== 'POST') return null;
  if (read !== undefined) return { head: await readBytes(request, Math.min(read, maxBodyBytes)), rest: null };
  const declared = Number(headers['content-length'] ?? Number.NaN);
  if (declared > maxBodyBytes) fail('body_too_large', maxBodyBytes);
  if (declared <= READ_BELOW) return { head: await readBytes(request, READ_BELOW), rest: null };
  const rest = arrivingBody(request);
  return rest && { head: new Uint8Array(), rest };
}

/** A client of a stateless version has no session, whatever it sends. */
function sessionOf(
  headers: SentHeaders,
  { server, caller, isStateless }: McpCall,
  sessions: Sessions,
): KnownSession | null {
  const sealed = isStateless ? null : headerOf(headers, 'mcp-session-id');
  return sealed === null ? null : { sealed, id: sessions.open(server, caller, sealed) };
}

const limited = (
  { server, caller }: McpCall,
  { method, name }: MessageLook,
  metadata: LimitedMcpCall['metadata'],
): LimitedMcpCall => ({
  principal: caller.principal,
  server,
  method,
  tool: method === 'tools/call' ? name : null,
  metadata,
});
