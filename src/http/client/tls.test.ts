import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type TLSSocket } from 'node:tls';
import { selfSignedCertificate } from '../../../test/certificate.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function listen(server: Server, address = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  cleanups.push(() => server.close());
  return (server.address() as { port: number }).port;
}

/** A TLS server that calls back with each connection. */
const secure = (certificate: { key: string; cert: string }, onConnection: (socket: TLSSocket) => void) =>
  createServer({ ...certificate, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    socket.on('error', () => {});
    onConnection(socket);
  });

const answering = (text: string) => (socket: TLSSocket) =>
  void socket.on('data', () =>
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`),
  );

/** Trust in a certificate of our own can only be given to a process when it starts. */
async function inChild(certificates: string[], script: string): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'authorities.pem');
  writeFileSync(file, certificates.join('\n'));
  const setUp = `
    import { createUpstream } from '../upstream.ts';
    const timeouts = { connectMs: 0, firstByteMs: 0, idleMs: 0, totalMs: 0 };
    const open = (origin, serverName, more = {}) => {
      const destination = serverName ? { origin, serverName, host: serverName } : { origin };
      const upstream = createUpstream({ egress: { admit: () => destination } });
      const send = () => upstream.send({ method: 'GET', url: origin + '/', headers: new Headers(), body: null, timeouts, ...more });
      return { upstream, send };
    };
    const outcomeOf = async (sending) => {
      try {
        return new TextDecoder().decode(await (await sending).bytes());
      } catch ({ phase, kind, sent, message }) {
        return { phase, kind, sent, message };
      }
    };
  `;
  const child = Bun.spawn([process.execPath, '-e', setUp + script], {
    cwd: import.meta.dir,
    env: { ...process.env, NODE_EXTRA_CA_CERTS: file, NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    stdout: 'pipe',
    stderr: 'inherit',
    timeout: 25_000,
  });
  return JSON.parse(await child.stdout.text());
}

const notAccepted = (code: string) => ({
  phase: 'connect',
  kind: 'unreachable',
  sent: 'no',
  message: `its certificate was not accepted (${code})`,
});

test('a certificate of another name, of the past or of nobody is refused, and nothing is sent', async () => {
  const good = selfSignedCertificate('provider.example');
  const expired = selfSignedCertificate('provider.example', { validUntil: '20210101000000Z' });
  const unknown = selfSignedCertificate('provider.example');
  let received = 0;
  const counting = (socket: TLSSocket) => {
    socket.on('data', () => received++);
    answering('ok')(socket);
  };
  const ports = await Promise.all([good, expired, unknown].map((each) => listen(secure(each, counting))));

  const outcomes = await inChild(
    [good.cert, expired.cert],
    `
    const [good, expired, unknown] = ${JSON.stringify(ports)}.map((port) => 'https://127.0.0.1:' + port);
    const outcomes = [];
    for (const [origin, name] of [
      [good, 'provider.example'], [good, 'other.example'], [good, undefined],
      [expired, 'provider.example'], [unknown, 'provider.example'],
    ]) outcomes.push(await outcomeOf(open(origin, name).send()));
    console.log(JSON.stringify(outcomes));
    process.exit(0);
    `,
  );

  expect(outcomes).toEqual([
    'ok',
    notAccepted('ERR_TLS_CERT_ALTNAME_INVALID'),
    notAccepted('ERR_TLS_CERT_ALTNAME_INVALID'),
    notAccepted('CERT_HAS_EXPIRED'),
    notAccepted('DEPTH_ZERO_SELF_SIGNED_CERT'),
  ]);
  expect(received).toBe(1);
});

test('a server that speaks no TLS, or gives up in the handshake, cannot be reached, and nothing was sent', async () => {
  const plain = await listen(
    createPlainServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    }),
  );
  const closing = await listen(createPlainServer((socket) => socket.destroy()));

  const outcomes = await inChild(
    [selfSignedCertificate('provider.example').cert],
    `
    const outcomes = [];
    for (const port of ${JSON.stringify([plain, closing])})
      outcomes.push(await outcomeOf(open('https://127.0.0.1:' + port, 'provider.example').send()));
    console.log(JSON.stringify(outcomes));
    process.exit(0);
    `,
  );

  const unreachable = { phase: 'connect', kind: 'unreachable', sent: 'no' };
  expect(outcomes).toEqual([
    { ...unreachable, message: 'the TLS handshake failed (EPROTO)' },
    { ...unreachable, message: expect.stringMatching(/TLS handshake failed|connection was refused/) },
  ]);
});

test('the name goes into the handshake, HTTP/1.1 is all that is offered, and a connection serves many requests', async () => {
  const certificate = selfSignedCertificate('provider.example');
  const handshakes: unknown[] = [];
  const server = secure(certificate, (socket) => {
    handshakes.push([(socket as { servername?: unknown }).servername, socket.alpnProtocol]);
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
  });
  const port = await listen(server, '::');

  const outcomes = await inChild(
    [certificate.cert],
    `
    const outcomes = [];
    for (const address of ['127.0.0.1', '[::1]']) {
      const { send } = open('https://' + address + ':${port}', 'provider.example');
      for (let call = 0; call < 3; call++) outcomes.push(await outcomeOf(send()));
    }
    console.log(JSON.stringify(outcomes));
    process.exit(0);
    `,
  );

  expect(outcomes).toEqual(Array(6).fill('ok'));
  expect(handshakes).toEqual(Array(2).fill(['provider.example', 'http/1.1']));
});

const SIZE = 30_000_000;

test('30 MB go up and down over TLS, held back by whoever is slower', async () => {
  const certificate = selfSignedCertificate('provider.example');
  let offered = 0;
  const server = secure(certificate, (socket) => {
    let received = 0;
    socket.on('data', (bytes: Buffer) => {
      const isFirst = received === 0;
      received += bytes.length;
      if (isFirst && bytes.toString('latin1', 0, 3) === 'GET') return void give(socket);
      if (received > SIZE) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    });
  });
  const give = (socket: TLSSocket) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
    const piece = Buffer.alloc(100_000, 'x');
    const more = () => {
      while (offered < SIZE) {
        offered += piece.length;
        if (!socket.write(piece)) return void socket.once('drain', more);
      }
    };
    more();
  };
  const port = await listen(server);

  const child = inChild(
    [certificate.cert],
    `
    const origin = 'https://127.0.0.1:${port}';
    const body = new Uint8Array(${SIZE}).fill(121);
    const up = await outcomeOf(open(origin, 'provider.example', { method: 'POST', body }).send());
    const incoming = await open(origin, 'provider.example').send();
    const before = process.memoryUsage.rss();
    let down = (await incoming.read()).byteLength;
    await Bun.sleep(500);
    const growth = process.memoryUsage.rss() - before;
    for (let piece = await incoming.read(); piece; piece = await incoming.read()) down += piece.byteLength;
    console.log(JSON.stringify({ up, down, growth }));
    process.exit(0);
    `,
  );

  const outcome = (await child) as { up: string; down: number; growth: number };
  expect(outcome).toMatchObject({ up: 'ok', down: SIZE });
  expect(outcome.growth).toBeLessThan(20_000_000);
});

test('an answer over TLS that is cut off is broken, never a clean end', async () => {
  const certificate = selfSignedCertificate('provider.example');
  const cuts = [
    (socket: TLSSocket) => socket.end(),
    (socket: TLSSocket) => socket.destroy(),
    (socket: TLSSocket) => (socket as unknown as { resetAndDestroy(): void }).resetAndDestroy(),
  ];
  const ports = await Promise.all(
    cuts.map((cut) =>
      listen(
        secure(certificate, (socket) => {
          socket.on('data', () => {
            socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
            setTimeout(() => cut(socket), 50);
          });
        }),
      ),
    ),
  );

  const outcomes = await inChild(
    [certificate.cert],
    `
    const outcomes = [];
    for (const port of ${JSON.stringify(ports)})
      outcomes.push(await outcomeOf(open('https://127.0.0.1:' + port, 'provider.example').send()));
    console.log(JSON.stringify(outcomes));
    process.exit(0);
    `,
  );

  expect(outcomes).toMatchObject(Array(3).fill({ phase: 'body', kind: 'broken', sent: 'maybe' }));
});
