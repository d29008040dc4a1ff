import { describe, expect, test } from 'bun:test';
import { maskedBody, maskedHeaders, maskedQuery } from './mask.ts';

const body = (value: unknown) => JSON.parse(maskedBody(value));

describe('a body', () => {
  const secrets = [
    'password',
    'newPassword',
    'old_password',
    'key',
    'apiKey',
    'api_key',
    'API-KEY',
    'openaiApiKey',
    'awsSecretAccessKey',
    'aws_secret_access_key',
    'aws_access_key_id',
    'clientSecret',
    'introspectClientSecret',
    'refreshToken',
    'access_token',
    'privateKey',
    'private_key',
    'vertex_service_account_json',
    'Authorization',
    'cookie',
    'passphrase',
    'credentials',
    'signingKey',
  ];
  for (const name of secrets) {
    test(`does not show ${name}, at any depth`, () => {
      expect(maskedBody({ [name]: 'hunter2' })).not.toContain('hunter2');
      expect(maskedBody({ a: [{ b: { [name]: 'hunter2' } }] })).not.toContain('hunter2');
      expect(maskedBody({ [name]: { nested: ['hunter2'] } })).not.toContain('hunter2');
    });
  }

  test('shows what is no secret', () => {
    const plain = {
      name: 'x',
      virtual_key: 'sim',
      key_transition_period_ms: 5,
      max_tokens: 100,
      scopes: ['api_keys.create'],
      conditions: [{ key: 'api_key', value: '*' }],
      group_by: [{ key: 'metadata.team' }],
      rate_limits: [{ type: 'tokens', unit: 'rpm', value: 10 }],
      forward_headers: { mode: 'all-except', headers: ['x-a'] },
      url: 'https://example.com/a?b=c',
      nothing: null,
    };
    expect(body(plain)).toEqual(plain);
  });

  test('does not show headers, whose names others choose', () => {
    expect(body({ configurations: { headers: { 'x-any': 'hunter2' } } })).toEqual({
      configurations: { headers: { 'x-any': '***' } },
    });
  });

  test('does not show what looks like a key wherever it stands', () => {
    for (const secret of ['sk-abcdefgh', 'Bearer abc', 'eyJhbGciOi.eyJzdWIiOi.c2ln', '-----BEGIN PRIVATE KEY-----'])
      expect(body({ note: secret })).toEqual({ note: '***' });
  });

  test('does not show passwords and tokens in addresses', () => {
    expect(body({ url: 'https://user:hunter2@example.com/x?access_token=hunter2&page=2' })).toEqual({
      url: 'https://***@example.com/x?access_token=***&page=2',
    });
  });

  test('does not show the private half of a key set', () => {
    const shown = body({ jwks: { keys: [{ kty: 'RSA', n: 'n', e: 'AQAB', d: 'hunter2', p: 'hunter2' }] } });
    expect(shown.jwks.keys[0]).toEqual({ kty: 'RSA', n: 'n', e: 'AQAB', d: '***', p: '***' });
  });

  test('is cut when it is long, and says so', () => {
    const shown = body({ name: 'x'.repeat(100_000) });
    expect(shown).toMatchObject({ truncated: true, characters: 100_011 });
    expect(shown.beginning).toHaveLength(65_536);
  });

  test('may be nested as deep as it likes', () => {
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`);
    expect(maskedBody(deep)).toContain('nested deeper');
  });
});

test('headers that open doors are masked, keys so that their owner knows them', () => {
  const shown = JSON.parse(
    maskedHeaders({
      'x-gateway-api-key': 'gw-0123456789abcdef',
      authorization: 'Bearer gw-0123456789abcdef',
      cookie: 'gateway_session=hunter2',
      'x-gateway-csrf': 'hunter2',
      'proxy-authorization': 'Basic hunter2',
      'x-gateway-virtual-key': 'sim',
      'user-agent': 'curl/8',
      referer: 'https://example.com/?token=hunter2',
    }),
  );
  expect(JSON.stringify(shown)).not.toContain('hunter2');
  expect(shown).toMatchObject({
    'x-gateway-api-key': 'gw-***def',
    authorization: 'Bearer gw-***def',
    'x-gateway-virtual-key': 'sim',
    'user-agent': 'curl/8',
  });
});

test('a token that says who somebody is stays hidden whole', () => {
  expect(maskedHeaders({ authorization: 'Bearer eyJhbGciOi.eyJzdWIiOi.c2ln' })).toBe('{"authorization":"Bearer ***"}');
});

test('a query is an object of what it names', () => {
  expect(JSON.parse(maskedQuery('?a=1&a=2&api_key=hunter2&b='))).toEqual({ a: ['1', '2'], api_key: '***', b: '' });
  expect(maskedQuery('')).toBe('{}');
});
