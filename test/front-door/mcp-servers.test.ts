import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message, startMcpServer, startRecorder, toolCall } from '../mcp/recorder.ts';
import { startReferenceServer } from '../mcp/reference-server.ts';
import { givenUser } from '../people.ts';

let gateway: TestGateway;
const upstream = startRecorder();
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway.stop();
  upstream.stop();
});

const create = (body: Record<string, unknown> = {}, key?: string) =>
  gateway.api.post('/v1/mcp-servers', { name: 'A server', url: upstream.url, ...body }, { key });

test('a server is registered, listed, read by slug and by id, changed and removed', async () => {
  const { api } = gateway;
  const made = await create({ slug: 'weather', description: 'Rain', auth_type: 'none' });
  expect(made.status).toBe(200);
  expect(made.json).toMatchObject({
    object: 'mcp-server',
    slug: 'weather',
    url: upstream.url,
    endpoint: `${gateway.url}/weather/mcp`,
    auth_type: 'none',
    description: 'Rain',
    configurations: {},
  });
  const { id } = made.json;
  expect((await api.get('/v1/mcp-servers/weather')).json).toEqual(made.json);
  expect((await api.get(`/v1/mcp-servers/${id}`)).json).toEqual(made.json);
  expect((await api.get('/v1/mcp-servers')).json).toMatchObject({ object: 'list', data: [made.json], total: 1 });

  const changed = await api.put('/v1/mcp-servers/weather', { name: 'Wind', description: null });
  expect(changed.json).toMatchObject({ id, slug: 'weather', name: 'Wind', description: null });

  expect((await api.delete(`/v1/mcp-servers/${id}`)).json).toEqual({ id, object: 'mcp-server', deleted: true });
  const gone = await api.get('/v1/mcp-servers/weather');
  expect(gone.status).toBe(404);
  expect(gone.json.error.code).toBe('mcp_server_not_found');
});

test('a slug is made from the name, and is unique over all workspaces', async () => {
  const first = await create({ name: 'My Tools' });
  const second = await create({ name: 'My Tools' });
  expect(first.json.slug).toBe('my-tools');
  expect(second.json.slug).toMatch(/^my-tools-[0-9a-f]{6}$/);
  const { id } = await gateway.given.workspace();
  const third = await create({ slug: 'my-tools', workspace_id: id });
  expect(third.status).toBe(400);
  expect(third.json.error).toMatchObject({ code: 'slug_taken', param: 'slug' });
});

test("paths of the gateway's own cannot become slugs", async () => {
  for (const slug of ['v1', 'docs', 'console', 'health', 'ready', 'metrics', 'oauth', 'connect', 'mcp', 'sets']) {
    const reply = await create({ slug });
    expect(reply.status).toBe(400);
    expect(reply.json.error).toMatchObject({ code: 'invalid_request', param: 'slug' });
  }
  for (const slug of ['v0.1', '.well-known', 'Upper', 'a b', '-a', '', 'ä', 'a'.repeat(64), crypto.randomUUID()])
    expect((await create({ slug })).status).toBe(400);
  expect((await create({ name: 'Docs' })).json.slug).toBe('docs-mcp-server');
});

test('credentials are shown masked and must not come back like that', async () => {
  const { api } = gateway;
  const made = await create({
    slug: 'secret',
    configurations: {
      headers: { Authorization: 'Bearer sk-1234567890abcdef' },
      passthrough_headers: { 'X-Team': 'search', 'X-Team-Key': 'abcdef1234567890' },
      jwt_validation: {
        introspectEndpoint: `${new URL(upstream.url).origin}/introspect`,
        introspectClientId: 'us',
        introspectClientSecret: 'very-secret-indeed',
      },
    },
  });
  expect(made.status).toBe(200);
  expect(made.json.auth_type).toBe('headers');
  expect(made.json.configurations).toMatchObject({
    headers: { Authorization: 'Bea***def' },
    passthrough_headers: { 'X-Team': 'search', 'X-Team-Key': 'abc***890' },
    jwt_validation: { introspectClientId: 'us', introspectClientSecret: 'ver***eed' },
  });
  for (const path of ['/v1/mcp-servers/secret', '/v1/mcp-servers'])
    expect((await api.get(path)).text).not.toMatch(/1234567890|very-secret/);

  const back = await api.put('/v1/mcp-servers/secret', { configurations: made.json.configurations });
  expect(back.status).toBe(400);
  expect(back.json.error.param).toBe('configurations.headers.Authorization');
});

test('a given member of the configurations replaces the old one, null removes it, the others stay', async () => {
  const { api } = gateway;
  await create({
    slug: 'parts',
    configurations: { headers: { 'X-Key': 'abcdef1234567890' }, passthrough_headers: { 'X-Team': 'a' } },
  });
  const changed = await api.put('/v1/mcp-servers/parts', {
    configurations: { passthrough_headers: { 'X-Team': 'b' } },
  });
  expect(changed.json.configurations).toEqual({
    headers: { 'X-Key': 'abc***890' },
    passthrough_headers: { 'X-Team': 'b' },
  });
  const removed = await api.put('/v1/mcp-servers/parts', { configurations: { passthrough_headers: null } });
  expect(removed.json.configurations).toEqual({ headers: { 'X-Key': 'abc***890' } });
});

test('a stored credential does not follow the server to another host', async () => {
  const { api } = gateway;
  await create({ slug: 'moving', configurations: { headers: { 'X-Key': 'abcdef1234567890' } } });
  const elsewhere = 'http://127.0.0.1:9/mcp';
  const moved = await api.put('/v1/mcp-servers/moving', { url: elsewhere });
  expect(moved.status).toBe(400);
  expect(moved.json.error.param).toBe('configurations.headers');
  expect((await api.put('/v1/mcp-servers/moving', { url: `${upstream.url}/deeper` })).status).toBe(200);
  const again = { url: elsewhere, configurations: { headers: { 'X-Key': 'another-credential' } } };
  expect((await api.put('/v1/mcp-servers/moving', again)).status).toBe(200);
});

describe('a fault is refused and named', () => {
  const identity = (given: Record<string, unknown>) => ({ user_identity_forwarding: given });
  const faults: [string, Record<string, unknown>, string][] = [
    ['no url', { url: undefined }, 'url'],
    ['another scheme', { url: 'ftp://127.0.0.1/' }, 'url'],
    ['a fragment', { url: 'http://127.0.0.1/mcp#x' }, 'url'],
    ['an unknown member', { nope: 1 }, 'nope'],
    ['an unknown auth_type', { auth_type: 'basic' }, 'auth_type'],
    ['headers without any', { auth_type: 'headers' }, 'configurations.headers'],
    [
      'headers that are not used',
      { auth_type: 'none', configurations: { headers: { a: 'b' } } },
      'configurations.headers',
    ],
    ['client credentials without any', { auth_type: 'oauth_client_credentials' }, 'configurations.oauth_metadata'],
    ['an unknown configuration', { configurations: { nope: 1 } }, 'configurations.nope'],
    ['a header of HTTP', { configurations: { headers: { Host: 'x' } } }, 'configurations.headers.Host'],
    ['a header of MCP', { configurations: { headers: { 'Mcp-Name': 'x' } } }, 'configurations.headers.Mcp-Name'],
    ['a line break', { configurations: { headers: { 'X-A': 'a\r\nb' } } }, 'configurations.headers.X-A'],
    [
      'no header name',
      { configurations: { passthrough_headers: { 'a b': 'c' } } },
      'configurations.passthrough_headers.a b',
    ],
    [
      'an unknown mode',
      { configurations: { forward_headers: { mode: 'all', headers: [] } } },
      'configurations.forward_headers.mode',
    ],
    [
      'a protected header',
      { configurations: { forward_headers: ['x-a', 'X_User_Claims'] } },
      'configurations.forward_headers[1]',
    ],
    [
      'a rename to a protected header',
      { configurations: { forward_headers: { mode: 'all-except', headers: [{ from: 'x-a', to: 'x-user-jwt' }] } } },
      'configurations.forward_headers.headers[0].to',
    ],
    [
      "a rename to the identity's own header",
      {
        configurations: {
          forward_headers: [{ from: 'x-a', to: 'x_who' }],
          ...identity({ method: 'claims_header', header_name: 'X-Who' }),
        },
      },
      'configurations.forward_headers[0]',
    ],
    ['no method', { configurations: identity({}) }, 'configurations.user_identity_forwarding.method'],
    [
      'an unknown method',
      { configurations: identity({ method: 'x' }) },
      'configurations.user_identity_forwarding.method',
    ],
    [
      'a lifetime of nothing',
      { configurations: identity({ method: 'jwt_header', jwt_expiry_seconds: 0 }) },
      'configurations.user_identity_forwarding.jwt_expiry_seconds',
    ],
    [
      'a lifetime of a day',
      { configurations: identity({ method: 'jwt_header', jwt_expiry_seconds: 86_400 }) },
      'configurations.user_identity_forwarding.jwt_expiry_seconds',
    ],
    [
      'signing without a key',
      { configurations: identity({ method: 'jwt_header' }) },
      'configurations.user_identity_forwarding.method',
    ],
    [
      'a claim that is no text',
      { configurations: identity({ method: 'claims_header', include_claims: [1] }) },
      'configurations.user_identity_forwarding.include_claims[0]',
    ],
    ...(['claims_header', 'bearer'] as const).flatMap((method): [string, Record<string, unknown>, string][] => [
      [
        `a lifetime of ${method}`,
        { configurations: identity({ method, jwt_expiry_seconds: 60 }) },
        'configurations.user_identity_forwarding.jwt_expiry_seconds',
      ],
      [
        `an audience of ${method}`,
        { configurations: identity({ method, jwt_audience: 'https://a.example' }) },
        'configurations.user_identity_forwarding.jwt_audience',
      ],
    ]),
    [
      "claims picked from a user's own token",
      { configurations: identity({ method: 'bearer', include_claims: ['sub'] }) },
      'configurations.user_identity_forwarding.include_claims',
    ],
    [
      'a claim that no caller has',
      { configurations: identity({ method: 'claims_header', include_claims: ['sub', 'groups'] }) },
      'configurations.user_identity_forwarding.include_claims[1]',
    ],
    [
      'an identity in a header of HTTP',
      { configurations: identity({ method: 'claims_header', header_name: 'Transfer-Encoding' }) },
      'configurations.user_identity_forwarding.header_name',
    ],
    [
      "the gateway's credential where the user's token goes",
      { configurations: { headers: { authorization: 'Bearer x' }, ...identity({ method: 'bearer' }) } },
      'configurations.headers',
    ],
    ['no source of keys', { configurations: { jwt_validation: {} } }, 'configurations.jwt_validation'],
    [
      'a shared secret as algorithm',
      { configurations: { jwt_validation: { jwksUri: 'https://a.example/jwks', algorithms: ['HS256'] } } },
      'configurations.jwt_validation.algorithms[0]',
    ],
    [
      'two sources of keys',
      {
        configurations: { jwt_validation: { jwksUri: 'https://a.example/', introspectEndpoint: 'https://a.example/' } },
      },
      'configurations.jwt_validation.introspectEndpoint',
    ],
    [
      'a private key',
      { configurations: { jwt_validation: { jwks: { keys: [{ kty: 'RSA', n: 'a', e: 'b', d: 'c' }] } } } },
      'configurations.jwt_validation.jwks.keys[0].d',
    ],
  ];
  for (const [name, body, param] of faults) {
    test(name, async () => {
      const reply = await create({ slug: 'faulty', ...body });
      expect(reply.status).toBe(400);
      expect(reply.json.error).toMatchObject({ code: 'invalid_request', param });
    });
  }
  test('nothing of that was stored', async () => {
    expect((await gateway.api.get('/v1/mcp-servers/faulty')).status).toBe(404);
  });
});

test('addresses that the gateway does not call are refused wherever they stand', async () => {
  const metadata = 'http://169.254.169.254/latest';
  const client = { token_endpoint: metadata, client_id: 'a', client_secret: 'b' };
  const rows: [string, Record<string, unknown>][] = [
    ['url', { url: metadata }],
    ['configurations.jwt_validation.jwksUri', { configurations: { jwt_validation: { jwksUri: metadata } } }],
    [
      'configurations.jwt_validation.introspectEndpoint',
      { configurations: { jwt_validation: { introspectEndpoint: metadata } } },
    ],
    [
      'configurations.oauth_metadata.token_endpoint',
      { auth_type: 'oauth_client_credentials', configurations: { oauth_metadata: client } },
    ],
  ];
  for (const [param, body] of rows) {
    const reply = await create(body);
    expect(reply.status).toBe(400);
    expect(reply.json.error).toMatchObject({ code: 'egress_refused', param });
  }
});

test('what works and is not safe is said', async () => {
  const loose = await create({ configurations: { jwt_validation: { jwksUri: 'https://issuer.example/jwks' } } });
  expect(loose.json.warnings).toHaveLength(2);
  const strict = await create({
    configurations: {
      jwt_validation: {
        jwksUri: 'https://issuer.example/jwks',
        issuer: 'https://issuer.example',
        claimValues: { aud: { values: 'us' } },
      },
    },
  });
  expect(strict.json.warnings).toEqual([]);
});

test('servers go with their workspace, and other workspaces do not see them', async () => {
  const { api, given } = gateway;
  const workspace = await given.workspace({ slug: 'short-lived' });
  const { key } = await given.apiKey({ workspace_id: workspace.id, scopes: ['mcp_servers.list', 'mcp_servers.read'] });
  await create({ slug: 'theirs', workspace_id: workspace.id });
  expect((await api.get('/v1/mcp-servers', { key })).json.total).toBe(1);
  expect((await api.get('/v1/mcp-servers/my-tools', { key })).status).toBe(404);

  expect((await api.delete(`/v1/admin/workspaces/${workspace.id}`)).status).toBe(200);
  expect((await api.get('/v1/mcp-servers/theirs')).status).toBe(404);
  expect((await create({ slug: 'theirs' })).status).toBe(200);
});

test('a test says whether the server answers, and what it is', async () => {
  const reference = startReferenceServer();
  await create({ slug: 'reference', url: reference.url });
  const good = await gateway.api.post('/v1/mcp-servers/reference/test');
  expect(good.json).toMatchObject({
    success: true,
    status_code: 200,
    url: reference.url,
    server_name: 'reference',
    protocol_version: '2025-11-25',
    error: null,
  });
  expect(reference.sessions).toBe(0);
  reference.stop();
  const gone = await gateway.api.post('/v1/mcp-servers/reference/test');
  expect(gone.json).toMatchObject({ success: false, status_code: null, server_name: null });
  expect(gone.json.error).toContain('No connection');
});

describe('how a server is used', () => {
  const hour = () => {
    const now = Date.now();
    return `time_of_generation_min=${now - 3_600_000}&time_of_generation_max=${now + 3_600_000}`;
  };

  test('is told by tool and by user, with errors, latency and bytes, and which tools are not used', async () => {
    const offered = ['used', 'failing', 'idle', 'off'].map((name) => ({ name, description: name }));
    const server = startMcpServer(offered);
    const { api, given } = gateway;
    await create({ slug: 'busy', url: server.url });
    await create({ slug: 'unseen', url: server.url });
    await api.post('/v1/mcp-servers/busy/sync');
    const off = { capabilities: [{ type: 'tool', name: 'off', enabled: false }] };
    await api.put('/v1/mcp-servers/busy/capabilities', off);
    const user = await givenUser(gateway);
    const keys = [await given.apiKey({ user_id: user.id }), await given.apiKey()];
    const call = async (tool: string, { key }: { key: string }) => {
      const reply = await api.post('/busy/mcp', toolCall(tool), { key });
      await gateway.logOf(reply);
      return reply;
    };
    for (const key of [keys[0]!, keys[0]!, keys[1]!]) await call('used', key);
    expect((await call('off', keys[1]!)).json.error.code).toBe(-32_602);
    const listed = await api.post('/busy/mcp', message('tools/list'), { key: keys[1]!.key });
    await gateway.logOf(listed);

    const byTool = (await api.get(`/v1/mcp-servers/busy/usage?${hour()}`)).json;
    const byUser = (await api.get(`/v1/mcp-servers/busy/usage?${hour()}&group_by=user`)).json;
    const all = (await api.get(`/v1/mcp-usage?${hour()}`)).json;

    expect(byTool).toMatchObject({
      server: 'busy',
      data: [
        { tool: 'used', calls: 3, errors: 0, error_rate: 0 },
        { tool: 'off', calls: 1, errors: 1, error_rate: 1 },
      ],
      unused_tools: ['failing', 'idle'],
    });
    const [used] = byTool.data;
    expect(used.latency_ms.p50).toBeGreaterThan(0);
    expect(used.request_bytes).toBe(3 * JSON.stringify(toolCall('used')).length);
    expect(used.response_bytes).toBeGreaterThan(0);
    expect(byUser.data).toMatchObject([
      { user_id: null, calls: 3 },
      { user_id: user.id, calls: 2 },
    ]);
    expect(all.data.find(({ server: slug }: { server: string }) => slug === 'busy')).toMatchObject({ calls: 5 });
    expect((await api.get(`/v1/mcp-servers/unseen/usage?${hour()}`)).json).toMatchObject({
      data: [],
      unused_tools: null,
    });
    const metrics = (await api.get('/metrics')).text;
    expect(metrics).toMatch(/gateway_mcp_calls_total\{server="busy",tool="used",failed_by=""\} 3/);
    expect(metrics).toMatch(/gateway_mcp_call_duration_seconds_count\{server="busy"\} 5/);
    server.stop();
  });

  test('is for those who may see the server and figures, and its time and its way to group are checked', async () => {
    const { id } = await gateway.given.workspace();
    await create({ slug: 'elsewhere', workspace_id: id });
    const scopes = ['analytics.view', 'mcp_servers.read', 'mcp_servers.list'];
    const { key } = await gateway.given.apiKey({ scopes });
    const asked = async (path: string) => (await gateway.api.get(path, { key })).json.error;
    expect((await asked(`/v1/mcp-servers/elsewhere/usage?${hour()}`)).code).toBe('mcp_server_not_found');
    const before = 'time_of_generation_max=2020-01-01T00:00:00Z&time_of_generation_min=2021-01-01T00:00:00Z';
    expect((await asked(`/v1/mcp-usage?${before}`)).param).toBe('time_of_generation_max');
    expect((await gateway.api.get('/v1/mcp-usage', { key })).json.object).toBe('mcp-usage');
    expect((await asked(`/v1/mcp-usage?${hour()}&group_by=tool`)).param).toBe('group_by');
  });
});

describe('the public registry format', () => {
  test('lists what the caller may use, page by page', async () => {
    const { api, given } = gateway;
    const workspace = await given.workspace({ slug: 'listed' });
    const { key } = await given.apiKey({ workspace_id: workspace.id, scopes: ['mcp_servers.list'] });
    for (const name of ['Alpha', 'Beta_1', 'Gamma'])
      await create({ name, slug: `l-${name.toLowerCase()}`, workspace_id: workspace.id });

    const first = await api.get('/v0.1/servers?limit=2', { key });
    expect(first.json.servers[0].server).toEqual({
      name: 'ai.gateway.listed/l-alpha',
      title: 'Alpha',
      description: 'Alpha',
      version: '0.0.0',
      remotes: [{ type: 'streamable-http', url: `${gateway.url}/l-alpha/mcp` }],
    });
    expect(first.json.metadata.count).toBe(2);
    const second = await api.get(`/v0.1/servers?limit=2&cursor=${first.json.metadata.nextCursor}`, { key });
    expect(second.json.metadata).toEqual({ count: 1 });
    const names = async (query: string) =>
      (await api.get(`/v0.1/servers?${query}`, { key })).json.servers.map(
        (each: { server: { title: string } }) => each.server.title,
      );
    expect(await names('search=ALPH')).toEqual(['Alpha']);
    expect(await names('search=a_1')).toEqual(['Beta_1']);
    expect(await names('search=%25')).toEqual([]);
    expect(await names(`updated_since=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
  });

  test('refuses what it did not give out', async () => {
    for (const [query, param] of [
      ['cursor=nonsense', 'cursor'],
      ['limit=0', 'limit'],
      ['limit=101', 'limit'],
      ['updated_since=yesterday', 'updated_since'],
    ]) {
      const reply = await gateway.api.get(`/v0.1/servers?${query}`);
      expect(reply.status).toBe(400);
      expect(reply.json.error.param).toBe(param!);
    }
    expect((await gateway.api.get('/v0.1/servers', { key: null })).status).toBe(401);
  });
});
