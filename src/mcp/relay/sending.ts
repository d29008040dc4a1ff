import type { OutgoingTrace } from '../../core/call-log.ts';
import { fail } from '../../core/errors.ts';
import type { AnonymousCall } from '../../http/route.ts';
import type { Incoming, Timeouts } from '../../http/upstream.ts';
import { closeBody } from '../../relay/body.ts';
import type { Body, Opening } from '../../relay/call.ts';
import { isRepeatable } from '../message/look.ts';
import { withTrace } from '../message/trace-meta.ts';
import type { McpCall } from './call.ts';
import type { ServerTransport } from './server-transport.ts';
import type { UpstreamAuth } from './upstream-auth.ts';

export interface Sending {
  readonly mcp: McpCall;
  readonly body: Opening | null;
  readonly authorization: string | null;
  /** The headers of the request, with that value of Authorization. */
  readonly headersWith: (authorization: string | null) => Headers;
}

export interface SendingDeps {
  readonly transport: Pick<ServerTransport, 'send'>;
  readonly upstreamAuth: UpstreamAuth;
  readonly timeouts: Timeouts;
  readonly maxBodyBytes: number;
}

/** Sends a call; once more with a new token where the first was refused: what a server refuses it has not carried out. */
export async function send(call: AnonymousCall, sending: Sending, deps: SendingDeps): Promise<Incoming> {
  const { mcp, body: opening, authorization, headersWith } = sending;
  call.log.aims(TARGET);
  const capture = opening && call.log.captureRequest();
  const body: Body = await closeBody(opening, {
    maxBytes: deps.maxBodyBytes,
    // There, messages are told apart by what they say.
    whole: mcp.server.speaksSse || mcp.server.api !== null || mcp.server.program !== null,
    tap: (piece) => capture?.add(piece),
  });
  const first = await sendOnce(call, { mcp, body, headers: headersWith(authorization) }, deps);
  if (first.status !== 401) return first;
  try {
    const renewed = await deps.upstreamAuth.renewed(mcp.server, mcp.caller, authorization);
    if (renewed === null) return first;
    first.cancel();
    // What has streamed through is gone.
    if (body instanceof ReadableStream)
      return fail(
        'mcp_upstream_oauth_failed',
        mcp.server.slug,
        'it was out of date and is renewed now; send this again',
      );
    return await sendOnce(call, { mcp, body, headers: headersWith(renewed) }, deps);
  } catch (error) {
    first.cancel();
    throw error;
  }
}

/** Where the one target stands of a call that no config routes. */
const TARGET = 'config';

interface Attempt {
  readonly mcp: McpCall;
  readonly body: Body;
  readonly headers: Headers;
}

async function sendOnce(
  { request, headers: sent, log }: AnonymousCall,
  { mcp, body, headers }: Attempt,
  deps: SendingDeps,
): Promise<Incoming> {
  log.asks(mcp.server.url, null);
  const trace = log.outgoingTrace();
  if (trace) writeTrace(headers, trace);
  const declared = sent['content-length'];
  if (body instanceof ReadableStream && declared !== undefined) headers.set('content-length', declared);
  const { connectMs, firstByteMs } = deps.timeouts;
  const incoming = await deps.transport.send(mcp.server, {
    method: request.method,
    caller: mcp.caller.id,
    url: mcp.server.url,
    headers,
    body: trace && body instanceof Uint8Array ? withTrace(body, trace) : body,
    signal: request.signal,
    // A stream may be silent for as long as it likes, and one that is opened by GET before its first byte, too.
    timeouts: { connectMs, firstByteMs: request.method === 'GET' ? 0 : firstByteMs, idleMs: 0, totalMs: 0 },
    resend: request.method !== 'POST' || isRepeatable(mcp.look),
  });
  log.answered(incoming.status, incoming.connectMs ?? null);
  return incoming;
}

/** The server learns the span of its own request, by the header and in the message. */
function writeTrace(headers: Headers, { traceparent, tracestate }: OutgoingTrace): void {
  headers.set('traceparent', traceparent);
  if (tracestate === null) headers.delete('tracestate');
  else headers.set('tracestate', tracestate);
}
