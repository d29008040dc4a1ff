import { expect, test } from 'bun:test';
import { REDACTED, RedactedJson, redactHeaders, redactPath } from './redact.ts';

for (const name of [
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-gateway-api-key',
  'cookie',
  'set-cookie',
  'x-amz-security-token',
  'x-gateway-aws-secret-access-key',
  'x-gateway-aws-session-token',
  'x-gateway-azure-ad-token',
  'x-gateway-azure-entra-client-secret',
  'x-gateway-vertex-service-account-json',
  'x-gateway-config',
  'x-custom-password',
  'x-hub-signature-256',
  'x-my-credentials',
  'x-auth',
  'sec-websocket-protocol',
]) {
  test(`the value of ${name} is not logged`, () => {
    expect(redactHeaders({ [name]: 'hidden' })).toEqual({ [name]: REDACTED });
  });
}

test('other headers are logged as they are', () => {
  const headers = { 'content-type': 'application/json', 'user-agent': 'test', 'x-gateway-trace-id': 't' };
  expect(redactHeaders(headers)).toEqual(headers);
});

test('an address in a header loses its signature', () => {
  const shown = redactHeaders({ location: 'https://files.example/a?X-Amz-Signature=abc&part=1' });
  expect(shown.location).toBe(`https://files.example/a?X-Amz-Signature=${REDACTED}&part=1`);
});

for (const [path, shown] of [
  ['/v1/models', '/v1/models'],
  ['/v1/files?purpose=batch&limit=2', '/v1/files?purpose=batch&limit=2'],
  ['/v1/models?key=abc', `/v1/models?key=${REDACTED}`],
  ['/v1/models?a=1&api_key=abc&b', `/v1/models?a=1&api_key=${REDACTED}&b`],
  ['/v1/models?%6bey=abc', `/v1/models?%6bey=${REDACTED}`],
  ['/v1/x?access_token=t&sig=s', `/v1/x?access_token=${REDACTED}&sig=${REDACTED}`],
  [
    '/v1/x?X-Amz-Credential=c&x-amz-security-token=t',
    `/v1/x?X-Amz-Credential=${REDACTED}&x-amz-security-token=${REDACTED}`,
  ],
  ['/v1/x?%zz=1', '/v1/x?%zz=1'],
] as const) {
  test(`the path ${path} is logged as ${shown}`, () => expect(redactPath(path)).toBe(shown));
}

test('headers are written anew when one of them differs, comes or goes, and a secret is none of them', () => {
  const json = new RedactedJson();
  const written = (headers: Record<string, string>) => JSON.parse(json.of(headers));
  expect(json.of({})).toBe('{}');
  expect(written({ a: '1', authorization: 'one' })).toEqual({ a: '1', authorization: REDACTED });
  expect(json.of({ a: '1', authorization: 'two' })).toBe(json.of({ a: '1', authorization: 'three' }));
  expect(written({ a: '2', authorization: 'one' })).toEqual({ a: '2', authorization: REDACTED });
  expect(written({ a: '2' })).toEqual({ a: '2' });
  expect(written({ a: '2', b: '3' })).toEqual({ a: '2', b: '3' });
  expect(written({ b: '3', c: '4' })).toEqual({ b: '3', c: '4' });
  expect(written({ b: REDACTED })).toEqual({ b: REDACTED });
  expect(written({ b: 'plain' })).toEqual({ b: 'plain' });
  expect(written({})).toEqual({});
  expect(written({ constructor: 'x' })).toEqual({ constructor: 'x' });
});
