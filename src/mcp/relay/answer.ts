import { fail } from '../../core/errors.ts';
import { FOREIGN_HEADERS } from '../../http/foreign.ts';
import type { SentHeaders } from '../../http/headers.ts';
import type { AnonymousCall } from '../../http/route.ts';
import { type Incoming, receivedHeaders } from '../../http/upstream.ts';
import { metadataUrl } from '../caller/challenge.ts';
import { errorIn, failedBy } from '../message/rpc-outcome.ts';
import type { McpCall } from './call.ts';
import type { OpenStreams } from './open-streams.ts';
import type { PolicedCall } from './policy-port.ts';
import { rejectionHeaders } from './rejection.ts';
import type { KnownSession, Sessions } from './sessions.ts';
import { answerStream } from './stream.ts';
import type { UpstreamAuth } from './upstream-auth.ts';

export interface AnswerDeps {
  /** What the gateway adds of its own. */
  readonly notes: SentHeaders;
  readonly sessions: Sessions;
  /** In which the client asked; null: in none. */
  readonly session: KnownSession | null;
  readonly publicUrl: () => string;
  readonly upstreamAuth: UpstreamAuth;
  readonly openStreams: OpenStreams;
  /** Null: everything may be seen. */
  readonly policed: Pick<PolicedCall, 'answer'> | null;
  /** Throws when the caller would not be let in any more. */
  readonly again: () => Promise<void>;
}

/** An answer of known size below this is read at once; anything else streams. */
const SMALL_ANSWER = 256 << 10;

/** What a client may learn from the headers of every answer. */
const RETURNED = new Set([
  'allow',
  'cache-control',
  'content-encoding',
  'content-language',
  'content-length',
  'content-type',
  'retry-after',
  'x-request-id',
]);

/** The server's answer as the client gets it: the same status and the same bytes. */
export async function answerOf(
  call: AnonymousCall,
  mcp: McpCall,
  incoming: Incoming,
  deps: AnswerDeps,
): Promise<Response> {
  try {
    refuseUnusable(mcp, incoming, deps.upstreamAuth);
    return await relayed(call, mcp, deps.policed ? await deps.policed.answer(incoming) : incoming, deps);
  } catch (error) {
    incoming.cancel();
    throw error;
  }
}

function refuseUnusable({ server, caller }: McpCall, { status, headers }: Incoming, upstreamAuth: UpstreamAuth) {
  if (status < 200 || status > 599 || (status >= 300 && status < 400))
    fail('upstream_failed', `MCP server ${server.slug}`, `its status ${status} is none that a client could follow`);
  if (status !== 401 && status !== 403) return;
  upstreamAuth.refused(server, caller, { status, challenge: headers.get('www-authenticate') });
  // A client cannot renew what the gateway holds. Where a server judges the user, its answer is the user's (spec 7.3).
  const isOurs = server.authType === 'headers' || server.authType === 'oauth_client_credentials';
  if (isOurs && !server.identity) fail('mcp_upstream_refused', server.slug, status);
}

async function relayed(call: AnonymousCall, mcp: McpCall, incoming: Incoming, deps: AnswerDeps): Promise<Response> {
  const { log } = call;
  const { status } = incoming;
  const received = receivedHeaders(incoming);
  log.isStream = (received['content-type'] ?? '').startsWith('text/event-stream');
  const headers = returnedHeaders(call, mcp, incoming, deps);
  const init = { status, statusText: incoming.statusText, headers };
  if (status === 204 || call.request.method === 'HEAD') {
    await incoming.bytes();
    log.close({ status, failedBy: failedBy(status, null) });
    return new Response(null, init);
  }
  if (Number(received['content-length'] ?? Number.NaN) <= SMALL_ANSWER && !log.isStream) {
    const bytes = await incoming.bytes();
    log.firstByte();
    log.captureResponse().add(bytes);
    const errorCode = status < 400 ? errorIn(bytes) : null;
    log.close({ status, failedBy: failedBy(status, errorCode), errorCode });
    return new Response(bytes as Uint8Array<ArrayBuffer>, init);
  }
  log.closesLater = true;
  const { openStreams, again } = deps;
  const watch = (cut: () => void) => openStreams.watch({ again, cut });
  const isEndless = call.request.method === 'GET' || mcp.look.method === 'subscriptions/listen';
  return new Response(answerStream(log, incoming, { watch, isEndless }), init);
}

function returnedHeaders(call: AnonymousCall, mcp: McpCall, incoming: Incoming, deps: AnswerDeps): Headers {
  const { notes, publicUrl } = deps;
  const received = receivedHeaders(incoming);
  const { status } = incoming;
  const metadata = () => metadataUrl(publicUrl(), call.params.server ?? null);
  const reasons = status < 400 ? {} : rejectionHeaders(mcp.server, received, { status, metadata });
  const returned: Record<string, string> = { ...reasons, ...notes, ...FOREIGN_HEADERS };
  for (const name in received) {
    if (RETURNED.has(name) || (name.startsWith('mcp-') && name !== 'mcp-session-id')) returned[name] = received[name]!;
  }
  const sessionId = received['mcp-session-id'];
  if (sessionId && !mcp.isStateless) returned['mcp-session-id'] = sealedSession(sessionId, mcp, deps);
  for (const name in call.stamp) returned[name] ??= call.stamp[name]!;
  // A key is in a header that caches do not know: what one caller gets must not be kept for the next.
  if (call.request.method === 'GET' && !/\bno-(?:store|cache)\b|\bprivate\b/i.test(returned['cache-control'] ?? ''))
    returned['cache-control'] = 'no-store';
  if (status >= 400) returned['x-gateway-error-origin'] = 'provider';
  if (call.log.isStream) {
    // Proxies on the way must neither hold events back nor pack them.
    returned['cache-control'] = noTransform(returned['cache-control']);
    returned['x-accel-buffering'] = 'no';
  }
  return new Headers(returned);
}

/** A client keeps the id that it got first, and some stop at another one, so the same session has the same seal. */
const sealedSession = (id: string, { server, caller }: McpCall, { session, sessions }: AnswerDeps): string =>
  session?.id === id ? session.sealed : sessions.seal(server, caller, id);

const noTransform = (given: string | undefined): string =>
  !given ? 'no-cache, no-transform' : /\bno-transform\b/i.test(given) ? given : `${given}, no-transform`;
