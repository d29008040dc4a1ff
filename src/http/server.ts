/** Bun closes a connection that says nothing for this long; requests under way are exempt. */
const IDLE_SECONDS = 240;

export interface Server {
  readonly port: number;
  readonly url: string;
  /** Takes no new connection, lets open requests finish until the limit, then cuts the rest. */
  stop(limitMs: number): Promise<{ cut: number }>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly answer: (request: Request, clientAddress: string) => Promise<Response>;
  /** What a client gets that still asks while the process stops. */
  readonly refuse: () => Response;
  /** Requests whose last byte has not been sent. */
  readonly open: () => number;
}

export function listen({ host, port, answer, refuse, open }: ListenOptions): Server {
  let isStopping = false;
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: IDLE_SECONDS,
    // Each route has its own limit and says so; Bun's would answer without a body.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch(request, bun) {
      if (isStopping) return refuse();
      // A model may think for longer than a connection may idle.
      bun.timeout(request, 0);
      return answer(request, bun.requestIP(request)?.address ?? '');
    },
  });
  return {
    port: server.port ?? port,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    stop: async (limitMs) => {
      isStopping = true;
      const closed = server.stop(false);
      const deadline = Date.now() + limitMs;
      while (open() > 0 && Date.now() < deadline) await Bun.sleep(20);
      const cut = open();
      await Promise.race([server.stop(true), Bun.sleep(1_000)]);
      closed.catch(() => {});
      return { cut };
    },
  };
}
