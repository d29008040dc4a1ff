import type { ProgramSettings } from '../../core/allowed-programs.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { fail } from '../../core/errors.ts';
import type { Incoming, Outgoing, Upstream } from '../../http/upstream.ts';
import { envelopeOf } from '../message/look.ts';
import type { RpcId } from '../message/rpc-error.ts';
import type { McpServer } from '../server/server.ts';
import { createApiServer } from './api-server.ts';
import type { MessageQueue } from './message-queue.ts';
import { createProgramServers } from './program-servers.ts';
import { NoStream, openConnection, type SseConnection } from './sse-connection.ts';

/** A request to a server. The session it is of stands in its headers. */
interface ToServer extends Outgoing {
  readonly headers: Headers;
  /** Tells callers apart. */
  readonly caller: string;
}

/** How servers are reached, whichever transport they speak: as if all of them spoke Streamable HTTP. */
export interface ServerTransport {
  send(server: TransportedServer, outgoing: ToServer): Promise<Incoming>;
  /** Ends what runs for servers that are gone or have changed. */
  review(find: (id: string) => Promise<McpServer | null>): Promise<void>;
  close(): Promise<void>;
}
type TransportedServer = Pick<
  McpServer,
  'id' | 'slug' | 'name' | 'url' | 'authType' | 'version' | 'speaksSse' | 'api' | 'program' | 'identity' | 'startMs'
>;

export interface ServerTransportDeps {
  readonly upstream: Upstream;
  readonly version: string;
  readonly programs: ProgramSettings;
}

const MOST_OPEN = 2_000;
const MOST_ENDED = 10_000;
const IDLE_MS = 10 * 60_000;

interface Kept {
  readonly found: Promise<SseConnection>;
  readonly timer: NodeJS.Timeout;
}

/**
 * Servers of 2024-11-05 have a stream on which all their messages come, and an address for those of the client. Each
 * session of a client has such a stream. One that this node does not know, because another node began it or the server
 * has ended its stream, gets a new one here, so that any node serves it.
 */
export function createServerTransport({ upstream, version, programs }: ServerTransportDeps): ServerTransport {
  const answerForApi = createApiServer({ upstream, version });
  const programServers = createProgramServers({ programs, version });
  const open = new Map<string, Kept>();
  const ended = new BoundedMap<string, true>(MOST_ENDED);
  const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'gateway', version } };

  const drop = (key: string) => {
    const kept = open.get(key);
    open.delete(key);
    clearTimeout(kept?.timer);
    kept?.found.then((connection) => connection.close()).catch(() => {});
  };
  const keep = (key: string, found: Promise<SseConnection>): Promise<SseConnection> => {
    const [oldest] = open.keys();
    if (open.size >= MOST_OPEN && oldest !== undefined) drop(oldest);
    let ready: SseConnection | null = null;
    const timer = setTimeout(() => (ready?.isBusy ? timer.refresh() : drop(key)), IDLE_MS);
    timer.unref();
    open.set(key, { found, timer });
    const forget = () => open.get(key)?.found === found && drop(key);
    found.then((connection) => {
      ready = connection;
      return connection.ended.then(forget);
    }, forget);
    return found;
  };

  const post = async (connection: SseConnection, request: ToServer, message: object, server: TransportedServer) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
    const { signal: _, ...rest } = request;
    const sent = await upstream.send({ ...rest, ...postTo(connection, request), body });
    sent.cancel();
    if (sent.status >= 300) fail('mcp_upstream_failed', server.slug, sent.status);
  };
  /** A stream on which the server has been greeted in the place of a client. */
  const greeted = async (server: TransportedServer, request: ToServer): Promise<SseConnection> => {
    const connection = await openConnection(upstream, { ...request, slug: server.slug });
    try {
      const id = `gateway-${crypto.randomUUID()}`;
      const answer = connection.expect(id);
      await post(connection, request, { id, method: 'initialize', params: hello }, server);
      while ((await answer.next()) !== null);
      await post(connection, request, { method: 'notifications/initialized' }, server);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  };
  const connectionOf = (key: string, server: TransportedServer, request: ToServer): Promise<SseConnection> => {
    const kept = open.get(key);
    if (!kept) return keep(key, greeted(server, request));
    kept.timer.refresh();
    // The youngest is the last to make room.
    open.delete(key);
    open.set(key, kept);
    return kept.found;
  };

  /** The server's answer to a message, with what it says until then. */
  const exchange = async (connection: SseConnection, request: ToServer, id: RpcId): Promise<Incoming> => {
    const queue = id === null ? null : connection.expect(id);
    try {
      const sent = await upstream.send({ ...request, ...postTo(connection, request) });
      if (sent.status >= 300) {
        queue?.cancel();
        return sent;
      }
      sent.cancel();
    } catch (error) {
      queue?.cancel();
      throw error;
    }
    if (!queue) return answered(202);
    request.signal?.addEventListener('abort', () => queue.cancel(), { once: true });
    return streamed(queue);
  };

  const begin = async (server: TransportedServer, request: ToServer, id: RpcId): Promise<Incoming> => {
    const sessionId = crypto.randomUUID();
    const key = keyOf(server, sessionId);
    const connection = await keep(key, openConnection(upstream, { ...request, slug: server.slug }));
    const incoming = await exchange(connection, request, id).catch((error) => {
      drop(key);
      throw error;
    });
    if (incoming.status === 200) incoming.headers.set('mcp-session-id', sessionId);
    else drop(key);
    return incoming;
  };
  const sendOld = async (server: TransportedServer, request: ToServer): Promise<Incoming> => {
    const sessionId = request.headers.get('mcp-session-id');
    const key = sessionId === null ? null : keyOf(server, sessionId);
    if (key !== null && ended.has(key)) return answered(404);
    if (request.method === 'DELETE') {
      if (key !== null) drop(key);
      if (key !== null) ended.set(key, true);
      return answered(204);
    }
    if (request.method === 'GET') {
      if (key === null) return answered(405);
      const queue = (await connectionOf(key, server, request)).listen();
      request.signal?.addEventListener('abort', () => queue.cancel(), { once: true });
      return streamed(queue);
    }
    const envelope = request.body instanceof Uint8Array ? envelopeOf(request.body) : null;
    if (!envelope) return fail('mcp_message_refused', 'its server takes one message of JSON-RPC at a time');
    const { id, method } = envelope;
    if (method === 'initialize') return begin(server, request, id);
    if (key !== null) return exchange(await connectionOf(key, server, request), request, id);
    const connection = await greeted(server, request);
    const incoming = await exchange(connection, request, id).catch((error) => {
      connection.close();
      throw error;
    });
    return closing(incoming, connection);
  };

  return {
    send: async (server, outgoing) => {
      if (server.program) return programServers.send(server, outgoing, outgoing.caller);
      if (server.api) return answerForApi(server, server.api, outgoing);
      if (!server.speaksSse) return upstream.send(outgoing);
      try {
        return await sendOld(server, outgoing);
      } catch (error) {
        if (error instanceof NoStream) return error.incoming;
        throw error;
      }
    },
    review: programServers.review,
    close: async () => {
      for (const key of [...open.keys()]) drop(key);
      await programServers.close();
    },
  };
}

const keyOf = ({ id, version }: TransportedServer, sessionId: string) => `${id} ${version} ${sessionId}`;

/** Sent once, never again: a server carries out a message before it says so. */
function postTo({ endpoint }: SseConnection, request: ToServer) {
  const headers = new Headers(request.headers);
  headers.delete('mcp-session-id');
  return { method: 'POST', url: endpoint, headers, resend: false } as const;
}

const answered = (status: number): Incoming => ({
  status,
  statusText: '',
  headers: new Headers({ 'content-length': '0' }),
  read: async () => null,
  bytes: async () => new Uint8Array(),
  cancel: () => {},
});

const streamed = (queue: MessageQueue): Incoming => ({
  status: 200,
  statusText: 'OK',
  headers: new Headers({ 'content-type': 'text/event-stream' }),
  read: () => queue.next(),
  bytes: () => Promise.reject(new Error('a stream of events is read piece by piece')),
  cancel: () => queue.cancel(),
});

/** A stream for one answer goes with it. */
function closing(incoming: Incoming, connection: SseConnection): Incoming {
  const read = async () => {
    try {
      const piece = await incoming.read();
      if (piece === null) connection.close();
      return piece;
    } catch (error) {
      connection.close();
      throw error;
    }
  };
  const cancel = () => {
    incoming.cancel();
    connection.close();
  };
  if (incoming.headers.get('content-type') === 'text/event-stream') return { ...incoming, read, cancel };
  // Nothing comes after it.
  connection.close();
  return incoming;
}
