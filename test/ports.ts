import { createServer } from 'node:net';

/** Below those that Linux gives to connections and to servers that ask for any. */
const [LOWEST, HIGHEST] = [20_000, 32_000];

/**
 * A port for a server that goes away and comes back, or that is told it before it begins to listen: any other port may be
 * that of a connection by then.
 */
export async function keptPort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
