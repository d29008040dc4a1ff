import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import { ADMIN_KEY, serve, startGateway, type TestGateway } from '../gateway.ts';

let gateway: TestGateway;
/** A provider that answers what no simulator would, under the virtual key `odd`. */
let odd: ReturnType<typeof serve>;

beforeAll(async () => {
  gateway = await startGateway();
  odd = serve(answerOddly);
  await gateway.given.virtualKey({ slug: 'odd', custom_host: `${odd.origin}/v1` });
});
afterAll(async () => {
  await gateway.stop();
  odd.stop();
});

const viaSim = { 'x-gateway-virtual-key': 'sim' };
const viaOdd = { 'x-gateway-virtual-key': 'odd' };
const GZIPPED = gzipSync(JSON.stringify({ packed: true }));
const MEGABYTE = 1 << 20;

function answerOddly(request: Request): Response {
  switch (new URL(request.url).pathname) {
    case '/v1/redirect':
      return new Response('elsewhere', { status: 302, headers: { location: `${odd.origin}/v1/followed` } });
    case '/v1/followed':
      return new Response('followed');
    case '/v1/gzip':
      return new Response(GZIPPED, { headers: { 'content-encoding': 'gzip', 'content-type': 'application/json' } });
    case '/v1/head':
      return new Response(null, { headers: { 'content-length': '12345', etag: '"one"' } });
    case '/v1/hop-by-hop':
      return new Response('{}', {
        headers: { connection: 'x-private', 'x-private': 'yes', 'keep-alive': 'timeout=5', 'x-kept': 'yes' },
      });
    case '/v1/own-id':
      return new Response('{}', { headers: { 'x-request-id': 'req_of_the_provider' } });
    default:
      return new Response('odd', { status: 404, headers: { 'content-type': 'text/plain' } });
  }
}

/** A call whose body is looked at as bytes, as they travelled. */
async function send(path: string, init: RequestInit & { headers?: Record<string, string> } = {}) {
  const response = await fetch(gateway.url + path, {
    ...init,
    headers: { 'x-gateway-api-key': ADMIN_KEY, ...init.headers },
    redirect: 'manual',
    decompress: false,
  } as RequestInit);
  return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) };
}

const sha256 = (bytes: Uint8Array | string) => new Bun.CryptoHasher('sha256').update(bytes).digest('hex');

/** A request written by hand, because fetch would tidy its headers and its path. */
function sendRaw(lines: string[]): Promise<string> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), hostname, () => socket.write(`${lines.join('\r\n')}\r\n\r\n`));
    socket.on('data', (data) => {
      text += data.toString('latin1');
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

const bodyOf = (raw: string) => JSON.parse(raw.slice(raw.indexOf('{'), raw.lastIndexOf('}') + 1));

test('a call goes to the provider with the stored credential and without anything of ours', async () => {
  const reply = await gateway.api.post(
    '/v1/echo?b=2&a=1&b=3',
    { hello: 'world' },
    { headers: { ...viaSim, cookie: 'a=b', 'x-forwarded-for': '1.2.3.4', 'x-custom': 'kept' } },
  );

  expect(reply.status).toBe(200);
  expect(reply.json).toMatchObject({ method: 'POST', path: '/v1/echo', search: '?b=2&a=1&b=3' });
  expect(reply.json.headers).toMatchObject({ authorization: 'Bearer sk-test-credential', 'x-custom': 'kept' });
  const names = Object.keys(reply.json.headers);
  expect(
    names.filter((name) => name.startsWith('x-gateway-') || name === 'cookie' || name === 'x-forwarded-for'),
  ).toEqual([]);
});

for (const prefix of ['/v1', '/v1/proxy']) {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    test(`${method} ${prefix}/… reaches the provider as ${method}`, async () => {
      const body = method === 'GET' ? undefined : `body of ${method}`;
      const reply = await gateway.api.call(method, `${prefix}/echo`, {
        headers: { ...viaSim, 'content-type': 'text/plain' },
        body,
      });
      expect(reply.status).toBe(200);
      expect(reply.json).toMatchObject({ method, path: '/v1/echo', body_text: body ?? '' });
    });
  }
}

test('/v1/proxy reaches provider endpoints that have the name of a route of ours', async () => {
  const reply = await gateway.api.get('/v1/proxy/providers', { headers: viaSim });
  expect(reply.status).toBe(404);
  expect(reply.headers.get('x-gateway-error-origin')).toBe('provider');
  expect(reply.json.error.message).toContain('/providers');
});

describe('a request body arrives byte for byte', () => {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([new Uint8Array([0, 255, 13, 10, 0])]), 'räsumé 1.bin');
  const everyByte = Uint8Array.from({ length: 1024 }, (_, index) => index & 0xff);
  const bodies: [string, string, Uint8Array | string][] = [
    ['JSON with 64-bit integers', 'application/json', '{"id":9007199254740993,"seed":18446744073709551615,"x":1.0}'],
    ['JSON with odd spacing', 'application/json', ' {\n\t"a" :\r\n 1 ,"b":[ ] }\n\n'],
    ['JSON with duplicate keys', 'application/json', '{"a":1,"a":2,"b":"\\u00e9é\\/"}'],
    ['JSON that is not JSON', 'application/json', '{"a":'],
    ['JSON behind a byte order mark', 'application/json', '\ufeff{"a":1}'],
    ['text in an encoding of its own', 'text/plain; charset=latin1', Uint8Array.of(0xe9, 0xe8)],
    ['every byte', 'application/octet-stream', everyByte],
    ['a body that is compressed', 'application/json', gzipSync('{"a":1}')],
    ['nothing', 'application/json', ''],
  ];
  for (const [name, type, body] of bodies) {
    test(name, async () => {
      const reply = await gateway.api.post('/v1/echo', typeof body === 'string' ? body : new Uint8Array(body), {
        headers: { ...viaSim, 'content-type': type },
      });
      expect(reply.json.body_sha256).toBe(sha256(body));
      expect(reply.json.headers['content-type']).toBe(type);
    });
  }

  test('multipart, with its boundary', async () => {
    const prepared = new Request('http://localhost', { method: 'POST', body: form });
    const type = prepared.headers.get('content-type')!;
    const bytes = new Uint8Array(await prepared.arrayBuffer());
    const reply = await gateway.api.post('/v1/echo', bytes, { headers: { ...viaSim, 'content-type': type } });
    expect(reply.json.body_sha256).toBe(sha256(bytes));
    expect(reply.json.headers['content-type']).toBe(type);
  });

  test("a file that is uploaded to the provider can be downloaded again; the gateway's own files are others", async () => {
    const uploaded = await gateway.api.post('/v1/proxy/files', form, { headers: viaSim });
    expect(uploaded.json).toMatchObject({ object: 'file', bytes: 5, filename: 'räsumé 1.bin' });
    const { bytes } = await send(`/v1/proxy/files/${uploaded.json.id}/content`, { headers: viaSim });
    expect([...bytes]).toEqual([0, 255, 13, 10, 0]);
    expect((await gateway.api.get(`/v1/files/${uploaded.json.id}`, { headers: viaSim })).status).toBe(404);
  });

  test('5 MB, with its length known or sent in chunks', async () => {
    const large = new Uint8Array(5 * MEGABYTE).map((_, index) => (index * 7) & 0xff);
    const known = await send('/v1/echo', { method: 'POST', headers: viaSim, body: large });
    const chunked = await send('/v1/echo', {
      method: 'POST',
      headers: { ...viaSim, 'content-type': 'application/json' },
      body: new Blob([large]).stream(),
    });
    for (const { bytes } of [known, chunked]) {
      expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({
        body_sha256: sha256(large),
        body_bytes: large.length,
      });
    }
  });
});

for (const path of ['/v1/echo', '/v1/proxy/echo']) {
  test(`a body with GET ${path} is refused rather than lost on the way`, async () => {
    const answer = await sendRaw([
      `GET ${path} HTTP/1.1`,
      'host: gateway',
      `x-gateway-api-key: ${ADMIN_KEY}`,
      'x-gateway-virtual-key: sim',
      'content-length: 2',
      'connection: close',
      '',
      '{}',
    ]);
    expect(answer).toContain(' 400 ');
    expect(answer).toContain('a GET request cannot carry a body through the gateway');
  });
}

test('the query arrives as it was written', async () => {
  const search = '?a=%2F%20+%C3%A9&b&=c&a=2&x[]=1&redirect=https://example.com/?q=1&empty=';
  const reply = await gateway.api.get(`/v1/echo${search}`, { headers: viaSim });
  expect(reply.json.search).toBe(search);
});

describe("a provider's status is the client's status", () => {
  for (const status of [201, 404, 409, 418, 429, 500, 503]) {
    test(`${status} with its body`, async () => {
      const reply = await gateway.api.get(`/v1/status/${status}`, { headers: viaSim });
      expect(reply.status).toBe(status);
      expect(reply.json).toEqual({ simulated: true, status });
      expect(reply.headers.get('x-gateway-error-origin')).toBe(status >= 400 ? 'provider' : null);
    });
  }

  for (const status of [204, 304]) {
    test(`${status} without a body`, async () => {
      const reply = await gateway.api.get(`/v1/status/${status}`, { headers: viaSim });
      expect(reply.status).toBe(status);
      expect(reply.text).toBe('');
      expect(reply.headers.get('x-simulated')).toBe('true');
    });
  }

  test('206 with the part that was asked for', async () => {
    const { status, headers, bytes } = await send('/v1/range', { headers: { ...viaSim, range: 'bytes=10-19' } });
    expect(status).toBe(206);
    expect(headers.get('content-range')).toBe('bytes 10-19/1000');
    expect([...bytes]).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
  });

  test('302 is returned and not followed', async () => {
    const { status, headers, bytes } = await send('/v1/redirect', { headers: viaOdd });
    expect(status).toBe(302);
    expect(headers.get('location')).toBe(`${odd.origin}/v1/followed`);
    expect(Buffer.from(bytes).toString()).toBe('elsewhere');
  });

  test('an error in the words of the provider', async () => {
    const chat = { model: 'any', messages: [{ role: 'user', content: 'hi' }] };
    const headers = { ...viaSim, 'x-simulate': 'status=429, retry-after=7' };
    const reply = await gateway.api.post('/v1/chat/completions', chat, { headers });
    expect(reply.status).toBe(429);
    expect(reply.headers.get('retry-after')).toBe('7');
    expect(reply.headers.get('x-gateway-error-origin')).toBe('provider');
    expect(reply.json.error.message).toContain('simulated error 429');
  });
});

describe("a provider's answer", () => {
  test('sets no cookie for our address', async () => {
    const { status, headers } = await send('/v1/cookies', { headers: viaSim });
    expect([status, headers.getSetCookie()]).toEqual([200, []]);
  });

  test('stays compressed', async () => {
    const { headers, bytes } = await send('/v1/gzip', { headers: { ...viaOdd, 'accept-encoding': 'gzip' } });
    expect(headers.get('content-encoding')).toBe('gzip');
    expect(headers.get('content-length')).toBe(String(GZIPPED.length));
    expect(sha256(bytes)).toBe(sha256(GZIPPED));
    expect(gunzipSync(bytes).toString()).toBe('{"packed":true}');
  });

  // Every stream is asked for its usage. What was said of it goes again, unless lines end as no provider is known to end them.
  for (const [framing, staysAsAsked] of [
    ['crlf', false],
    ['split', false],
    ['cr+no-space', true],
    ['multiline', true],
  ] as const) {
    test(`keeps an event stream framed with ${framing} byte for byte`, async () => {
      const body = {
        model: 'any',
        stream: true,
        messages: [{ role: 'user', content: `Tell me. [[simulate: framing=${framing}, length=60]]` }],
      };
      const asked = staysAsAsked ? { ...body, stream_options: { include_usage: true } } : body;
      const headers = { 'content-type': 'application/json' };
      const sent = (given: object) => ({
        method: 'POST',
        headers: { ...viaSim, ...headers },
        body: JSON.stringify(given),
      });
      const direct = await fetch(`${gateway.provider.url}/chat/completions`, { ...sent(asked), headers });
      const directBytes = new Uint8Array(await direct.arrayBuffer());

      const relayed = await send('/v1/chat/completions', sent(body));

      expect(relayed.headers.get('content-type')).toBe(direct.headers.get('content-type'));
      // The simulator makes ids from what it was asked.
      const plain = (bytes: Uint8Array) => withoutTime(bytes).replaceAll(/chatcmpl-\w+/g, 'chatcmpl-');
      expect(plain(relayed.bytes)).toBe(plain(directBytes));
    });
  }

  test('of 5 MB arrives whole', async () => {
    const { status, bytes } = await send(`/v1/bytes/${5 * MEGABYTE}`, { headers: viaSim });
    expect(status).toBe(200);
    expect(bytes.length).toBe(5 * MEGABYTE);
    expect(sha256(bytes)).toBe(sha256(Uint8Array.from({ length: 5 * MEGABYTE }, (_, index) => index & 0xff)));
  });

  test('to HEAD keeps its headers, the length among them, and has no body', async () => {
    const { status, headers, bytes } = await send('/v1/head', { method: 'HEAD', headers: viaOdd });
    expect(status).toBe(200);
    expect(headers.get('content-length')).toBe('12345');
    expect(headers.get('etag')).toBe('"one"');
    expect(bytes.length).toBe(0);
  });

  test('loses the headers that speak of its own connection', async () => {
    const { headers } = await send('/v1/hop-by-hop', { headers: viaOdd });
    expect(headers.get('x-kept')).toBe('yes');
    expect(headers.get('x-private')).toBeNull();
    expect(headers.get('keep-alive')).toBeNull();
  });

  test('is streamed piece by piece', async () => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, ...viaSim, 'x-simulate': 'stall=after:2' },
      body: JSON.stringify({ model: 'any', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
    });
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    expect(Buffer.from(value!).toString()).toStartWith('data: {');
    await reader.cancel();
  });
});

/** The second in which an answer was made is all that differs between two equal calls. */
const withoutTime = (bytes: Uint8Array) =>
  Buffer.from(bytes)
    .toString()
    .replace(/"created":\s*\d+/g, '"created":0');

describe('a provider never sees', () => {
  const ways: [string, Record<string, string>][] = [
    ['x-gateway-api-key', { 'x-gateway-api-key': ADMIN_KEY }],
    ['authorization', { authorization: `Bearer ${ADMIN_KEY}` }],
    ['x-api-key', { 'x-api-key': ADMIN_KEY }],
    ['x-goog-api-key', { 'x-goog-api-key': ADMIN_KEY }],
    [
      'all of them',
      {
        'x-gateway-api-key': ADMIN_KEY,
        authorization: `Bearer ${ADMIN_KEY}`,
        'x-api-key': ADMIN_KEY,
        'x-goog-api-key': ADMIN_KEY,
        'api-key': ADMIN_KEY,
      },
    ],
  ];
  for (const [name, headers] of ways) {
    for (const path of ['/v1/echo', '/v1/proxy/echo']) {
      test(`the gateway key sent as ${name} to ${path}`, async () => {
        const reply = await gateway.api.get(path, { key: null, headers: { ...viaSim, ...headers } });
        expect(reply.status).toBe(200);
        expect(reply.text).not.toContain(ADMIN_KEY);
        expect(reply.json.headers.authorization).toBe('Bearer sk-test-credential');
      });
    }
  }

  test('who the client is, where it came from, or what it told the gateway', async () => {
    const secretive = {
      cookie: 'session=1',
      forwarded: 'for=1.2.3.4',
      via: '1.1 proxy',
      'x-forwarded-for': '1.2.3.4',
      'x-forwarded-host': 'inside.example.com',
      'x-forwarded-proto': 'https',
      'x-real-ip': '1.2.3.4',
      'x-client-ip': '1.2.3.4',
      'true-client-ip': '1.2.3.4',
      'cf-connecting-ip': '1.2.3.4',
      'x-gateway-trace-id': 'trace',
      'x-gateway-metadata': '{"a":"b"}',
      'x-gateway-debug': 'false',
      'x-gateway-request-timeout': '10000',
      'x-gateway-anything-else': 'x',
    };
    const reply = await gateway.api.get('/v1/echo', { headers: { ...viaSim, ...secretive } });
    expect(reply.status).toBe(200);
    const seen = Object.keys(reply.json.headers);
    expect(seen.filter((name) => name in secretive || name.startsWith('x-gateway-'))).toEqual([]);
    expect(reply.json.headers.host).toBe(new URL(gateway.provider.url).host);
  });

  test('headers that speak of the connection, nor those that Connection names', async () => {
    const raw = await sendRaw([
      'GET /v1/echo HTTP/1.1',
      `Host: ${new URL(gateway.url).host}`,
      `x-gateway-api-key: ${ADMIN_KEY}`,
      'x-gateway-virtual-key: sim',
      'Connection: close, X-Private',
      'X-Private: for this hop',
      'X-Kept: for all hops',
      'TE: trailers',
      'Trailer: X-Sum',
      'Keep-Alive: timeout=5',
      'Proxy-Authorization: Basic YTpi',
      'Proxy-Connection: keep-alive',
      'Upgrade: h2c',
    ]);
    const { headers } = bodyOf(raw);
    expect(headers['x-kept']).toBe('for all hops');
    for (const name of ['x-private', 'te', 'trailer', 'keep-alive', 'upgrade']) expect(headers[name]).toBeUndefined();
    for (const name of ['proxy-authorization', 'proxy-connection']) expect(headers[name]).toBeUndefined();
    expect(headers.connection ?? '').not.toContain('rivate');
  });
});

describe('a path that would leave its base is refused and nothing is sent', () => {
  for (const path of [
    '/v1/../secret',
    '/v1/a/../../b',
    '/v1/%2e%2e/secret',
    '/v1/a/%2E%2E%2fb',
    '/v1/a%5c..%5cb',
    '/v1/a/..;/b',
    '/v1/proxy/..;/..;/secret',
    '/v1/proxy/a/%2e%2e;x=1/b',
    '/v1/proxy/a/..%3b/b',
    '/v1/proxy/a/%252e%252e%252fb',
    '/v1/proxy/a/%c0%ae%c0%ae/b',
    '/v1/proxy/a/..%00/b',
    '/v1/proxy/a%00',
    '/v1/proxy/a%0d%0ab',
    '/v1/proxy/a/..%20/b',
    '/v1/proxy//a',
    '/v1/proxy/a//b',
    '/v1/proxy/a\\..\\..\\..\\b',
    '/v1/proxy/a%5cb',
  ]) {
    test(path, async () => {
      const { calls } = gateway.provider;
      const raw = await sendRaw([
        `GET ${path} HTTP/1.1`,
        `Host: ${new URL(gateway.url).host}`,
        `x-gateway-api-key: ${ADMIN_KEY}`,
        'x-gateway-virtual-key: sim',
        'Connection: close',
      ]);
      expect(raw).toMatch(/^HTTP\/1\.1 (400|404) /);
      expect(gateway.provider.calls).toBe(calls);
    });
  }
});

describe('HEAD', () => {
  for (const virtualKey of ['demo', 'sim'])
    for (const path of ['/models', '/proxy/models', '/proxy/echo', '/proxy/bytes/10', '/proxy/no-such-path'])
      test(`on ${path} of ${virtualKey} is answered as GET is, without a body`, async () => {
        const headers = { 'x-gateway-virtual-key': virtualKey };
        const head = await gateway.api.call('HEAD', `/v1${path}`, { headers });
        const get = await gateway.api.get(`/v1${path}`, { headers });
        expect(head.text).toBe('');
        expect(head.status).toBe(get.status);
        expect(head.status).toBeLessThan(500);
        expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
      });

  test('and every other method is never an error of the gateway, on any path of the built-in provider', async () => {
    const paths = [
      'models',
      'chat/completions',
      'messages',
      'files/x',
      'fine_tuning/jobs/x',
      'echo',
      'status/204',
      'x',
    ];
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      for (const path of paths) {
        const headers = { 'x-gateway-virtual-key': 'demo' };
        const { status } = await gateway.api.call(method, `/v1/proxy/${path}`, { headers });
        expect([method, path, status < 500]).toEqual([method, path, true]);
      }
  });
});

describe('request ids', () => {
  test("x-gateway-request-id is ours and x-request-id the provider's", async () => {
    const { headers } = await send('/v1/own-id', { headers: viaOdd });
    expect(headers.get('x-gateway-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers.get('x-request-id')).toBe('req_of_the_provider');
  });

  test('x-request-id is ours where the provider sent none', async () => {
    const { headers } = await send('/v1/gzip', { headers: viaOdd });
    expect(headers.get('x-request-id')).toBe(headers.get('x-gateway-request-id')!);
  });

  for (const [name, path, key] of [
    ['a refused key', '/v1/models', 'gw-wrong'],
    ['a missing route', '/nowhere', ADMIN_KEY],
    ['a missing provider', '/v1/unheard-of', ADMIN_KEY],
    ['a public page', '/health', ADMIN_KEY],
    ['an admin route', '/v1/providers', ADMIN_KEY],
  ] as const) {
    test(`are on the answer to ${name}`, async () => {
      const { headers } = await send(path, { headers: { 'x-gateway-api-key': key } });
      expect(headers.get('x-gateway-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers.get('x-request-id')).toBe(headers.get('x-gateway-request-id')!);
    });
  }
});

describe('a provider that cannot be reached', () => {
  test('is 502 and said to be so by the gateway', async () => {
    const gone = serve(() => new Response());
    await gateway.given.virtualKey({ slug: 'gone', custom_host: `${gone.origin}/v1` });
    gone.stop();
    const reply = await gateway.api.get('/v1/models', { headers: { 'x-gateway-virtual-key': 'gone' } });
    expect(reply.status).toBe(502);
    expect(reply.json.error.code).toBe('upstream_unreachable');
    expect(reply.headers.get('x-gateway-error-origin')).toBe('gateway');
  });

  test('before its headers is 502, and after them the connection is cut', async () => {
    const chat = { model: 'any', stream: true, messages: [{ role: 'user', content: 'hi' }] };
    const before = await gateway.api.post('/v1/chat/completions', chat, {
      headers: { ...viaSim, 'x-simulate': 'cut=headers' },
    });
    expect(before.status).toBe(502);
    expect(before.json.error.code).toBe('upstream_failed');

    const after = gateway.api.post('/v1/chat/completions', chat, {
      headers: { ...viaSim, 'x-simulate': 'cut=after:2' },
    });
    await expect(after).rejects.toThrow();
  });
});
