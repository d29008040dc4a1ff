import { GatewayError } from '../../core/errors.ts';
import { headerOf, type SentHeaders } from '../../http/headers.ts';
import { replyWithError } from '../../http/reply.ts';
import type { AnonymousCall } from '../../http/route.ts';
import { UpstreamFailure } from '../../http/upstream.ts';
import { type Envelope, envelopeOf } from '../message/look.ts';
import { RpcError } from '../message/rpc-error.ts';
import { isOlder } from '../message/versions.ts';

/** To whom a failure is told. */
export interface Listener {
  /** The message that failed; null: there is none, or it was not read. */
  readonly body: Uint8Array | null;
  /** Which statuses say nothing to a client but that this one request has failed. */
  readonly isOfRequest: (status: number) => boolean;
  /** Whether such a status would end the client's session, so that the answer is 200. */
  readonly isKeptAlive: boolean;
}

/** A limit, a guardrail, a server that fails: the session goes on. Others say that a client or its session is not known. */
export const isOfRequest = (status: number): boolean =>
  status === 412 || status === 429 || status === 446 || status >= 500;

/** Of a server's own statuses these lead a client on: to a token, and to a new session. */
const LEADING = new Set([401, 403, 404]);

/** Clients with sessions take any status but 200 and 202 for the end of the session, and some stop altogether. */
export function hasSession(headers: SentHeaders, body: Uint8Array | null): boolean {
  const version = headerOf(headers, 'mcp-protocol-version');
  if (version !== null) return isOlder(version);
  return headerOf(headers, 'mcp-session-id') !== null || (body !== null && envelopeOf(body)?.method === 'initialize');
}

/** A failure as an answer of JSON-RPC, whose code is the status. What is no failure that can be foreseen is thrown on. */
export function toldFailure(call: AnonymousCall, error: unknown, listener: Listener): Response {
  const isServers = error instanceof UpstreamFailure;
  const failure = isServers && error.kind !== 'aborted' ? error.toGatewayError() : error;
  if (!(failure instanceof GatewayError) || call.request.method !== 'POST') throw error;
  const { status, code: errorCode } = failure;
  const envelope = listener.body && envelopeOf(listener.body);
  call.log.close({ status, failedBy: isServers ? 'provider' : 'gateway', errorCode });
  const told = failure instanceof RpcError ? failure : asRpcError(failure, envelope);
  const reply = replyWithError(told, { requestId: call.requestId });
  if (!listener.isKeptAlive || !listener.isOfRequest(status) || !envelope) return reply;
  return underGoodStatus(reply, envelope);
}

const asRpcError = (error: GatewayError, envelope: Envelope | null): RpcError =>
  new RpcError(error, { id: envelope?.id ?? null, code: error.status });

/** What is no request is not answered; it is taken, as far as its sender is to know. */
const underGoodStatus = ({ body, headers }: Response, { id }: Envelope): Response =>
  id === null ? new Response(null, { status: 202, headers: withoutBody(headers) }) : new Response(body, { headers });

/** What speaks of a body, and of a status, that the client does not get. */
const OF_REFUSAL = ['content-type', 'content-length', 'content-encoding', 'www-authenticate'];

const withoutBody = (headers: Headers): Headers => {
  const kept = new Headers(headers);
  for (const name of OF_REFUSAL) kept.delete(name);
  return kept;
};

const MOST_READ = 64 << 10;

/** A server's refusal of one request, for a client whose session it must not end. Other answers are passed as they are. */
export async function withoutStatus(
  response: Response,
  { body, isKeptAlive, isLeading = (status) => LEADING.has(status) }: Passing,
  server: string,
): Promise<Response> {
  const { status } = response;
  if (status < 400 || !isKeptAlive || isLeading(status)) return response;
  const envelope = body && envelopeOf(body);
  if (!envelope) return response;
  const headers = withoutBody(response.headers);
  if (envelope.id === null) {
    await response.body?.cancel();
    return new Response(null, { status: 202, headers });
  }
  const { id } = envelope;
  const error = await errorSaid(response);
  const told = error
    ? { jsonrpc: '2.0', id, error }
    : new RpcError(new GatewayError('mcp_upstream_failed', [server, status]), { id, code: status }).body();
  headers.set('content-type', 'application/json');
  return new Response(JSON.stringify(told), { headers });
}

export interface Passing extends Pick<Listener, 'body' | 'isKeptAlive'> {
  /** Which statuses stay, because clients act on them. */
  readonly isLeading?: (status: number) => boolean;
}

/** The error of JSON-RPC that a refusal holds. */
async function errorSaid(response: Response): Promise<object | null> {
  const isReadable = !response.headers.has('content-encoding') && response.body;
  if (!isReadable) return null;
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += piece.byteLength;
    if (size > MOST_READ) return null;
    pieces.push(piece);
  }
  try {
    const { error } = JSON.parse(Buffer.concat(pieces).toString());
    return typeof error?.code === 'number' && typeof error.message === 'string' ? error : null;
  } catch {
    return null;
  }
}
