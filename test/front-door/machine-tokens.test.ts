import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { type Reply, serve, startGateway, type TestGateway } from '../gateway.ts';

const NOW = () => Math.floor(Date.now() / 1_000);

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`tokens of machines on ${engine}`, () => {
    let gateway: TestGateway;
    let organisationId: string;
    let keys: Awaited<ReturnType<typeof generateKeyPair>>;
    let issuer: ReturnType<typeof serve>;
    let asked = 0;
    const path = '/v1/admin/organisation/machine-tokens';

    beforeAll(async () => {
      gateway = await startGateway({ engine });
      organisationId = (await gateway.api.get('/v1/admin/organisation')).json.id;
      keys = await generateKeyPair('RS256', { extractable: true });
      const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' };
      issuer = serve(() => {
        asked++;
        return Response.json({ keys: [jwk] });
      });
      const set = await gateway.api.put(path, { jwks_uri: `${issuer.origin}/keys`, issuer: 'https://idp.example.com' });
      expect(set.status).toBe(200);
    });
    afterAll(async () => {
      await gateway.stop();
      issuer.stop();
    });

    const claims = (over: Record<string, unknown> = {}) => ({
      iss: 'https://idp.example.com',
      sub: 'builder',
      organisation_id: organisationId,
      exp: NOW() + 600,
      ...over,
    });
    const sign = (over: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
      new SignJWT(claims(over)).setProtectedHeader({ alg: 'RS256', kid: 'one', ...header }).sign(keys.privateKey);
    const call = (key: string): Promise<Reply> =>
      gateway.api.post(
        '/v1/chat/completions',
        { model: 'any', messages: [{ role: 'user', content: 'Hello' }] },
        { key, headers: { 'x-gateway-virtual-key': 'sim' } },
      );

    test('a machine with a good token calls models and nothing else', async () => {
      const token = await sign();
      const reply = await call(token);
      expect(reply.status).toBe(200);
      expect((await gateway.api.get('/v1/api-keys', { key: token })).status).toBe(403);
      const entry = await gateway.logOf(reply);
      const again = await gateway.logOf(await call(await sign({ exp: NOW() + 700 })));
      expect(again.api_key_id).toBe(entry.api_key_id);
    });

    test('the token may stand in Authorization, too', async () => {
      const headers = { authorization: `Bearer ${await sign()}` };
      expect((await gateway.api.get('/v1/providers', { key: null, headers })).status).toBe(200);
    });

    test('it names its workspace and its scopes', async () => {
      const workspace = await gateway.given.workspace({ name: 'Machines', slug: 'machines' });
      const token = await sign({ workspace_slug: 'machines', scopes: ['api_keys.create', 'api_keys.list'] });
      const made = await gateway.api.post('/v1/api-keys', { name: 'x', scopes: [] }, { key: token });

      expect(made.json.workspace_id).toBe(workspace.id);
      expect((await gateway.api.get('/v1/providers', { key: token })).status).toBe(403);
      const spaced = await sign({ workspace: workspace.id, scope: 'models.list logs.list' });
      expect((await gateway.api.get('/v1/providers', { key: spaced })).status).toBe(200);
    });

    const attacks: [string, () => Promise<string>, RegExp][] = [
      ['expired', () => sign({ exp: NOW() - 60 }), /expired/],
      ['without an end', () => sign({ exp: undefined }), /Missing required claims: exp/],
      ['not valid yet', () => sign({ nbf: NOW() + 600 }), /not yet valid/],
      ['of another issuer', () => sign({ iss: 'https://evil.example.com' }), /iss/],
      ['for another organisation', () => sign({ organisation_id: crypto.randomUUID() }), /organisation_id/],
      ['for no organisation', () => sign({ organisation_id: undefined }), /organisation_id/],
      ['for a workspace that does not exist', () => sign({ workspace_slug: 'nowhere' }), /workspace/],
      ['with a scope that does not exist', () => sign({ scopes: ['everything'] }), /scope/],
      ['with the scope of owners', () => sign({ scopes: ['owners.manage'] }), /owners.manage/],
      ['without a key id', () => sign({}, { kid: undefined }), /kid/],
      ['with an unknown key id', () => sign({}, { kid: 'two' }), /No matching key/],
      [
        'signed by another key',
        async () =>
          new SignJWT(claims())
            .setProtectedHeader({ alg: 'RS256', kid: 'one' })
            .sign((await generateKeyPair('RS256')).privateKey),
        /signature/,
      ],
      [
        'signed with another algorithm',
        async () => new SignJWT(claims()).setProtectedHeader({ alg: 'PS256', kid: 'one' }).sign(await ps256(keys)),
        /algorithm|cannot be read/,
      ],
      [
        'signed with the public key as a shared secret',
        async () =>
          new SignJWT(claims())
            .setProtectedHeader({ alg: 'HS256', kid: 'one' })
            .sign(new TextEncoder().encode(await exportSPKI(keys.publicKey))),
        /algorithm/,
      ],
      [
        'altered',
        async () => {
          const [header, , signature] = (await sign()).split('.');
          const payload = Buffer.from(JSON.stringify(claims({ scopes: ['users.create'] }))).toString('base64url');
          return [header, payload, signature].join('.');
        },
        /signature/,
      ],
    ];
    for (const [what, make, why] of attacks) {
      test(`a token ${what} is refused and recorded`, async () => {
        const reply = await call(await make());

        expect(`${reply.status} ${reply.json.error.code}`).toBe('401 invalid_machine_token');
        expect(reply.json.error.message).toMatch(why);
        const search = `start_time=2020-01-01&end_time=2100-01-01&organisation_id=${organisationId}`;
        const { records } = (
          await gateway.api.get(`/v1/audit-logs?${search}&request_id=${reply.headers.get('x-gateway-request-id')}`)
        ).json;
        expect(records).toHaveLength(1);
        expect(records[0]).toMatchObject({ resource_type: 'authentication', response_status_code: 401 });
      });
    }

    test('a token that nobody signed is nobody’s', async () => {
      const reply = await call(new UnsecuredJWT(claims()).encode());
      expect(reply.status).toBe(401);
    });

    test('a thousand unknown key ids ask the issuer at most once more', async () => {
      const before = asked;
      const tokens = await Promise.all(
        Array.from({ length: 50 }, (_, number) => sign({}, { kid: `unknown ${number}` })),
      );
      for (let round = 0; round < 20; round++)
        await Promise.all(tokens.map((token) => gateway.api.get('/v1/providers', { key: token })));

      expect(asked - before).toBeLessThanOrEqual(1);
    });

    test('what sets it up is checked', async () => {
      const jwk = await exportJWK(keys.privateKey);
      const wrong: [Record<string, unknown>, string][] = [
        [{}, 'jwks_uri'],
        [{ jwks_uri: 'ftp://example.com' }, 'jwks_uri'],
        [{ jwks: { keys: [] } }, 'jwks.keys'],
        [{ jwks: { keys: [{ ...jwk, kid: 'one' }] } }, 'jwks.keys[0]'],
        [{ jwks: { keys: [{ kty: 'oct', kid: 'one', k: 'x' }] } }, 'jwks.keys[0].kty'],
      ];
      for (const [body, param] of wrong) {
        const reply = await gateway.api.put(path, body);
        expect(`${reply.status} ${reply.json.error.param}`).toBe(`400 ${param}`);
      }
      const refused = await gateway.api.put(path, { jwks_uri: 'http://10.0.0.1/keys' });
      expect(`${refused.status} ${refused.json.error.code}`).toBe('400 egress_refused');
    });

    test('once it is taken away, no token lets anybody in', async () => {
      const token = await sign();
      expect((await gateway.api.get('/v1/providers', { key: token })).status).toBe(200);

      await gateway.api.delete(path);

      const reply = await gateway.api.get('/v1/providers', { key: token });
      expect(`${reply.status} ${reply.json.error.code}`).toBe('401 invalid_api_key');
      expect((await gateway.api.get(path)).json.error.code).toBe('machine_tokens_not_configured');
    });
  });
}

/** The same key for the other RSA signature scheme. */
async function ps256({ privateKey }: Awaited<ReturnType<typeof generateKeyPair>>) {
  const jwk = await exportJWK(privateKey);
  return crypto.subtle.importKey('jwk', { ...jwk, alg: 'PS256' }, { name: 'RSA-PSS', hash: 'SHA-256' }, false, [
    'sign',
  ]);
}
