import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { withRealHashes } from '../passwords.ts';
import { cookieIn, givenBrowser, givenUser, PASSWORD, signIn } from '../people.ts';
import { query } from '../state-tables.ts';

const refusal = (reply: Reply, status: number, error: Record<string, unknown>) => {
  expect(`${reply.status} ${reply.json?.error?.code}`).toBe(`${status} ${error.code}`);
  expect(reply.json.error).toMatchObject(error);
};

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`sessions on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    test('whoever signs in gets a cookie that scripts cannot read, and is who they are', async () => {
      const user = await givenUser(gateway, { role: 'admin', password: PASSWORD });
      const { signedIn, call } = await signIn(gateway, user.email.toUpperCase());

      const cookie = signedIn.headers.get('set-cookie')!;
      for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Path=/', 'Max-Age=43200'])
        expect(cookie).toContain(attribute);
      expect(signedIn.json).toMatchObject({ object: 'session', user: { id: user.id } });
      const current = (await call('GET', '/v1/sessions/current')).json;
      expect(current).toMatchObject({
        object: 'session',
        user,
        csrf_token: signedIn.json.csrf_token,
        workspace: { slug: 'default' },
      });
      expect(current.scopes).toContain('users.create');
      expect(current.scopes).not.toContain('owners.manage');
    });

    test('behind https the cookie never leaves it', async () => {
      const other = await startGateway({ environment: { GATEWAY_PUBLIC_URL: 'https://gateway.example.com' } });
      const user = await givenUser(other, { password: PASSWORD });
      const { signedIn, call } = await signIn(other, user.email);
      const cookie = signedIn.headers.get('set-cookie')!;
      const planted = cookie.split(';')[0]!.replace('__Host-', '');
      const isIn = (await call('GET', '/v1/sessions/current')).status;
      const byPlanted = await other.api.get('/v1/sessions/current', { key: null, headers: { cookie: planted } });
      await other.stop();

      expect(cookie).toMatch(/^__Host-gateway_session=.*; Path=\/; .*; Secure$/);
      expect([isIn, byPlanted.status]).toEqual([200, 401]);
    });

    test('neither the cookie nor the password is in the store', async () => {
      const { browser } = await withRealHashes(() => givenBrowser(gateway));
      const token = browser.headers.cookie!.split('=')[1]!;
      const text = JSON.stringify([
        await query(gateway, 'select * from sessions'),
        await query(gateway, 'select * from users'),
        await query(gateway, 'select * from audit_records'),
      ]);

      expect(text).not.toContain(token);
      expect(text).not.toContain(PASSWORD);
      expect(text).toContain('$argon2id$v=19$m=19456,t=2,');
    });

    test('a wrong password, an unknown person and one without a password are refused alike', async () => {
      const known = await givenUser(gateway, { password: PASSWORD });
      const without = await givenUser(gateway);
      const replies = await Promise.all(
        [
          { email: known.email, password: 'wrong password' },
          { email: 'nobody@example.com', password: PASSWORD },
          { email: without.email, password: PASSWORD },
        ].map((body) => gateway.api.post('/v1/sessions', body, { key: null })),
      );
      for (const reply of replies) {
        refusal(reply, 401, { code: 'sign_in_failed' });
        expect(reply.headers.get('set-cookie')).toBeNull();
      }
      expect(new Set(replies.map(({ json }) => json.error.message)).size).toBe(1);
    });

    test('guessing ends after ten attempts, for that person and place', async () => {
      const user = await givenUser(gateway, { password: PASSWORD });
      const guess = (password: string) =>
        gateway.api.post('/v1/sessions', { email: user.email, password }, { key: null });
      const guesses = await Promise.all(Array.from({ length: 30 }, (_, attempt) => guess(`wrong ${attempt}`)));
      expect(guesses.filter(({ status }) => status === 401)).toHaveLength(10);

      const reply = await guess(PASSWORD);

      refusal(reply, 429, { code: 'too_many_sign_ins' });
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await givenBrowser(gateway)).browser.signedIn.status).toBe(200);
    });

    test('a change needs the token of the page, reading does not', async () => {
      const { browser } = await givenBrowser(gateway, { role: 'admin' });
      const cookie = { cookie: browser.headers.cookie! };
      const make = (headers: Record<string, string>) =>
        gateway.api.post('/v1/api-keys', { name: 'x', scopes: [] }, { key: null, headers });

      expect((await gateway.api.get('/v1/api-keys', { key: null, headers: cookie })).status).toBe(200);
      refusal(await make(cookie), 403, { code: 'csrf_token_missing', param: 'x-gateway-csrf' });
      refusal(await make({ ...cookie, 'x-gateway-csrf': 'guessed' }), 403, { code: 'csrf_token_missing' });
      const other = (await givenBrowser(gateway)).browser;
      refusal(await make({ ...cookie, 'x-gateway-csrf': other.headers['x-gateway-csrf']! }), 403, {
        code: 'csrf_token_missing',
      });
      expect((await make({ ...browser.headers })).status).toBe(200);
    });

    test('a forged or foreign cookie is nobody', async () => {
      const ask = (cookie: string) => gateway.api.get('/v1/api-keys', { key: null, headers: { cookie } });
      refusal(await ask(`gateway_session=${'x'.repeat(43)}`), 401, { code: 'invalid_api_key' });
      for (const cookie of ['gateway_session=', 'gateway_session=a;b', 'other=1'])
        refusal(await ask(cookie), 401, { code: 'missing_api_key' });
    });

    test('a key in the request stands above the cookie', async () => {
      const { browser } = await givenBrowser(gateway, { role: 'admin' });
      const { key } = await gateway.given.apiKey();
      expect((await gateway.api.get('/v1/api-keys', { key, headers: browser.headers })).status).toBe(403);
      refusal(await gateway.api.get('/v1/sessions/current'), 403, { code: 'session_required' });
    });

    test('signing out ends the session at once', async () => {
      const { browser } = await givenBrowser(gateway);

      const reply = await browser.call('DELETE', '/v1/sessions/current');

      expect(reply.status).toBe(200);
      expect(cookieIn(reply)).toBe('gateway_session=');
      refusal(await browser.call('GET', '/v1/sessions/current'), 401, { code: 'invalid_api_key' });
    });

    test('a session ends by itself', async () => {
      const { browser } = await givenBrowser(gateway);
      await query(gateway, 'update sessions set expires_at = 1');
      const reply = await browser.call('GET', '/v1/sessions/current', undefined, { 'x-gateway-workspace': 'default' });

      refusal(reply, 401, { code: 'invalid_api_key' });
    });

    test('another role holds from the next request on', async () => {
      const { user, browser } = await givenBrowser(gateway, { role: 'admin' });
      expect((await browser.call('GET', '/v1/admin/users')).status).toBe(200);

      await gateway.api.put(`/v1/admin/users/${user.id}`, { role: 'member' });

      refusal(await browser.call('GET', '/v1/admin/users'), 403, { code: 'insufficient_scope' });
    });

    test('one acts in the workspace one names, if one belongs to it', async () => {
      const workspace = await gateway.given.workspace({ name: 'Chosen' });
      const workspaces = [
        { id: 'default', role: 'member' },
        { id: workspace.id, role: 'manager' },
      ];
      const { browser } = await givenBrowser(gateway, { workspaces });
      const current = async (name?: string) =>
        browser.call('GET', '/v1/sessions/current', undefined, name ? { 'x-gateway-workspace': name } : {});

      expect((await current()).json.workspace.slug).toBe('default');
      for (const name of [workspace.id, workspace.slug])
        expect((await current(name)).json.workspace).toEqual({ id: workspace.id, slug: workspace.slug });
      await gateway.given.workspace({ name: 'Foreign', slug: 'foreign' });
      for (const name of ['foreign', 'nowhere']) refusal(await current(name), 403, { code: 'not_a_member' });
      const { browser: lonely } = await givenBrowser(gateway, { workspaces: [] });
      refusal(await lonely.call('GET', '/v1/sessions/current'), 403, { code: 'not_a_member' });
    });

    test('a signed-in user calls models in their workspace', async () => {
      const { user, browser } = await givenBrowser(gateway);
      const reply = await browser.call(
        'POST',
        '/v1/chat/completions',
        { model: 'any', messages: [{ role: 'user', content: 'Hello' }] },
        { 'x-gateway-virtual-key': 'sim' },
      );

      expect(reply.status).toBe(200);
      const entry = await gateway.logOf(reply);
      expect(entry).toMatchObject({ user_id: user.id, api_key_id: null });
    });

    test('a user changes their own password, and their other sessions end', async () => {
      const { user, browser } = await givenBrowser(gateway);
      const elsewhere = await signIn(gateway, user.email);
      const change = (current_password: string) =>
        browser.call('POST', '/v1/sessions/current/password', { current_password, new_password: 'a better password' });

      refusal(await change('wrong'), 400, { code: 'invalid_request', param: 'current_password' });
      expect((await change(PASSWORD)).status).toBe(200);
      expect((await browser.call('GET', '/v1/sessions/current')).status).toBe(200);
      expect((await elsewhere.call('GET', '/v1/sessions/current')).status).toBe(401);
      expect((await signIn(gateway, user.email, 'a better password')).signedIn.status).toBe(200);
    });

    test('what users do is recorded as theirs', async () => {
      const { user, browser } = await givenBrowser(gateway, { role: 'admin' });
      const organisationId = (await gateway.api.get('/v1/admin/organisation')).json.id;
      const made = await browser.call('POST', '/v1/api-keys', { name: 'x', scopes: [] });
      const search = `start_time=2020-01-01&end_time=2100-01-01&organisation_id=${organisationId}&user_id=${user.id}`;

      const { records } = (await gateway.api.get(`/v1/audit-logs?${search}`)).json;

      expect(records.map(({ resource_type }: { resource_type: string }) => resource_type)).toEqual([
        'api_keys',
        'sessions',
      ]);
      for (const record of records) expect(record).toMatchObject({ user_type: 'user', user_id: user.id });
      expect(records[0].request_id).toBe(made.headers.get('x-gateway-request-id'));
      expect(JSON.parse(records[1].request_body)).toEqual({ email: user.email, password: '***' });
    });

    describe('the link that makes the first owner', () => {
      const FACTS = "name like 'first-owner-link %'";
      const tokenOf = (link: string | null) => link!.split('#owner=')[1]!;
      const begin = (token: string, email: string) =>
        gateway.api.post('/v1/sessions/first-owner', { token, email, password: PASSWORD }, { key: null });
      const ownersNow = async () => query(gateway, "select email from users where role = 'owner'");

      test('ends after a quarter of an hour', async () => {
        const before = Date.now();
        const token = tokenOf(await gateway.ownerLink());
        const [{ value }] = (await query(gateway, `select value from facts where ${FACTS}`)) as [{ value: string }];
        expect(Number(value) - 15 * 60_000).toBeWithin(before, Date.now() + 1);
        await query(gateway, `update facts set value = '${Date.now() - 1}' where ${FACTS}`);
        refusal(await begin(token, 'late@example.com'), 404, { code: 'owner_link_ended' });
        expect(await ownersNow()).toEqual([]);
      });

      test('lets one in, of all who come at once by it and by that of another node', async () => {
        const tokens = [tokenOf(await gateway.ownerLink()), tokenOf(await gateway.ownerLink())];
        const replies = await Promise.all(
          Array.from({ length: 6 }, (_, index) => begin(tokens[index % 2]!, `first-${index}@example.com`)),
        );
        expect(replies.map(({ status }) => status).sort()).toEqual([200, 404, 404, 404, 404, 404]);
        expect(await ownersNow()).toHaveLength(1);
        expect(await query(gateway, `select name from facts where ${FACTS}`)).toEqual([]);
        expect(await gateway.ownerLink()).toBeNull();
      });
    });
  });
}
