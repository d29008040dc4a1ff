import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createSealer } from '../../src/crypto/seal.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { Visitor } from '../identity-provider.ts';
import { givenPerson } from '../mcp/connecting.ts';
import {
  beginConnecting,
  connectAccount,
  type ProtectedServer,
  startProtectedServer,
} from '../mcp/protected-server.ts';
import { message, toolCall } from '../mcp/recorder.ts';
import { givenBrowser, givenUser, PASSWORD, signIn } from '../people.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

/** Users' own accounts at MCP servers, with a real authorization server. */
const CLIENT = { client_id: 'known', client_secret: 'a secret: with + signs & more' };
let gateway: TestGateway;
let server: ProtectedServer;
beforeAll(async () => {
  gateway = await startGateway();
  const known = { ...CLIENT, redirect_uris: [`${gateway.url}/oauth/upstream-callback`], application_type: 'native' };
  server = await startProtectedServer({
    answer: () => Response.json({ jsonrpc: '2.0', id: 1, result: { ok: true } }),
    clients: [{ ...known, grant_types: ['authorization_code', 'refresh_token'] }],
  });
});
afterAll(async () => {
  await gateway.stop();
  await server.stop();
});

let count = 0;
async function register(over: Record<string, unknown> = {}): Promise<string> {
  const slug = `notes-${++count}`;
  const body = { name: `Notes ${count}`, slug, url: server.url, auth_type: 'oauth_auto', ...over };
  const reply = await gateway.api.post('/v1/mcp-servers', body);
  if (reply.status !== 200) throw new Error(reply.text);
  return slug;
}
const linkTo = (slug: string) => `${gateway.url}/connect/${slug}`;
const rows = (table: string) => query(gateway, `select * from ${table}`);

/** A user who has connected an account. */
async function connected(over: Record<string, unknown> = {}) {
  const slug = await register(over);
  const person = await givenPerson(gateway);
  const page = await connectAccount(person.visitor, linkTo(slug));
  expect(await page.text()).toContain('You are connected');
  return { slug, ...person };
}

test("a user connects an account, and calls reach the server with that user's own token", async () => {
  const { slug, call } = await connected();
  const other = await givenPerson(gateway);

  const reply = await call(slug);

  expect(reply.json.result).toEqual({ ok: true });
  expect((await other.call(slug)).json.result.content[0].text).toContain(linkTo(slug));
});

test('tokens lie sealed in the store, for their user and server, and are in no log', async () => {
  const { slug, user, call } = await connected();
  const reply = await call(slug);
  const token = server.shown.at(-1)!;

  const [row] = (await rows('mcp_user_tokens')).filter(({ user_id }) => user_id === user.id);
  const sealed = String(row!.sealed);

  for (const table of ['mcp_user_tokens', 'mcp_oauth_clients', 'mcp_connect_flows'])
    expect(JSON.stringify(await rows(table))).not.toContain(token);
  expect(JSON.stringify(await gateway.logOf(reply))).not.toContain(token);
  const open = (key: number, context: string) =>
    createSealer(Buffer.alloc(32, key)).open('mcp-user-token', context, sealed);
  const context = `${row!.server_id} ${row!.user_id}`;
  expect(open(1, context)).toContain(token);
  expect(() => open(2, context)).toThrow();
  expect(() => open(1, `${row!.server_id} another`)).toThrow();
});

describe('who has not connected is told where to', () => {
  const META = 'io.modelcontextprotocol';
  const modern = (method: string, capabilities: unknown) => ({
    ...toolCall(),
    method,
    params: { name: 'echo', _meta: { [`${META}/clientCapabilities`]: capabilities } },
  });
  const elicitation = (link: string) => ({ mode: 'url', url: link, message: expect.stringContaining(link) });
  const text = (link: string) => [{ type: 'text', text: expect.stringContaining(link) }];
  const plainError = (link: string) => ({
    code: 403,
    message: expect.stringContaining(link),
    data: { code: 'mcp_connection_required', url: link },
  });
  const forms: [string, unknown, string | null, (link: string) => unknown][] = [
    [
      'a tool, before 2025-11-25',
      toolCall(),
      '2025-06-18',
      (link) => ({ result: { content: text(link), isError: true } }),
    ],
    ['a tool, without a version', toolCall(), null, (link) => ({ result: { content: text(link), isError: true } })],
    [
      'a prompt, before 2025-11-25',
      message('prompts/get', { name: 'p' }),
      '2025-06-18',
      (link) => ({ error: plainError(link) }),
    ],
    [
      'a tool of 2025-11-25',
      toolCall(),
      '2025-11-25',
      (link) => ({
        error: {
          code: -32042,
          message: expect.stringContaining(link),
          data: { elicitations: [{ ...elicitation(link), elicitationId: expect.any(String) }] },
        },
      }),
    ],
    [
      'a stateless client that opens addresses',
      modern('tools/call', { elicitation: { url: {} } }),
      '2026-07-28',
      (link) => ({
        result: {
          resultType: 'input_required',
          inputRequests: { connect: { method: 'elicitation/create', params: elicitation(link) } },
        },
      }),
    ],
    [
      'a stateless client that does not',
      modern('tools/call', { elicitation: { form: {} } }),
      '2026-07-28',
      (link) => ({ result: { resultType: 'complete', content: text(link), isError: true } }),
    ],
  ];
  for (const [what, body, version, expected] of forms)
    test(what, async () => {
      const slug = await register();
      const { call } = await givenPerson(gateway);

      const reply = await call(slug, body, version);

      expect(reply.status).toBe(200);
      expect(reply.json).toEqual({ jsonrpc: '2.0', id: 1, ...(expected(linkTo(slug)) as object) });
      expect(reply.headers.get('www-authenticate')).toBeNull();
      expect(await gateway.logOf(reply)).toMatchObject({ status: 200, error_code: 'mcp_connection_required' });
    });

  test('and whose client has started before goes on with a session of the server', async () => {
    const slug = await register();
    const { key, visitor, call } = await givenPerson(gateway);
    const greeted = await call(slug, message('initialize', { protocolVersion: '2025-06-18' }), null);
    expect(greeted.json.result).toMatchObject({
      protocolVersion: '2025-06-18',
      instructions: expect.stringContaining(linkTo(slug)),
    });
    const headers = { 'mcp-session-id': greeted.headers.get('mcp-session-id')!, 'mcp-protocol-version': '2025-06-18' };
    const say = (body: object) => gateway.api.post(`/${slug}/mcp`, body, { key, headers });
    expect((await say({ jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
    expect((await gateway.api.get(`/${slug}/mcp`, { key, headers })).status).toBe(405);
    expect((await say(message('prompts/list'))).json.result).toEqual({ prompts: [] });
    const [tool] = (await say(message('tools/list'))).json.result.tools;
    expect((await say(toolCall(tool.name))).json.result.content).toEqual(text(linkTo(slug)));

    await connectAccount(visitor, linkTo(slug));

    const gone = await say(message('tools/list'));
    expect([gone.status, gone.json.error.data.code]).toEqual([404, 'mcp_session_not_found']);
    expect((await call(slug, message('initialize'))).json.result).toEqual({ ok: true });
  });

  test('and whose client has no sessions finds out what there is to do', async () => {
    const slug = await register();
    const { call } = await givenPerson(gateway);
    const ask = async (method: string) => (await call(slug, modern(method, {}), '2026-07-28')).json.result;
    expect(await ask('server/discover')).toMatchObject({ supportedVersions: ['2026-07-28'], resultType: 'complete' });
    const { tools, ...more } = await ask('tools/list');
    expect(tools).toMatchObject([{ name: 'connect_account' }]);
    expect(more).toEqual({ resultType: 'complete', ttlMs: 0, cacheScope: 'private' });
  });

  test('a key that belongs to nobody is told that a user is needed', async () => {
    const slug = await register();
    const reply = await gateway.api.post(`/${slug}/mcp`, toolCall());
    expect(reply.status).toBe(403);
    expect(reply.json.error).toMatchObject({
      code: 403,
      message: expect.stringContaining('a user'),
      data: { code: 'mcp_user_required' },
    });
  });

  test('a test of the server says so, too', async () => {
    const slug = await register();
    const reply = await gateway.api.post(`/v1/mcp-servers/${slug}/test`);
    expect(reply.json).toMatchObject({ success: false, error: expect.stringContaining('no user of the gateway') });
  });
});

describe('a token that the server refuses', () => {
  test('is renewed once, however many calls wait, and they go through', async () => {
    const { slug, call } = await connected();
    await call(slug);
    server.refused.add(server.shown.at(-1)!);
    const before = server.grants.refresh_token ?? 0;
    server.slowness = 100;

    const replies = await Promise.all(Array.from({ length: 20 }, () => call(slug)));

    server.slowness = 0;
    expect(replies.map(({ json }) => json.result?.ok)).toEqual(Array(20).fill(true));
    expect(server.grants.refresh_token).toBe(before + 1);
  });

  test('and that cannot be renewed any more makes the user connect again', async () => {
    const { slug, user, visitor, call } = await connected();
    await call(slug);
    server.refused.add(server.shown.at(-1)!);
    const [row] = (await rows('mcp_user_tokens')).filter(({ user_id }) => user_id === user.id);
    const context = `${row!.server_id} ${row!.user_id}`;
    const sealer = createSealer(Buffer.alloc(32, 1));
    const grant = JSON.parse(sealer.open('mcp-user-token', context, String(row!.sealed)));
    const basic = Buffer.from(`${grant.client.id}:${grant.client.secret}`).toString('base64');
    const form = new URLSearchParams({ token: grant.refreshToken });
    await fetch(grant.revocationEndpoint, { method: 'POST', headers: { authorization: `Basic ${basic}` }, body: form });

    const reply = await call(slug);

    expect(reply.json.result.content[0].text).toContain(linkTo(slug));
    expect((await rows('mcp_user_tokens')).filter(({ user_id }) => user_id === user.id)).toEqual([]);
    await connectAccount(visitor, linkTo(slug));
    expect((await call(slug)).json.result).toEqual({ ok: true });
  });
});

test('a server that asks for a further scope gets its user asked for it, and no other link does', async () => {
  const challenge = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="notes write:all"' };
  const strict = await startProtectedServer({
    answer: () => new Response(null, { status: 403, headers: challenge }),
    metadata: (said, path) =>
      // Some spell themselves with a slash at the end, and are named without.
      path.startsWith('/.well-known/oauth-protected-resource')
        ? { ...said, authorization_servers: [`${(said.authorization_servers as string[])[0]}/`] }
        : said,
  });
  const slug = await register({ url: strict.url });
  const { visitor, call } = await givenPerson(gateway);
  const other = await givenPerson(gateway);
  await connectAccount(visitor, linkTo(slug));

  const link = /http\S+\?more=[\w.-]+/.exec((await call(slug)).json.result.content[0].text)![0];

  const scopesAt = async (who: Visitor, address: string) =>
    new URL(await beginConnecting(who, address)).searchParams.get('scope')!.split(' ').sort();
  expect(await scopesAt(visitor, link)).toEqual(['notes', 'offline_access', 'write:all']);
  expect(await scopesAt(other.visitor, link)).toEqual(['notes', 'offline_access']);
  expect(await scopesAt(visitor, `${linkTo(slug)}?more=write`)).toEqual(['notes', 'offline_access']);
  await strict.stop();
});

test('a server that moves to another issuer takes its users there at once', async () => {
  const answer = () => Response.json({ jsonrpc: '2.0', id: 1, result: {} });
  const next = await startProtectedServer({ answer });
  let issuer: string | null = null;
  const moving = await startProtectedServer({
    answer,
    metadata: (said, path) =>
      issuer !== null && path.startsWith('/.well-known/oauth-protected-resource')
        ? { ...said, authorization_servers: [issuer] }
        : said,
  });
  const slug = await register({ url: moving.url });
  const { visitor, call } = await givenPerson(gateway);
  await connectAccount(visitor, linkTo(slug));
  expect((await call(slug)).json.result).toEqual({});
  issuer = next.issuer;
  moving.refused.add(moving.shown.at(-1)!);
  const token = moving.shown.length;

  // What it renews is refused, too: it trusts the other one now.
  moving.refused.add = () => moving.refused;
  const [was, has] = [moving.refused.has.bind(moving.refused), () => true];
  moving.refused.has = has;
  await call(slug);
  const away = await beginConnecting(visitor, linkTo(slug));
  moving.refused.has = was;

  expect(new URL(away).origin).toBe(next.issuer);
  expect(token).toBeGreaterThan(0);
  await Promise.all([moving.stop(), next.stop()]);
});

describe('tokens go', () => {
  const tokensOf = async (id: string) => (await rows('mcp_user_tokens')).filter(({ user_id }) => user_id === id).length;

  test('with the server', async () => {
    const { slug, user } = await connected();
    expect(await tokensOf(user.id)).toBe(1);
    await gateway.api.delete(`/v1/mcp-servers/${slug}`);
    expect(await tokensOf(user.id)).toBe(0);
  });

  test('with the user', async () => {
    const { user } = await connected();
    await gateway.api.delete(`/v1/admin/users/${user.id}`);
    expect(await tokensOf(user.id)).toBe(0);
  });

  const changes: [string, Record<string, unknown>, number][] = [
    ['with the address of the server', { url: 'http://127.0.0.1:9/mcp' }, 0],
    ['with the way in', { auth_type: 'none' }, 0],
    ['with its issuer', { configurations: { oauth_metadata: { issuer: 'https://issuer.example.com' } } }, 0],
    ['but not with its name', { name: 'Renamed' }, 1],
    ['nor with another scope', { configurations: { oauth_metadata: { scope: 'more' } } }, 1],
  ];
  for (const [what, change, left] of changes)
    test(what, async () => {
      const { slug, user } = await connected();
      expect((await gateway.api.put(`/v1/mcp-servers/${slug}`, change)).status).toBe(200);
      expect(await tokensOf(user.id)).toBe(left);
    });

  test('when the user disconnects, and the issuer is told', async () => {
    const { slug, user, visitor, call } = await connected();
    await call(slug);
    const token = server.shown.at(-1)!;
    const shown = await (await visitor.open(linkTo(slug))).text();
    const csrf = /name="csrf" value="([^"]+)"/.exec(shown)![1]!;
    const refused = await visitor.open(`${linkTo(slug)}/disconnect`, { csrf: 'x'.repeat(csrf.length) });
    expect(refused.status).toBe(400);
    expect(await tokensOf(user.id)).toBe(1);

    const left = await visitor.open(`${linkTo(slug)}/disconnect`, { csrf });

    expect(left.headers.get('location')).toBe(`/connect/${slug}`);
    expect(await tokensOf(user.id)).toBe(0);
    const direct = await fetch(server.url, { method: 'POST', headers: { authorization: `Bearer ${token}` } });
    expect(direct.status).toBe(401);
  });

  test('when the user ends it among their own, also after the server was closed to them', async () => {
    const { slug, user, call } = await connected();
    const open = await register();
    const plain = await register({ auth_type: 'none' });
    const [browser, other] = [await signIn(gateway, user.email), (await givenBrowser(gateway)).browser];
    const ofUser = async () => {
      const { data } = (await browser.call('GET', '/v1/own-connections')).json;
      return new Map(data.map((each: { server: string }) => [each.server, each]));
    };
    const listed = await ofUser();
    expect(listed.get(slug)).toMatchObject({ is_connected: true, may_call: true, issuer: server.issuer });
    expect(listed.get(open)).toMatchObject({ is_connected: false, connect_url: linkTo(open) });
    expect(listed.get(plain)).toMatchObject({ needs_account: false, connect_url: null });
    await gateway.api.put(`/v1/mcp-servers/${slug}/user-access`, { users: [{ user_id: user.id, enabled: false }] });
    expect((await ofUser()).get(slug)).toMatchObject({ is_connected: true, may_call: false });

    expect((await other.call('DELETE', `/v1/own-connections/${slug}`)).json.error.code).toBe(
      'own_connection_not_found',
    );
    expect((await browser.call('DELETE', `/v1/own-connections/${slug}`)).json.deleted).toBe(true);

    expect((await ofUser()).has(slug)).toBe(false);
    await gateway.api.put(`/v1/mcp-servers/${slug}/user-access`, { users: [{ user_id: user.id, enabled: true }] });
    expect((await call(slug)).json.result.content[0].text).toContain(linkTo(slug));
  });

  test('when an administrator ends the connection', async () => {
    const { slug, user } = await connected();
    const listed = await gateway.api.get(`/v1/mcp-servers/${slug}/connections`);
    expect(listed.json.data).toMatchObject([{ user_id: user.id, issuer: server.issuer, renews_itself: true }]);
    expect(Object.keys(listed.json.data[0])).not.toContain('sealed');

    const reply = await gateway.api.delete(`/v1/mcp-servers/${slug}/connections/${user.id}`);

    expect(reply.json).toEqual({ id: user.id, object: 'mcp-connection', deleted: true });
    expect(await tokensOf(user.id)).toBe(0);
    const again = await gateway.api.delete(`/v1/mcp-servers/${slug}/connections/${user.id}`);
    expect(again.json.error.code).toBe('mcp_connection_not_found');
  });
});

describe('as whom the gateway asks', () => {
  test('a configured client is used as it is, and none is registered', async () => {
    const before = server.asked.filter((each) => each === 'POST /reg').length;
    const { slug, call } = await connected({ configurations: { oauth_metadata: CLIENT } });
    expect((await call(slug)).json.result).toEqual({ ok: true });
    expect(server.asked.filter((each) => each === 'POST /reg')).toHaveLength(before);
    const shown = await gateway.api.get(`/v1/mcp-servers/${slug}`);
    expect(shown.text).not.toContain(CLIENT.client_secret);
  });

  test('two users of a server share one registration', async () => {
    const before = server.asked.filter((each) => each === 'POST /reg').length;
    const { slug } = await connected();
    const other = await givenPerson(gateway);
    await connectAccount(other.visitor, linkTo(slug), { account: 'grace' });
    expect(server.asked.filter((each) => each === 'POST /reg')).toHaveLength(before + 1);
  });
});

test('who connects and who leaves is in the audit log', async () => {
  const slug = await register();
  const { user, visitor } = await givenPerson(gateway);
  await connectAccount(visitor, linkTo(slug));
  const shown = await (await visitor.open(linkTo(slug))).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(shown)![1]!;
  expect((await visitor.open(`${linkTo(slug)}/disconnect`, { csrf })).status).toBe(303);
  const organisation = (await gateway.api.get('/v1/admin/organisation')).json.id;
  const query = new URLSearchParams({
    start_time: new Date(Date.now() - 60_000).toISOString(),
    end_time: new Date(Date.now() + 60_000).toISOString(),
    organisation_id: organisation,
    resource_type: 'mcp_connections',
    user_id: user.id,
  });
  const actions = async () => (await gateway.api.get(`/v1/audit-logs?${query}`)).json.records;
  await eventually('both are recorded', async () => (await actions()).length >= 2);
  expect((await actions()).map(({ action }: { action: string }) => action).sort()).toEqual(['connect', 'disconnect']);
  for (const record of await actions())
    expect(record).toMatchObject({ user_type: 'user', user_id: user.id, response_status_code: 303 });
});

describe('the page', () => {
  test('lets people sign in, without a script, in no frame, and tells nobody whether there is such a server', async () => {
    const slug = await register();
    const { email } = await givenUser(gateway, { password: PASSWORD });
    const visitor = new Visitor();
    const known = await visitor.open(linkTo(slug));
    const unknown = await new Visitor().open(linkTo('nothing-here'));
    expect(await known.text()).toBe((await unknown.text()).replaceAll('nothing-here', slug));
    expect(known.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(known.headers.get('content-security-policy')).toContain("default-src 'none'");

    const wrong = await visitor.open(`${linkTo(slug)}/sign-in`, { email, password: 'wrong' });
    expect(wrong.status).toBe(401);
    const right = await visitor.open(`${linkTo(slug)}/sign-in`, { email, password: PASSWORD });

    expect(right.status).toBe(303);
    expect(right.headers.get('location')).toBe(`/connect/${slug}`);
    expect(await (await visitor.open(linkTo(slug))).text()).toContain(email);
  });

  test('has an index, where people sign in and find all servers they may call, connected or not', async () => {
    const [markup, closed] = [await register({ name: '<i>Notes' }), await register()];
    const { slug, user, visitor } = await connected();
    await gateway.api.put(`/v1/mcp-servers/${closed}/user-access`, { users: [{ user_id: user.id, enabled: false }] });
    const stranger = new Visitor();
    const door = await (await stranger.open(`${gateway.url}/connect`)).text();
    expect(door).toContain('<form method="post" action="/connect">');
    expect(door).not.toContain(slug);

    const signedIn = await stranger.open(`${gateway.url}/connect`, { email: user.email, password: PASSWORD });
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/connect']);
    for (const each of [stranger, visitor]) {
      const page = await (await each.open(`${gateway.url}/connect`)).text();
      expect(page).toContain(`Connected. <a href="/connect/${slug}">`);
      expect(page).toContain(`Not connected. <a href="/connect/${markup}">Connect your account</a>`);
      expect(page).toContain('&lt;i&gt;Notes');
      expect(page).not.toContain(`/connect/${closed}"`);
    }
  });

  test('shows no server of another workspace', async () => {
    const { id } = await gateway.given.workspace();
    const slug = await register({ workspace_id: id });
    const { visitor } = await givenPerson(gateway);
    const page = await visitor.open(linkTo(slug));
    expect(page.status).toBe(404);
    expect(await page.text()).not.toContain(`Notes ${count}`);
  });

  test('takes forms of its own alone', async () => {
    const slug = await register();
    const { visitor } = await givenPerson(gateway);
    const shown = await (await visitor.open(linkTo(slug))).text();
    const csrf = /name="csrf" value="([^"]+)"/.exec(shown)![1]!;
    const cookie = [...visitor.cookies.get(new URL(gateway.url).host)!].map((pair) => pair.join('=')).join('; ');
    const send = (headers: Record<string, string>, form: Record<string, string>) =>
      fetch(linkTo(slug), { method: 'POST', headers: { cookie, ...headers }, body: new URLSearchParams(form) });
    const origin = gateway.url;
    const other = { origin: 'https://evil.example' };
    expect((await send({ origin }, { csrf: 'wrong' })).status).toBe(400);
    expect((await send({ origin }, {})).status).toBe(400);
    expect((await send({}, { csrf })).status).toBe(403);
    expect((await send(other, { csrf })).status).toBe(403);
    expect((await send({ origin: 'null' }, { csrf })).status).toBe(403);
    expect((await send({ origin, 'sec-fetch-site': 'same-site' }, { csrf })).status).toBe(403);
    expect((await send({ origin }, { csrf })).status).toBe(200);
    const foreign = await fetch(`${linkTo(slug)}/sign-in`, {
      method: 'POST',
      headers: other,
      body: new URLSearchParams(),
    });
    expect(foreign.status).toBe(403);
  });

  test('a name with markup in it stays a name', async () => {
    const slug = await register({ name: '<script>alert(1)</script>' });
    const { visitor } = await givenPerson(gateway);
    const text = await (await visitor.open(linkTo(slug))).text();
    expect(text).not.toContain('<script>');
    expect(text).toContain('&lt;script&gt;');
  });

  test('sends people away with everything that binds the way back', async () => {
    const slug = await register();
    const { visitor } = await givenPerson(gateway);
    const url = new URL(await beginConnecting(visitor, linkTo(slug)));
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: expect.any(String),
      redirect_uri: `${gateway.url}/oauth/upstream-callback`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      scope: 'notes offline_access',
      resource: server.url,
      prompt: 'consent',
    });
  });
});

describe('a configuration that nobody could connect with is refused and named', () => {
  const where = 'configurations.oauth_metadata';
  const https = 'https://issuer.example.com';
  const endpoints = { authorization_endpoint: `${https}/a`, token_endpoint: `${https}/t` };
  const faults: [string, Record<string, unknown>, string][] = [
    ['one endpoint without the other', { token_endpoint: `${https}/t` }, `${where}.authorization_endpoint`],
    ['the other without the one', { authorization_endpoint: `${https}/a` }, `${where}.token_endpoint`],
    ['endpoints without a client', endpoints, `${where}.client_id`],
    ['a secret without a client', { client_secret: 'x' }, `${where}.client_id`],
    [
      'a method without a secret',
      { client_id: 'x', token_endpoint_auth_method: 'client_secret_post' },
      `${where}.client_secret`,
    ],
    [
      'no method with a secret',
      { ...CLIENT, token_endpoint_auth_method: 'none' },
      `${where}.token_endpoint_auth_method`,
    ],
    ['an issuer inside the network', { issuer: 'https://10.0.0.1' }, 'error'],
    ['a parameter of the flow itself', { authorization_params: { state: 'x' } }, `${where}.authorization_params.state`],
    ['a resource and none', { omit_resource: true, resource: 'x' }, `${where}.resource`],
    ['scopes with a line break', { scope: 'a\nb' }, `${where}.scope`],
    ['an unknown member', { nope: 1 }, `${where}.nope`],
  ];
  for (const [what, oauth_metadata, param] of faults)
    test(what, async () => {
      const body = { name: 'x', url: server.url, auth_type: 'oauth_auto', configurations: { oauth_metadata } };
      const reply = await gateway.api.post('/v1/mcp-servers', body);
      expect(reply.status).toBe(400);
      if (param === 'error') expect(reply.json.error.code).toBe('egress_refused');
      else expect(reply.json.error.param).toBe(param);
    });

  test('an Authorization beside it', async () => {
    for (const member of ['headers', 'passthrough_headers']) {
      const configurations = { [member]: { Authorization: 'Bearer x' } };
      const reply = await gateway.api.post('/v1/mcp-servers', {
        name: 'x',
        url: server.url,
        auth_type: 'oauth_auto',
        configurations,
      });
      expect(reply.json.error.param).toBe(`configurations.${member}.Authorization`);
    }
  });
});
