import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { type Recorder, startRecorder, toolCall } from '../mcp/recorder.ts';
import { forTests, newDataDir, removeDataDir, root, runGateway, startProcess } from '../process.ts';

const newPem = (bits = 2048) => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  return privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
};
const publicOf = (pem: string) =>
  createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'pem' }).toString();
const PEM = newPem();
const OTHER = newPem();
const ADA = '0198c0de-0000-7000-8000-00000000ada0';

let gateway: TestGateway;
let upstream: Recorder;
let key: { key: string; id: string };
let adasKey: { key: string; id: string };
beforeAll(async () => {
  upstream = startRecorder();
  gateway = await startGateway({
    // Line breaks as environment files write them.
    environment: { JWT_PRIVATE_KEY: PEM.replaceAll('\n', '\\n'), JWT_PUBLIC_KEYS_EXTRA: publicOf(OTHER) },
  });
  key = await gateway.given.apiKey();
  await givenUser();
  adasKey = await gateway.given.apiKey({ user_id: ADA });
});
afterAll(async () => {
  await gateway.stop();
  upstream.stop();
});

/** Written into the store: what matters here is who the user is, not how the user came to be. */
async function givenUser() {
  const { id } = (await gateway.api.get('/v1/admin/organisation')).json;
  const database = new Database(join(gateway.dataDir, 'state.db'));
  const now = Date.now();
  const columns = (database.query('pragma table_info(users)').all() as { name: string; notnull: number }[]).filter(
    ({ notnull }) => notnull,
  );
  const given: Record<string, string | number> = {
    id: ADA,
    organisation_id: id,
    email: 'ada@example.com',
    role: 'member',
    created_at: now,
    updated_at: now,
  };
  const names = [...new Set([...Object.keys(given), 'username', ...columns.map(({ name }) => name)])];
  const values = names.map((name) => (name === 'username' ? 'Ada Ł 🦊' : (given[name] ?? '')));
  database.run(`insert into users (${names.join()}) values (${names.map(() => '?').join()})`, values);
  database.close();
  // A key acts for a member of its workspace.
  const joined = await gateway.api.post('/v1/admin/workspaces/default/users', { user_id: ADA, role: 'member' });
  if (joined.status !== 200) throw new Error(joined.text);
}

let servers = 0;
async function register(identity: Record<string, unknown>): Promise<string> {
  const slug = `identity-${++servers}`;
  const reply = await gateway.api.post('/v1/mcp-servers', {
    name: slug,
    slug,
    url: upstream.url,
    configurations: { user_identity_forwarding: identity },
  });
  if (reply.status !== 200) throw new Error(reply.text);
  return slug;
}
const call = async (slug: string, caller = key.key) => {
  const reply = await gateway.api.post(`/${slug}/mcp`, toolCall(), { key: caller });
  return { reply, headers: upstream.last.headers };
};

describe('claims_header', () => {
  test('tells of a key what there is to tell: its tenant, its scopes and itself', async () => {
    const { headers } = await call(await register({ method: 'claims_header' }));
    const organisation = (await gateway.api.get('/v1/admin/organisation')).json.id;
    const workspace = (await gateway.api.get('/v1/admin/workspaces/default')).json.id;
    const claims = JSON.parse(headers['x-user-claims']!);
    expect(claims).toEqual({
      sub: `apikey:${key.id}`,
      workspace_id: workspace,
      organisation_id: organisation,
      scope: expect.stringContaining('mcp.invoke'),
      client_id: key.id,
    });
    expect(Object.keys(claims)).toEqual(['sub', 'workspace_id', 'organisation_id', 'scope', 'client_id']);
  });

  test('tells of a user who it is, in letters that any header may hold', async () => {
    const { headers } = await call(await register({ method: 'claims_header' }), adasKey.key);
    const text = headers['x-user-claims']!;
    expect(text).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(text)).toMatchObject({
      sub: ADA,
      email: 'ada@example.com',
      username: 'Ada Ł 🦊',
      user_id: ADA,
      client_id: adasKey.id,
    });
  });

  test('tells what was asked for and nothing else', async () => {
    const some = await call(
      await register({ method: 'claims_header', include_claims: ['email', 'given_name', 'sub'] }),
      adasKey.key,
    );
    expect(some.headers['x-user-claims']).toBe(`{"email":"ada@example.com","sub":"${ADA}"}`);
    const none = await call(await register({ method: 'claims_header', include_claims: [] }));
    expect(none.headers['x-user-claims']).toBe('{}');
  });

  test('is refused where it does not fit into a header, and nothing is sent', async () => {
    const slug = await register({ method: 'claims_header', include_claims: ['scope', 'username'] });
    const database = new Database(join(gateway.dataDir, 'state.db'));
    const id = ADA.replace('ada0', 'ada1');
    database.run(`create temp table copy as select * from users where id = '${ADA}'`);
    database.run(`update copy set id = '${id}', email = 'long@example.com', username = ?`, ['x'.repeat(7_200)]);
    database.run('insert into users select * from copy');
    database.close();
    await gateway.api.post('/v1/admin/workspaces/default/users', { user_id: id, role: 'member' });
    const { key: long } = await gateway.given.apiKey({ user_id: id });
    const before = upstream.requests.length;
    const { reply } = await call(slug, long);
    expect(reply.status).toBe(500);
    expect(reply.json.error.data.code).toBe('mcp_identity_too_large');
    expect(reply.json.error.message).toContain('include_claims');
    expect(upstream.requests).toHaveLength(before);
  });
});

test('claims that cannot be told are refused, on a new server and on one that is changed', async () => {
  const FORWARDING = 'configurations.user_identity_forwarding';
  const jwt_validation = { jwksUri: 'https://issuer.example/jwks' };
  const create = (configurations: object) =>
    gateway.api.post('/v1/mcp-servers', { name: 'claims', url: upstream.url, configurations });
  const put = (slug: string, configurations: object) => gateway.api.put(`/v1/mcp-servers/${slug}`, { configurations });
  for (const claim of ['iss', 'iat', 'exp', 'nbf', 'aud', 'jti']) {
    const forwarding = { method: 'jwt_header', include_claims: ['sub', claim] };
    const reply = await create({ jwt_validation, user_identity_forwarding: forwarding });
    expect([claim, reply.status, reply.json.error?.param]).toEqual([claim, 400, `${FORWARDING}.include_claims[1]`]);
  }
  const groups = { method: 'jwt_header', include_claims: ['sub', 'groups'], jwt_expiry_seconds: 60 };
  const made = await create({ jwt_validation, user_identity_forwarding: groups });
  expect([made.status, made.json.warnings.length]).toEqual([200, 2]);
  const { slug } = made.json;
  const changes: [object, string][] = [
    [{ user_identity_forwarding: { method: 'bearer', include_claims: [] } }, 'include_claims'],
    [{ user_identity_forwarding: { method: 'claims_header', jwt_expiry_seconds: 60 } }, 'jwt_expiry_seconds'],
    [{ jwt_validation: null }, 'include_claims[1]'],
  ];
  for (const [change, member] of changes) {
    const reply = await put(slug, change);
    expect([reply.status, reply.json.error?.param]).toEqual([400, `${FORWARDING}.${member}`]);
  }
  const kept = await gateway.api.get(`/v1/mcp-servers/${slug}`);
  expect(kept.json.configurations).toEqual({ jwt_validation, user_identity_forwarding: groups });
  expect((await put(slug, { jwt_validation: null, user_identity_forwarding: null })).status).toBe(200);
});

describe('bearer', () => {
  test("passes the user's token on unchanged, and never the gateway's key", async () => {
    const slug = await register({ method: 'bearer' });
    await gateway.api.post(`/${slug}/mcp`, toolCall(), {
      key: key.key,
      headers: { authorization: 'Bearer a.b-c_d.e~f+g/h==' },
    });
    expect(upstream.last.headers.authorization).toBe('Bearer a.b-c_d.e~f+g/h==');
    for (const authorization of ['', `Bearer ${key.key}`, 'Basic YTpi', 'Bearer two words']) {
      const headers = { authorization };
      await gateway.api.post(`/${slug}/mcp`, toolCall(), { key: key.key, headers });
      expect(upstream.last.headers.authorization).toBeUndefined();
    }
    await gateway.api.post(`/${slug}/mcp`, toolCall(), { key: null, headers: { authorization: `Bearer ${key.key}` } });
    expect(upstream.last.headers.authorization).toBeUndefined();
  });
});

describe('jwt_header', () => {
  test('is verified by who knows the key set alone, in a process of its own', async () => {
    const slug = await register({ method: 'jwt_header', include_claims: ['sub', 'email', 'given_name'] });
    const { headers } = await call(slug, adasKey.key);
    const token = headers['x-user-jwt']!;
    const short = (await call(await register({ method: 'jwt_header', jwt_expiry_seconds: 1 }))).headers['x-user-jwt']!;
    const [head, payload, signature] = token.split('.');
    const flipped = signature!.startsWith('A') ? `B${signature!.slice(1)}` : `A${signature!.slice(1)}`;
    const forged = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: 'eve' })).toString('base64url');
    const claims = { iss: 'service-mcp-gateway', sub: 'eve' };
    const foreign = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid: decodeProtectedHeader(token).kid })
      .setExpirationTime('5m')
      .sign(createPrivateKey(newPem()));
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${forged}.`;
    const shared = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(publicOf(PEM)));
    // The lifetime of the short one ends before it is looked at.
    while (Date.now() / 1_000 < decodeJwt(short).exp!) await Bun.sleep(20);

    const said = await verified([
      token,
      `${head}.${payload}.${flipped}`,
      `${head}.${forged}.${signature}`,
      foreign,
      unsigned,
      shared,
      short,
    ]);

    expect(said[0]).toEqual({
      sub: ADA,
      email: 'ada@example.com',
      iss: 'service-mcp-gateway',
      iat: expect.any(Number),
      exp: (said[0] as { iat: number }).iat + 300,
    });
    expect(said.slice(1)).toEqual([
      { refused: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' },
      { refused: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' },
      { refused: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' },
      { refused: 'ERR_JOSE_ALG_NOT_ALLOWED' },
      { refused: 'ERR_JOSE_ALG_NOT_ALLOWED' },
      { refused: 'ERR_JWT_EXPIRED' },
    ]);
  });

  test('lives as long as is configured, is not signed anew for every call, and is for one audience when that is asked', async () => {
    const slug = await register({ method: 'jwt_header', jwt_expiry_seconds: 60, jwt_audience: 'https://mcp.example' });
    const first = (await call(slug)).headers['x-user-jwt']!;
    expect((await call(slug)).headers['x-user-jwt']).toBe(first);
    const { iat, exp, aud } = decodeJwt(first);
    expect(exp! - iat!).toBe(60);
    expect(iat!).toBeLessThanOrEqual(Date.now() / 1_000);
    expect(aud).toBe('https://mcp.example');
    expect((await call(slug, adasKey.key)).headers['x-user-jwt']).not.toBe(first);
    expect(decodeProtectedHeader(first)).toEqual({ alg: 'RS256', typ: 'JWT', kid: expect.any(String) });
  });
});

test('what a server would be told of the caller is shown, with no token', async () => {
  const preview = async (identity: Record<string, unknown>) =>
    (await gateway.api.get(`/v1/mcp-servers/${await register(identity)}/identity`)).json;
  const signed = await preview({ method: 'jwt_header', include_claims: ['sub', 'scope'], jwt_audience: 'weather' });
  expect(signed).toEqual({
    object: 'mcp-identity',
    method: 'jwt_header',
    header: 'X-User-JWT',
    claims: { sub: expect.stringMatching(/^apikey:/), scope: expect.any(String) },
    signed: { algorithm: 'RS256', issuer: 'service-mcp-gateway', audience: 'weather', seconds: 300 },
    problem: null,
  });
  expect(await preview({ method: 'bearer' })).toMatchObject({ header: 'Authorization', claims: null, signed: null });
});

test('who is calling is told with every method and message', async () => {
  const slug = await register({ method: 'claims_header' });
  for (const method of ['POST', 'GET', 'DELETE']) {
    const reply = await gateway.api.call(method, `/${slug}/mcp`, {
      key: key.key,
      body: method === 'POST' ? '{"method":"notifications/initialized"}' : undefined,
    });
    expect(reply.status).toBe(200);
    expect(upstream.last.method).toBe(method);
    expect(upstream.last.headers['x-user-claims']).toContain(key.id);
  }
  await gateway.api.post(`/v1/mcp-servers/${slug}/test`);
  expect(upstream.last.headers['x-user-claims']).toContain('apikey:');
});

describe('the key set', () => {
  const url = () => `${gateway.url}/.well-known/jwks.json`;

  test('shows the signing key first, with six members and no more, then the extra ones', async () => {
    const response = await fetch(url());
    const { keys } = (await response.json()) as { keys: Record<string, string>[] };
    expect(keys).toHaveLength(2);
    for (const each of keys) {
      expect(Object.keys(each)).toEqual(['kty', 'n', 'e', 'kid', 'use', 'alg']);
      expect(each).toMatchObject({ kty: 'RSA', use: 'sig', alg: 'RS256' });
    }
    expect(keys[0]!.n).toBe(createPublicKey(createPrivateKey(PEM)).export({ format: 'jwk' }).n!);
    const { headers } = await call(await register({ method: 'jwt_header' }));
    expect(decodeProtectedHeader(headers['x-user-jwt']!).kid).toBe(keys[0]!.kid!);
  });

  test('may be kept, asked for again cheaply, and read by any page', async () => {
    const response = await fetch(url());
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('cache-control')).toBe('public, max-age=300, stale-while-revalidate=60');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const etag = response.headers.get('etag')!;
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await fetch(url(), { headers: { 'if-none-match': known } });
      expect(again.status).toBe(304);
      expect(await again.text()).toBe('');
      expect(again.headers.get('etag')).toBe(etag);
    }
    expect((await fetch(url(), { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    const head = await fetch(url(), { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect((await fetch(url(), { method })).status).toBe(405);
  });
});

describe('without a key to sign with', () => {
  test('a server that was registered with one answers 503 and gets nothing', async () => {
    const dataDir = newDataDir();
    const withKey = await startProcess({ dataDir, environment: { ...forTests, JWT_PRIVATE_KEY: PEM } });
    const made = await withKey.api.post('/v1/mcp-servers', {
      name: 'signed',
      slug: 'signed',
      url: upstream.url,
      configurations: { user_identity_forwarding: { method: 'jwt_header' } },
    });
    expect(made.status).toBe(200);
    expect((await withKey.api.post('/signed/mcp', toolCall())).status).toBe(200);
    await withKey.stop();
    const without = await startProcess({ dataDir });
    const before = upstream.requests.length;
    const reply = await without.api.post('/signed/mcp', toolCall());
    expect(reply.status).toBe(503);
    expect(reply.json.error.data.code).toBe('mcp_signing_key_missing');
    expect(upstream.requests).toHaveLength(before);
    await without.stop();
    removeDataDir(dataDir);
  });

  test('the key set is empty, and no server can be registered that needs one', async () => {
    const bare = await startGateway();
    try {
      const response = await fetch(`${bare.url}/.well-known/jwks.json`);
      expect(await response.json()).toEqual({ keys: [] });
      expect(response.headers.get('cache-control')).toBe('public, max-age=60');
      const refused = await bare.api.post('/v1/mcp-servers', {
        name: 'a',
        url: upstream.url,
        configurations: { user_identity_forwarding: { method: 'jwt_header' } },
      });
      expect(refused.status).toBe(400);
      expect(refused.json.error.message).toContain('JWT_PRIVATE_KEY');
    } finally {
      await bare.stop();
    }
  });

  for (const [name, value] of [
    ['too weak a key', newPem(1024)],
    ['a public key', publicOf(PEM)],
    ['no key at all', 'hello'],
  ] as const) {
    test(`${name} keeps the gateway from starting, and it says why without saying the key`, async () => {
      const { exitCode, errors } = await runGateway({
        environment: { GATEWAY_ADMIN_KEY: ADMIN_KEY, JWT_PRIVATE_KEY: value },
      });
      expect(exitCode).toBe(1);
      expect(errors).toContain('JWT_PRIVATE_KEY is not an RSA private key of at least 2048 bits');
      expect(errors).not.toContain(value.slice(0, 40));
    });
  }

  test('extra keys that are private, weak or none are refused at the start', async () => {
    for (const value of [PEM, publicOf(newPem(1024)), 'hello', `${publicOf(PEM)}\nand more`]) {
      const environment = { GATEWAY_ADMIN_KEY: ADMIN_KEY, JWT_PUBLIC_KEYS_EXTRA: value };
      const { exitCode, errors } = await runGateway({ environment });
      expect(exitCode).toBe(1);
      expect(errors).toContain('JWT_PUBLIC_KEYS_EXTRA holds something else than RSA public keys');
    }
  });
});

/** What an independent verifier says of each token. */
async function verified(tokens: readonly string[]): Promise<unknown[]> {
  const child = Bun.spawn(
    [process.execPath, join(root, 'test/mcp/verifier.ts'), `${gateway.url}/.well-known/jwks.json`],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit', env: { PATH: process.env.PATH } },
  );
  child.stdin.write(`${tokens.join('\n')}\n`);
  await child.stdin.end();
  const text = await child.stdout.text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
