import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { CALLBACK, newPkce, Person, post, redemption, requestFor, startClientSite, tokensFor } from '../mcp/oauth.ts';
import { type Recorder, startRecorder, toolCall } from '../mcp/recorder.ts';
import { givenUser, PASSWORD, signIn } from '../people.ts';
import { query } from '../state-tables.ts';

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`signing in with OAuth, on ${engine}`, () => {
    let gateway: TestGateway;
    let upstream: Recorder;
    let site: ReturnType<typeof startClientSite>;
    let clientId: string;
    let count = 0;

    beforeAll(async () => {
      gateway = await startGateway({ engine, environment: { GATEWAY_OAUTH_REGISTRATION: 'true' } });
      upstream = startRecorder();
      site = startClientSite();
      clientId = site.describe('notes');
      for (const slug of ['weather', 'news']) await register(slug);
    });
    afterAll(async () => {
      site.stop();
      upstream.stop();
      await gateway.stop();
    });

    async function register(slug: string, more: Record<string, unknown> = {}) {
      const reply = await gateway.api.post('/v1/mcp-servers', {
        name: `The ${slug} server`,
        slug,
        url: upstream.url,
        configurations: {
          user_identity_forwarding: {
            method: 'claims_header',
            include_claims: [
              'sub',
              'email',
              'name',
              'user_id',
              'workspace',
              'role',
              'workspace_role',
              'scope',
              'client_id',
            ],
          },
        },
        ...more,
      });
      if (reply.status !== 200) throw new Error(reply.text);
    }
    const newcomer = async (over: Record<string, unknown> = {}) => {
      const user = await givenUser(gateway, {
        email: `oauth-${++count}@example.com`,
        password: PASSWORD,
        first_name: 'Ann',
        last_name: 'Lee',
        ...over,
      });
      return { user, person: new Person(gateway.url, user.email) };
    };
    const call = (slug: string, token: string, headers: Record<string, string> = {}) =>
      gateway.api.post(`/${slug}/mcp`, toolCall(), {
        key: null,
        headers: { authorization: `Bearer ${token}`, ...headers },
      });
    const refresh = (token: string, more: Record<string, string> = {}) =>
      post(gateway, '/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: token,
        client_id: clientId,
        ...more,
      });

    test('a client without a token is told where to get one, and what the server there can do', async () => {
      const refused = await gateway.api.post('/weather/mcp', toolCall(), { key: null });
      expect(refused.status).toBe(401);
      const [, address] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate')!)!;
      const resource = (await (await fetch(address!)).json()) as Record<string, unknown>;
      expect(resource).toMatchObject({ resource: `${gateway.url}/weather/mcp`, authorization_servers: [gateway.url] });
      for (const name of ['oauth-authorization-server', 'openid-configuration']) {
        const metadata = await gateway.api.get(`/.well-known/${name}`, { key: null });
        expect(metadata.headers.get('access-control-allow-origin')).toBe('*');
        expect(metadata.json).toMatchObject({
          issuer: gateway.url,
          authorization_endpoint: `${gateway.url}/oauth/authorize`,
          token_endpoint: `${gateway.url}/oauth/token`,
          registration_endpoint: `${gateway.url}/oauth/register`,
          code_challenge_methods_supported: ['S256'],
          client_id_metadata_document_supported: true,
          authorization_response_iss_parameter_supported: true,
        });
      }
    });

    test('whoever signs in is told which application asks and where it leads, and all servers are named', async () => {
      const { user, person } = await newcomer();
      const asked = {
        ...requestFor(gateway, { clientId, pkce: newPkce(), server: 'weather' }),
        resource: `${gateway.url}/mcp`,
      };
      const door = await (await fetch(`${gateway.url}/oauth/authorize?${new URLSearchParams(asked)}`)).text();
      for (const text of ['Sign in to the gateway', new URL(site.origin).host, 'https://app.example'])
        expect(door).toContain(text);

      const page = await person.authorize(asked);
      expect(page.text).toContain('The weather server');
      const closed = { users: [{ user_id: user.id, enabled: false }] };
      await gateway.api.put('/v1/mcp-servers/weather/user-access', closed);
      expect((await person.authorize(asked)).text).not.toContain('The weather server');
    });

    test('a user signs in and consents, and the server learns who it is that calls', async () => {
      const { user, person } = await newcomer();
      const pkce = newPkce();
      const asked = requestFor(gateway, { clientId, pkce, server: 'weather' });
      const page = await person.authorize(asked);
      expect(page.status).toBe(200);
      for (const text of [
        'The notes application',
        new URL(site.origin).host,
        'https://app.example',
        'The weather server',
        user.email,
      ])
        expect(page.text).toContain(text);
      const back = new URL((await person.submit(page, { decision: 'allow' })).location!);
      expect(back.origin + back.pathname).toBe(CALLBACK);
      expect([...back.searchParams.keys()].sort()).toEqual(['code', 'iss', 'state']);
      expect(back.searchParams.get('state')).toBe('a state of its own');
      expect(back.searchParams.get('iss')).toBe(gateway.url);

      const tokens = await post(gateway, '/oauth/token', redemption(back.searchParams.get('code')!, clientId, pkce));
      expect(tokens.status).toBe(200);
      expect(tokens.headers.get('cache-control')).toBe('no-store');
      expect(tokens.json).toEqual({
        access_token: expect.stringMatching(/^gwt_[\w-]{43}$/),
        token_type: 'Bearer',
        expires_in: expect.any(Number),
        refresh_token: expect.stringMatching(/^gwr_/),
        scope: 'mcp',
      });

      expect(tokens.json.expires_in).toBeGreaterThan(3_500);
      expect(tokens.json.expires_in).toBeLessThanOrEqual(3_600);

      const reply = await call('weather', tokens.json.access_token);
      expect(reply.status).toBe(200);
      expect(JSON.parse(upstream.last.headers['x-user-claims']!)).toEqual({
        sub: user.id,
        email: user.email,
        name: 'Ann Lee',
        user_id: user.id,
        workspace: 'default',
        role: 'member',
        workspace_role: 'member',
        scope: 'mcp',
        client_id: clientId,
      });
      expect(upstream.last.headers.authorization).toBeUndefined();
      expect(await gateway.logOf(reply)).toMatchObject({
        user_id: user.id,
        api_key_id: null,
        metadata: { 'mcp.auth': 'oauth' },
      });
    });

    test('a token beside a gateway key: the tenant is of the key, the user of the token', async () => {
      const { user, person } = await newcomer();
      const key = await gateway.given.apiKey();
      const { access_token } = await tokensFor(gateway, person, { clientId, server: 'weather' });
      const reply = await call('weather', access_token, { 'x-gateway-api-key': key.key });
      expect(reply.status).toBe(200);
      expect(JSON.parse(upstream.last.headers['x-user-claims']!)).toMatchObject({ sub: user.id, client_id: clientId });
      expect(await gateway.logOf(reply)).toMatchObject({
        user_id: user.id,
        api_key_id: key.id,
        metadata: { 'mcp.auth': 'api_key+oauth' },
      });
    });

    test('who has consented is not asked again for the same, and is asked for another server', async () => {
      const { person } = await newcomer();
      await tokensFor(gateway, person, { clientId, server: 'weather' });
      const again = await person.authorize(requestFor(gateway, { clientId, pkce: newPkce(), server: 'weather' }));
      expect(new URL(again.location!).searchParams.has('code')).toBe(true);
      const anew = requestFor(gateway, { clientId, pkce: newPkce(), server: 'weather', prompt: 'consent' });
      expect((await person.authorize(anew)).action).toBe('/oauth/consent');
      const other = await person.authorize(requestFor(gateway, { clientId, pkce: newPkce(), server: 'news' }));
      expect(other.action).toBe('/oauth/consent');
    });

    test('who does not consent sends the client away with access_denied', async () => {
      const { person } = await newcomer();
      const said = await person.consent(requestFor(gateway, { clientId, pkce: newPkce(), server: 'weather' }), 'deny');
      expect(said.get('error')).toBe('access_denied');
      expect(said.get('state')).toBe('a state of its own');
      expect(said.get('iss')).toBe(gateway.url);
      expect(said.has('code')).toBe(false);
    });

    test('tokens are renewed; the same answer can be had once more, an older token ends them all', async () => {
      const { person } = await newcomer();
      const first = await tokensFor(gateway, person, { clientId, server: 'weather' });
      const second = await refresh(first.refresh_token);
      expect(second.status).toBe(200);
      expect(second.json.refresh_token).not.toBe(first.refresh_token);
      expect((await call('weather', second.json.access_token)).status).toBe(200);

      const lost = await refresh(first.refresh_token);
      expect(lost.json).toMatchObject({
        access_token: second.json.access_token,
        refresh_token: second.json.refresh_token,
      });
      const third = await refresh(second.json.refresh_token);
      expect(third.status).toBe(200);

      const replayed = await refresh(first.refresh_token);
      expect(replayed.status).toBe(400);
      expect(replayed.json.error).toBe('invalid_grant');
      for (const { access_token } of [first, second.json, third.json])
        expect((await call('weather', access_token)).status).toBe(401);
      expect((await refresh(third.json.refresh_token)).json.error).toBe('invalid_grant');
      const anew = await person.authorize(requestFor(gateway, { clientId, pkce: newPkce(), server: 'weather' }));
      expect(anew.action).toBe('/oauth/consent');
    });

    test('ten who renew with the same token at once get the same tokens', async () => {
      const { person } = await newcomer();
      const { refresh_token } = await tokensFor(gateway, person, { clientId, server: 'weather' });
      const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(refresh_token)));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
      expect(new Set(answers.map(({ json }) => `${json.access_token} ${json.refresh_token}`)).size).toBe(1);
      expect((await call('weather', answers[0]!.json.access_token)).status).toBe(200);
    });

    test('a code is good once: of ten at once one gets tokens, and these end', async () => {
      const { person } = await newcomer();
      const pkce = newPkce();
      const said = await person.consent(requestFor(gateway, { clientId, pkce, server: 'weather' }));
      const form = redemption(said.get('code')!, clientId, pkce);
      const answers = await Promise.all(Array.from({ length: 10 }, () => post(gateway, '/oauth/token', form)));
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      expect(answers.filter(({ json }) => json.error === 'invalid_grant')).toHaveLength(9);
      expect((await call('weather', won[0]!.json.access_token)).status).toBe(401);
      expect((await refresh(won[0]!.json.refresh_token)).status).toBe(400);
    });

    test('a client ends its tokens: an access token alone, with the refresh token all of them', async () => {
      const { person } = await newcomer();
      const tokens = await tokensFor(gateway, person, { clientId, server: 'weather' });
      const revoke = (token: string, client = clientId) => post(gateway, '/oauth/revoke', { token, client_id: client });
      expect((await revoke(tokens.access_token, 'somebody else')).json.error).toBe('invalid_client');
      expect((await call('weather', tokens.access_token)).status).toBe(200);
      expect((await revoke(tokens.access_token)).status).toBe(200);
      expect((await call('weather', tokens.access_token)).status).toBe(401);
      const renewed = await refresh(tokens.refresh_token);
      expect((await call('weather', renewed.json.access_token)).status).toBe(200);
      expect((await revoke(renewed.json.refresh_token)).status).toBe(200);
      expect((await call('weather', renewed.json.access_token)).status).toBe(401);
      expect((await refresh(renewed.json.refresh_token)).json.error).toBe('invalid_grant');
      expect((await revoke('gwr_nothing')).status).toBe(200);
    });

    test('who leaves the workspace, or the organisation, has no token any more', async () => {
      const { user, person } = await newcomer();
      const tokens = await tokensFor(gateway, person, { clientId, server: 'weather' });
      expect((await call('weather', tokens.access_token)).status).toBe(200);
      await gateway.api.delete(`/v1/admin/workspaces/default/users/${user.id}`);
      expect((await call('weather', tokens.access_token)).status).toBe(401);
      expect((await refresh(tokens.refresh_token)).json.error).toBe('invalid_grant');

      const gone = await newcomer();
      const theirs = await tokensFor(gateway, gone.person, { clientId, server: 'weather' });
      expect((await call('weather', theirs.access_token)).status).toBe(200);
      expect((await gateway.api.delete(`/v1/admin/users/${gone.user.id}`)).status).toBe(200);
      expect((await call('weather', theirs.access_token)).status).toBe(401);
      expect((await refresh(theirs.refresh_token)).json.error).toBe('invalid_grant');
    });

    test('a new password ends what was allowed under the old one', async () => {
      const { user, person } = await newcomer();
      const tokens = await tokensFor(gateway, person, { clientId, server: 'weather' });
      await gateway.api.put(`/v1/admin/users/${user.id}`, { password: 'another horse battery' });
      expect((await call('weather', tokens.access_token)).status).toBe(401);
      expect((await refresh(tokens.refresh_token)).json.error).toBe('invalid_grant');
    });

    test('the limits of the workspace hold for users, too', async () => {
      const workspace = await gateway.given.workspace({
        slug: `narrow-${engine}`,
        rate_limits: [{ type: 'requests', unit: 'rpd', value: 1 }],
      });
      const slug = `narrow-${engine}`;
      await register(slug, { workspace_id: workspace.id });
      const { person } = await newcomer({ workspaces: [{ id: workspace.id, role: 'member' }] });
      const { access_token } = await tokensFor(gateway, person, { clientId, server: slug });
      expect((await call(slug, access_token)).status).toBe(200);
      const refused = await call(slug, access_token);
      expect(refused.status).toBe(429);
    });

    test('a client registers itself, may listen on any port of its machine, and is asked for every time', async () => {
      const registered = await gateway.api.post(
        '/oauth/register',
        { client_name: 'Editor', redirect_uris: ['http://127.0.0.1/callback'] },
        { key: null },
      );
      expect(registered.status).toBe(201);
      expect(registered.json).toMatchObject({ token_endpoint_auth_method: 'none', client_name: 'Editor' });
      const { person } = await newcomer();
      const redirect_uri = 'http://127.0.0.1:49152/callback';
      const id = registered.json.client_id;
      for (let time = 0; time < 2; time++) {
        const pkce = newPkce();
        const asked = requestFor(gateway, { clientId: id, pkce, server: 'weather', redirect_uri });
        const page = await person.authorize(asked);
        expect(page.text).toContain('registered itself');
        const code = new URL((await person.submit(page, { decision: 'allow' })).location!).searchParams.get('code')!;
        const { status } = await post(gateway, '/oauth/token', redemption(code, id, pkce, { redirect_uri }));
        expect(status).toBe(200);
      }
    });

    test('a user sees which applications they let in, and sends one away: its tokens end and it has to ask again', async () => {
      const { user, person } = await newcomer();
      const browser = await signIn(gateway, user.email);
      const held = [
        await tokensFor(gateway, person, { clientId, server: 'weather' }),
        await tokensFor(gateway, person, { clientId, server: 'weather' }),
      ];
      const kept = await tokensFor(gateway, person, { clientId, server: 'news' });
      const others = await newcomer();
      const ofAnother = await tokensFor(gateway, others.person, { clientId, server: 'weather' });

      const apps = (await browser.call('GET', '/v1/own-apps')).json.data;
      const weather = apps.find(({ server }: { server: string }) => server === 'weather');
      expect(apps).toHaveLength(2);
      expect(weather).toMatchObject({
        client_name: 'The notes application',
        client_host: new URL(site.origin).host,
        resource: `${gateway.url}/weather/mcp`,
        authorizations: 2,
        is_remembered: true,
      });
      const path = `/v1/own-apps/${weather.id}`;
      const elsewhere = await signIn(gateway, others.user.email);
      expect((await elsewhere.call('DELETE', path)).json.error.code).toBe('own_app_not_found');
      expect((await browser.call('DELETE', path, undefined, { 'x-gateway-csrf': '' })).status).toBe(403);
      expect((await gateway.api.get('/v1/own-apps')).json.error.code).toBe('session_required');
      expect((await call('weather', held[0]!.access_token)).status).toBe(200);

      expect((await browser.call('DELETE', path)).json).toMatchObject({ id: weather.id, deleted: true });

      for (const { access_token, refresh_token } of held) {
        expect((await call('weather', access_token)).status).toBe(401);
        expect((await refresh(refresh_token)).json.error).toBe('invalid_grant');
      }
      const asked = requestFor(gateway, { clientId, pkce: newPkce(), server: 'weather' });
      expect((await person.authorize(asked)).action).toBe('/oauth/consent');
      expect((await call('news', kept.access_token)).status).toBe(200);
      expect((await call('weather', ofAnother.access_token)).status).toBe(200);
      expect((await browser.call('GET', '/v1/own-apps')).json.data).toHaveLength(1);
      expect((await browser.call('DELETE', path)).status).toBe(404);
    });

    describe('an application that an administrator has registered', () => {
      const givenApp = async (over: Record<string, unknown> = {}) => {
        const made = await gateway.api.post('/v1/mcp-apps', { name: 'Desk', redirect_uris: [CALLBACK], ...over });
        if (made.status !== 200) throw new Error(made.text);
        return made.json as { id: string; client_secret: string };
      };
      const ask = async (form: Record<string, string>, authorization?: string) => {
        const response = await fetch(`${gateway.url}/oauth/token`, {
          method: 'POST',
          headers: authorization === undefined ? {} : { authorization },
          body: new URLSearchParams(form),
        });
        return {
          status: response.status,
          headers: response.headers,
          json: (await response.json()) as { error: string },
        };
      };
      const basic = (id: string, secret: string) => `Basic ${btoa(`${encodeURIComponent(id)}:${secret}`)}`;
      /** A code, and what redeems it beside a proof of who asks. */
      const consented = async (person: Person, id: string) => {
        const pkce = newPkce();
        const page = await person.authorize(
          requestFor(gateway, { clientId: id, pkce, server: 'weather', prompt: 'consent' }),
        );
        const { location } = await person.submit(page, { decision: 'allow' });
        const form = redemption(new URL(location!).searchParams.get('code')!, id, pkce);
        const { client_id: _, ...without } = form;
        return { form, without, page };
      };

      test('proves who it is by its secret, in the header or in the form, and in no other way', async () => {
        const { person } = await newcomer();
        const { id, client_secret } = await givenApp();
        const other = await givenApp();
        const { form, without, page } = await consented(person, id);
        expect(page.text).toContain('registered by an administrator');
        expect(page.text).not.toContain('was not checked');
        const stored = JSON.stringify(await query(gateway, `select * from mcp_apps where id = '${id}'`));
        expect(stored).not.toContain(client_secret);
        expect((await gateway.api.get(`/v1/mcp-apps/${id}`)).text).not.toContain(client_secret);

        const [right, wrong] = [basic(id, client_secret), basic(id, other.client_secret)];
        for (const [refused, why] of [
          [await ask(form), 'sent none'],
          [await ask({ ...form, client_secret: 'gws_x' }), 'secret is wrong'],
          [await ask(without, wrong), 'secret is wrong'],
          [await ask({ ...form, client_id: other.id }, right), 'not the one of the header'],
          [await ask(without, 'Bearer x'), 'must be Basic'],
          [await ask(without, `Basic ${btoa('%zz:%zz')}`), 'form-encoded'],
        ] as const) {
          expect([refused.status, refused.json.error]).toEqual([401, 'invalid_client']);
          expect(JSON.stringify(refused.json)).toContain(why);
        }
        expect((await ask(without, wrong)).headers.get('www-authenticate')).toStartWith('Basic ');
        expect((await ask({ ...form, client_secret }, right)).json.error).toBe('invalid_request');

        const tokens = (await ask(without, right)).json as unknown as { access_token: string; refresh_token: string };
        expect((await call('weather', tokens.access_token)).status).toBe(200);
        const renewal = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id: id };
        expect((await ask(renewal)).json.error).toBe('invalid_client');
        expect((await ask({ ...renewal, client_secret })).status).toBe(200);
        const revoked = await post(gateway, '/oauth/revoke', { token: tokens.refresh_token, client_id: id });
        expect([revoked.status, revoked.json.error]).toEqual([401, 'invalid_client']);
      });

      test('gets a new secret, and the old one holds for as long as was said', async () => {
        const { person } = await newcomer();
        const { id, client_secret } = await givenApp();
        const rotate = (body: object) => gateway.api.post(`/v1/mcp-apps/${id}/rotate`, body);
        const next = (await rotate({ transition_seconds: 600 })).json.client_secret;
        for (const secret of [client_secret, next])
          expect((await ask((await consented(person, id)).without, basic(id, secret))).status).toBe(200);

        const last = (await rotate({})).json.client_secret;

        const { without } = await consented(person, id);
        for (const secret of [client_secret, next])
          expect((await ask(without, basic(id, secret))).json.error).toBe('invalid_client');
        expect((await ask(without, basic(id, last))).status).toBe(200);
      });

      test('may have no secret, and then sends none', async () => {
        const { person } = await newcomer();
        const { id, client_secret } = await givenApp({ is_confidential: false, is_renewable: false });
        expect(client_secret).toBeUndefined();
        const { form } = await consented(person, id);
        expect((await ask({ ...form, client_secret: 'x' })).json.error).toBe('invalid_client');
        const granted = await ask(form);
        expect([granted.status, 'refresh_token' in granted.json]).toEqual([200, false]);
        const rotated = await gateway.api.post(`/v1/mcp-apps/${id}/rotate`, {});
        expect(rotated.json.error.code).toBe('mcp_app_without_secret');
      });

      test('takes what users allowed it along when it is removed, and leads nowhere but to its addresses', async () => {
        const { person } = await newcomer();
        const { id, client_secret } = await givenApp();
        const { without } = await consented(person, id);
        const tokens = (await ask(without, basic(id, client_secret))).json as unknown as { access_token: string };
        const faulty = await gateway.api.put(`/v1/mcp-apps/${id}`, {
          redirect_uris: [CALLBACK, 'http://evil.example/'],
        });
        expect([faulty.status, faulty.json.error.param]).toEqual([400, 'redirect_uris[1]']);
        await gateway.api.put(`/v1/mcp-apps/${id}`, { redirect_uris: ['https://elsewhere.example/'] });
        const asked = requestFor(gateway, { clientId: id, pkce: newPkce(), server: 'weather' });
        expect((await person.authorize(asked)).text).toContain('none of those it has registered');
        expect((await call('weather', tokens.access_token)).status).toBe(200);

        expect((await gateway.api.delete(`/v1/mcp-apps/${id}`)).json.deleted).toBe(true);

        expect((await call('weather', tokens.access_token)).status).toBe(401);
        expect((await person.authorize(asked)).text).toContain('its client_id is unknown here');
        expect((await gateway.api.delete(`/v1/mcp-apps/${id}`)).json.error.code).toBe('mcp_app_not_found');
      });
    });

    test('the sign-in page names the organisation once it has a name, as text', async () => {
      const asked = new URLSearchParams(requestFor(gateway, { clientId, pkce: newPkce(), server: 'weather' }));
      const doors = [`/oauth/authorize?${asked}`, '/connect', '/connect/weather'];
      const seen = () => Promise.all(doors.map(async (path) => (await fetch(gateway.url + path)).text()));
      for (const text of await seen()) expect(text).toContain('<h1>Sign in to the gateway</h1>');
      expect((await gateway.api.put('/v1/admin/organisation', { name: ' ' })).json.error.param).toBe('name');

      const named = await gateway.api.put('/v1/admin/organisation', { name: 'Acme <b>& Sons' });

      expect(named.json.name).toBe('Acme <b>& Sons');
      for (const text of await seen()) expect(text).toContain('<h1>Sign in to the gateway of Acme &lt;b&gt;&amp; Sons');
    });

    test('somebody else can take the seat before consenting', async () => {
      const one = await newcomer();
      const asked = requestFor(gateway, { clientId, pkce: newPkce(), server: 'weather' });
      const page = await one.person.authorize(asked);
      const left = await one.person.submit(page, { decision: 'switch' });
      const asking = await one.person.open(left.location!);
      expect(asking.action).toBe('/oauth/sign-in');
    });
  });
}
