import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { readSettings } from '../../src/settings.ts';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { message, type Recorder, startRecorder, toolCall } from '../mcp/recorder.ts';
import { type ReferenceServer, startReferenceServer } from '../mcp/reference-server.ts';
import { eventually } from '../process.ts';
import { openSocket, requestText, startRawUpstream } from '../socket.ts';

let gateway: TestGateway;
let key: string;
let keyId: string;
let recorder: Recorder;
let reference: ReferenceServer;
beforeAll(async () => {
  gateway = await startGateway({ environment: { GATEWAY_ALLOWED_ORIGINS: 'https://app.example.com' } });
  ({ key, id: keyId } = await gateway.given.apiKey());
  recorder = startRecorder();
  reference = startReferenceServer();
  await register('recorder', recorder.url);
  await register('reference', reference.url);
});
afterAll(async () => {
  await gateway.stop();
  recorder.stop();
  reference.stop();
});

const register = async (slug: string, url: string, more: Record<string, unknown> = {}) => {
  const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, ...more });
  if (reply.status !== 200) throw new Error(reply.text);
  return reply.json;
};
const send = (slug: string, body: unknown, headers: Record<string, string> = {}, given: string | null = key) =>
  gateway.api.post(`/${slug}/mcp`, body, { key: given, headers });

describe("the official client's calls", () => {
  for (const mode of ['legacy', 'modern'] as const) {
    test(`work as without the gateway (${mode})`, async () => {
      const client = new Client(
        { name: 'test', version: '1.0.0' },
        { versionNegotiation: mode === 'modern' ? { mode: { pin: '2026-07-28' } } : { mode: 'legacy' } },
      );
      const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/reference/mcp`), {
        requestInit: { headers: { 'x-gateway-api-key': key } },
      });
      await client.connect(transport);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain('test_simple_text');
      const runs = reference.runs.get('test_simple_text') ?? 0;
      const result = await client.callTool({ name: 'test_simple_text', arguments: {} });
      expect(result.content).toEqual([{ type: 'text', text: 'This is a simple text response for testing.' }]);
      expect(reference.runs.get('test_simple_text')).toBe(runs + 1);
      if (mode === 'legacy') expect(transport.sessionId).toStartWith('v1.');
      else expect(transport.sessionId).toBeUndefined();
      await client.close();
    });
  }
});

describe('bytes', () => {
  test('of a message arrive as they were sent, and those of the answer come back so', async () => {
    const odd =
      '{ "jsonrpc":"2.0",\t"id": 12345678901234567890, "method":"x", "method":"x", "params":{"z":1,"a":1.0e2} }\n';
    const answer = '{"jsonrpc" : "2.0","id":12345678901234567890,"result":{"n":1.10}}';
    const server = startRecorder(
      () => new Response(answer, { headers: { 'content-type': 'application/json', 'x-internal': 'no' } }),
    );
    await register('odd', server.url);
    const reply = await gateway.api.post('/odd/mcp', odd, { key, headers: { 'content-type': 'application/json' } });
    expect(server.last.body).toBe(odd);
    expect(reply.text).toBe(answer);
    expect(reply.headers.get('x-internal')).toBeNull();
    server.stop();
  });

  test('of a message that is larger than is read at once stream through', async () => {
    const large = JSON.stringify(message('tools/call', { name: 'echo', arguments: { text: 'ä'.repeat(400_000) } }));
    const reply = await gateway.api.post('/recorder/mcp', large, {
      key,
      headers: { 'content-type': 'application/json', 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
    });
    expect(reply.status).toBe(200);
    expect(recorder.last.body === large).toBe(true);
    expect(recorder.last.headers['content-length']).toBe(String(Buffer.byteLength(large)));
    expect((await gateway.logOf(reply)).model).toBe('echo');
  });

  test('of events come one by one, untouched, and unhindered by proxies', async () => {
    const events = [': hello\n\n', 'id: 7\nretry: 10\ndata: {"a":1}\n\n', 'data: {"b":\r\ndata: 2}\r\n\r\n'];
    let next: (() => void) | null = null;
    const server = serve(
      () =>
        new Response(
          new ReadableStream<Uint8Array>({
            async start(controller) {
              for (const event of events) {
                controller.enqueue(Buffer.from(event));
                await new Promise<void>((resolve) => {
                  next = resolve;
                });
              }
              controller.close();
            },
          }),
          { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'set-cookie': 'a=b' } },
        ),
    );
    await register('events', `${server.origin}/mcp`);
    const response = await fetch(`${gateway.url}/events/mcp`, {
      headers: { 'x-gateway-api-key': key, accept: 'text/event-stream', 'mcp-protocol-version': '2025-06-18' },
    });
    expect(response.headers.get('cache-control')).toBe('no-cache, no-transform');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('set-cookie')).toBeNull();
    const reader = response.body!.getReader();
    // The gateway's own sign of life, where a machine is slow.
    const read = async (): Promise<string | null> => {
      const { value } = await reader.read();
      const text = value ? Buffer.from(value).toString() : null;
      return text === ': keep-alive\n\n' ? read() : text;
    };
    for (const event of events) {
      expect(await read()).toBe(event);
      next!();
    }
    expect(await read()).toBeNull();
    server.stop();
  });
});

test('a stream on which nothing is said is open at once, and no error when its client has heard enough', async () => {
  const server = await startRawUpstream((socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n'),
  );
  await register('quiet', `${server.url}/mcp`);
  const response = await fetch(`${gateway.url}/quiet/mcp`, { headers: { 'x-gateway-api-key': key } });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  await response.body!.cancel();
  expect(await gateway.logOf(response)).toMatchObject({ status: 200, error_code: null });
  server.stop();
});

test('a client of the transport before Streamable HTTP is told so, and not left waiting', async () => {
  for (const path of ['/recorder/mcp', '/mcp']) {
    const reply = await gateway.api.get(path, { key, headers: { accept: 'text/event-stream' } });
    expect([reply.status, reply.json.error.code]).toEqual([405, 'mcp_transport_unsupported']);
    expect(reply.json.error.message).toContain('Streamable HTTP');
  }
});

describe('a client that leaves', () => {
  for (const method of ['GET', 'POST'] as const) {
    test(`takes its ${method} along to the server`, async () => {
      let isAborted = false;
      const server = serve((request) => {
        request.signal.addEventListener('abort', () => {
          isAborted = true;
        });
        return new Response(
          new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from(': open\n\n')) }),
          { headers: { 'content-type': 'text/event-stream' } },
        );
      });
      await register(`leaving-${method.toLowerCase()}`, `${server.origin}/mcp`);
      const controller = new AbortController();
      const response = await fetch(`${gateway.url}/leaving-${method.toLowerCase()}/mcp`, {
        method,
        headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
        body: method === 'POST' ? JSON.stringify(toolCall()) : undefined,
        signal: controller.signal,
      });
      await response.body!.getReader().read();
      controller.abort();
      await eventually('the server hears of it', () => isAborted);
      server.stop();
    });
  }
});

describe('a call of a tool is sent once', () => {
  test('even when the server closes the connection without an answer', async () => {
    const server = await startRawUpstream((socket) => socket.destroy());
    await register('dying', `${server.url}/mcp`);
    const reply = await send('dying', toolCall());
    expect(reply.status).toBe(502);
    expect(reply.json.error.data.code).toBe('upstream_failed');
    expect(server.requests).toHaveLength(1);
    server.stop();
  });

  test('and on a connection of its own, so that a stale one cannot swallow it', async () => {
    const server = await startRawUpstream((socket, { onConnection }) => {
      if (onConnection > 1) return socket.destroy();
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}');
    });
    await register('stale', `${server.url}/mcp`);
    for (let count = 0; count < 3; count++) expect((await send('stale', toolCall())).status).toBe(200);
    expect(server.connections).toBe(3);
    server.stop();
  });
});

describe('sessions', () => {
  const withSession = () => startRecorder(() => Response.json({}, { headers: { 'mcp-session-id': 'server-session' } }));

  test("the server's id comes back sealed and is opened again for the server", async () => {
    const server = withSession();
    await register('sessions', server.url);
    const opened = await send('sessions', message('initialize'));
    const sealed = opened.headers.get('mcp-session-id')!;
    expect(sealed).toMatch(/^[\x21-\x7e]+$/);
    expect(sealed).not.toContain('server-session');
    for (const [method, body] of [
      ['POST', message('ping')],
      ['GET', undefined],
      ['DELETE', undefined],
    ] as const) {
      const reply = await gateway.api.call(method, '/sessions/mcp', {
        key,
        body,
        headers: { 'mcp-session-id': sealed, 'last-event-id': '7', 'mcp-protocol-version': '2025-11-25' },
      });
      expect(reply.status).toBe(200);
      // The one that the client has: some stop where a server seems to change it.
      expect(reply.headers.get('mcp-session-id')).toBe(sealed);
      expect(server.last).toMatchObject({
        method,
        headers: { 'mcp-session-id': 'server-session', 'last-event-id': '7', 'mcp-protocol-version': '2025-11-25' },
      });
    }
    server.stop();
  });

  test("another caller's, another server's, an altered or an invented one is not found", async () => {
    const server = withSession();
    await register('mine', server.url);
    await register('other', server.url);
    const sealed = (await send('mine', message('initialize'))).headers.get('mcp-session-id')!;
    const stranger = await gateway.given.apiKey();
    const before = server.requests.length;
    const flipped = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    for (const [slug, id, caller] of [
      ['mine', sealed, stranger.key],
      ['other', sealed, key],
      ['mine', flipped, key],
      ['mine', 'server-session', key],
      ['mine', 'x'.repeat(5_000), key],
    ] as const) {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const reply = await gateway.api.call(method, `/${slug}/mcp`, {
          key: caller,
          body: method === 'POST' ? toolCall() : undefined,
          headers: { 'mcp-session-id': id },
        });
        expect(reply.status).toBe(404);
        const { error } = reply.json;
        expect(method === 'POST' ? error.data.code : error.code).toBe('mcp_session_not_found');
      }
    }
    expect(server.requests).toHaveLength(before);
    server.stop();
  });

  test('do not exist since 2026-07-28, in neither direction', async () => {
    const server = withSession();
    await register('stateless', server.url);
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-session-id': 'whatever' };
    const reply = await send('stateless', message('tools/list'), headers);
    expect(reply.status).toBe(200);
    expect(reply.headers.get('mcp-session-id')).toBeNull();
    expect(server.last.headers['mcp-session-id']).toBeUndefined();
    server.stop();
  });
});

describe('who may call', () => {
  test('nobody without a key: the answer says where to get a token', async () => {
    for (const method of ['POST', 'GET', 'DELETE']) {
      const reply = await gateway.api.call(method, '/recorder/mcp', { key: null });
      expect(reply.status).toBe(401);
      expect(reply.headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/recorder/mcp", scope="mcp"`,
      );
    }
  });

  test('not with a wrong key, and the challenge says so', async () => {
    const reply = await send('recorder', toolCall(), {}, 'gw-wrong');
    expect(reply.status).toBe(401);
    expect(reply.headers.get('www-authenticate')).toStartWith('Bearer error="invalid_token", error_description="');
  });

  test('with the key in Authorization, which goes no further', async () => {
    const reply = await send('recorder', toolCall(), { authorization: `Bearer ${key}` }, null);
    expect(reply.status).toBe(200);
    expect(JSON.stringify(recorder.last.headers)).not.toContain(key);
  });

  test('not with a key that lacks mcp.invoke', async () => {
    const { key: lacking } = await gateway.given.apiKey({ scopes: ['completions.write'] });
    const reply = await send('recorder', toolCall(), {}, lacking);
    expect(reply.status).toBe(403);
    expect(reply.json.error).toMatchObject({ code: 'insufficient_scope' });
  });

  test("not from another workspace: its servers are like those that don't exist", async () => {
    const workspace = await gateway.given.workspace();
    const { key: foreign } = await gateway.given.apiKey({ workspace_id: workspace.id });
    const [there, missing] = [await send('recorder', toolCall(), {}, foreign), await send('nowhere', toolCall())];
    for (const reply of [there, missing]) {
      expect(reply.status).toBe(404);
      expect(reply.json.error.code).toBe('mcp_server_not_found');
    }
  });

  test('a changed server is in force at once, a removed one is gone at once', async () => {
    const other = startRecorder();
    await register('changing', recorder.url);
    await send('changing', toolCall());
    await gateway.api.put('/v1/mcp-servers/changing', { url: other.url });
    await send('changing', toolCall());
    expect(other.requests).toHaveLength(1);
    await gateway.api.delete('/v1/mcp-servers/changing');
    expect((await send('changing', toolCall())).status).toBe(404);
    other.stop();
  });
});

describe('Host and Origin', () => {
  const raw = async (lines: string[]): Promise<number> => {
    const body = JSON.stringify(message('tools/list'));
    const exchange = openSocket(gateway.url);
    exchange.socket.write(
      [
        'POST /recorder/mcp HTTP/1.1',
        ...lines,
        `x-gateway-api-key: ${key}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        'connection: close',
        '',
        body,
      ].join('\r\n'),
    );
    await exchange.until((text) => text.includes('\r\n\r\n'));
    exchange.socket.destroy();
    return Number(exchange.received.slice(9, 12));
  };
  const own = () => new URL(gateway.url).host;

  test('of this gateway and of this machine pass', async () => {
    expect(await raw([`Host: ${own()}`])).toBe(200);
    expect(await raw([`Host: ${own()}`, `Origin: ${gateway.url}`])).toBe(200);
    expect(await raw(['Host: localhost:9999', 'Origin: http://localhost:6274'])).toBe(200);
    expect(await raw(['Host: [::1]', 'Origin: http://[::1]:6274'])).toBe(200);
    expect(await raw([`Host: ${own()}`, 'Origin: https://app.example.com'])).toBe(200);
  });

  test('of anybody else do not', async () => {
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example:80', 'localhost@evil', ''])
      expect([host, await raw([`Host: ${host}`])]).toEqual([host, 403]);
    for (const origin of [
      'null',
      'http://evil.example',
      'http://app.example.com',
      'https://app.example.com.evil.example',
      'https://app.example.com:444',
      'http://localhost.evil.example',
    ])
      expect([origin, await raw([`Host: ${own()}`, `Origin: ${origin}`])]).toEqual([origin, 403]);
    expect(await raw([`Host: ${own()}`, 'Host: evil.example'])).toBe(403);
    expect(await raw([`Host: ${own()}`, `Origin: ${gateway.url}`, 'Origin: http://evil.example'])).toBe(403);
  });

  test('a page of an allowed origin may ask and read, without cookies', async () => {
    const origin = 'https://app.example.com';
    const asked = await gateway.api.call('OPTIONS', '/recorder/mcp', {
      key: null,
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type, mcp-param-region, x-gateway-api-key',
      },
    });
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin);
    expect(asked.headers.get('access-control-allow-headers')).toBe('content-type, mcp-param-region, x-gateway-api-key');
    expect(asked.headers.get('access-control-allow-methods')).toContain('DELETE');
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull();
    const answers = [
      await send('recorder', toolCall(), { origin }),
      await send('recorder', toolCall(), { origin }, null),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 401]);
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe(origin);
      expect(headers.get('access-control-expose-headers')).toContain('www-authenticate');
      expect(headers.get('vary')).toBe('Origin');
    }
  });

  test('a page of another origin learns nothing', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    const asked = await gateway.api.call('OPTIONS', '/recorder/mcp', { key: null, headers });
    expect(asked.status).toBe(403);
    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('metadata does not follow the Host', async () => {
    const exchange = openSocket(gateway.url);
    exchange.socket.write(requestText('GET', '/.well-known/oauth-protected-resource/recorder/mcp'));
    const received = await exchange.until((text) => text.includes('}'));
    exchange.socket.destroy();
    expect(received).toContain(`"resource":"${gateway.url}/recorder/mcp"`);
    expect(received).not.toContain('gateway.test');
  });
});

describe('what the server answers', () => {
  const answering = async (slug: string, status: number, more: Record<string, unknown> = {}) => {
    const server = serve(() =>
      Response.json(
        { of: 'the server' },
        { status, headers: { 'www-authenticate': 'Bearer realm="theirs"', location: 'http://evil.example/' } },
      ),
    );
    await register(slug, `${server.origin}/mcp`, more);
    const reply = await send(slug, toolCall());
    server.stop();
    return reply;
  };

  test('is relayed with its status, and with its challenge where it refuses the caller', async () => {
    for (const status of [400, 401, 403, 404, 405, 429, 500]) {
      const reply = await answering(`status-${status}`, status);
      expect(reply.status).toBe(status);
      expect(reply.json).toEqual({ of: 'the server' });
      const isRefusal = status === 401 || status === 403;
      expect(reply.headers.get('www-authenticate')).toBe(isRefusal ? 'Bearer realm="theirs"' : null);
      expect(reply.headers.get('location')).toBeNull();
      expect(reply.headers.get('x-gateway-error-origin')).toBe('provider');
    }
  });

  test("is not the caller's fault when it refuses the credential of the gateway", async () => {
    for (const status of [401, 403]) {
      const more = { configurations: { headers: { Authorization: 'Bearer outdated' } } };
      const reply = await answering(`refused-${status}`, status, more);
      expect(reply.status).toBe(502);
      expect(reply.json.error).toMatchObject({ code: 502, data: { code: 'mcp_upstream_refused' } });
      expect(reply.headers.get('www-authenticate')).toBeNull();
    }
  });

  test("is the server's own where it judges the user", async () => {
    const configurations = {
      headers: { 'X-Service': 'a-credential-of-ours' },
      user_identity_forwarding: { method: 'claims_header' },
    };
    expect((await answering('judging', 401, { configurations })).status).toBe(401);
  });

  test('is not followed elsewhere', async () => {
    for (const status of [301, 307]) {
      const reply = await answering(`moved-${status}`, status);
      expect(reply.status).toBe(502);
      expect(reply.headers.get('location')).toBeNull();
    }
  });

  test('may be that nobody is there', async () => {
    await register('nobody', 'http://127.0.0.1:9/mcp');
    const reply = await send('nobody', toolCall());
    expect(reply.status).toBe(502);
    expect(reply.json.error.data.code).toBe('upstream_unreachable');
  });
});

describe('the log', () => {
  test('knows server, tool, caller and how the identity went on, and no bodies', async () => {
    await register('logged', recorder.url, {
      configurations: { user_identity_forwarding: { method: 'claims_header' } },
    });
    const reply = await send(
      'logged',
      message('tools/call', { name: 'read_mail', arguments: { from: 'secret-person' } }),
    );
    const entry = await gateway.logOf(reply);
    expect(entry).toMatchObject({
      provider: 'mcp',
      virtual_key: 'logged',
      model: 'read_mail',
      method: 'POST',
      path: '/logged/mcp',
      status: 200,
      api_key_id: keyId,
      metadata: { 'mcp.method': 'tools/call', 'mcp.auth': 'api_key', 'mcp.identity': 'claims_header' },
    });
    expect(JSON.stringify(entry)).not.toMatch(/secret-person|apikey:/);
    expect((await gateway.logOf(await send('logged', message('tools/list')))).model).toBe('tools/list');
  });

  test('holds calls that were refused, too', async () => {
    const refused = await gateway.logOf(await send('logged', toolCall(), {}, null));
    expect(refused).toMatchObject({ status: 401, error_code: 'missing_api_key', provider: 'mcp', path: '/logged/mcp' });
  });
});

test('an origin that is none keeps the gateway from starting', () => {
  for (const GATEWAY_ALLOWED_ORIGINS of ['app.example.com', 'https://app.example.com/path', 'https://a.example, *'])
    expect(() => readSettings({ GATEWAY_ALLOWED_ORIGINS })).toThrow('GATEWAY_ALLOWED_ORIGINS holds');
});

test('HEAD is answered like GET, without a body', async () => {
  const reply = await gateway.api.call('HEAD', '/recorder/mcp', { key });
  expect([reply.status, reply.text]).toEqual([200, '']);
  expect((await gateway.logOf(reply)).status).toBe(200);
});

test('a query is refused and not quietly dropped', async () => {
  const reply = await gateway.api.post('/recorder/mcp?api_key=x', toolCall(), { key });
  expect(reply.status).toBe(400);
  expect(reply.json.error.data.param).toBe('query');
});

test('other methods are told which ones there are', async () => {
  const reply = await gateway.api.call('PUT', '/recorder/mcp', { key });
  expect(reply.status).toBe(405);
  expect(reply.headers.get('allow')).toBe('POST, GET, DELETE, OPTIONS, HEAD');
});

test('a path under /v1 stays what it was', async () => {
  const reply = await gateway.api.post('/v1/mcp', {}, { key, headers: { 'x-gateway-virtual-key': 'sim' } });
  expect(reply.json?.error?.code).not.toBe('mcp_server_not_found');
  expect(gateway.provider.calls).toBeGreaterThan(0);
});
