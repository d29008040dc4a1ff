import { LARGE_BODY } from '../core/runtime/gc-headroom.ts';
import { InGroups } from '../core/runtime/in-groups.ts';

/** How long a connection may wait for its next request. Longer than proxies do, so that it is not we who hang up. */
const IDLE_SECONDS = 240;
/** How long a client that was answered before the end of its body may go on sending. Long enough to read the answer. */
const LINGER_SECONDS = 8;

/** The connection of a request, as far as the code that answers has a say in it. */
export interface Connection {
  /** The request is over: its last byte is on the way, or it has been cut. */
  ended(request: Request, body: 'whole' | 'unread'): void;
}

export interface Server {
  readonly port: number;
  readonly url: string;
  /** Requests under way. */
  readonly open: number;
  /** Takes no new connection, lets open requests finish until the limit, then cuts the rest. */
  stop(limitMs: number): Promise<{ cut: number }>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Whether other processes of ours listen on the same port; the kernel then deals connections out among them. */
  readonly isShared?: boolean;
  readonly answer: (request: Request, clientAddress: string, connection: Connection) => Promise<Response>;
  /** How long a connection may wait for its next request. */
  readonly idleSeconds?: number;
  /** What a client gets that still asks while the process stops. */
  readonly refuse: () => Response;
}

interface Arrived {
  readonly request: Request;
  readonly address: string;
  readonly resolve: (response: Response) => void;
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
export const silent: Server = { port: 0, url: '', open: 0, stop: async () => ({ cut: 0 }) };

export function listen(options: ListenOptions): Server {
  const { host, port, isShared = false, answer, idleSeconds = IDLE_SECONDS, refuse } = options;
  let isStopping = false;
  const arrived = new InGroups<Arrived>(({ request, address, resolve, reject }) => {
    // Resolving one promise with the other would take two more turns of the queue.
    answer(request, address, connection).then(resolve, reject);
  });
  const connection: Connection = {
    ended: (request, body) =>
      server.timeout(request, body === 'whole' ? idleSeconds : Math.min(idleSeconds, LINGER_SECONDS)),
  };
  const server: Bun.Server<undefined> = naming(host, port, () =>
    Bun.serve({
      hostname: host,
      port,
      reusePort: isShared,
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
        // A large body is looked at and sent on while it is in the processor's caches: it would push the others out.
        if (Number(request.headers.get('content-length')) >= LARGE_BODY) return answer(request, address, connection);
        return new Promise((resolve, reject) => {
          arrived.add({ request, address, resolve, reject });
        });
      },
    }),
  );
  return {
    get open() {
      return server.pendingRequests;
    },
    port: server.port ?? port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    stop: async (limitMs) => {
      isStopping = true;
      const closed = server.stop(false);
      const deadline = Date.now() + limitMs;
      // Counts a request until the kernel has its last byte: a slow client may still be reading an answer that is made.
      while (server.pendingRequests > 0 && Date.now() < deadline) await Bun.sleep(20);
      const cut = server.pendingRequests;
      await Promise.race([server.stop(true), Bun.sleep(1_000)]);
      closed.catch(() => {});
      return { cut };
    },
  };
}
