import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ environment: { GATEWAY_HEADER_ALIASES: 'x-portkey-, x-other-' } });
});
afterAll(() => gateway.stop());

const echo = (headers: Record<string, string>) => gateway.api.post('/v1/echo', {}, { key: null, headers });

test('a client of another gateway calls with its own headers: key, virtual key, metadata and trace id', async () => {
  const reply = await echo({
    'x-portkey-api-key': ADMIN_KEY,
    'x-portkey-virtual-key': 'sim',
    'x-portkey-metadata': '{"team":"blue"}',
    'x-portkey-trace-id': 'trace-of-theirs',
  });

  expect(reply.status).toBe(200);
  expect(reply.json.headers.authorization).toBe('Bearer sk-test-credential');
  expect(reply.headers.get('x-gateway-trace-id')).toBe('trace-of-theirs');
  expect(await gateway.logOf(reply)).toMatchObject({ metadata: { team: 'blue' }, virtual_key: 'sim' });
});

test('a provider and a custom host are chosen by aliased headers, with the credential of the caller', async () => {
  const reply = await echo({
    'x-portkey-api-key': ADMIN_KEY,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': gateway.provider.url,
    authorization: 'Bearer sk-of-the-caller',
  });

  expect(reply.status).toBe(200);
  expect(reply.json.headers.authorization).toBe('Bearer sk-of-the-caller');
});

test('aliased headers never reach the provider', async () => {
  const reply = await echo({
    'x-portkey-api-key': ADMIN_KEY,
    'x-portkey-virtual-key': 'sim',
    'x-portkey-anything': 'else',
    'x-other-anything': 'else',
    'x-third-anything': 'passes',
  });

  expect(reply.json.headers['x-third-anything']).toBe('passes');
  const names = Object.keys(reply.json.headers);
  expect(names.filter((name) => /portkey|x-other|x-gateway/.test(name))).toEqual([]);
});

test('our own header wins, then the alias that was named first; an empty one counts as absent', async () => {
  const headers = { 'x-gateway-api-key': ADMIN_KEY, 'x-other-virtual-key': 'nobody', 'x-portkey-virtual-key': 'sim' };
  expect((await echo(headers)).status).toBe(200);
  expect((await echo({ ...headers, 'x-gateway-virtual-key': '' })).status).toBe(200);
  const refused = await echo({ ...headers, 'x-gateway-virtual-key': 'missing' });
  expect(refused.json.error.code).toBe('unknown_virtual_key');
});

test('without the setting such headers mean nothing', async () => {
  const plain = await startGateway();
  try {
    const reply = await plain.api.post('/v1/echo', {}, { headers: { 'x-portkey-virtual-key': 'sim' } });
    expect(reply.json.error.code).toBe('missing_provider');
  } finally {
    await plain.stop();
  }
});
