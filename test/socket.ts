import { connect, createServer, type Server, type Socket } from 'node:net';
import { ADMIN_KEY } from './gateway.ts';

/**
 * A client on a bare socket: it sees what an HTTP library hides (a missing last chunk, a reset, bytes after the answer)
 * and, unlike fetch, opens as many connections as it is asked to.
 */
export interface RawExchange {
  readonly socket: Socket;
  /** Everything received, as Latin-1 text: one character per byte. */
  readonly received: string;
  readonly receivedBytes: number;
  /** The connection has ended, however it did. */
  readonly isOver: boolean;
  readonly over: Promise<void>;
  /** Resolves when the text holds this, or rejects when the connection ends before. */
  until(isEnough: (received: string) => boolean, limitMs?: number): Promise<string>;
}

const KEPT_BYTES = 1 << 20;

export function openSocket(url: string): RawExchange {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let received = '';
  let receivedBytes = 0;
  let isOver = false;
  let listeners: (() => void)[] = [];
  const notify = () => {
    for (const listener of listeners) listener();
  };
  socket.on('data', (piece: Buffer) => {
    receivedBytes += piece.byteLength;
    if (received.length < KEPT_BYTES) received += piece.toString('latin1');
    notify();
  });
  const over = new Promise<void>((resolve) => {
    const end = () => {
      if (isOver) return;
      isOver = true;
      resolve();
      notify();
    };
    socket.on('end', () => {
      end();
      socket.destroy();
    });
    socket.on('close', end);
    socket.on('error', end);
  });
  return {
    socket,
    over,
    get received() {
      return received;
    },
    get receivedBytes() {
      return receivedBytes;
    },
    get isOver() {
      return isOver;
    },
    until: (isEnough, limitMs = 60_000) =>
      new Promise((resolve, reject) => {
        const settle = (work: () => void) => {
          clearTimeout(timer);
          listeners = listeners.filter((listener) => listener !== look);
          work();
        };
        const look = () => {
          if (isEnough(received)) settle(() => resolve(received));
          else if (isOver) settle(() => reject(new Error(`the connection ended after: ${received.slice(0, 300)}`)));
        };
        const timer = setTimeout(
          () => settle(() => reject(new Error(`not within ${limitMs} ms: ${received.slice(0, 300)}`))),
          limitMs,
        );
        listeners.push(look);
        look();
      }),
  };
}

/** A request as text. A body gets its length unless a header speaks of it. */
export function requestText(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body: string | null = null,
): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: gateway.test'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  const isFramed = Object.keys(headers).some((name) => /^(content-length|transfer-encoding)$/i.test(name));
  if (body !== null && !isFramed) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** The text of a streamed chat request; `simulate` is what the simulator is asked to do. */
export const streamRequest = (key: string, simulate: string, virtualKey = 'sim'): string =>
  requestText(
    'POST',
    '/v1/chat/completions',
    {
      'content-type': 'application/json',
      'x-gateway-api-key': key,
      'x-gateway-virtual-key': virtualKey,
      'x-simulate': simulate,
    },
    '{"model":"any","stream":true,"messages":[{"role":"user","content":"Hello"}]}',
  );

const PIECE = Buffer.alloc(64 * 1024, 'x');

/** Uploads so many bytes as fast as they are taken, and answers what was answered. */
export async function uploadBytes(url: string, path: string, size: number): Promise<string> {
  const exchange = openSocket(url);
  const { socket } = exchange;
  socket.write(
    requestText('POST', path, {
      'x-gateway-api-key': ADMIN_KEY,
      'x-gateway-virtual-key': 'sim',
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      connection: 'close',
    }),
  );
  for (let sent = 0; sent < size && !exchange.isOver; sent += PIECE.length) {
    const isTaken = socket.write(PIECE.subarray(0, Math.min(PIECE.length, size - sent)));
    if (!isTaken) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), exchange.over]);
  }
  await exchange.over;
  return exchange.received;
}

/** Whether a chunked answer came to its proper end. */
export const isComplete = (received: string): boolean => received.endsWith('\r\n0\r\n\r\n');

/** A request as it arrived at a raw upstream. */
export interface RawRequest {
  /** The how manieth of all requests, from 1. */
  readonly number: number;
  /** The how manieth on its connection, from 1. */
  readonly onConnection: number;
  readonly head: string;
  readonly body: string;
}

export interface RawUpstream {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RawRequest[];
  readonly connections: number;
  stop(): void;
}

/** A provider that does exactly what a test says with each request it has read to the end. */
export async function startRawUpstream(
  respond: (socket: Socket, request: RawRequest) => void,
  serve: (onConnection: (socket: Socket) => void) => Server = createServer,
): Promise<RawUpstream> {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = serve((socket) => {
    connections++;
    sockets.add(socket);
    let pending = '';
    let onConnection = 0;
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (piece: Buffer) => {
      pending += piece.toString('latin1');
      for (let next = takeRequest(pending); next; next = takeRequest(pending)) {
        pending = pending.slice(next.length);
        const request = { number: requests.length + 1, onConnection: ++onConnection, head: next.head, body: next.body };
        requests.push(request);
        respond(socket, request);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    get connections() {
      return connections;
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function takeRequest(text: string): { head: string; body: string; length: number } | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = text.slice(0, end);
  const start = end + 4;
  if (/^transfer-encoding: *chunked/im.test(head)) {
    const last = text.indexOf('0\r\n\r\n', start);
    return last < 0 ? null : { head, body: text.slice(start, last), length: last + 5 };
  }
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  return text.length < start + length
    ? null
    : { head, body: text.slice(start, start + length), length: start + length };
}

/** A whole answer as text. */
export const responseText = (body: string, headers: Record<string, string> = {}): string =>
  [
    'HTTP/1.1 200 OK',
    `Content-Length: ${body.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    '',
    body,
  ].join('\r\n');

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** An address that swallows connections: its process is stopped and its queue of waiting connections is full. */
export async function startBlackHole(): Promise<{ url: string; stop(): void }> {
  const child = Bun.spawn(
    [
      process.execPath,
      '-e',
      'console.log(Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() }).port)',
    ],
    { stdout: 'pipe', stderr: 'ignore' },
  );
  const { value } = await child.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(value));
  child.kill('SIGSTOP');
  const waiting: Socket[] = [];
  const quick = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => quick.listen(0, '127.0.0.1', resolve));
  // However slow the machine is: who asks later and is let in elsewhere shows that those before could have been.
  const turn = () =>
    new Promise<void>((resolve) => {
      connect({ host: '127.0.0.1', port: (quick.address() as { port: number }).port })
        .on('error', () => {})
        .on('close', () => resolve());
    });
  do {
    waiting.push(...Array.from({ length: 300 }, () => connect({ host: '127.0.0.1', port }).on('error', () => {})));
    for (let turns = 0; turns < 5; turns++) await turn();
  } while (waiting.every((socket) => !socket.connecting));
  quick.close();
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => {
      child.kill('SIGKILL');
      for (const socket of waiting) socket.destroy();
    },
  };
}
