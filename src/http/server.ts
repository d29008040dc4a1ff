import { LARGE_BODY } from '../core/runtime/gc-headroom.ts';
import { InGroups } from '../core/runtime/in-groups.ts';
import { stayAwakeWhile, stir } from '../core/runtime/seconds.ts';
import type { Certificate } from './own-certificate.ts';
import type { Line, SocketSide, Upgrade } from './socket.ts';

/** How long a connection may wait for its next request. Longer than proxies do, so that it is not we who hang up. */
const IDLE_SECONDS = 240;
/** How long a client that was answered before the end of its body may go on sending. Long enough to read the answer. */
const LINGER_SECONDS = 8;

/** A larger frame ends its connection; those who read frames refuse smaller ones in words. */
const LARGEST_FRAME = 32 << 20;
/** What may wait on a line for a client that does not read. What is sent while something waits is lost beyond it. */
const MOST_WAITING = 1 << 20;
/** After so long a client that says nothing is asked whether it is there, and cut when it does not answer. */
const SILENT_SECONDS = 120;

/** The connection of a request, as far as the code that answers has a say in it. */
export interface Connection {
  /** The request is over: its last byte is on the way, or it has been cut. */
  ended(request: Request, body: 'whole' | 'unread'): void;
  /** Goes on as a WebSocket; the answer to the handshake carries these headers. False: the handshake is none. */
  accept(request: Request, upgrade: Upgrade, headers: Readonly<Record<string, string>>, closed: () => void): boolean;
}

/** What hangs on a WebSocket of Bun's. */
interface Held {
  readonly side: SocketSide;
  readonly closed: () => void;
}

export interface Server {
  readonly port: number;
  readonly url: string;
  /** Requests under way. */
  readonly open: number;
  /** New connections get this certificate; those that are open go on as they are. */
  renew(certificate: Certificate): void;
  /** Takes no new connection, lets open requests finish until the limit, then cuts the rest. */
  stop(limitMs: number): Promise<{ cut: number }>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of ours listen on the same port; the kernel then deals connections out among them. */
  readonly isShared?: boolean;
  /** Null: plain HTTP. */
  readonly certificate?: Certificate | null;
  /** Undefined: the request went on as a WebSocket. */
  readonly answer: (request: Request, clientAddress: string, connection: Connection) => Promise<Response | undefined>;
  /** How long a connection may wait for its next request. */
  readonly idleSeconds?: number;
  /** What a client gets that still asks while the process stops. */
  readonly refuse: () => Response;
}

interface Arrived {
  readonly request: Request;
  readonly address: string;
  readonly resolve: (response: Response | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Bun's own errors name neither variable. */
function naming<Result>(host: string, port: number, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') {
      throw new Error(`PORT ${port} on HOST ${host} is taken by another process; give a free one.`);
    }
    throw new Error(
      `HOST ${host} and PORT ${port} cannot be listened on (${message}); give an address of this machine.`,
    );
  }
}

/** Throws when the address could not be listened on at this moment. Answers the port: for 0, one that is free. */
export async function tryAddress(host: string, port: number): Promise<number> {
  const server = naming(host, port, () => Bun.serve({ hostname: host, port, fetch: () => new Response() }));
  const { port: given = port } = server;
  await server.stop(true);
  return given;
}

/** Stands in the place of a server in a process that does not listen. */
export const silent: Server = { port: 0, url: '', open: 0, renew: () => {}, stop: async () => ({ cut: 0 }) };

export function listen(options: ListenOptions): Server {
  const { host, port, isShared = false, certificate = null, answer, idleSeconds = IDLE_SECONDS, refuse } = options;
  let isStopping = false;
  const sides = new Set<SocketSide>();

  const open = (at: number, tls: Certificate | null): Bun.Server<Held> => {
    const arrived = new InGroups<Arrived>(({ request, address, resolve, reject }) => {
      // Resolving one promise with the other would take two more turns of the queue.
      answer(request, address, connection).then(resolve, reject);
    });
    const connection: Connection = {
      ended: (request, body) =>
        bound.timeout(request, body === 'whole' ? idleSeconds : Math.min(idleSeconds, LINGER_SECONDS)),
      accept: (request, { side }, headers, closed) => bound.upgrade(request, { data: { side, closed }, headers }),
    };
    const bound: Bun.Server<Held> = naming(host, at, () =>
      Bun.serve({
        hostname: host,
        port: at,
        // With a certificate, its successor listens beside it for a moment.
        reusePort: isShared || tls !== null,
        ...(tls && { tls: { cert: tls.cert, key: tls.key } }),
        idleTimeout: idleSeconds,
        // Otherwise an unforeseen failure would show a page with our source in it.
        development: false,
        // Each route has its own limit and says so; Bun's would answer without a body.
        maxRequestBodySize: Number.MAX_SAFE_INTEGER,
        fetch(request, bun) {
          if (isStopping) return refuse();
          // A model may think for longer than a connection may idle. Counts until `ended` is called.
          bun.timeout(request, 0);
          const address = bun.requestIP(request)?.address ?? '';
          const waking = stir();
          if (waking) return waking.then(() => answer(request, address, connection));
          // A large body is looked at and sent on while it is in the processor's caches: it would push the others out.
          if (Number(request.headers.get('content-length')) >= LARGE_BODY) return answer(request, address, connection);
          return new Promise((resolve, reject) => {
            arrived.add({ request, address, resolve, reject });
          });
        },
        websocket: {
          data: {} as Held,
          maxPayloadLength: LARGEST_FRAME,
          backpressureLimit: MOST_WAITING,
          idleTimeout: SILENT_SECONDS,
          open(socket) {
            const { side } = socket.data;
            sides.add(side);
            side.opened(lineOf(socket));
            if (isStopping) side.leave();
          },
          message: ({ data }, frame) => data.side.received(frame),
          drain(socket) {
            if (socket.getBufferedAmount() === 0) socket.data.side.drained();
          },
          close({ data }) {
            sides.delete(data.side);
            data.side.closed();
            data.closed();
          },
        },
      }),
    );
    return bound;
  };

  let server = open(port, certificate);
  const bound = server.port ?? port;
  /** Those whose certificate was renewed, until their last connection ends. */
  const retired = new Set<Bun.Server<Held>>();
  const pending = () => [server, ...retired].reduce((sum, each) => sum + each.pendingRequests, 0);
  const fallAsleep = stayAwakeWhile(() => pending() > 0 || sides.size > 0);
  return {
    get open() {
      return pending();
    },
    port: bound,
    url: `${certificate ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    renew: (next) => {
      if (isStopping || !certificate) return;
      const old = server;
      server = open(bound, next);
      retired.add(old);
      old.stop(false).finally(() => retired.delete(old));
    },
    stop: async (limitMs) => {
      isStopping = true;
      fallAsleep();
      const all = [server, ...retired];
      const closed = server.stop(false);
      const deadline = Date.now() + limitMs;
      for (const side of sides) side.leave();
      // Counts a request until the kernel has its last byte: a slow client may still be reading an answer that is made.
      const under = () => all.reduce((sum, each) => sum + each.pendingRequests, 0) + sides.size;
      while (under() > 0 && Date.now() < deadline) await Bun.sleep(20);
      const cut = under();
      await Promise.race([Promise.all(all.map((each) => each.stop(true))), Bun.sleep(1_000)]);
      closed.catch(() => {});
      return { cut };
    },
  };
}

const lineOf = (socket: Bun.ServerWebSocket<Held>): Line => ({
  send: (message) => {
    const taken = typeof message === 'string' ? socket.sendText(message) : socket.sendBinary(message);
    return taken > 0 ? 'sent' : taken < 0 ? 'waits' : 'lost';
  },
  close: (code, reason) => socket.close(code, reason),
  cut: () => socket.terminate(),
});
