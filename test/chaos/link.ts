import { createConnection, createServer, type Socket } from 'node:net';

/** How a connection dies: the other side says no at once, or says nothing any more. */
export type Cut = 'reset' | 'blackhole';

/** The wire between one node and one server, which can be cut, healed and made slow. */
export interface Link {
  /** Where the node finds the server. */
  readonly port: number;
  cut(how: Cut): void;
  /** What a black hole has swallowed arrives now, as after a network that came back. */
  restore(): void;
  /** Everything takes that much longer, in each direction. */
  delay(ms: number): void;
  close(): void;
}

interface Delivery {
  readonly dueAt: number;
  readonly carryOut: () => void;
}

export async function openLink(targetPort: number): Promise<Link> {
  const sockets = new Set<Socket>();
  let state: Cut | 'whole' = 'whole';
  let delayMs = 0;
  let queue: Delivery[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;

  /** In the order in which things were sent, also while the delay changes. */
  const pump = () => {
    clearTimeout(timer);
    if (state !== 'whole') return;
    while (queue.length > 0 && queue[0]!.dueAt <= performance.now()) queue.shift()!.carryOut();
    if (queue.length > 0) timer = setTimeout(pump, Math.max(1, queue[0]!.dueAt - performance.now()));
  };
  const deliver = (carryOut: () => void) => {
    queue.push({ dueAt: performance.now() + delayMs, carryOut });
    pump();
  };
  const carry = (from: Socket, to: Socket) => {
    sockets.add(from);
    from.on('data', (bytes) => deliver(() => to.write(bytes)));
    from.on('error', () => {});
    // Also the end of a connection gets lost in a black hole: a server keeps the transactions of those it cannot hear.
    from.on('close', () => {
      sockets.delete(from);
      deliver(() => to.destroy());
    });
  };
  const server = createServer((client) => {
    if (state === 'reset') return void client.on('error', () => {}).resetAndDestroy();
    const upstream = createConnection({ port: targetPort, host: '127.0.0.1' });
    carry(client, upstream);
    carry(upstream, client);
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
  const resetAll = () => {
    queue = [];
    for (const socket of sockets) socket.resetAndDestroy();
  };

  return {
    port,
    cut: (how) => {
      state = how;
      if (how === 'reset') resetAll();
    },
    restore: () => {
      state = 'whole';
      pump();
    },
    delay: (ms) => {
      delayMs = ms;
    },
    close: () => {
      state = 'reset';
      clearTimeout(timer);
      resetAll();
      server.close();
    },
  };
}
