import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { JWK } from 'jose';
import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT } from 'jose';
import { startGateway, type TestGateway } from '../gateway.ts';
import {
  CLIENT,
  type IdentityProvider,
  newSigningKey,
  SHORT_LIVED,
  startIdentityProvider,
} from '../mcp/identity-provider.ts';
import { type Recorder, startRecorder, toolCall } from '../mcp/recorder.ts';

/** A real OpenID provider in front of the gateway's users. */
let gateway: TestGateway;
let upstream: Recorder;
let key: { key: string; id: string };
let keys: JWK[];
let provider: IdentityProvider;
beforeAll(async () => {
  gateway = await startGateway();
  upstream = startRecorder();
  key = await gateway.given.apiKey();
  keys = [await newSigningKey('first')];
  provider = await startIdentityProvider({ keys });
});
afterAll(async () => {
  await provider.stop();
  await gateway.stop();
  upstream.stop();
});

let servers = 0;
async function register(rules: Record<string, unknown> = {}, more: Record<string, unknown> = {}): Promise<string> {
  const slug = `oidc-${++servers}`;
  const reply = await gateway.api.post('/v1/mcp-servers', {
    name: slug,
    slug,
    url: upstream.url,
    configurations: {
      jwt_validation: { jwksUri: provider.jwksUri, issuer: provider.issuer, audience: audienceOf(slug), ...rules },
      user_identity_forwarding: {
        method: 'claims_header',
        include_claims: ['sub', 'email', 'groups', 'scope', 'client_id', 'workspace_id', 'user_id', 'iss'],
      },
      ...more,
    },
  });
  if (reply.status !== 200) throw new Error(reply.text);
  return slug;
}
const audienceOf = (slug: string) => `https://gateway.example/${slug}/mcp`;
const call = (
  slug: string,
  token: string | null,
  { gatewayKey = null as string | null, header = 'authorization' } = {},
) =>
  gateway.api.post(`/${slug}/mcp`, toolCall(), {
    key: gatewayKey,
    headers: token === null ? {} : { [header]: `Bearer ${token}` },
  });
const refused = (reply: Awaited<ReturnType<typeof call>>, slug: string, reason: string) => {
  expect(reply.status).toBe(401);
  expect(reply.json.error).toMatchObject({ code: 'invalid_user_token', type: 'authentication_error' });
  expect(reply.json.error.message).toContain(reason);
  const challenge = reply.headers.get('www-authenticate')!;
  expect(challenge).toContain('error="invalid_token"');
  expect(challenge).toContain(`resource_metadata="${gateway.url}/.well-known/oauth-protected-resource/${slug}/mcp"`);
};

describe('a token of the identity provider', () => {
  test('lets its user in, and the server learns who it is', async () => {
    const slug = await register({ requiredClaims: ['groups'] });
    const reply = await call(slug, await provider.token(audienceOf(slug)));
    expect(reply.status).toBe(200);
    const claims = JSON.parse(upstream.last.headers['x-user-claims']!);
    const { workspace_id: workspace } = (await gateway.api.get(`/v1/mcp-servers/${slug}`)).json;
    expect(claims).toEqual({
      sub: CLIENT.id,
      email: 'ada@example.com',
      groups: ['mathematicians', 'engineers'],
      scope: 'mcp',
      client_id: CLIENT.id,
      // The tenant is never the one that a token names.
      workspace_id: workspace,
      iss: provider.issuer,
    });
    expect(upstream.last.headers.authorization).toBeUndefined();
    expect(await gateway.logOf(reply)).toMatchObject({
      api_key_id: null,
      workspace_id: workspace,
      metadata: { 'mcp.auth': 'token' },
    });
  });

  test('travels beside a gateway key: the tenant is of the key, the user of the token', async () => {
    const slug = await register();
    const reply = await call(slug, await provider.token(audienceOf(slug)), { gatewayKey: key.key });
    expect(reply.status).toBe(200);
    expect(JSON.parse(upstream.last.headers['x-user-claims']!)).toMatchObject({
      sub: CLIENT.id,
      email: 'ada@example.com',
    });
    expect(await gateway.logOf(reply)).toMatchObject({ api_key_id: key.id, metadata: { 'mcp.auth': 'api_key+token' } });
  });

  test('may come in a header of its own, with or without Bearer', async () => {
    const slug = await register({ headerKey: 'X-User-Token' });
    const token = await provider.token(audienceOf(slug));
    expect((await call(slug, token, { header: 'x-user-token' })).status).toBe(200);
    const bare = { 'x-user-token': token, authorization: `Bearer ${key.key}` };
    const both = await gateway.api.post(`/${slug}/mcp`, toolCall(), { key: null, headers: bare });
    expect(both.status).toBe(200);
    expect((await gateway.logOf(both)).metadata['mcp.auth']).toBe('api_key+token');
    expect(upstream.last.headers['x-user-token']).toBeUndefined();
  });

  test('is passed on unchanged to a server that wants to see it', async () => {
    const slug = await register({}, { user_identity_forwarding: { method: 'bearer' } });
    const token = await provider.token(audienceOf(slug));
    await call(slug, token, { gatewayKey: key.key });
    expect(upstream.last.headers.authorization).toBe(`Bearer ${token}`);
    await call(slug, null, { gatewayKey: key.key });
    expect(upstream.last.headers.authorization).toBeUndefined();
  });
});

describe('is refused', () => {
  test('a token for another audience', async () => {
    const slug = await register();
    refused(await call(slug, await provider.token('https://elsewhere.example/')), slug, 'aud');
  });

  test('a token of another issuer, although its key is known', async () => {
    const slug = await register();
    const twin = await startIdentityProvider({ keys, issuer: 'http://twin.example' });
    const token = await twin.token(audienceOf(slug));
    await twin.stop();
    expect(decodeJwt(token).iss).toBe('http://twin.example');
    refused(await call(slug, token), slug, 'iss');
  });

  test('a token that has expired', async () => {
    const slug = await register({ audience: SHORT_LIVED, clockTolerance: 0 });
    const token = await provider.token(SHORT_LIVED);
    expect((await call(slug, token)).status).toBe(200);
    while (Date.now() / 1_000 <= decodeJwt(token).exp!) await Bun.sleep(20);
    refused(await call(slug, token), slug, 'expired');
  });

  test('a token without what the server requires', async () => {
    const slug = await register({ requiredClaims: ['department'] });
    refused(await call(slug, await provider.token(audienceOf(slug))), slug, 'Missing required claims: department');
    const other = await register({ claimValues: { groups: { values: ['physicists'], matchType: 'contains' } } });
    refused(await call(other, await provider.token(audienceOf(other))), other, 'groups');
  });

  test('a bad token beside a good key, a good token beside a bad key, and neither is a way around the other', async () => {
    const slug = await register();
    const good = await provider.token(audienceOf(slug));
    const bad = await provider.token('https://elsewhere.example/');
    const before = upstream.requests.length;
    refused(await call(slug, bad, { gatewayKey: key.key }), slug, 'aud');
    const wrongKey = await call(slug, good, { gatewayKey: 'gw-wrong' });
    expect(wrongKey.status).toBe(401);
    expect(wrongKey.json.error.code).toBe('invalid_api_key');
    const foreign = await gateway.given.apiKey({ workspace_id: (await gateway.given.workspace()).id });
    expect((await call(slug, good, { gatewayKey: foreign.key })).status).toBe(404);
    expect(upstream.requests).toHaveLength(before);
  });

  test('what is no token', async () => {
    const slug = await register();
    const reply = await gateway.api.post(`/${slug}/mcp`, toolCall(), {
      key: key.key,
      headers: { authorization: 'Basic YTpi' },
    });
    refused(reply, slug, 'Bearer <token>');
    expect((await call(slug, 'not-a-token')).json.error.code).toBe('invalid_api_key');
    expect((await call(slug, null)).headers.get('www-authenticate')).not.toContain('error=');
  });

  test('a key alone, where the server requires a user', async () => {
    const slug = await register({ required: true });
    refused(await call(slug, null, { gatewayKey: key.key }), slug, 'Authorization holds none');
    expect((await call(await register(), null, { gatewayKey: key.key })).status).toBe(200);
  });
});

test('where to get a token is told to everybody', async () => {
  const slug = await register();
  const { json, headers } = await gateway.api.get(`/.well-known/oauth-protected-resource/${slug}/mcp`, { key: null });
  expect(json).toEqual({
    resource: `${gateway.url}/${slug}/mcp`,
    authorization_servers: [provider.issuer, gateway.url],
    bearer_methods_supported: ['header'],
    scopes_supported: ['mcp'],
  });
  expect(headers.get('access-control-allow-origin')).toBe('*');
  const root = await gateway.api.get('/.well-known/oauth-protected-resource', { key: null });
  expect(root.json.resource).toBe(gateway.url);
});

test('new keys are learnt, and a flood of unknown ones asks the provider once', async () => {
  const own = [await newSigningKey('old')];
  let issuer = await startIdentityProvider({ keys: own });
  const port = Number(new URL(issuer.issuer).port);
  const slug = await register({ jwksUri: issuer.jwksUri, issuer: issuer.issuer });
  expect((await call(slug, await issuer.token(audienceOf(slug)))).status).toBe(200);
  const kept = await issuer.token(audienceOf(slug));
  await issuer.stop();

  // While it is away, its keys serve.
  expect((await call(slug, kept)).status).toBe(200);

  issuer = await startIdentityProvider({ keys: [await newSigningKey('new'), ...own], port });
  const rotated = await issuer.token(audienceOf(slug));
  expect(decodeProtectedHeader(rotated).kid).toBe('new');
  expect((await call(slug, rotated)).status).toBe(200);
  expect(issuer.keyRequests).toBe(1);

  const { privateKey } = await generateKeyPair('RS256');
  const invented = await Promise.all(
    Array.from({ length: 500 }, (_, index) =>
      new SignJWT({ aud: audienceOf(slug), iss: issuer.issuer, exp: 9_999_999_999 })
        .setProtectedHeader({ alg: 'RS256', kid: `invented-${index}` })
        .sign(privateKey),
    ),
  );
  for (let start = 0; start < invented.length; start += 50) {
    const replies = await Promise.all(invented.slice(start, start + 50).map((token) => call(slug, token)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([401]));
  }
  expect(issuer.keyRequests).toBeLessThanOrEqual(2);
  await issuer.stop();
});

test('while a provider has never answered, nobody is refused for it', async () => {
  const slug = await register({ jwksUri: 'http://127.0.0.1:9/jwks' });
  const reply = await call(slug, await provider.token(audienceOf(slug)));
  expect(reply.status).toBe(503);
  expect(reply.json.error.code).toBe('identity_provider_unavailable');
});

test('an opaque token is asked about at its issuer, a gateway key never is', async () => {
  let asked = 0;
  const issuer = await startIdentityProvider({ keys });
  const door = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      asked++;
      return fetch(issuer.introspectEndpoint, { method: 'POST', headers: request.headers, body: await request.text() });
    },
  });
  const slug = await register({
    jwksUri: undefined,
    audience: undefined,
    issuer: issuer.issuer,
    introspectEndpoint: `http://127.0.0.1:${door.port}/introspect`,
    introspectClientId: CLIENT.id,
    introspectClientSecret: CLIENT.secret,
  });
  const opaque = await issuer.token();
  expect((await call(slug, opaque)).status).toBe(200);
  expect(JSON.parse(upstream.last.headers['x-user-claims']!)).toMatchObject({
    client_id: CLIENT.id,
    email: 'ada@example.com',
  });
  expect(asked).toBe(1);
  expect((await call(slug, key.key)).status).toBe(200);
  expect((await call(slug, 'gw-unknown')).status).toBe(401);
  expect(asked).toBe(1);
  refused(await call(slug, 'unknown'), slug, 'not active');
  await issuer.stop();
  await door.stop(true);
});

test('the gateway itself gets in by client credentials: one token for all callers, a new one when it is refused', async () => {
  const issuer = await startIdentityProvider({ keys });
  let given = 0;
  const door = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      given++;
      return fetch(`${issuer.issuer}/token`, { method: 'POST', headers: request.headers, body: await request.text() });
    },
  });
  let isRefusing = false;
  const server = startRecorder(() => (isRefusing ? new Response(null, { status: 401 }) : Response.json({})));
  const oauth = {
    token_endpoint: `http://127.0.0.1:${door.port}/token`,
    client_id: CLIENT.id,
    client_secret: CLIENT.secret,
    scope: 'mcp',
    resource: 'https://server.example/mcp',
  };
  const made = await gateway.api.post('/v1/mcp-servers', {
    name: 'cc',
    slug: 'client-credentials',
    url: server.url,
    auth_type: 'oauth_client_credentials',
    configurations: { oauth_metadata: oauth },
  });
  expect(made.status).toBe(200);
  expect(made.text).not.toContain(CLIENT.secret);
  const send = () => gateway.api.post('/client-credentials/mcp', toolCall(), { key: key.key });
  await Promise.all(Array.from({ length: 10 }, send));
  expect(given).toBe(1);
  const token = server.last.headers.authorization!.replace('Bearer ', '');
  expect(decodeJwt(token)).toMatchObject({ aud: 'https://server.example/mcp', client_id: CLIENT.id });

  isRefusing = true;
  const reply = await send();
  expect(reply.status).toBe(502);
  expect(reply.json.error.data.code).toBe('mcp_upstream_refused');
  isRefusing = false;
  expect((await send()).status).toBe(200);
  expect(given).toBe(2);

  await gateway.api.put('/v1/mcp-servers/client-credentials', {
    configurations: { oauth_metadata: { ...oauth, client_secret: 'wrong-secret-entirely' } },
  });
  const denied = await send();
  expect(denied.status).toBe(502);
  expect(denied.json.error.data.code).toBe('credential_rejected');
  expect(denied.text).not.toContain('wrong-secret-entirely');
  await issuer.stop();
  await door.stop(true);
  server.stop();
});
