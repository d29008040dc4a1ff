import { afterEach, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { selfSignedCertificate } from '../../../test/certificate.ts';
import { serve } from '../../../test/gateway.ts';
import { eventually } from '../../../test/process.ts';
import { startProxy, type TestProxy } from '../../../test/proxy.ts';
import { Secret } from '../../core/secret.ts';
import { createEgressPolicy } from '../egress.ts';
import { createUpstream, type Outgoing, type UpstreamFailure } from '../upstream.ts';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

const given = async (options: Parameters<typeof startProxy>[0] = {}): Promise<TestProxy> => {
  const proxy = await startProxy(options);
  cleanups.push(proxy.stop);
  return proxy;
};
const server = (answer: (request: Request) => Response | Promise<Response>) => {
  const { origin, stop } = serve(answer);
  cleanups.push(stop);
  return new URL(origin).port;
};
const LIMITS = { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 0 };

/** The client, through a proxy. */
const through = (proxy: Pick<TestProxy, 'port'>, { credentials = '', except = [] as string[] } = {}) => {
  const url = new Secret(`http://${credentials && `${credentials}@`}127.0.0.1:${proxy.port}`);
  const egress = createEgressPolicy({
    trustedHosts: ['*.test', '127.0.0.1'],
    proxy: { url, except, target: 'address' },
  });
  const upstream = createUpstream({ egress });
  const send = (address: string, more: Partial<Outgoing> = {}) =>
    upstream.send({ method: 'GET', url: address, headers: new Headers(), body: null, timeouts: LIMITS, ...more });
  const text = async (address: string, more?: Partial<Outgoing>) =>
    new TextDecoder().decode(await (await send(address, more)).bytes());
  return { upstream, send, text };
};
const failureOf = (sending: Promise<unknown>): Promise<UpstreamFailure> =>
  sending.then(
    () => null,
    (error) => error,
  );

test('one connection through the proxy carries one request after the other, and the proxy learns nothing of them', async () => {
  const proxy = await given({ credentials: 'gateway:p@ss:word' });
  const port = server(
    (request) => new Response(`at ${new URL(request.url).pathname} for ${request.headers.get('host')}`),
  );
  const { text, upstream } = through(proxy, { credentials: 'gateway:p%40ss%3Aword' });

  for (const path of ['/a', '/b', '/c'])
    expect(await text(`http://models.test:${port}${path}`)).toBe(`at ${path} for models.test:${port}`);

  expect(proxy.asked).toEqual([`models.test:${port}`]);
  expect(proxy.open).toBe(1);
  expect(upstream.open).toBe(0);
});

test('24 MB each way arrive whole through the proxy, also when the server reads slowly', async () => {
  const content = Buffer.alloc(24 << 20, 'some bytes that do not repeat in a simple way, 0123456789');
  const hash = createHash('sha256').update(content).digest('hex');
  const proxy = await given();
  const port = server(async (request) => {
    const bytes: Uint8Array[] = [];
    for await (const piece of request.body!) {
      bytes.push(piece);
      if (bytes.length % 50 === 0) await Bun.sleep(1);
    }
    return new Response(Buffer.concat(bytes));
  });
  const { send } = through(proxy);

  const answered = await (await send(`http://models.test:${port}/`, { method: 'POST', body: content })).bytes();

  expect(createHash('sha256').update(answered).digest('hex')).toBe(hash);
});

test('an answer that is not read holds the server back through the proxy', async () => {
  const proxy = await given();
  let pulled = 0;
  const port = server(
    () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            pulled++;
            controller.enqueue(new Uint8Array(1 << 20));
            if (pulled >= 200) controller.close();
          },
        }),
      ),
  );
  const { send } = through(proxy);

  const incoming = await send(`http://models.test:${port}/`);
  await incoming.read();
  let before = -1;
  await eventually('the server waits', async () => {
    const isStill = before === pulled;
    before = pulled;
    await Bun.sleep(200);
    return isStill;
  });

  expect(pulled).toBeLessThan(200);
  incoming.cancel();
});

test('a caller that leaves ends the connection through the proxy', async () => {
  const proxy = await given();
  const port = server(
    () => new Response(new ReadableStream({ start: (controller) => controller.enqueue('data: 1\n\n') })),
  );
  const { send } = through(proxy);
  const leaving = new AbortController();

  const incoming = await send(`http://models.test:${port}/`, { signal: leaving.signal });
  await incoming.read();
  expect(proxy.open).toBe(1);
  leaving.abort();

  await eventually('the tunnel ends', () => proxy.open === 0);
});

for (const [refusal, why] of [
  [403, 'does not let this gateway connect there (403)'],
  [407, 'wants a user and a password, and GATEWAY_EGRESS_PROXY has none (407)'],
  [502, 'has not made the connection (502)'],
] as const)
  test(`a proxy that answers ${refusal} is named, and nothing counts as sent`, async () => {
    const proxy = await given({ refusal });
    const { send } = through(proxy);

    const failure = await failureOf(send('https://models.test/'));

    expect(failure).toMatchObject({ kind: 'unreachable', phase: 'connect', sent: 'no' });
    expect(failure.message).toBe(`the proxy 127.0.0.1:${proxy.port} ${why}`);
  });

test('credentials that the proxy does not take are in no error', async () => {
  const proxy = await given({ credentials: 'gateway:right' });
  const { send } = through(proxy, { credentials: 'gateway:hunter2' });

  const failure = await failureOf(send('https://models.test/'));

  expect(failure.message).toContain('does not take the user and password of GATEWAY_EGRESS_PROXY (407)');
  const shown = Bun.inspect(failure) + JSON.stringify(failure.toGatewayError().facts);
  for (const secret of ['hunter2', Buffer.from('gateway:hunter2').toString('base64')])
    expect(shown).not.toContain(secret);
});

test('a proxy that is away is an unreachable one, and one that says nothing runs into the limit of connecting', async () => {
  const away = await given();
  away.stop();
  const refused = await failureOf(through(away).send('https://models.test/'));
  expect(refused).toMatchObject({ kind: 'unreachable', sent: 'no' });
  expect(refused.message).toContain(`the proxy 127.0.0.1:${away.port} cannot be reached`);

  const silent = await given({ refusal: 'silence' });
  const { send } = through(silent);
  const late = await failureOf(send('https://models.test/', { timeouts: { ...LIMITS, connectMs: 300 } }));
  expect(late).toMatchObject({ kind: 'timeout', phase: 'connect', sent: 'no', limitMs: 300 });
});

const ANSWERS: Record<string, (socket: Socket) => void> = {
  'ends at once': (socket) => socket.end(),
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'ends within the head': (socket) => socket.end('HTTP/1.1 200 OK\r\nvia: '),
  'has an endless head': (socket) => socket.write(`HTTP/1.1 200 OK\r\nvia: ${'x'.repeat(1 << 20)}`),
  'has a status of four digits': (socket) => socket.write('HTTP/1.1 2000 OK\r\n\r\n'),
  'speaks something else': (socket) => socket.write('SSH-2.0-Server\r\n\r\n'),
  'connects and ends': (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'),
  'connects to what speaks no TLS': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.on('data', () => socket.write(Buffer.alloc(500, 0x15)));
  },
};
for (const [what, answer] of Object.entries(ANSWERS))
  test(`a proxy that ${what} is an unreachable one, at once`, async () => {
    const listener = createPlainServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => answer(socket));
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => listener.close());
    const { send } = through(listener.address() as { port: number });

    expect(await failureOf(send('https://models.test/'))).toMatchObject({ kind: 'unreachable', sent: 'no' });
  });

test('hosts of the exceptions and this machine are called straight', async () => {
  const proxy = await given();
  const port = server(() => new Response('here'));
  const { text, send } = through(proxy, { except: ['*.intern.test', '127.0.0.0/8'] });

  expect(await text(`http://127.0.0.1:${port}/`)).toBe('here');
  expect(await text(`http://other.test:${port}/`)).toBe('here');
  expect(proxy.asked).toEqual([`other.test:${port}`]);
  // The name does not exist: without the proxy it leads nowhere.
  expect(await failureOf(send(`http://models.intern.test:${port}/`))).toMatchObject({ kind: 'unreachable' });
  expect(proxy.asked).toHaveLength(1);
});

/** Trust in a certificate of our own can only be given to a process when it starts. */
async function inChild(certificates: string[], script: string): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tunnel-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'authorities.pem');
  writeFileSync(file, certificates.join('\n'));
  const setUp = `
    import { Secret } from '../../core/secret.ts';
    import { createEgressPolicy } from '../egress.ts';
    import { createUpstream } from '../upstream.ts';
    const timeouts = { connectMs: 10_000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 0 };
    const open = (proxyUrl, target = 'address', resolve = async () => ['8.8.4.4']) => {
      const proxy = { url: new Secret(proxyUrl), except: [], target };
      const upstream = createUpstream({ egress: createEgressPolicy({ trustedHosts: [], proxy, resolve }) });
      return async (url) => {
        try {
          const incoming = await upstream.send({ method: 'GET', url, headers: new Headers(), body: null, timeouts });
          return new TextDecoder().decode(await incoming.bytes());
        } catch ({ kind, sent, message }) {
          return { kind, sent, message };
        }
      };
    };
  `;
  const child = Bun.spawn([process.execPath, '-e', setUp + script], {
    cwd: import.meta.dir,
    env: { ...process.env, NODE_EXTRA_CA_CERTS: file, NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  return JSON.parse(await new Response(child.stdout).text());
}

const models = selfSignedCertificate('models.example.com');
const ownProxy = selfSignedCertificate('localhost');

/** Answers each request with the name that its client asked for in the handshake. */
async function startSecureServer(): Promise<number> {
  const listener = createServer({ ...models, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    socket.on('error', () => {});
    const text = `${socket.servername} ${socket.alpnProtocol}`;
    socket.on('data', () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`));
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => listener.close());
  return (listener.address() as { port: number }).port;
}

for (const isSecure of [false, true])
  test(`the certificate of the server is checked through a proxy that speaks ${isSecure ? 'TLS' : 'plain HTTP'}`, async () => {
    const proxy = await given({ certificate: isSecure ? ownProxy : null, credentials: 'gateway:secret' });
    const port = await startSecureServer();
    const url = `${isSecure ? 'https' : 'http'}://gateway:secret@localhost:${proxy.port}`;

    const outcome = await inChild(
      [models.cert, ownProxy.cert],
      `const ask = open('${url}');
       const named = open('${url}', 'name');
       console.log(JSON.stringify([
         await ask('https://models.example.com:${port}/'),
         await ask('https://models.example.com:${port}/again'),
         await ask('https://other.example.com:${port}/'),
         await named('https://models.example.com:${port}/'),
       ]));`,
    );

    const refused = expect.stringContaining('its certificate was not accepted (ERR_TLS_CERT_ALTNAME_INVALID)');
    const name = 'models.example.com http/1.1';
    expect(outcome).toEqual([name, name, { kind: 'unreachable', sent: 'no', message: refused }, name]);
    // The first two share a connection; the proxy is asked for the address that was checked, or for the name.
    expect(proxy.asked).toEqual([`8.8.4.4:${port}`, `8.8.4.4:${port}`, `models.example.com:${port}`]);
  });

test('a proxy whose certificate is not trusted gets neither credentials nor calls', async () => {
  const stranger = selfSignedCertificate('localhost');
  const proxy = await given({ certificate: stranger, credentials: 'gateway:secret' });

  const outcome = await inChild(
    [models.cert],
    `console.log(JSON.stringify(await open('https://gateway:secret@localhost:${proxy.port}')('https://models.example.com/')));`,
  );

  expect(outcome).toMatchObject({
    kind: 'unreachable',
    sent: 'no',
    message: expect.stringContaining(`the certificate of the proxy localhost:${proxy.port} was not accepted`),
  });
  expect(proxy.heads).toEqual([]);
});
