import { afterEach, expect, test } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import { eventually } from '../../../test/process.ts';
import { responseText, startRawUpstream } from '../../../test/socket.ts';
import type { EgressPolicy } from '../egress.ts';
import { createUpstream, type Outgoing } from '../upstream.ts';

const unlimited = { connectMs: 0, firstByteMs: 0, idleMs: 0, totalMs: 0 };
const anywhere: EgressPolicy = { admit: (url) => ({ origin: new URL(url).origin }) };
const PIECE = new Uint8Array(64 << 10).fill(0x78);

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A server that does with its connections what a test says, from their beginning. */
async function givenServer(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const upload = (url: string, body: Outgoing['body'], headers: Record<string, string> = {}): Outgoing => ({
  method: 'POST',
  url,
  headers: new Headers(headers),
  body,
  timeouts: unlimited,
});

function endless() {
  const state = { pulled: 0, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        state.pulled += PIECE.byteLength;
        controller.enqueue(PIECE);
      },
      cancel() {
        state.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { state, stream };
}

test('an answer that comes before the upload is done ends the upload and its connection', async () => {
  let connections = 0;
  const url = await givenServer((socket) => {
    connections++;
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig');
    });
  });
  const upstream = createUpstream({ egress: anywhere });
  const { state, stream } = endless();

  const incoming = await upstream.send(upload(url, stream));

  expect(incoming.status).toBe(413);
  expect(Buffer.from(await incoming.bytes()).toString()).toBe('big');
  await eventually('the rest is not read', () => state.isCancelled);
  expect(upstream.open).toBe(0);
  await (await upstream.send(upload(url, null))).bytes();
  expect(connections).toBe(2);
});

test('an answer is read although the server closed the connection during the upload', async () => {
  const url = await givenServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig');
      socket.destroy();
    });
  });
  const upstream = createUpstream({ egress: anywhere });

  for (const body of [endless().stream, new Uint8Array(30 << 20)]) {
    const incoming = await upstream.send(upload(url, body));
    expect(incoming.status).toBe(413);
    expect(Buffer.from(await incoming.bytes()).toString()).toBe('big');
  }
  expect(upstream.open).toBe(0);
});

test('a server that does not read holds the upload back', async () => {
  const url = await givenServer((socket) => socket.pause());
  const upstream = createUpstream({ egress: anywhere });
  const { state, stream } = endless();
  const caller = new AbortController();
  const sending = upstream.send({ ...upload(url, stream), signal: caller.signal }).catch((error: unknown) => error);

  let before = -1;
  await eventually('nothing more is read of the body', async () => {
    const isStill = state.pulled === before;
    before = state.pulled;
    await Bun.sleep(200);
    return isStill;
  });

  // What lies between is the kernel's: some megabytes on either side.
  expect(state.pulled).toBeLessThan(40 << 20);
  caller.abort();
  expect(await sending).toMatchObject({ kind: 'aborted', phase: 'first byte' });
  await eventually('the rest is not read', () => state.isCancelled);
});

const sha256 = () => new Bun.CryptoHasher('sha256');

/** A server of another make that reads slowly and answers with the hash of what it read. */
function givenSlowReader(): string {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const hash = sha256();
      for await (const piece of request.body!) {
        hash.update(piece);
        await Bun.sleep(1);
      }
      return new Response(hash.digest('hex'));
    },
  });
  cleanups.push(() => void server.stop(true));
  return server.url.origin;
}

const SIZE = 24 << 20;
const content = Buffer.alloc(SIZE, 'every piece of it is another one; ');

/** The content in pieces of all sizes, those included that fill a write and those that do not fit into one. */
function inPieces(): ReadableStream<Uint8Array> {
  const sizes = [1, 17, 0, 65_536, 131_072 - 7, 131_072, 300_000, 2 << 20];
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      const size = sizes[at % sizes.length]!;
      sizes.push(sizes.shift()!);
      controller.enqueue(content.subarray(at, at + size));
      at += size;
      if (at >= SIZE) controller.close();
    },
  });
}

for (const [name, body, headers] of [
  ['in memory', () => content, {}],
  ['in pieces with its length', inPieces, { 'content-length': String(SIZE) }],
  ['in pieces without a length', inPieces, {}],
] as const) {
  test(`24 MB ${name} arrive whole at a server that reads slowly`, async () => {
    const upstream = createUpstream({ egress: anywhere });

    const incoming = await upstream.send(upload(givenSlowReader(), body(), headers));

    expect(Buffer.from(await incoming.bytes()).toString()).toBe(sha256().update(content).digest('hex'));
    expect(upstream.open).toBe(0);
  });
}

for (const [name, pieces] of [
  ['shorter', ['abc']],
  ['longer', ['abcdef', 'ghijklm']],
] as const) {
  test(`a streamed body that is ${name} than its length is cut off, not sent as something else`, async () => {
    const server = await startRawUpstream((socket) => socket.write(responseText('ok')));
    cleanups.push(server.stop);
    const upstream = createUpstream({ egress: anywhere });
    const left = [...pieces];
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = left.shift();
        if (piece) controller.enqueue(new TextEncoder().encode(piece));
        else controller.close();
      },
    });

    const failure = await upstream.send(upload(server.url, stream, { 'content-length': '10' })).catch((error) => error);

    expect(failure).toMatchObject({ code: 'body_incomplete' });
    expect(server.requests).toHaveLength(0);
    expect(upstream.open).toBe(0);
  });
}
