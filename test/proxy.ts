import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';

interface ProxyOptions {
  /** `user:password`. Without it every client is served. */
  readonly credentials?: string;
  /** Null: the proxy speaks plain HTTP. */
  readonly certificate?: { readonly key: string; readonly cert: string } | null;
  /** What is answered instead of a connection: a status, or `silence`. */
  readonly refusal?: number | 'silence';
  /** To which port of this machine a `host:port` leads. Default: the same. */
  readonly lead?: (target: string) => number;
}

export interface TestProxy {
  readonly port: number;
  /** What it was asked to connect to, `host:port`, in order. */
  readonly asked: string[];
  /** Heads of requests, as they came. */
  readonly heads: string[];
  /** Tunnels that are open. */
  readonly open: number;
  refusal: number | 'silence' | null;
  stop(): void;
}

/**
 * A real proxy that knows CONNECT and nothing else. Every name leads to this machine, so that a call to a name that does
 * not exist arrives only if it came through here.
 */
export async function startProxy({
  credentials,
  certificate = null,
  refusal,
  lead = (target) => Number(target.slice(target.lastIndexOf(':') + 1)),
}: ProxyOptions = {}): Promise<TestProxy> {
  const asked: string[] = [];
  const heads: string[] = [];
  const sockets = new Set<Socket>();
  let open = 0;
  const proxy = { refusal: refusal ?? null };

  const serve = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    let head = '';
    const read = (bytes: Buffer) => {
      head += bytes.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      socket.off('data', read);
      heads.push(head);
      const target = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1];
      if (!target) return void socket.end('HTTP/1.1 405 Method Not Allowed\r\n\r\n');
      asked.push(target);
      const given = /^proxy-authorization: Basic (\S+)$/im.exec(head)?.[1] ?? '';
      if (credentials && Buffer.from(given, 'base64').toString() !== credentials)
        return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n');
      if (proxy.refusal === 'silence') return;
      if (proxy.refusal !== null) return void socket.end(`HTTP/1.1 ${proxy.refusal} No\r\ncontent-length: 0\r\n\r\n`);
      tunnel(socket, lead(target));
    };
    socket.on('data', read);
  };
  const tunnel = (socket: Socket, port: number) => {
    const server = connect(port, '127.0.0.1', () => {
      open++;
      server.once('close', () => open--);
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      socket.pipe(server);
      server.pipe(socket);
    });
    server.on('error', () => socket.destroy());
    socket.on('close', () => server.destroy());
    server.on('close', () => socket.end());
  };

  const listener: Server = certificate ? createSecureServer({ ...certificate }, serve) : createServer(serve);
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as { port: number };
  return {
    port,
    asked,
    heads,
    get open() {
      return open;
    },
    get refusal() {
      return proxy.refusal;
    },
    set refusal(next) {
      proxy.refusal = next;
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}
