import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { toolCall } from '../mcp/recorder.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startGateway();
  ({ key } = await gateway.given.apiKey({ scopes: ['mcp.invoke'] }));
});
afterAll(() => gateway.stop());

const IDENTITY = { user_identity_forwarding: { method: 'claims_header' } };
let count = 0;

/** What the client gets of a server that refuses with these headers. */
async function refusedWith(
  headers: Record<string, string>,
  { status = 401, more = { configurations: IDENTITY } as Record<string, unknown>, path = null as string | null } = {},
) {
  const server = serve(() => Response.json({ error: 'unauthenticated' }, { status, headers }));
  const slug = `refusing-${++count}`;
  const made = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url: `${server.origin}/mcp`, ...more });
  if (made.status !== 200) throw new Error(made.text);
  const reply = await gateway.api.post(path ?? `/${slug}/mcp`, toolCall(), { key });
  server.stop();
  return { reply, slug, about: `${gateway.url}/.well-known/oauth-protected-resource/${slug}/mcp` };
}
const challengeOf = async (challenge: string, options = {}) => {
  const { reply, about } = await refusedWith({ 'www-authenticate': challenge }, options);
  return { challenge: reply.headers.get('www-authenticate'), about };
};

describe('the refusal of a server that judges the caller', () => {
  test('comes back with its status, its body and what it says of the reason', async () => {
    const { reply } = await refusedWith(
      {
        'www-authenticate': 'Bearer realm="tools", error="invalid_token", error_description="claims, missing"',
        'x-reason': 'no-claims',
        'ratelimit-remaining': '3',
        'retry-after': '7',
      },
      { status: 403 },
    );
    expect([reply.status, reply.json]).toEqual([403, { error: 'unauthenticated' }]);
    expect(reply.headers.get('www-authenticate')).toBe(
      'Bearer realm="tools", error="invalid_token", error_description="claims, missing"',
    );
    expect(reply.headers.get('x-reason')).toBe('no-claims');
    expect(reply.headers.get('ratelimit-remaining')).toBe('3');
    expect(reply.headers.get('retry-after')).toBe('7');
  });

  test('says what more a user would need, in every method of telling who calls', async () => {
    const wanted = 'Bearer error="insufficient_scope", scope="https://files.example/write mail"';
    for (const method of ['claims_header', 'bearer']) {
      const more = { configurations: { user_identity_forwarding: { method } } };
      expect((await challengeOf(wanted, { status: 403, more })).challenge).toBe(wanted);
    }
  });

  test('leads no client to another authorization server', async () => {
    const evil = 'https://evil.example/.well-known/oauth-protected-resource';
    const hostile: [string, (about: string) => string | null][] = [
      [`Bearer resource_metadata="${evil}"`, (about) => `Bearer resource_metadata="${about}"`],
      [
        `Bearer error="invalid_token", Resource_Metadata=x, resource_metadata="${evil}"`,
        (about) => `Bearer error="invalid_token", Resource_Metadata="${about}", resource_metadata="${about}"`,
      ],
      [
        `Bearer realm="a\\", resource_metadata=\\"${evil}", scope="s"`,
        () => `Bearer realm="a\\", resource_metadata=\\"${evil}", scope="s"`,
      ],
      [
        `Bearer authorization_uri="${evil}", as_uri="${evil}", error_uri="${evil}", scope="s"`,
        () => 'Bearer scope="s"',
      ],
      [`Basic realm="type your password", Bearer scope="s"`, () => 'Bearer scope="s"'],
      [`Bearer scope="s", Basic realm="type your password"`, () => 'Bearer scope="s"'],
      ['Negotiate', () => null],
      ['Negotiate YWJjZA==', () => null],
      [`Bearer resource_metadata="${evil}`, () => null],
      ['"', () => null],
    ];
    for (const [given, expected] of hostile) {
      const { challenge, about } = await challengeOf(given);
      expect([given, challenge]).toEqual([given, expected(about)]);
      expect(given === challenge ? '' : (challenge ?? '')).not.toContain('evil.example');
    }
  });

  test('at the address of all servers is about that server alone, and sends nobody for another token', async () => {
    const server = serve(async (request) => {
      const { id, method } = (await request.json()) as { id?: number; method: string };
      const result = { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
      if (method === 'tools/call')
        return Response.json(
          {},
          { status: 401, headers: { 'www-authenticate': 'Bearer resource_metadata="https://x"' } },
        );
      if (id === undefined) return new Response(null, { status: 202 });
      const capabilities = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'a', version: '1' } };
      return Response.json({ jsonrpc: '2.0', id, result: method === 'initialize' ? capabilities : result });
    });
    const { id: workspace_id } = await gateway.given.workspace({ slug: 'rejections' });
    const { key: theirs } = await gateway.given.apiKey({ workspace_id, scopes: ['mcp.invoke'] });
    const configurations = IDENTITY;
    const given = { name: 'one', slug: 'one-of-all', url: `${server.origin}/mcp`, workspace_id, configurations };
    expect((await gateway.api.post('/v1/mcp-servers', given)).status).toBe(200);
    const reply = await gateway.api.post('/mcp', toolCall('one-of-all__echo'), { key: theirs });
    server.stop();
    expect([reply.status, reply.json.error.code]).toEqual([200, 401]);
    expect(reply.headers.get('www-authenticate')).toBeNull();
  });

  test('acts on no browser, no proxy and no header of the gateway, and shows no credential', async () => {
    const { reply } = await refusedWith(
      {
        'set-cookie': 'session=theirs',
        'access-control-allow-origin': '*',
        'strict-transport-security': 'max-age=1',
        'clear-site-data': '"*"',
        'x-accel-redirect': '/etc/passwd',
        'x-sendfile': '/etc/passwd',
        'x-gateway-trace-id': 'forged',
        'x-user-jwt': 'a-signed-identity',
        X_User_Claims: '{}',
        'x-service-key': 'a-credential-of-ours',
        'x-who': 'them',
        location: 'https://evil.example/',
      },
      {
        more: {
          configurations: {
            headers: { 'X-Service-Key': 'a-credential-of-ours' },
            user_identity_forwarding: { method: 'claims_header', header_name: 'X-Who' },
          },
        },
      },
    );
    expect(reply.status).toBe(401);
    const shown = JSON.stringify(Object.fromEntries(reply.headers));
    expect(shown).not.toMatch(
      /theirs|etc\/passwd|forged|signed-identity|X_User|credential-of-ours|evil|x-who|clear-site/i,
    );
    expect(reply.headers.get('access-control-allow-origin')).toBeNull();
    expect(reply.headers.get('strict-transport-security')).not.toBe('max-age=1');
  });

  test('is none where the credential is the gateway’s, and where nothing was refused', async () => {
    const more = { configurations: { headers: { Authorization: 'Bearer outdated' } } };
    expect((await challengeOf('Bearer realm="theirs"', { more })).challenge).toBeNull();
    expect((await challengeOf('Bearer realm="theirs"', { status: 200 })).challenge).toBeNull();
    expect((await challengeOf('Bearer realm="theirs"', { status: 429 })).challenge).toBeNull();
  });

  test("sends the protocol's own client to the gateway and nowhere else", async () => {
    const visited: string[] = [];
    const evil = serve((request) => {
      visited.push(request.url);
      return Response.json({}, { status: 404 });
    });
    const challenge = `Bearer resource_metadata="${evil.origin}/.well-known/oauth-protected-resource"`;
    const server = serve(() => Response.json({}, { status: 401, headers: { 'www-authenticate': challenge } }));
    const given = { name: 'luring', slug: 'luring', url: `${server.origin}/mcp`, configurations: IDENTITY };
    expect((await gateway.api.post('/v1/mcp-servers', given)).status).toBe(200);
    const asked: string[] = [];
    const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/luring/mcp`), {
      requestInit: { headers: { 'x-gateway-api-key': key } },
      authProvider: {
        redirectUrl: 'http://127.0.0.1:9/callback',
        clientMetadata: { redirect_uris: ['http://127.0.0.1:9/callback'], client_name: 'test' },
        clientInformation: () => ({ client_id: 'known' }),
        tokens: () => undefined,
        saveTokens: () => {},
        saveCodeVerifier: () => {},
        codeVerifier: () => 'verifier',
        redirectToAuthorization: (url: URL) => void asked.push(url.origin),
      },
    });
    const client = new Client({ name: 'test', version: '1' });
    await expect(client.connect(transport)).rejects.toThrow();
    await client.close();
    server.stop();
    evil.stop();
    expect(visited).toEqual([]);
    expect(asked).toEqual([gateway.url]);
  });
});

describe('a refusal of one request', () => {
  const SESSION = { 'mcp-protocol-version': '2025-11-25' };
  const STATELESS = { 'mcp-protocol-version': '2026-07-28' };
  const send = (slug: string, body: unknown, headers: Record<string, string>) =>
    gateway.api.post(`/${slug}/mcp`, body, { key, headers });
  const register = async (url: string, configurations: Record<string, unknown> = {}) => {
    const slug = `one-request-${++count}`;
    const made = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url, configurations });
    if (made.status !== 200) throw new Error(made.text);
    return slug;
  };
  const NOTIFICATION = { jsonrpc: '2.0', method: 'notifications/progress', params: {} };

  test('of a limit is a message to a client with a session, and a status to others, with the same code', async () => {
    const server = serve(() => Response.json({ jsonrpc: '2.0', id: 1, result: {} }));
    const slug = await register(`${server.origin}/mcp`, {
      rate_limits: [{ type: 'requests', unit: 'rpm', value: 1 }],
    });
    await send(slug, toolCall(), SESSION);
    for (const [headers, status] of [
      [SESSION, 200],
      [{ 'mcp-session-id': 'x' }, 404],
      [STATELESS, 429],
      [{}, 429],
    ] as const) {
      const reply = await send(slug, toolCall(), headers);
      expect([headers, reply.status, reply.json.jsonrpc, reply.json.id]).toEqual([headers, status, '2.0', 1]);
      if (status !== 404) {
        expect(reply.json.error).toMatchObject({ code: 429, data: { code: 'rate_limited' } });
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(await gateway.logOf(reply)).toMatchObject({ status: 429, error_code: 'rate_limited' });
      }
    }
    expect((await send(slug, NOTIFICATION, SESSION)).status).toBe(202);
    server.stop();
  });

  test('of a server that is not there, too', async () => {
    const slug = await register('http://127.0.0.1:9/mcp');
    for (const [headers, status] of [
      [SESSION, 200],
      [STATELESS, 502],
    ] as const) {
      const reply = await send(slug, toolCall(), headers);
      expect([reply.status, reply.json.id, reply.json.error.code]).toEqual([status, 1, 502]);
      expect(await gateway.logOf(reply)).toMatchObject({ status: 502 });
    }
  });

  test("of a server has the server's own words, or ours, and what leads a client on stays", async () => {
    const said = { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'Too busy', data: { n: 1 } } };
    for (const [status, body, expected] of [
      [503, JSON.stringify(said), [200, { ...said, id: 1 }]],
      [500, '<h1>Oh no</h1>', [200, { error: { code: 500, data: { code: 'mcp_upstream_failed' } } }]],
      [429, '', [200, { error: { code: 429 } }]],
      [404, JSON.stringify(said), [404, said]],
      [401, JSON.stringify(said), [401, said]],
    ] as const) {
      const server = serve(() => new Response(body, { status, headers: { 'content-type': 'application/json' } }));
      const slug = await register(`${server.origin}/mcp`);
      const reply = await send(slug, toolCall(), SESSION);
      expect([reply.status, reply.json]).toMatchObject(expected as never);
      expect(await gateway.logOf(reply)).toMatchObject({ status });
      const notified = await send(slug, NOTIFICATION, SESSION);
      expect(notified.status).toBe(status === 404 || status === 401 ? status : 202);
      server.stop();
    }
  });
});
