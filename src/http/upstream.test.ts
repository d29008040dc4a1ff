import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { selfSignedCertificate } from '../../test/certificate.ts';
import { eventually } from '../../test/process.ts';
import { closedPort, type RawUpstream, responseText, startBlackHole, startRawUpstream } from '../../test/socket.ts';
import { GatewayError } from '../core/errors.ts';
import type { Destination, EgressPolicy } from './egress.ts';
import { sentHeaders } from './headers.ts';
import { createUpstream, type Incoming, type Outgoing, receivedHeaders, UpstreamFailure } from './upstream.ts';

const unlimited = { connectMs: 0, firstByteMs: 0, idleMs: 0, totalMs: 0 };
const anywhere: EgressPolicy = { admit: (url) => ({ origin: new URL(url).origin }) };
const pinnedTo = (destination: Destination): EgressPolicy => ({ admit: () => destination });
const bytes = (text: string) => new TextEncoder().encode(text);

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function given(respond: Parameters<typeof startRawUpstream>[0]): Promise<RawUpstream> {
  const server = await startRawUpstream(respond);
  cleanups.push(server.stop);
  return server;
}

const outgoing = (url: string, more: Partial<Outgoing> = {}): Outgoing => ({
  method: 'POST',
  url,
  headers: new Headers({ 'content-type': 'application/json' }),
  body: bytes('{"a":1}'),
  timeouts: unlimited,
  ...more,
});

async function failureOf(work: Promise<unknown>): Promise<UpstreamFailure> {
  const error = await work.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UpstreamFailure)) throw error;
  return error;
}

async function readAll(incoming: Incoming): Promise<string> {
  let text = '';
  for (let piece = await incoming.read(); piece; piece = await incoming.read()) text += new TextDecoder().decode(piece);
  return text;
}

test('status, headers and body arrive as they were sent, compressed bytes and redirects included', async () => {
  const packed = Buffer.from(Bun.gzipSync(bytes('hello'))).toString('latin1');
  const server = await given((socket) =>
    socket.write(
      Buffer.from(
        `HTTP/1.1 302 Elsewhere\r\nLocation: http://127.0.0.1:1/\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n${packed}`,
        'latin1',
      ),
    ),
  );
  const upstream = createUpstream({ egress: anywhere });

  const incoming = await upstream.send(outgoing(`${server.url}/v1/things?b=%20&a=1`));

  expect([incoming.status, incoming.statusText, incoming.headers.get('location')]).toEqual([
    302,
    'Elsewhere',
    'http://127.0.0.1:1/',
  ]);
  expect(Buffer.from(await incoming.bytes()).toString('latin1')).toBe(packed);
  expect(server.requests[0]?.head).toStartWith('POST /v1/things?b=%20&a=1 HTTP/1.1');
  expect(server.requests[0]?.body).toBe('{"a":1}');
  expect(upstream.open).toBe(0);
});

test('the headers of an answer can be had as Headers and as plain data', async () => {
  const cookies = ['a=1', 'b=2, 3'];
  const server = await given((socket) =>
    socket.write(
      `HTTP/1.1 204 No Content\r\nX-A: 1\r\n${cookies.map((each) => `Set-Cookie: ${each}\r\n`).join('')}\r\n`,
    ),
  );
  const upstream = createUpstream({ egress: anywhere });

  const incoming = await upstream.send(outgoing(server.url));

  expect(receivedHeaders(incoming) as Record<string, unknown>).toEqual({ 'x-a': '1', 'set-cookie': cookies });
  expect([incoming.headers.get('x-a'), incoming.headers.getSetCookie()]).toEqual(['1', cookies]);
  expect(sentHeaders(incoming.headers)).toEqual({ ...receivedHeaders(incoming) });
});

test('a refused connection is unreachable at connect, and nothing was sent', async () => {
  const upstream = createUpstream({ egress: anywhere });

  const failure = await failureOf(upstream.send(outgoing(`http://127.0.0.1:${await closedPort()}/`)));

  expect(failure).toMatchObject({ phase: 'connect', kind: 'unreachable', sent: 'no' });
  expect(failure.toGatewayError()).toMatchObject({ code: 'upstream_unreachable', status: 502 });
  expect(upstream.open).toBe(0);
});

test('a host that never takes the connection times out at connect, and nothing was sent', async () => {
  const hole = await startBlackHole();
  cleanups.push(hole.stop);
  const upstream = createUpstream({ egress: anywhere });
  const started = performance.now();

  const failure = await failureOf(upstream.send(outgoing(hole.url, { timeouts: { ...unlimited, connectMs: 400 } })));

  expect(failure).toMatchObject({ phase: 'connect', kind: 'timeout', sent: 'no', limitMs: 400 });
  expect(failure.toGatewayError()).toMatchObject({ code: 'upstream_timeout', status: 504 });
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('the connect limit does not touch a host that has connected and is only slow to answer', async () => {
  const server = await given((socket) => setTimeout(() => socket.write(responseText('late')), 500));
  const upstream = createUpstream({ egress: anywhere });

  const incoming = await upstream.send(outgoing(server.url, { timeouts: { ...unlimited, connectMs: 100 } }));

  expect(await readAll(incoming)).toBe('late');
});

test('an answer that does not begin in time fails in phase first byte, and may have been carried out', async () => {
  const server = await given(() => {});
  const upstream = createUpstream({ egress: anywhere });

  const failure = await failureOf(
    upstream.send(outgoing(server.url, { timeouts: { ...unlimited, firstByteMs: 200 } })),
  );

  expect(failure).toMatchObject({ phase: 'first byte', kind: 'timeout', sent: 'maybe', limitMs: 200 });
  expect(server.requests).toHaveLength(1);
  expect(upstream.open).toBe(0);
});

test('a slow upload does not use up the time for the first byte', async () => {
  const server = await given((socket) => setTimeout(() => socket.write(responseText('ok')), 100));
  const upstream = createUpstream({ egress: anywhere });
  const pieces = ['a', 'b', 'c', 'd'];
  const slow = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(600);
      const piece = pieces.shift();
      if (piece) controller.enqueue(bytes(piece));
      else controller.close();
    },
  });

  const limited = { ...unlimited, firstByteMs: 2_000 };
  const incoming = await upstream.send(outgoing(server.url, { body: slow, timeouts: limited }));

  expect(await readAll(incoming)).toBe('ok');
  expect(server.requests).toHaveLength(1);
});

test('a streamed body that fails cuts the request, and its own reason comes out', async () => {
  const server = await given((socket) => socket.write(responseText('ok')));
  const upstream = createUpstream({ egress: anywhere });
  let isFirst = true;
  const failing = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!isFirst) return controller.error(new GatewayError('body_too_large', [5]));
      isFirst = false;
      controller.enqueue(bytes('first'));
    },
  });

  const sending = upstream.send(outgoing(server.url, { body: failing }));

  expect(sending).rejects.toMatchObject({ code: 'body_too_large' });
  await sending.catch(() => {});
  expect(server.requests).toHaveLength(0);
  expect(upstream.open).toBe(0);
});

test('an answer that falls silent fails in phase body, after the pieces that came', async () => {
  const server = await given((socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'));
  const upstream = createUpstream({ egress: anywhere });
  const incoming = await upstream.send(outgoing(server.url, { timeouts: { ...unlimited, idleMs: 2_000 } }));

  expect(new TextDecoder().decode((await incoming.read())!)).toBe('half');
  const failure = await failureOf(incoming.read());

  expect(failure).toMatchObject({ phase: 'body', kind: 'timeout', limitMs: 2_000 });
  expect(upstream.open).toBe(0);
});

test('a reader that takes its time is no idle provider', async () => {
  const server = await given((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf');
    setTimeout(() => socket.write('done'), 50);
  });
  const upstream = createUpstream({ egress: anywhere });
  const incoming = await upstream.send(outgoing(server.url, { timeouts: { ...unlimited, idleMs: 2_000 } }));

  expect(await incoming.read()).not.toBeNull();
  await Bun.sleep(3_000);

  expect(await readAll(incoming)).toBe('done');
});

test('the total limit ends an exchange that is still moving', async () => {
  const server = await given((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
    const timer = setInterval(() => socket.write('1\r\nx\r\n'), 20);
    socket.on('close', () => clearInterval(timer));
  });
  const upstream = createUpstream({ egress: anywhere });
  const limited = { ...unlimited, totalMs: 300 };

  const failure = await failureOf(upstream.send(outgoing(server.url, { timeouts: limited })).then(readAll));

  expect(failure).toMatchObject({ phase: 'total', kind: 'timeout', limitMs: 300 });
});

test('an answer cut in the middle is broken, never a clean end', async () => {
  const chunked = await given((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n');
    setTimeout(() => socket.destroy(), 50);
  });
  const sized = await given((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    setTimeout(() => socket.destroy(), 50);
  });
  const upstream = createUpstream({ egress: anywhere });

  for (const server of [chunked, sized]) {
    const incoming = await upstream.send(outgoing(server.url));
    expect(new TextDecoder().decode((await incoming.read())!)).toBe('half');
    expect(await failureOf(incoming.read())).toMatchObject({ phase: 'body', kind: 'broken', sent: 'maybe' });

    const whole = await upstream.send(outgoing(server.url));
    expect(await failureOf(Promise.resolve(whole.bytes()))).toMatchObject({
      phase: 'body',
      kind: 'broken',
      sent: 'maybe',
    });
  }
  expect(upstream.open).toBe(0);
});

for (const isHeededLate of [false, true])
  test(`an abort reaches the provider ${isHeededLate ? 'soon' : 'at once'}, before the first byte and after it`, async () => {
    for (const beginning of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'])
      for (const waitMs of [0, 60]) {
        let closedAt = 0;
        const server = await given((socket) => {
          if (beginning) socket.write(beginning);
          socket.on('close', () => {
            closedAt = performance.now();
          });
        });
        const upstream = createUpstream({ egress: anywhere });
        const caller = new AbortController();
        const exchange = upstream.send(outgoing(server.url, { signal: caller.signal, isHeededLate }));
        const reading = exchange.then(readAll);
        reading.catch(() => {});
        while (server.requests.length === 0) await Bun.sleep(1);
        if (beginning) await exchange;
        await Bun.sleep(waitMs);

        const abortedAt = performance.now();
        caller.abort();

        expect(await failureOf(reading)).toMatchObject({ kind: 'aborted', phase: beginning ? 'body' : 'first byte' });
        while (closedAt === 0) await Bun.sleep(1);
        // At once, and what a busy machine adds to it; a call that was not aborted would last for a minute.
        expect(closedAt - abortedAt).toBeLessThan(10_000);
        expect(upstream.open).toBe(0);
      }
  });

test('cancel ends the connection, and is harmless afterwards', async () => {
  let isClosed = false;
  const server = await given((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    socket.on('close', () => {
      isClosed = true;
    });
  });
  const upstream = createUpstream({ egress: anywhere });
  const incoming = await upstream.send(outgoing(server.url));

  incoming.cancel();
  incoming.cancel();

  await eventually('the connection ends', () => isClosed);
  expect(upstream.open).toBe(0);
});

test('a request whose caller has left already is not sent', async () => {
  const server = await given((socket) => socket.write(responseText('ok')));
  const upstream = createUpstream({ egress: anywhere });

  const failure = await failureOf(upstream.send(outgoing(server.url, { signal: AbortSignal.abort() })));

  expect(failure).toMatchObject({ kind: 'aborted', sent: 'no' });
  expect(server.connections).toBe(0);
});

test('a connection that the provider closed while it was idle does not fail the next call', async () => {
  const server = await given((socket) => {
    socket.write(responseText('ok'));
    setTimeout(() => socket.destroy(), 5);
  });
  const upstream = createUpstream({ egress: anywhere });

  for (let call = 0; call < 20; call++) {
    expect(await readAll(await upstream.send(outgoing(server.url)))).toBe('ok');
    // From well before the close to well after it.
    await Bun.sleep(call % 10);
  }
  expect(server.requests.every(({ body }) => body === '{"a":1}')).toBe(true);
});

test('a kept connection that breaks at once is tried again on a new one, once', async () => {
  // Only a break within 50 ms is taken for a stale connection, and a busy machine may need longer.
  await eventually('the second call is sent again on a connection of its own', async () => {
    const server = await given((socket, { onConnection }) => {
      if (onConnection === 1) socket.write(responseText('ok'));
      else socket.destroy();
    });
    const upstream = createUpstream({ egress: anywhere });
    const call = () => upstream.send(outgoing(server.url)).then(readAll, (failure: UpstreamFailure) => failure.kind);
    const answers = [await call(), await call()];
    expect(server.requests.length).toBeLessThanOrEqual(3);
    return answers.join() === 'ok,ok' && server.requests.map(({ onConnection }) => onConnection).join() === '1,2,1';
  });
});

test('a provider that closes every connection at once is asked twice, not more', async () => {
  const server = await given((socket) => socket.destroy());
  const upstream = createUpstream({ egress: anywhere });

  const failure = await failureOf(upstream.send(outgoing(server.url)));

  expect(failure).toMatchObject({ phase: 'first byte', kind: 'broken', sent: 'maybe' });
  expect(failure.toGatewayError()).toMatchObject({ code: 'upstream_failed', status: 502 });
  expect(server.requests.length).toBeLessThanOrEqual(2);
});

test('a request that was worked on before the connection broke is not sent again', async () => {
  const server = await given((socket) => setTimeout(() => socket.destroy(), 200));
  const upstream = createUpstream({ egress: anywhere });

  const failure = await failureOf(upstream.send(outgoing(server.url)));

  expect(failure).toMatchObject({ phase: 'first byte', kind: 'broken', sent: 'maybe' });
  await Bun.sleep(100);
  expect(server.requests).toHaveLength(1);
});

test('a streamed body is never sent again', async () => {
  const server = await given((socket, { number }) => {
    if (number === 1) socket.write(responseText('ok'));
    else socket.destroy();
  });
  const upstream = createUpstream({ egress: anywhere });
  await (await upstream.send(outgoing(server.url))).bytes();

  const failure = await failureOf(
    upstream.send(outgoing(server.url, { body: new Response('streamed').body as ReadableStream<Uint8Array> })),
  );

  expect(failure).toMatchObject({ kind: 'broken', sent: 'maybe' });
  expect(server.requests).toHaveLength(2);
});

test('with resend: false a request has a connection of its own and is sent once, whatever happens', async () => {
  const server = await given((socket, { number }) => {
    if (number <= 2) socket.write(responseText('ok'));
    else socket.destroy();
  });
  const upstream = createUpstream({ egress: anywhere });
  await (await upstream.send(outgoing(server.url))).bytes();
  await (await upstream.send(outgoing(server.url, { resend: false }))).bytes();
  expect(server.requests.map(({ onConnection }) => onConnection)).toEqual([1, 1]);

  await failureOf(upstream.send(outgoing(server.url, { resend: false })));

  expect(server.requests).toHaveLength(3);
});

test('a pinned address is dialled with the name in Host and the path untouched', async () => {
  const server = await given((socket) => socket.write(responseText('ok')));
  const upstream = createUpstream({ egress: pinnedTo({ origin: server.url, host: 'provider.example' }) });

  await (await upstream.send(outgoing('http://provider.example/v1/a%2Fb?c=d%20e'))).bytes();

  const head = server.requests[0]!.head;
  expect(head).toStartWith('POST /v1/a%2Fb?c=d%20e HTTP/1.1\r\n');
  expect(head.match(/^host: .*$/gim)).toEqual([expect.stringMatching(/^host: provider\.example$/i)]);
});

/** Trust in a certificate of our own can only be given to a process when it starts. */
async function sendFromChild(certificate: string, script: string): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tls-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'authority.pem');
  writeFileSync(file, certificate);
  const child = Bun.spawn([process.execPath, '-e', script], {
    cwd: import.meta.dir,
    env: { ...process.env, NODE_EXTRA_CA_CERTS: file },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  return JSON.parse(await child.stdout.text());
}

test('over TLS the certificate must carry the pinned name, also on a connection that is open already', async () => {
  const { key, cert } = selfSignedCertificate('provider.example');
  const server = await startRawUpstream(
    (socket) => socket.write(responseText('ok')),
    (onConnection) => createTlsServer({ key, cert }, onConnection),
  );
  cleanups.push(server.stop);

  const outcomes = await sendFromChild(
    cert,
    `
    import { createUpstream } from './upstream.ts';
    const outcomes = [];
    for (const name of ['provider.example', 'provider.example', 'other.example', 'provider.example']) {
      const destination = { origin: 'https://127.0.0.1:${server.port}', host: name, serverName: name };
      const upstream = createUpstream({ egress: { admit: () => destination } });
      try {
        const incoming = await upstream.send({
          method: 'GET', url: 'https://' + name + '/v1/models?a=b', headers: new Headers(), body: null,
          timeouts: { connectMs: 0, firstByteMs: 0, idleMs: 0, totalMs: 0 },
        });
        outcomes.push(new TextDecoder().decode(await incoming.bytes()));
      } catch ({ phase, kind, sent }) {
        outcomes.push({ phase, kind, sent });
      }
    }
    console.log(JSON.stringify(outcomes));
    process.exit(0);
    `,
  );

  expect(outcomes).toEqual(['ok', 'ok', { phase: 'connect', kind: 'unreachable', sent: 'no' }, 'ok']);
  expect(server.requests.map(({ head }) => head.split('\r\n')[0])).toEqual(
    Array(3).fill('GET /v1/models?a=b HTTP/1.1'),
  );
  expect(server.requests.every(({ head }) => /^host: provider\.example$/im.test(head))).toBe(true);
});
