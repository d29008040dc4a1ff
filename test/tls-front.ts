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
      close: (client) => void client.data.upstream.then((socket) => socket.end()),
    },
  });
  return { url: `https://127.0.0.1:${listener.port}`, stop: () => listener.stop(true) };
}
