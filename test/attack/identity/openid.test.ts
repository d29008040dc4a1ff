import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { serve, startGateway, type TestGateway } from '../../gateway.ts';
import { givenUser } from '../../people.ts';

type Claims = Record<string, unknown>;
type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

const seconds = () => Math.floor(Date.now() / 1_000);

/** An identity provider that says whatever a test has it say: the place of one that lies, or is lied to. */
async function startLiar() {
  const own = await generateKeyPair('RS256', { extractable: true });
  const forged = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const says = { idToken: async (): Promise<string> => '', userInfo: {} as Claims };
  const { origin: issuer, stop } = serve(async (request) => {
    switch (new URL(request.url).pathname) {
      case '/.well-known/openid-configuration':
        return Response.json({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
          code_challenge_methods_supported: ['S256'],
        });
      case '/keys':
        return Response.json({ keys: [jwk] });
      case '/token':
        return Response.json({ access_token: 'at', token_type: 'bearer', id_token: await says.idToken() });
      case '/userinfo':
        return Response.json(says.userInfo);
      default:
        return new Response(null, { status: 404 });
    }
  });
  const sign = (claims: Claims, keys: KeyPair = own) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(keys.privateKey);
  return { issuer, stop, says, sign, forged };
}

describe('an identity provider in between', () => {
  let gateway: TestGateway;
  let liar: Awaited<ReturnType<typeof startLiar>>;

  beforeAll(async () => {
    liar = await startLiar();
    const environment = { GATEWAY_OIDC_ISSUER: liar.issuer, GATEWAY_OIDC_CLIENT_ID: 'gateway' };
    gateway = await startGateway({ environment });
  });
  afterAll(async () => {
    await gateway.stop();
    liar.stop();
  });
  let count = 0;
  let sub = '';
  beforeEach(() => {
    sub = `somebody-${count++}`;
    liar.says.userInfo = { sub };
  });
  /** The address of an owner whom the identity provider does not know yet. */
  const givenVictim = async (): Promise<string> =>
    (await givenUser(gateway, { email: `victim-${count++}@example.com`, role: 'owner' })).email;

  /** Comes back from the provider with a code. `said` are the claims of the ID token beside those that belong in any. */
  const signIn = async (said: Claims, make: (claims: Claims) => Promise<string> = (claims) => liar.sign(claims)) => {
    const begun = await gateway.api.get('/v1/sessions/oidc', { key: null });
    const { searchParams } = new URL(begun.headers.get('location')!);
    const [cookie] = begun.headers.get('set-cookie')!.split(';');
    const standard = { iss: liar.issuer, aud: 'gateway', sub, iat: seconds(), exp: seconds() + 60 };
    liar.says.idToken = () => make({ ...standard, nonce: searchParams.get('nonce'), ...said });
    const answer = new URLSearchParams({ code: 'any', state: searchParams.get('state')! });
    const reply = await gateway.api.get(`/v1/sessions/oidc/callback?${answer}`, {
      key: null,
      headers: { cookie: cookie! },
    });
    return reply.status === 302 ? 'signed in' : `${reply.status} ${reply.json.error.code}`;
  };
  const verified = (email: string) => ({ email, email_verified: true });

  test('lets a user in whose token is signed by a key of its set', async () => {
    const { email } = await givenUser(gateway, { email: 'plain@example.com' });
    expect(await signIn(verified(email))).toBe('signed in');
  });

  test('lets nobody in by a token that another key has signed, or none', async () => {
    const forgeries = [
      (claims: Claims) => liar.sign(claims, liar.forged),
      async (claims: Claims) => new UnsecuredJWT(claims).encode(),
      async (claims: Claims) => (await liar.sign(claims)).replace(/[^.]+$/, ''),
    ];
    for (const forge of forgeries) expect(await signIn(verified(await givenVictim()), forge)).toBe('403 oidc_refused');
  });

  test('lets nobody in by a token without an end', async () => {
    expect(await signIn({ ...verified(await givenVictim()), exp: undefined })).toBe('403 oidc_refused');
  });

  test('vouches in one place for the address of that place alone', async () => {
    // The address of the token, verified by the word of the other place.
    liar.says.userInfo = { sub, ...verified('mine@example.com') };
    expect(await signIn({ email: await givenVictim() })).toBe('403 oidc_refused');
    // The other way round.
    liar.says.userInfo = { sub, email: await givenVictim() };
    expect(await signIn({ email_verified: true })).toBe('403 oidc_refused');
    // What the token says of its own address is not overruled by the other place.
    liar.says.userInfo = { sub, ...verified(await givenVictim()) };
    expect(await signIn({ email: 'mine@example.com', email_verified: false })).toBe('403 oidc_refused');
    // A word in another form is no word.
    liar.says.userInfo = { sub, email: await givenVictim(), email_verified: 'true' };
    expect(await signIn({})).toBe('403 oidc_refused');
  });

  test('tells of an address in the second place where the first says nothing of it', async () => {
    const { email } = await givenUser(gateway, { email: 'second@example.com' });
    liar.says.userInfo = { sub, ...verified(email) };
    expect(await signIn({})).toBe('signed in');
  });

  test('tells nothing of anybody else: the second place must speak of the same person', async () => {
    liar.says.userInfo = { sub: 'another', ...verified(await givenVictim()) };
    expect(await signIn({})).toBe('403 oidc_refused');
  });
});

describe('a token that never ends', () => {
  let gateway: TestGateway;
  let sign: (claims: Claims) => Promise<string>;
  let jwks: { keys: object[] };
  let introspection: ReturnType<typeof serve>;
  let answer: Claims = {};

  beforeAll(async () => {
    gateway = await startGateway();
    const keys = await generateKeyPair('RS256', { extractable: true });
    jwks = { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' }] };
    sign = (claims) =>
      new SignJWT({ sub: 'ada', iat: seconds(), ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .sign(keys.privateKey);
    introspection = serve(() => Response.json(answer));
  });
  afterAll(async () => {
    await gateway.stop();
    introspection.stop();
  });

  const ENDLESS: Claims[] = [{}, { exp: null }, { exp: '9999999999' }];
  const ends = () => ({ exp: seconds() + 60 });

  test('is refused of a machine', async () => {
    await gateway.api.put('/v1/admin/organisation/machine-tokens', { jwks });
    const { id } = (await gateway.api.get('/v1/admin/organisation')).json;
    const send = async (claims: Claims) =>
      gateway.api.get('/v1/models', { key: await sign({ organisation_id: id, ...claims }) });
    expect((await send(ends())).status).toBe(200);
    for (const claims of ENDLESS) {
      const reply = await send(claims);
      expect([reply.status, reply.json.error.code]).toEqual([401, 'invalid_machine_token']);
      expect(reply.json.error.message).toContain('exp');
    }
  });

  test('is refused before an MCP server, by its signature and by its issuer', async () => {
    const upstream = serve(() => Response.json({ jsonrpc: '2.0', id: 1, result: {} }));
    const call = async (slug: string, token: string) =>
      gateway.api.post(
        `/${slug}/mcp`,
        { jsonrpc: '2.0', id: 1, method: 'tools/list' },
        { key: null, headers: { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' } },
      );
    const rules = { signed: { jwks }, asked: { introspectEndpoint: introspection.origin } };
    for (const [slug, jwt_validation] of Object.entries(rules)) {
      const url = `${upstream.origin}/mcp`;
      const made = { name: slug, slug, url, configurations: { jwt_validation } };
      expect((await gateway.api.post('/v1/mcp-servers', made)).status).toBe(200);
    }
    expect((await call('signed', await sign(ends()))).status).toBe(200);
    answer = { active: true, ...ends() };
    expect((await call('asked', await sign({}))).status).toBe(200);
    for (const claims of ENDLESS) {
      answer = { active: true, ...claims };
      for (const reply of [await call('signed', await sign(claims)), await call('asked', await sign(ends()))]) {
        expect([reply.status, reply.text.includes('exp')]).toEqual([401, true]);
      }
    }
    upstream.stop();
  });

  test('is refused by the guardrail default.jwt', async () => {
    const config = {
      virtual_key: 'sim',
      before_request_hooks: [
        {
          type: 'guardrail',
          deny: true,
          checks: [{ id: 'default.jwt', parameters: { jwks, headerKey: 'x-user-token' } }],
        },
      ],
    };
    const send = async (claims: Claims) =>
      gateway.api.post(
        '/v1/chat/completions',
        { model: 'any', messages: [{ role: 'user', content: 'Hello' }] },
        { headers: { 'x-gateway-config': JSON.stringify(config), 'x-user-token': await sign(claims) } },
      );
    expect((await send(ends())).status).toBe(200);
    for (const claims of ENDLESS) {
      const reply = await send(claims);
      expect([reply.status, reply.text.includes('exp')]).toEqual([446, true]);
    }
  });
});
