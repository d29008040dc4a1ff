import { connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { selfSignedCertificate } from './certificate.ts';

interface Pair {
  readonly upstream: Promise<Bun.Socket<Bun.Socket<Pair>>>;
}

/** A server with a certificate of its own that passes everything on: some clients speak to nothing else. */
export function startTlsFront(url: string) {
  const { hostname, port } = new URL(url);
  const { key, cert } = selfSignedCertificate('localhost');
  const listener = Bun.listen<Pair>({
    hostname: '127.0.0.1',
    port: 0,
    tls: { key, cert },
    socket: {
      open(client) {
        client.data = {
          upstream: Bun.connect<Bun.Socket<Pair>>({
            hostname,
            port: Number(port),
            data: client,
            socket: {
              data: (socket, bytes) => void socket.data.write(bytes),
              close: (socket) => void socket.data.end(),
            },
          }),
        };
      },
      data: (client, bytes) => {
        // The bytes are used again after this call.
        const copy = Buffer.from(bytes);
        void client.data.upstream.then((socket) => socket.write(copy));
      },
      // A client that does not believe the certificate leaves before it was let in.
      close: (client) => void (client.data as Pair | undefined)?.upstream.then((socket) => socket.end()),
    },
  });
  return { url: `https://127.0.0.1:${listener.port}`, authority: cert, stop: () => listener.stop(true) };
}

/**
 * A server that asks for a client certificate and takes those given, and passes the bytes on to a plain one. What came over
 * a connection was sent by the client whose name `seen` has, in the order in which connections were made.
 */
export async function startMutualTlsFront(
  hostName: string,
  clients: readonly string[],
  plainPort: number,
): Promise<{ port: number; authority: string; seen: string[]; refused: string[]; stop(): void }> {
  const own = selfSignedCertificate(hostName);
  const seen: string[] = [];
  const refused: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ ...own, requestCert: true, rejectUnauthorized: true, ca: [...clients] }, (socket) => {
    seen.push(String(socket.getPeerCertificate().subject.CN));
    const plain = connect(plainPort, '127.0.0.1');
    for (const each of [socket, plain]) {
      sockets.add(each);
      each.on('error', () => {});
    }
    socket.pipe(plain);
    plain.pipe(socket);
    socket.on('close', () => plain.destroy());
    plain.on('close', () => socket.end());
  });
  server.on('tlsClientError', (error) => refused.push(error.message));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    authority: own.cert,
    seen,
    refused,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
