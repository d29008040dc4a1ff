import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startChromium } from '../chromium.ts';
import { type StartOptions, startGateway, type TestGateway } from '../gateway.ts';
import { CLIENT, startIdentityProvider } from '../identity-provider.ts';
import { Person } from '../mcp/oauth.ts';
import { givenUser, PASSWORD, signIn } from '../people.ts';
import { eventually } from '../process.ts';
import { query } from '../state-tables.ts';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const MESSAGE = { model: 'claude-x', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] };

describe.each(['sqlite', 'postgres'] as const)('programs that people sign in, on %s', (engine) => {
  let gateway: TestGateway;
  /** The same store behind another node; on the embedded store there is but one. */
  let other: TestGateway;
  beforeAll(async () => {
    const options: StartOptions = { engine, environment: { GATEWAY_PUBLIC_URL: 'http://gateway.example' } };
    gateway = await startGateway(options);
    other = gateway.databaseUrl ? await startGateway({ ...options, databaseUrl: gateway.databaseUrl }) : gateway;
  });
  afterAll(async () => {
    if (other !== gateway) await other.stop();
    await gateway.stop();
  });

  let count = 0;
  /** A workspace whose members may let programs in, and one of them at a browser. */
  const given = async (member_keys: Record<string, unknown> | null = {}) => {
    const place = await gateway.given.workspace({ name: `Place ${count++}`, member_keys });
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic', workspace_id: place.id });
    const user = await givenUser(gateway, { password: PASSWORD, workspaces: [{ id: place.id, role: 'member' }] });
    return { place, user, person: new Person(gateway.url, user.email) };
  };
  const form = async (path: string, fields: Record<string, string>, node = gateway) => {
    const response = await fetch(node.url + path, { method: 'POST', body: new URLSearchParams(fields) });
    return { status: response.status, json: (await response.json()) as Record<string, string> };
  };
  const begin = async (client_id = 'Claude Code') => (await form('/oauth/device_authorization', { client_id })).json;
  const poll = (device_code: string, { client_id = 'Claude Code', node = gateway } = {}) =>
    form('/oauth/token', { grant_type: DEVICE_GRANT, device_code, client_id }, node);
  const refresh = (refresh_token: string, node = gateway) =>
    form('/oauth/token', { grant_type: 'refresh_token', refresh_token }, node);
  const page = async (person: Person, userCode: string) => {
    const path = `/oauth/device?user_code=${userCode}`;
    const shown = await person.open(path);
    if (shown.action !== '/oauth/sign-in') return shown;
    const { location } = await person.submit(shown, { email: person.email, password: PASSWORD });
    return person.open(location!);
  };
  const decide = async (person: Person, userCode: string, workspace: string, decision = 'allow') =>
    person.submit(await page(person, userCode), { workspace, decision });
  /** All the way: what a program gets whose user lets it in. */
  const login = async (scene: Awaited<ReturnType<typeof given>>) => {
    const asked = await begin();
    const decided = await decide(scene.person, asked.user_code!, scene.place.id);
    expect([decided.status, decided.text]).toEqual([303, '']);
    const { status, json } = await poll(asked.device_code!);
    expect([status, json]).toEqual([200, json]);
    return json as { access_token: string; refresh_token: string; expires_in: string };
  };
  const message = (token: string, node = gateway) =>
    node.api.post('/v1/messages', MESSAGE, { key: null, headers: { authorization: `Bearer ${token}` } });
  const as = (token: string, headers: Record<string, string> = {}) => ({
    key: null,
    headers: { authorization: `Bearer ${token}`, 'anthropic-version': '2023-06-01', ...headers },
  });

  test('are told where to begin, and people are shown a code that no machine guesses', async () => {
    const { json } = await gateway.api.get('/.well-known/oauth-authorization-server', { key: null });
    expect(json).toMatchObject({
      gateway_protocol_version: 1,
      device_authorization_endpoint: 'http://gateway.example/oauth/device_authorization',
      token_endpoint: 'http://gateway.example/oauth/token',
      grant_types_supported: expect.arrayContaining([DEVICE_GRANT, 'refresh_token']),
    });
    const asked = await begin();
    expect(asked.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(asked).toMatchObject({
      verification_uri: 'http://gateway.example/device',
      verification_uri_complete: `http://gateway.example/device?user_code=${asked.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    const led = await fetch(`${gateway.url}/device?user_code=${asked.user_code}`, { redirect: 'manual' });
    expect(led.headers.get('location')).toBe(`/oauth/device?user_code=${asked.user_code}`);
    const bare = await fetch(`${gateway.url}/oauth/device_authorization`, { method: 'POST' });
    expect(bare.status).toBe(200);
  });

  test('act for their user: messages, tokens, models, telemetry, logs and budgets', async () => {
    const scene = await given({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 5 }] });
    const { access_token } = await login(scene);
    const called = await message(access_token);
    expect([called.status, called.text]).toEqual([200, called.text]);
    const entry = await gateway.logOf(called);
    expect(entry).toMatchObject({ user_id: scene.user.id, workspace_id: scene.place.id });
    const counted = await gateway.api.post('/v1/messages/count_tokens', MESSAGE, as(access_token));
    expect(counted.json).toMatchObject({ input_tokens: expect.any(Number) });
    const listed = await gateway.api.get('/v1/models?limit=1000', as(access_token));
    expect([listed.status, listed.json.data]).toEqual([200, expect.any(Array)]);
    for (const { display_name, id } of listed.json.data) expect(display_name).toBe(id);
    const telemetry = { metrics: 'resourceMetrics', logs: 'resourceLogs', traces: 'resourceSpans' };
    for (const [signal, member] of Object.entries(telemetry))
      expect((await gateway.api.post(`/v1/${signal}`, { [member]: [] }, as(access_token))).json).toEqual({});
    // One budget for all programs of one person, and none for the others of the workspace.
    const second = await login(scene);
    for (let each = 0; each < 5; each++) await message(second.access_token);
    const spent = await message(access_token);
    expect([spent.status, spent.json.type, spent.json.error.code]).toEqual([429, 'error', 'rate_limited']);
    const browser = await signIn(gateway, scene.user.email);
    const own = await browser.call('GET', '/v1/own-keys', undefined, { 'x-gateway-workspace': scene.place.id });
    expect(own.json.data.map(({ name, is_own }: Record<string, unknown>) => [name, is_own])).toEqual([
      ['Claude Code', true],
      ['Claude Code', true],
    ]);
  });

  test('wait for their user, at the pace they were told, and hear when they are not wanted', async () => {
    const scene = await given();
    const asked = await begin();
    const error = async (client_id?: string) => {
      const { status, json } = await poll(asked.device_code!, { client_id });
      return `${status} ${json.error}`;
    };
    expect(await error()).toBe('400 authorization_pending');
    expect(await error()).toBe('400 slow_down');
    expect(await error('Another')).toBe('401 invalid_grant');
    await decide(scene.person, asked.user_code!, scene.place.id, 'deny');
    expect(await error()).toBe('400 access_denied');
    const again = await page(scene.person, asked.user_code!);
    expect([again.status, again.text]).toEqual([404, expect.stringContaining('No program waits with this code')]);
    expect((await poll('gwd_unknown')).json.error).toBe('expired_token');
  });

  test('get one grant for one code, however often and wherever they ask', async () => {
    const scene = await given();
    const asked = await begin();
    const shown = await page(scene.person, asked.user_code!);
    const fields = { workspace: scene.place.id, decision: 'allow' };
    const decided = await Promise.all([1, 2, 3].map(() => scene.person.submit(shown, fields)));
    expect(decided.map(({ status }) => status).toSorted()).toEqual([303, 404, 404]);
    const polled = await Promise.all(
      [gateway, other, gateway, other].map((node) => poll(asked.device_code!, { node })),
    );
    expect(polled.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(polled.map(({ json }) => json.access_token)).size).toBe(1);
    const keys = `from api_keys where workspace_id = '${scene.place.id}'`;
    expect(await query(gateway, `select origin ${keys}`)).toEqual([{ origin: 'login' }]);
    expect(await query(gateway, `select 1 from api_key_secrets where api_key_id in (select id ${keys})`)).toHaveLength(
      1,
    );
    // Once the program has gone on, the code is worth nothing.
    await refresh(polled[0]!.json.refresh_token!);
    expect((await poll(asked.device_code!)).json.error).toBe('expired_token');
  });

  test('renew their tokens; one that was used before ends the login everywhere', async () => {
    const scene = await given();
    const first = await login(scene);
    const [second, same] = [await refresh(first.refresh_token), await refresh(first.refresh_token, other)];
    expect(second.status).toBe(200);
    // The answer got lost on the way: it is given again.
    expect(same.json.access_token).toBe(second.json.access_token!);
    const third = await refresh(second.json.refresh_token!, other);
    expect((await message(third.json.access_token!)).status).toBe(200);
    expect((await message(third.json.access_token!, other)).status).toBe(200);
    expect(await refresh(first.refresh_token)).toMatchObject({ status: 401, json: { error: 'invalid_grant' } });
    expect((await refresh(third.json.refresh_token!)).status).toBe(401);
    expect((await message(third.json.access_token!)).status).toBe(401);
    await eventually('told', async () => (await message(third.json.access_token!, other)).status === 401);
  });

  test.each([
    ['is removed', (user: { id: string }) => gateway.api.delete(`/v1/admin/users/${user.id}`)],
    [
      'leaves the workspace',
      (user: { id: string }, place: { id: string }) =>
        gateway.api.delete(`/v1/admin/workspaces/${place.id}/users/${user.id}`),
    ],
    [
      'gets another password',
      (user: { id: string }) => gateway.api.put(`/v1/admin/users/${user.id}`, { password: `${PASSWORD} 2` }),
    ],
    [
      'may have no keys any more',
      (_user: { id: string }, place: { id: string }) =>
        gateway.api.put(`/v1/admin/workspaces/${place.id}`, { member_keys: null }),
    ],
  ])('end when their user %s: access at once, and nothing is renewed', async (_how, change) => {
    const scene = await given();
    const tokens = await login(scene);
    expect((await message(tokens.access_token)).status).toBe(200);
    expect((await message(tokens.access_token, other)).status).toBe(200);
    expect((await change(scene.user, scene.place)).status).toBe(200);
    const refused = await message(tokens.access_token);
    expect([refused.status, refused.json.error.type]).toEqual([401, 'authentication_error']);
    await eventually('told', async () => (await message(tokens.access_token, other)).status === 401);
    expect(await refresh(tokens.refresh_token, other)).toMatchObject({ status: 401, json: { error: 'invalid_grant' } });
  });

  test('are ended by their user or by themselves, and never rotated', async () => {
    const scene = await given();
    const [tokens, kept] = [await login(scene), await login(scene)];
    const browser = await signIn(gateway, scene.user.email);
    const here = { 'x-gateway-workspace': scene.place.id };
    const { data } = (await browser.call('GET', '/v1/own-keys', undefined, here)).json;
    const rotated = await browser.call('POST', `/v1/own-keys/${data[0].id}/rotate`, {}, here);
    expect([rotated.status, rotated.json.error.param]).toEqual([400, 'id']);
    expect((await gateway.api.post(`/v1/api-keys/${data[0].id}/rotate`, {})).status).toBe(400);
    expect((await form('/oauth/revoke', { token: tokens.refresh_token })).status).toBe(200);
    expect((await message(tokens.access_token)).status).toBe(401);
    const [{ id }] = (await browser.call('GET', '/v1/own-keys', undefined, here)).json.data;
    expect((await browser.call('DELETE', `/v1/own-keys/${id}`, undefined, here)).status).toBe(200);
    expect((await refresh(kept.refresh_token)).status).toBe(401);
  });

  test('are let in nowhere without a rule for it, and not beyond twenty', async () => {
    const scene = await given(null);
    const asked = await begin();
    const shown = await page(scene.person, asked.user_code!);
    expect([shown.status, shown.text]).toEqual([403, expect.stringContaining('No workspace lets')]);
    const forced = await scene.person.submit(shown, { workspace: scene.place.id, decision: 'allow' });
    expect(forced.status).toBe(403);
    const full = await given();
    await login(full);
    const columns =
      'organisation_id, workspace_id, user_id, name, scopes, defaults, masked, origin, created_at, updated_at';
    for (let each = 1; each < 20; each++)
      await query(
        gateway,
        `insert into api_keys (id, ${columns}) select '${full.user.id}-${each}', ${columns} from api_keys where user_id = '${full.user.id}' and id not like '%${full.user.id}%'`,
      );
    const late = await decide(full.person, (await begin()).user_code!, full.place.id);
    expect([late.status, late.text]).toEqual([403, expect.stringContaining('20 programs')]);
  });

  test('guessing codes is stopped, and a form counts only for who it was shown to', async () => {
    const scene = await given();
    const asked = await begin();
    const shown = await page(scene.person, asked.user_code!);
    const stranger = await given();
    await page(stranger.person, asked.user_code!);
    const action = { ...shown, hidden: shown.hidden };
    const borrowed = await stranger.person.submit(action, { workspace: stranger.place.id, decision: 'allow' });
    expect(borrowed.status).toBe(403);
    const foreign = await fetch(`${gateway.url}/oauth/device`, {
      method: 'POST',
      headers: { origin: 'https://evil.example', cookie: (await signIn(gateway, scene.user.email)).headers.cookie! },
      body: new URLSearchParams({ ...shown.hidden, workspace: scene.place.id, decision: 'allow' }),
    });
    expect(foreign.status).toBe(403);
    const guesses: number[] = [];
    for (let each = 0; each < 12; each++)
      guesses.push((await stranger.person.open('/oauth/device?user_code=BBBBBBBB')).status);
    expect(guesses.slice(0, 9)).toEqual(Array(9).fill(404));
    expect(guesses.slice(-1)).toEqual([429]);
    // Others go on.
    expect((await scene.person.submit(shown, { workspace: scene.place.id, decision: 'allow' })).status).toBe(303);
  });

  test('a code that many look at ends', async () => {
    const scene = await given();
    const asked = await begin();
    const looks: number[] = [];
    for (let each = 0; each < 21; each++) looks.push((await page(scene.person, asked.user_code!)).status);
    expect(looks).toEqual([...Array(20).fill(200), 404]);
  });

  test('are told settings of the organisation and of their workspace, and when these have not changed', async () => {
    const scene = await given();
    const { access_token } = await login(scene);
    const none = await gateway.api.get('/managed/settings', as(access_token));
    expect([none.status, none.json.type, none.json.error.code]).toEqual([404, 'error', 'no_managed_settings']);
    const path = `/v1/admin/workspaces/${scene.place.id}/managed-settings`;
    const own = { model: 'claude-x', env: { A: '1', B: '2' }, permissions: { deny: ['Bash(curl:*)'] } };
    expect(
      (await gateway.api.put(path, { settings: own, desktop: { inference: { provider: 'gateway' } } })).status,
    ).toBe(200);
    const above = { settings: { env: { B: '3' } } };
    expect((await gateway.api.put('/v1/admin/organisation/managed-settings', above)).status).toBe(200);
    const told = await gateway.api.get('/managed/settings', as(access_token));
    expect(told.json.settings).toEqual({ ...own, env: { A: '1', B: '3' } });
    const etag = told.headers.get('etag')!;
    expect(etag).toBe(`"${told.json.checksum}"`);
    const same = await gateway.api.get('/managed/settings', as(access_token, { 'if-none-match': etag }));
    expect([same.status, same.text]).toEqual([304, '']);
    expect((await gateway.api.get('/user/bootstrap', as(access_token))).json).toEqual({
      inference: { provider: 'gateway' },
    });
    await gateway.api.put('/v1/admin/organisation/managed-settings', { settings: null });
    const changed = await gateway.api.get('/managed/settings', as(access_token, { 'if-none-match': etag }));
    expect([changed.status, changed.json.settings]).toEqual([200, own]);
    const member = await gateway.api.put(path, { settings: {} }, as(access_token));
    expect(member.status).toBe(403);
    const bad = await gateway.api.put(path, { settings: ['x'] });
    expect([bad.status, bad.json.error.param]).toEqual([400, 'settings']);
  });
});

test('a person signs Claude Code in with a real browser, through an identity provider, and loses it with the user', async () => {
  const provider = await startIdentityProvider();
  const [gateway, chromium] = await Promise.all([
    startGateway({
      environment: {
        GATEWAY_OIDC_ISSUER: provider.issuer,
        GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
        GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
      },
    }),
    startChromium(),
  ]);
  try {
    provider.serve(`${gateway.url}/v1/sessions/oidc/callback`);
    provider.people.set('ada', { email: 'ada@example.com', email_verified: true });
    const place = await gateway.given.workspace({ name: 'Research', member_keys: {} });
    await gateway.given.virtualKey({ slug: 'claude', provider: 'anthropic', workspace_id: place.id });
    const user = await givenUser(gateway, {
      email: 'ada@example.com',
      workspaces: [{ id: place.id, role: 'member' }],
    });
    const post = async (path: string, fields: Record<string, string>) => {
      const response = await fetch(gateway.url + path, { method: 'POST', body: new URLSearchParams(fields) });
      return { status: response.status, json: (await response.json()) as Record<string, string> };
    };
    const asked = (await post('/oauth/device_authorization', { client_id: 'Claude Code' })).json;

    const tab = await (await chromium.newContext()).newPage();
    tab.setDefaultTimeout(180_000);
    await tab.goto(asked.verification_uri_complete!);
    await tab.getByRole('link', { name: /Continue with/ }).click();
    await tab.getByPlaceholder('Enter any login').fill('ada');
    await tab.getByPlaceholder('and password').fill('any');
    await tab.getByRole('button', { name: 'Sign-in' }).click();
    await tab.getByRole('button', { name: 'Continue' }).click();
    await tab.getByText(asked.user_code!).waitFor();
    await tab.getByRole('button', { name: 'Allow' }).click();
    await tab.getByRole('heading', { name: 'The program is let in' }).waitFor();

    const { device_code } = asked as { device_code: string };
    const { json } = await post('/oauth/token', { grant_type: DEVICE_GRANT, device_code, client_id: 'Claude Code' });
    const headers = { authorization: `Bearer ${json.access_token}` };
    expect((await gateway.api.post('/v1/messages', MESSAGE, { key: null, headers })).status).toBe(200);
    await gateway.api.delete(`/v1/admin/users/${user.id}`);
    expect((await gateway.api.post('/v1/messages', MESSAGE, { key: null, headers })).status).toBe(401);
    const refused = await post('/oauth/token', { grant_type: 'refresh_token', refresh_token: json.refresh_token! });
    expect([refused.status, refused.json.error]).toEqual([401, 'invalid_grant']);
  } finally {
    await chromium.close();
    await gateway.stop();
    provider.stop();
  }
});
