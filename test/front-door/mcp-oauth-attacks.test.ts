import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { newSigningKey } from '../mcp/identity-provider.ts';
import {
  CALLBACK,
  type Form,
  newPkce,
  Person,
  post,
  redemption,
  requestFor,
  startClientSite,
  tokensFor,
} from '../mcp/oauth.ts';
import { type Recorder, startRecorder, toolCall } from '../mcp/recorder.ts';
import { givenUser, PASSWORD } from '../people.ts';
import { query } from '../state-tables.ts';

/** What others have tried on authorization servers. */
let gateway: TestGateway;
let upstream: Recorder;
let site: ReturnType<typeof startClientSite>;
let clientId: string;
let ann: Person;
let bob: Person;

beforeAll(async () => {
  gateway = await startGateway();
  upstream = startRecorder();
  site = startClientSite();
  clientId = site.describe('notes');
  for (const slug of ['weather', 'news']) await register(slug);
  const elsewhere = await gateway.given.workspace({ slug: 'elsewhere' });
  await register('secret', { workspace_id: elsewhere.id });
  for (const name of ['ann', 'bob']) await givenUser(gateway, { email: `${name}@example.com`, password: PASSWORD });
  ann = new Person(gateway.url, 'ann@example.com');
  bob = new Person(gateway.url, 'bob@example.com');
});
afterAll(async () => {
  site.stop();
  upstream.stop();
  await gateway.stop();
});

async function register(slug: string, more: Record<string, unknown> = {}) {
  const reply = await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url: upstream.url, ...more });
  if (reply.status !== 200) throw new Error(reply.text);
}
const ask = (more: Record<string, unknown> = {}, pkce = newPkce()) =>
  requestFor(gateway, { clientId, pkce, server: 'weather', ...more });
const without = (name: string): Form => {
  const { [name]: _, ...rest } = ask() as Record<string, string>;
  return rest;
};
const call = (slug: string, token: string) =>
  gateway.api.post(`/${slug}/mcp`, toolCall(), { key: null, headers: { authorization: `Bearer ${token}` } });
async function freshCode(person = ann) {
  const pkce = newPkce();
  return { pkce, code: (await person.consent(ask({ prompt: 'consent' }, pkce))).get('code')! };
}

describe('a client or an address that does not hold is shown to the user, who is sent nowhere', () => {
  const hostile: Record<string, () => Form> = {
    'no client_id': () => without('client_id'),
    'no redirect_uri': () => without('redirect_uri'),
    'a client nobody knows': () => ask({ clientId: 'mcp-client-aaaaaaaaaaaaaaaaaaaaaa' }),
    'a client id that is no address': () => ask({ clientId: 'notes' }),
    'a document that is not there': () => ask({ clientId: `${site.origin}/none.json` }),
    'a document of another client': () => {
      site.describe('thief', { client_id: clientId });
      return ask({ clientId: `${site.origin}/thief.json` });
    },
    'a document with a secret': () =>
      ask({ clientId: site.describe('secretive', { token_endpoint_auth_method: 'client_secret_basic' }) }),
    'a document at an address the gateway may not call': () =>
      ask({ clientId: 'http://169.254.169.254/latest/client' }),
    'another address': () => ask({ redirect_uri: 'https://evil.example/callback' }),
    'an address that only begins like the registered one': () => ask({ redirect_uri: `${CALLBACK}/more` }),
    'a registered address with a query': () => ask({ redirect_uri: `${CALLBACK}?next=evil` }),
    'a registered address with a fragment': () => ask({ redirect_uri: `${CALLBACK}#x` }),
    'a registered address on another port': () => ask({ redirect_uri: 'https://app.example:8443/callback' }),
    'an address spelt in capitals': () => ask({ redirect_uri: 'https://APP.example/callback' }),
    'an address that is a script': () =>
      ask({
        clientId: site.describe('script', { redirect_uris: ['javascript:alert(1)//'] }),
        redirect_uri: 'javascript:alert(1)//',
      }),
    'plain http to another machine': () =>
      ask({
        clientId: site.describe('plain', { redirect_uris: ['http://app.example/callback'] }),
        redirect_uri: 'http://app.example/callback',
      }),
  };
  for (const [name, request] of Object.entries(hostile)) {
    test(name, async () => {
      const page = await ann.authorize(request());
      expect(page.status).toBe(400);
      expect(page.location).toBeNull();
      expect(page.headers.get('content-type')).toContain('text/html');
      expect(page.action).toBeNull();
    });
  }

  test('a client_id or redirect_uri that is given twice', async () => {
    for (const name of ['client_id', 'redirect_uri']) {
      const page = await ann.authorize(`${new URLSearchParams(ask())}&${name}=https://evil.example/x`);
      expect([page.status, page.location]).toEqual([400, null]);
    }
  });

  test('what it says of itself is text, whatever it is', async () => {
    const name = '<script>alert(1)</script>"\'&\u202egnp';
    const page = await ann.authorize(ask({ clientId: site.describe('hostile', { client_name: name }) }));
    expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp; gnp');
    expect(page.text).not.toContain('<script>');
    const fault = await ann.authorize(ask({ redirect_uri: 'https://evil.example/<script>' }));
    expect(fault.text).not.toContain('<script>');
  });

  test('strangers are sent nowhere, not even with an error to a client that is known', async () => {
    await ann.authorize(ask());
    const page = await new Person(gateway.url, 'x').open(
      `/oauth/authorize?${new URLSearchParams(ask({ scope: 'admin' }))}`,
    );
    expect([page.status, page.location, page.action]).toEqual([200, null, '/oauth/sign-in']);
  });

  test('strangers make the gateway fetch nothing', async () => {
    const asked = site.asked;
    const page = await new Person(gateway.url, 'nobody@example.com').open(
      `/oauth/authorize?${new URLSearchParams(ask({ clientId: site.describe('unseen') }))}`,
    );
    expect(page.action).toBe('/oauth/sign-in');
    expect(site.asked).toBe(asked);
  });
});

describe('any other fault of a request is told to its client', () => {
  const faults: Record<string, [() => Form, string]> = {
    'no PKCE': [() => without('code_challenge'), 'invalid_request'],
    'the method plain': [() => ask({ code_challenge_method: 'plain' }), 'invalid_request'],
    'no method': [() => without('code_challenge_method'), 'invalid_request'],
    'a challenge that is none': [() => ask({ code_challenge: 'short' }), 'invalid_request'],
    'another response type': [() => ask({ response_type: 'token' }), 'unsupported_response_type'],
    'another response mode': [() => ask({ response_mode: 'fragment' }), 'invalid_request'],
    'a request object': [() => ask({ request: 'e30.e30.' }), 'request_not_supported'],
    'no resource': [() => without('resource'), 'invalid_target'],
    'a resource elsewhere': [() => ask({ resource: 'https://evil.example/weather/mcp' }), 'invalid_target'],
    'a resource that is no endpoint': [() => ask({ resource: `${gateway.url}/v1` }), 'invalid_target'],
    'another scope alone': [() => ask({ scope: 'admin' }), 'invalid_scope'],
  };
  for (const [name, [request, error]] of Object.entries(faults)) {
    test(name, async () => {
      const page = await ann.authorize(request());
      const back = new URL(page.location!);
      expect(back.origin + back.pathname).toBe(CALLBACK);
      expect(back.searchParams.get('error')).toBe(error);
      expect(back.searchParams.get('state')).toBe('a state of its own');
      expect(back.searchParams.get('iss')).toBe(gateway.url);
      expect(back.searchParams.has('code')).toBe(false);
    });
  }
});

describe('a server of another workspace', () => {
  test('looks like one that does not exist, and leads to no token', async () => {
    const foreign = await ann.authorize(ask({ server: 'secret', resource: `${gateway.url}/secret/mcp` }));
    const missing = await ann.authorize(ask({ server: 'nothing', resource: `${gateway.url}/nothing/mcp` }));
    expect([foreign.status, missing.status]).toEqual([403, 403]);
    const plain = (text: string) => text.replace(/value="[^"]*"/g, '');
    expect(plain(foreign.text)).toBe(plain(missing.text).replaceAll('/nothing/', '/secret/'));
    const forced = await ann.submit(foreign, { decision: 'allow' });
    expect([forced.status, forced.location]).toEqual([400, null]);
  });
});

describe('the consent form', () => {
  test('cannot be shown in a frame, and runs no script', async () => {
    const page = await ann.authorize(ask({ prompt: 'consent' }));
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    const policy = page.headers.get('content-security-policy')!;
    for (const rule of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'self' https://app.example;",
    ])
      expect(policy).toContain(rule);
    expect(policy).not.toContain('unsafe');
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('is not accepted without its ticket, with that of another session, or with one of another form', async () => {
    const mine = await ann.authorize(ask({ prompt: 'consent' }));
    const theirs = await bob.authorize(ask({ prompt: 'consent' }));
    const signIn = await new Person(gateway.url, 'x').open(`/oauth/authorize?${new URLSearchParams(ask())}`);
    const ticket = mine.hidden.ticket!;
    const altered = ticket.slice(0, 60) + (ticket[60] === 'A' ? 'B' : 'A') + ticket.slice(61);
    for (const given of ['', 'v1.a.b', theirs.hidden.ticket!, signIn.hidden.ticket!, altered]) {
      const sent = await ann.submit(mine, { ticket: given, decision: 'allow' });
      expect([sent.status, sent.location]).toEqual([403, null]);
    }
  });

  test('is not accepted from a page elsewhere, or from nobody', async () => {
    const { hidden } = await ann.authorize(ask({ prompt: 'consent' }));
    const signedIn = await gateway.api.post(
      '/v1/sessions',
      { email: 'ann@example.com', password: PASSWORD },
      { key: null },
    );
    const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
    for (const headers of [
      { cookie, origin: 'https://evil.example' },
      { cookie, 'sec-fetch-site': 'cross-site' },
      { cookie },
      {},
    ]) {
      const response = await fetch(`${gateway.url}/oauth/consent`, {
        method: 'POST',
        redirect: 'manual',
        headers: headers as Record<string, string>,
        body: new URLSearchParams({ ...hidden, decision: 'allow' }),
      });
      expect(response.status).toBe(403);
    }
  });

  test('signing in is bound to the browser that was shown the form', async () => {
    const shown = await new Person(gateway.url, 'x').open(`/oauth/authorize?${new URLSearchParams(ask())}`);
    const response = await fetch(`${gateway.url}/oauth/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({ ...shown.hidden, email: 'ann@example.com', password: PASSWORD }),
    });
    expect(response.status).toBe(403);
    expect(response.headers.get('set-cookie')).toBeNull();
  });

  test('a wrong password is told on the page, and lets nobody in', async () => {
    const person = new Person(gateway.url, 'ann@example.com');
    const page = await person.authorize(ask(), 'wrong');
    expect(page.status).toBe(401);
    expect(page.action).toBe('/oauth/sign-in');
    expect(page.text).toContain('do not belong together');
    expect(page.text).not.toContain('wrong"');
  });

  test('the way through a provider returns nowhere else', async () => {
    for (const path of ['https://evil.example/', '//evil.example/', '/oauth/authorize/../../v1', '/v1/api-keys']) {
      const page = await ann.open(`/oauth/sign-in/provider?return_to=${encodeURIComponent(path)}`);
      expect([page.status, page.location]).toEqual([400, null]);
    }
  });
});

describe('a code', () => {
  const refused: Record<string, [Form, string]> = {
    'a wrong verifier': [{ code_verifier: newPkce().verifier }, 'invalid_grant'],
    'a verifier that is none': [{ code_verifier: 'short' }, 'invalid_request'],
    'no verifier': [{ code_verifier: '' }, 'invalid_request'],
    'another client': [{ client_id: 'https://evil.example/client.json' }, 'invalid_grant'],
    'no client': [{ client_id: '' }, 'invalid_client'],
    'another address': [{ redirect_uri: 'https://evil.example/callback' }, 'invalid_grant'],
    'another server': [{ resource: 'RESOURCE' }, 'invalid_grant'],
    'a resource elsewhere': [{ resource: 'https://evil.example/mcp' }, 'invalid_target'],
    'a code nobody issued': [{ code: `gwc_${'a'.repeat(43)}` }, 'invalid_grant'],
    'another grant type': [{ grant_type: 'password' }, 'unsupported_grant_type'],
  };
  for (const [name, [change, error]] of Object.entries(refused)) {
    test(`gives nothing for ${name}, and is still good for its owner`, async () => {
      const { code, pkce } = await freshCode();
      const form = redemption(code, clientId, pkce, change);
      const wrong = { ...form, ...(change.resource === 'RESOURCE' && { resource: `${gateway.url}/news/mcp` }) };
      const reply = await post(gateway, '/oauth/token', wrong);
      expect(reply.status).toBe(error === 'invalid_client' ? 401 : 400);
      expect(reply.json.error).toBe(error);
      expect((await post(gateway, '/oauth/token', redemption(code, clientId, pkce))).status).toBe(200);
    });
  }

  test('that is used a second time ends the tokens of the first', async () => {
    const { code, pkce } = await freshCode();
    const form = redemption(code, clientId, pkce);
    const { json } = await post(gateway, '/oauth/token', form);
    expect((await call('weather', json.access_token)).status).toBe(200);
    expect((await post(gateway, '/oauth/token', form)).json.error).toBe('invalid_grant');
    const dead = await call('weather', json.access_token);
    expect(dead.status).toBe(401);
    expect(dead.json.error.code).toBe('invalid_access_token');
    expect(dead.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });

  test('and tokens stand nowhere in the store', async () => {
    const { access_token, refresh_token, code } = await tokensFor(gateway, ann, { clientId, server: 'weather' });
    for (const table of ['mcp_grants', 'mcp_codes', 'mcp_access_tokens', 'mcp_consents']) {
      const text = JSON.stringify(await query(gateway, `select * from ${table}`));
      for (const secret of [access_token, refresh_token, code]) expect(text).not.toContain(secret.slice(-40));
    }
  });
});

describe('a token', () => {
  test('for one server is refused by another, and on every other route', async () => {
    const { access_token, refresh_token } = await tokensFor(gateway, ann, { clientId, server: 'weather' });
    expect((await call('weather', access_token)).status).toBe(200);
    expect((await call('news', access_token)).status).toBe(401);
    expect((await call('nothing', access_token)).status).toBe(401);
    expect((await call('secret', access_token)).status).toBe(401);
    expect((await call('weather', refresh_token)).status).toBe(401);
    const elsewhere = await gateway.api.get('/v1/models', {
      key: null,
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(elsewhere.status).toBe(401);
    const asKey = await gateway.api.post('/weather/mcp', toolCall(), { key: access_token });
    expect(asKey.status).toBe(401);
  });

  test('ends with its server: another one of the same name is another one', async () => {
    await register('passing-by');
    const { access_token, refresh_token } = await tokensFor(gateway, ann, { clientId, server: 'passing-by' });
    expect((await call('passing-by', access_token)).status).toBe(200);
    expect((await gateway.api.delete('/v1/mcp-servers/passing-by')).status).toBe(200);
    await register('passing-by');
    expect((await call('passing-by', access_token)).status).toBe(401);
    const form = { grant_type: 'refresh_token', refresh_token, client_id: clientId };
    expect((await post(gateway, '/oauth/token', form)).json.error).toBe('invalid_grant');
    const asked = await ann.authorize(ask({ server: 'passing-by', resource: `${gateway.url}/passing-by/mcp` }));
    expect(asked.action).toBe('/oauth/consent');
  });

  test('never reaches the server behind, not even where users pass their own', async () => {
    await register('passing', { configurations: { user_identity_forwarding: { method: 'bearer' } } });
    const { access_token } = await tokensFor(gateway, ann, { clientId, server: 'passing' });
    const key = await gateway.given.apiKey();
    for (const more of [{}, { 'x-gateway-api-key': key.key }] as Record<string, string>[]) {
      const headers = { authorization: `Bearer ${access_token}`, ...more };
      expect((await gateway.api.post('/passing/mcp', toolCall(), { key: null, headers })).status).toBe(200);
      expect(JSON.stringify(upstream.last)).not.toContain(access_token);
    }
  });

  test('does not stand in for the token of the identity provider that a server asks for', async () => {
    const { kty, n, e, kid } = await newSigningKey('theirs');
    const jwt_validation = {
      jwks: { keys: [{ kty, n, e, kid }] },
      issuer: 'https://login.example',
      audience: 'x',
      required: true,
    };
    await register('strict', { configurations: { jwt_validation } });
    const metadata = await gateway.api.get('/.well-known/oauth-protected-resource/strict/mcp', { key: null });
    expect(metadata.json.authorization_servers).toEqual(['https://login.example']);
    const { access_token } = await tokensFor(gateway, ann, { clientId, server: 'strict' });
    const reply = await call('strict', access_token);
    expect([reply.status, reply.json.error.code]).toEqual([401, 'invalid_user_token']);
  });

  test('to renew is of one client, one resource and one making', async () => {
    const { refresh_token } = await tokensFor(gateway, ann, { clientId, server: 'weather' });
    const refresh = (more: Form) =>
      post(gateway, '/oauth/token', { grant_type: 'refresh_token', refresh_token, client_id: clientId, ...more });
    const other = site.describe('other');
    expect((await refresh({ client_id: other })).json.error).toBe('invalid_grant');
    expect((await refresh({ resource: `${gateway.url}/news/mcp` })).json.error).toBe('invalid_grant');
    for (const forged of [
      refresh_token.replace('_1_', '_2_'),
      refresh_token.replace('_1_', '_0_'),
      `${refresh_token.slice(0, -2)}AA`,
    ])
      expect((await refresh({ refresh_token: forged })).json.error).toBe('invalid_grant');
    expect((await refresh({ resource: `${gateway.url}/weather/mcp/` })).status).toBe(200);
  });
});

describe('the endpoints of clients', () => {
  test('say in the words of OAuth what is wrong with a form', async () => {
    const send = async (body: string, type = 'application/x-www-form-urlencoded') => {
      const response = await fetch(`${gateway.url}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      });
      return { status: response.status, json: (await response.json()) as { error: string; error_description: string } };
    };
    expect(await send('')).toEqual({
      status: 400,
      json: { error: 'invalid_request', error_description: 'grant_type: is missing' },
    });
    expect((await send('grant_type=refresh_token&grant_type=refresh_token')).json.error).toBe('invalid_request');
    expect((await send('{}', 'application/json')).json.error).toBe('invalid_request');
    expect((await send('grant_type="\u00e9\\')).json.error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  });

  test('register nobody unless the operator allows it', async () => {
    const reply = await gateway.api.post('/oauth/register', { redirect_uris: [CALLBACK] }, { key: null });
    expect(reply.status).toBe(403);
    expect(
      (await gateway.api.get('/.well-known/oauth-authorization-server')).json.registration_endpoint,
    ).toBeUndefined();
  });

  test('may be asked by pages of any origin, which see nothing of a session', async () => {
    const preflight = await gateway.api.call('OPTIONS', '/oauth/token', { key: null });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    const page = await ann.authorize(ask({ prompt: 'consent' }));
    expect(page.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('wait for one address that asks too often', async () => {
    const own = await startGateway({
      environment: { GATEWAY_CLIENT_IP_HEADER: 'x-real-ip', GATEWAY_OAUTH_REGISTRATION: 'true' },
    });
    try {
      const ask = (address: string) =>
        own.api.post(
          '/oauth/register',
          { redirect_uris: [CALLBACK] },
          { key: null, headers: { 'x-real-ip': address } },
        );
      const statuses = await Promise.all(
        Array.from({ length: 31 }, () => ask('192.0.2.1').then(({ status }) => status)),
      );
      expect(statuses.filter((status) => status === 201)).toHaveLength(30);
      const refused = await ask('192.0.2.1');
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await ask('192.0.2.2')).status).toBe(201);
    } finally {
      await own.stop();
    }
  });
});
