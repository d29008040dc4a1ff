import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { eventually, type GatewayProcess, megabytes, mostMemoryDuring, startProcess } from '../process.ts';
import {
  closedPort,
  isComplete,
  openSocket,
  type RawExchange,
  requestText,
  responseText,
  startBlackHole,
  startRawUpstream,
  streamRequest,
  uploadBytes,
} from '../socket.ts';

let gateway: TestGateway;
let limited: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
  limited = await startGateway({
    environment: {
      GATEWAY_CONNECT_TIMEOUT_MS: '500',
      GATEWAY_FIRST_BYTE_TIMEOUT_MS: '700',
      GATEWAY_IDLE_TIMEOUT_MS: '600',
      GATEWAY_TOTAL_TIMEOUT_MS: '4000',
      GATEWAY_MAX_BODY_BYTES: '2000000',
    },
  });
});
afterAll(async () => {
  await Promise.all([gateway.stop(), limited.stop()]);
});

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

const viaSim = { 'x-gateway-virtual-key': 'sim' };
const hello = { model: 'any', messages: [{ role: 'user', content: 'Hello' }] };
let keys = 0;

function openTo({ url }: { url: string }, text: string): RawExchange {
  const exchange = openSocket(url);
  cleanups.push(() => exchange.socket.destroy());
  exchange.socket.write(text);
  return exchange;
}

/** A virtual key of its own for an address, as the headers of a call. */
async function keyFor({ given }: TestGateway, customHost: string): Promise<Record<string, string>> {
  const slug = `upstream-${keys++}`;
  await given.virtualKey({ name: slug, slug, custom_host: customHost });
  return { 'x-gateway-virtual-key': slug };
}

async function givenUpstream(respond: Parameters<typeof startRawUpstream>[0]) {
  const upstream = await startRawUpstream(respond);
  cleanups.push(upstream.stop);
  return upstream;
}

const requestIdIn = (received: string) => /^x-gateway-request-id: *(\S+)/im.exec(received)?.[1] ?? '';
const logById = ({ logOf }: TestGateway, id: string) => logOf({ headers: new Headers({ 'x-gateway-request-id': id }) });

/** The newest log entry of a trace: a client that left got no request id to ask for. */
async function logOfTrace({ api }: TestGateway, trace: string) {
  let found: { status: number; failed_by: string; error_code: string } | undefined;
  await eventually(`a log entry of trace ${trace}`, async () => {
    found = (await api.get(`/v1/logs?trace_id=${trace}`)).json.data[0];
    return found !== undefined;
  });
  return found!;
}

/** How long after a client's hanging up the provider sees its own connection end: the median of several clients. */
async function msUntilAborted(url: string, text: string, isUnderWay: (received: string) => boolean): Promise<number> {
  const { simulator } = gateway.provider;
  const times: number[] = [];
  for (let round = 0; round < 9; round++) {
    const before = simulator.aborted;
    const exchange = openSocket(url);
    exchange.socket.write(text);
    await eventually('the call reaches the provider', () => simulator.open === 1);
    await exchange.until(isUnderWay);

    const leftAt = performance.now();
    exchange.socket.destroy();
    while (simulator.aborted === before && performance.now() - leftAt < 5_000) await Bun.sleep(1);
    times.push(performance.now() - leftAt);
    expect(simulator.open).toBe(0);
  }
  return times.sort((a, b) => a - b)[4]!;
}

for (const [when, simulate, isUnderWay] of [
  ['before the first byte', 'stall=headers', () => true],
  ['after the first byte', 'stall=after:2', (received: string) => received.includes('data: ')],
] as const) {
  test(`a client that hangs up ${when} ends the provider's call within 100 ms`, async () => {
    const trace = `hang-up-${simulate.replace(/\W/g, '-')}`;
    const text = streamRequest(ADMIN_KEY, simulate).replace('\r\n\r\n', `\r\nx-gateway-trace-id: ${trace}\r\n\r\n`);

    // A busy machine is slow without us, too: what it takes to leave the provider directly is its part.
    const direct = await msUntilAborted(gateway.provider.url, text, isUnderWay);
    const through = await msUntilAborted(gateway.url, text, isUnderWay);

    expect(through - direct).toBeLessThan(100);
    expect(await logOfTrace(gateway, trace)).toMatchObject({ failed_by: 'client', error_code: 'client_closed' });
  });
}

test('a stream that the provider cuts is an error to the client, never a clean end', async () => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': ADMIN_KEY,
      ...viaSim,
      'content-type': 'application/json',
      'x-simulate': 'cut=after:2',
    },
    body: JSON.stringify({ ...hello, stream: true }),
  });
  expect(response.status).toBe(200);
  expect(response.text()).rejects.toThrow();
  await response.text().catch(() => {});

  const raw = openTo(gateway, streamRequest(ADMIN_KEY, 'cut=after:2'));
  await raw.over;
  expect(raw.received).toContain('data: ');
  expect(isComplete(raw.received)).toBe(false);

  for (const id of [response.headers.get('x-gateway-request-id')!, requestIdIn(raw.received)]) {
    expect(await logById(gateway, id)).toMatchObject({
      status: 200,
      failed_by: 'provider',
      error_code: 'stream_broken',
    });
  }
});

test('an answer that breaks before it was whole is 502 when the client has seen nothing of it', async () => {
  const upstream = await givenUpstream((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"half":');
    setTimeout(() => socket.destroy(), 100);
  });

  const reply = await gateway.api.post('/v1/chat/completions', hello, { headers: await keyFor(gateway, upstream.url) });

  expect([reply.status, reply.json.error.code]).toEqual([502, 'upstream_failed']);
  expect(upstream.requests).toHaveLength(1);
});

test('a provider that refuses the connection is 502 upstream_unreachable, and nothing was sent', async () => {
  const headers = await keyFor(gateway, `http://127.0.0.1:${await closedPort()}`);

  const reply = await gateway.api.post('/v1/chat/completions', hello, { headers });

  expect([reply.status, reply.json.error.code]).toEqual([502, 'upstream_unreachable']);
  expect(reply.json.error.message).toContain('Nothing was sent');
  expect(reply.headers.get('x-gateway-error-origin')).toBe('gateway');
  expect(await gateway.logOf(reply)).toMatchObject({ failed_by: 'provider', error_code: 'upstream_unreachable' });
});

test('a provider that reads the request and closes is 502 upstream_failed, and is asked once', async () => {
  const upstream = await givenUpstream((socket) => setTimeout(() => socket.destroy(), 200));

  const reply = await gateway.api.post('/v1/chat/completions', hello, { headers: await keyFor(gateway, upstream.url) });

  expect([reply.status, reply.json.error.code]).toEqual([502, 'upstream_failed']);
  expect(reply.json.error.message).toContain('may have been carried out');
  await Bun.sleep(200);
  expect(upstream.requests).toHaveLength(1);
});

test('a kept connection that the provider closes does not fail the next call', async () => {
  const upstream = await givenUpstream((socket) => {
    socket.write(responseText('{"ok":true}', { 'content-type': 'application/json' }));
    socket.end();
  });
  const headers = await keyFor(gateway, upstream.url);

  for (let call = 0; call < 30; call++) {
    const reply = await gateway.api.post('/v1/chat/completions', hello, { headers });
    expect([reply.status, reply.json]).toEqual([200, { ok: true }]);
  }
});

test('a kept connection that breaks under a buffered request is replaced, once and unseen', async () => {
  // Only a break within 50 ms is taken for a stale connection, and a busy machine may need longer.
  await eventually('the second call is sent again on a connection of its own', async () => {
    const upstream = await givenUpstream((socket, { onConnection }) => {
      if (onConnection === 1) socket.write(responseText('{"ok":true}', { 'content-type': 'application/json' }));
      else socket.destroy();
    });
    const headers = await keyFor(gateway, upstream.url);
    const replies = [
      await gateway.api.post('/v1/chat/completions', hello, { headers }),
      await gateway.api.post('/v1/chat/completions', hello, { headers }),
    ];
    expect(upstream.requests.length).toBeLessThanOrEqual(3);
    return (
      replies.every(({ status }) => status === 200) &&
      upstream.requests.map(({ onConnection }) => onConnection).join() === '1,2,1'
    );
  });
});

test('a connection that cannot be made in time is 504 in phase connect', async () => {
  const hole = await startBlackHole();
  cleanups.push(hole.stop);
  const headers = await keyFor(limited, hole.url);

  const reply = await limited.api.post('/v1/chat/completions', hello, { headers });

  expect([reply.status, reply.json.error.code]).toEqual([504, 'upstream_timeout']);
  expect(reply.json.error.message).toContain('connect took more than 500 ms');
});

test('an answer that does not begin in time is 504 in phase first byte, and the provider is let go', async () => {
  const headers = { ...viaSim, 'x-simulate': 'stall=headers' };

  const reply = await limited.api.post('/v1/chat/completions', hello, { headers });

  expect([reply.status, reply.json.error.code]).toEqual([504, 'upstream_timeout']);
  expect(reply.json.error.message).toContain('first byte took more than 700 ms');
  expect(await limited.logOf(reply)).toMatchObject({
    status: 504,
    failed_by: 'provider',
    error_code: 'upstream_timeout',
  });
  await eventually('the provider is let go', () => limited.provider.simulator.open === 0);
});

test('an answer that falls silent before it was whole is 504 in phase body', async () => {
  const upstream = await givenUpstream((socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"half":'),
  );

  const reply = await limited.api.post('/v1/chat/completions', hello, { headers: await keyFor(limited, upstream.url) });

  expect([reply.status, reply.json.error.code]).toEqual([504, 'upstream_timeout']);
  expect(reply.json.error.message).toContain('body took more than 600 ms');
});

test('a stream that falls silent is cut for the client and the provider', async () => {
  const startedAt = performance.now();
  const exchange = openTo(limited, streamRequest(ADMIN_KEY, 'stall=after:2'));

  await exchange.over;

  expect(performance.now() - startedAt).toBeGreaterThan(500);
  expect(exchange.received).toContain('data: ');
  expect(isComplete(exchange.received)).toBe(false);
  expect(await logById(limited, requestIdIn(exchange.received))).toMatchObject({ failed_by: 'provider' });
  await eventually('the provider is let go', () => limited.provider.simulator.open === 0);
});

test('an exchange that takes longer than all it may take is cut, though it moves', async () => {
  const exchange = openTo(limited, streamRequest(ADMIN_KEY, 'chunk-delay=100, chunks=1000, length=1000'));

  await exchange.over;

  expect(exchange.received.split('data: ').length).toBeGreaterThan(5);
  expect(isComplete(exchange.received)).toBe(false);
  await eventually('the provider is let go', () => limited.provider.simulator.open === 0);
});

test('a client that takes its time is not taken for a silent provider', async () => {
  const exchange = openTo(
    limited,
    requestText('GET', '/v1/bytes/8000000', { ...viaSim, 'x-gateway-api-key': ADMIN_KEY, connection: 'close' }),
  );
  await exchange.until((received) => received.includes('\r\n\r\n'));
  exchange.socket.pause();
  await Bun.sleep(1_200); // longer than the 600 ms between two pieces, shorter than the 4 s of the whole

  exchange.socket.resume();
  await exchange.until(() => exchange.receivedBytes > 8_000_000);
});

/** Without a length: in chunks, as they come. */
async function postInChunks({ url }: TestGateway, path: string, type: string, text: string) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { ...viaSim, 'x-gateway-api-key': ADMIN_KEY, 'content-type': type },
    body: new Response(text).body,
  });
  return { status: response.status, headers: response.headers, code: JSON.parse(await response.text()).error?.code };
}

test('a body larger than the limit is 413 at once when it says its length', async () => {
  const exchange = openTo(
    limited,
    requestText('POST', '/v1/sink', {
      ...viaSim,
      'x-gateway-api-key': ADMIN_KEY,
      'content-type': 'application/octet-stream',
      'content-length': '2000001',
    }),
  );

  const received = await exchange.until((text) => text.includes('body_too_large'));

  expect(received).toStartWith('HTTP/1.1 413 ');
});

for (const type of ['application/octet-stream', 'application/json']) {
  test(`a body larger than the limit is 413 when it comes in chunks, as ${type}`, async () => {
    const reply = await postInChunks(limited, '/v1/sink', type, 'x'.repeat(2_000_001));

    expect([reply.status, reply.code]).toEqual([413, 'body_too_large']);
    expect(await limited.logOf(reply)).toMatchObject({ status: 413, failed_by: 'gateway' });
  });
}

test('a chunked JSON body larger than a small limit is 413 too', async () => {
  const small = await startGateway({ environment: { GATEWAY_MAX_BODY_BYTES: '1024' } });
  try {
    const reply = await postInChunks(small, '/v1/echo', 'application/json', `{"text":"${'x'.repeat(2_000)}"}`);
    expect([reply.status, reply.code]).toEqual([413, 'body_too_large']);
  } finally {
    await small.stop();
  }
});

for (const [kind, head, piece] of [
  ['of known length', { 'content-length': '50000000' }, 'x'.repeat(3_000_000)],
  ['in chunks', { 'transfer-encoding': 'chunked' }, `100000\r\n${'x'.repeat(0x100000)}\r\n`],
  ['that is short', { 'content-length': '1000' }, 'xxx'],
] as const) {
  test(`a client that hangs up during an upload ${kind} is the client's failure, not the provider's`, async () => {
    const trace = `upload-${kind.replaceAll(' ', '-')}`;
    const exchange = openTo(
      gateway,
      requestText('POST', '/v1/sink', {
        ...viaSim,
        ...head,
        'x-gateway-api-key': ADMIN_KEY,
        'x-gateway-trace-id': trace,
        'content-type': 'application/octet-stream',
      }) + piece,
    );
    await Bun.sleep(200);
    exchange.socket.destroy();

    expect(await logOfTrace(gateway, trace)).toMatchObject({
      status: 499,
      failed_by: 'client',
      error_code: 'client_closed',
    });
  });
}

/** A gateway in a process of its own, where its memory can be measured, warm and with the simulated provider. */
async function givenProcess(): Promise<GatewayProcess> {
  const child = await startProcess();
  cleanups.push(() => void child.stop());
  await child.given.virtualKey(gateway.provider.url);
  for (let call = 0; call < 20; call++) await child.api.post('/v1/chat/completions', hello, { headers: viaSim });
  return child;
}

test('a client that does not read holds the provider back, not the answer in memory', async () => {
  const child = await givenProcess();
  const before = child.memory();
  const exchange = openSocket(child.url);
  cleanups.push(() => exchange.socket.destroy());
  const head = { ...viaSim, 'x-gateway-api-key': ADMIN_KEY, connection: 'close' };
  exchange.socket.write(requestText('GET', '/v1/bytes/200000000', head));
  await exchange.until((received) => received.includes('\r\n\r\n'));
  exchange.socket.pause();

  const growth = (await mostMemoryDuring(child, Bun.sleep(2_000))) - before;

  expect(megabytes(growth)).toBeLessThan(60);
  expect(gateway.provider.simulator.open).toBe(1);
  exchange.socket.destroy();
  await eventually('the provider is let go', () => gateway.provider.simulator.open === 0);
});

test('a provider that reads slowly holds the uploading client back, not the upload in memory', async () => {
  const child = await givenProcess();
  const before = child.memory();
  const size = 100_000_000;

  const upload = uploadBytes(child.url, `/v1/sink?rate=${size / 2}`, size);
  const growth = (await mostMemoryDuring(child, upload)) - before;

  expect(await upload).toContain(`{"bytes":${size}}`);
  expect(megabytes(growth)).toBeLessThan(60);
});

test('300 streams run at once, started without any variable for it', async () => {
  const { simulator } = gateway.provider;
  const child = await givenProcess();
  const exchanges = Array.from({ length: 300 }, () => openTo(child, streamRequest(ADMIN_KEY, 'stall=after:2')));

  await Promise.all(exchanges.map((exchange) => exchange.until((received) => received.includes('data: '))));

  expect(simulator.open).toBe(300);
  for (const { socket } of exchanges) socket.destroy();
  await eventually('every call to the provider has ended', () => simulator.open === 0);
});
