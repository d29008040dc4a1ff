import type { Callers } from '../auth/callers.ts';
import { fail, GatewayError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type SentHeaders, sentHeaders } from '../http/headers.ts';
import { type Call, type Route, socket } from '../http/route.ts';
import type { Connection } from '../http/server.ts';
import { ResponsesConnection } from './connection.ts';
import { ConnectionMemory, type Memories } from './memory.ts';
import type { OpenSockets } from './open-sockets.ts';

export interface LiveDeps {
  /** The way of every request. */
  readonly answer: () => (request: Request, address: string, connection: Connection) => Promise<Response | undefined>;
  readonly callers: Pick<Callers, 'identify'>;
  readonly open: OpenSockets;
  readonly memories: Memories;
  readonly lifeMs: number;
  readonly idleMs: number;
  readonly now: () => number;
  readonly report: (requestId: string, error: unknown) => void;
}

const NEEDED = 'completions.write';
const UNAUTHENTICATED = 401;
const TRACE_ID = 'x-gateway-trace-id';
/** What the handshake says of itself, and what the body of a turn says anew. */
const OF_THE_HANDSHAKE = /^(?:connection|upgrade|sec-websocket-.*|content-.*|transfer-encoding|te|expect|set-cookie)$/;
/** The token by which clients ask for this very thing. */
const ASKS_FOR_SOCKETS = /^responses_websockets=/;

/** A turn has no connection of its own. */
const NO_CONNECTION: Connection = { ended: () => {}, accept: () => false };

/** The Responses API over WebSocket: each `response.create` is a call of `POST /v1/responses`, made in the caller's name. */
export const liveSockets = (deps: LiveDeps): Route[] => [
  socket(
    '/v1/responses',
    { scopes: [NEEDED], summary: 'Responses over WebSocket: turn after turn on one connection, on any provider' },
    (call) => openConversation(call, deps),
  ),
];

function openConversation(call: Call, deps: LiveDeps): ResponsesConnection {
  const { open, memories, lifeMs, idleMs, now, report } = deps;
  const { requestId, clientAddress, principal } = call;
  const headers = turnHeaders(sentHeaders(call.request.headers), call.stamp);
  const { url: asked } = call.request;
  const url = asked.startsWith('/') ? `http://gateway.invalid${asked}` : asked;
  const close = open.enter(principal.keyId, () => connection.look());
  const connection = new ResponsesConnection({
    memory: new ConnectionMemory(memories, newId<string>()),
    ask: async (body, signal) => {
      const length = { 'content-type': 'application/json', 'content-length': String(body.byteLength) };
      const turn = new Request(url, {
        method: 'POST',
        headers: { ...headers, ...length },
        body: body as RequestInit['body'],
        signal,
      });
      const response = (await deps.answer()(turn, clientAddress, NO_CONNECTION))!;
      if (response.status === UNAUTHENTICATED) connection.refused(new GatewayError('invalid_api_key', []));
      return response;
    },
    check: async () => {
      const who = await deps.callers.identify(call.headers, { csrf: 'needed' });
      if (!who.scopes.has(NEEDED)) fail('insufficient_scope', NEEDED);
    },
    over: close,
    report: (error) => report(requestId, error),
    clock: () => performance.now(),
    ...{ lifeMs, idleMs, now },
  });
  return connection;
}

/** The headers of each turn: those of the handshake. All turns of a WebSocket are one session, unless the client names one. */
function turnHeaders(sent: SentHeaders, stamp: SentHeaders): SentHeaders {
  const headers: Record<string, string> = {};
  for (const name in sent) if (!OF_THE_HANDSHAKE.test(name)) headers[name] = sent[name]!;
  if (headers.traceparent === undefined) headers[TRACE_ID] ??= stamp[TRACE_ID]!;
  const { 'openai-beta': beta } = headers;
  if (beta !== undefined) {
    const others = beta.split(',').filter((token) => !ASKS_FOR_SOCKETS.test(token.trim()));
    if (others.length > 0) headers['openai-beta'] = others.join(',').trim();
    else delete headers['openai-beta'];
  }
  // The events are read here, so they have to come unpacked.
  return { ...headers, accept: 'text/event-stream', 'accept-encoding': 'identity' };
}
