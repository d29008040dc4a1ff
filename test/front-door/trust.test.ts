import { afterAll, beforeAll, expect, test } from 'bun:test';
import { secretOptionNames } from '../../src/core/secret-names.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../gateway.ts';
import { openSocket, startRawUpstream } from '../socket.ts';

/** What an attacker tries first. */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.stop());

const viaSim = { 'x-gateway-virtual-key': 'sim' };

test('moving a virtual key asks for everything that was secret, so nothing can be led to another host', async () => {
  const custom_headers = { authorization: 'Bearer stored-in-a-header' };
  await gateway.given.virtualKey({ slug: 'moves', key: undefined, configurations: { custom_headers } });
  const elsewhere = gateway.provider.url.replace('/v1', '/elsewhere');
  for (const body of [{ custom_host: elsewhere }, { custom_host: elsewhere, key: 'dummy' }, { provider: 'groq' }]) {
    const reply = await gateway.api.put('/v1/virtual-keys/moves', body);
    expect([reply.status, reply.json.error.param]).toEqual([400, 'configurations']);
  }
  const whole = await gateway.api.put('/v1/virtual-keys/moves', { custom_host: elsewhere, configurations: {} });
  expect(whole.status).toBe(200);
});

test('every option that is a credential is masked when a virtual key is shown', async () => {
  for (const option of secretOptionNames) {
    const provider =
      ['oracle', 'bedrock', 'vertex-ai', 'azure-openai'].find((name) => option.startsWith(name.slice(0, 3))) ??
      'bedrock';
    const made = await gateway.api.post('/v1/virtual-keys', {
      name: 'masked',
      provider,
      custom_host: gateway.provider.url,
      configurations: { [option]: 'plainly-visible-secret' },
    });
    expect(`${option}: ${made.text}`).not.toContain('plainly-visible-secret');
  }
});

test('a misspelt or future admin path is not passed on to a provider with its secrets', async () => {
  const paths = [
    '/v1/virtual-keys/',
    '/v1//virtual-keys',
    '/v1/virtual%2Dkeys',
    '/v1/admin/nothing',
    '/v1/configs/a/b',
    '/v1/analytics/x',
  ];
  for (const path of paths) {
    const before = gateway.provider.calls;
    const reply = await gateway.api.post(path, { key: 'sk-secret' }, { headers: viaSim });
    expect([path, reply.status, reply.json.error.code]).toEqual([path, 404, 'route_not_found']);
    expect(gateway.provider.calls).toBe(before);
  }
});

test('a request without a usable Host header still goes where its path says', async () => {
  for (const host of ['', 'Host:\r\n', 'Host: a b\r\n', 'Host: a/b\r\n']) {
    const { socket, until } = openSocket(gateway.url);
    socket.write(`GET /health HTTP/1.0\r\n${host}\r\n`);
    const received = await until((text) => text.includes('\r\n\r\n'));
    if (received.startsWith('HTTP/1.1 200'))
      expect(await until((text) => text.includes('}'))).toContain('"status":"ok"');
    else expect(received).toMatch(/^HTTP\/1\.1 400/);
    socket.destroy();
  }
});

test('a virtual key named behind a large image is the one that pays', async () => {
  await gateway.given.virtualKey({ slug: 'paying', key: 'sk-paying' });
  const image = 'A'.repeat(3 << 20);
  const reply = await gateway.api.post('/v1/echo', { messages: [image], model: '@paying/large' }, { headers: viaSim });
  expect(reply.json.headers.authorization).toBe('Bearer sk-paying');
});

test('a status that HTTP does not know is the provider’s failure, and its connection is closed', async () => {
  const upstream = await startRawUpstream(
    (socket) => void socket.write('HTTP/1.1 999 odd\r\ntransfer-encoding: chunked\r\n\r\n'),
  );
  const reply = await gateway.api.post(
    '/v1/x',
    {},
    {
      headers: {
        'x-gateway-provider': 'openai',
        authorization: 'Bearer sk',
        'x-gateway-custom-host': `${upstream.url}/v1`,
      },
    },
  );
  expect([reply.status, reply.json.error.code]).toEqual([502, 'upstream_failed']);
  await upstream.stop();
});

test('an organisation-wide key reaches only its own workspace’s virtual keys unless it names another', async () => {
  const other = await gateway.given.workspace();
  await gateway.given.virtualKey({ slug: 'same', workspace_id: other.id });
  expect((await gateway.api.get('/v1/virtual-keys/same')).status).toBe(404);
  expect((await gateway.api.delete('/v1/virtual-keys/same')).status).toBe(404);
  expect((await gateway.api.get(`/v1/virtual-keys/same?workspace_id=${other.id}`)).json.workspace_id).toBe(other.id);
  expect((await gateway.api.delete(`/v1/virtual-keys/same?workspace_id=${other.id}`)).status).toBe(200);
});

test('our own key, sent in both places, is never taken for the provider’s credential', async () => {
  const reply = await gateway.api.post(
    '/v1/echo',
    {},
    {
      headers: {
        authorization: `Bearer ${ADMIN_KEY}`,
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': gateway.provider.url,
      },
    },
  );
  expect([reply.status, reply.json.error.code]).toEqual([400, 'missing_credential']);
});

test('a GET with a body is refused instead of losing it', async () => {
  const { socket, until } = openSocket(gateway.url);
  socket.write(
    `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${ADMIN_KEY}\r\nx-gateway-virtual-key: sim\r\ncontent-length: 2\r\n\r\n{}`,
  );
  expect(await until((text) => text.includes('}}'))).toContain('cannot carry a body');
  socket.destroy();
});

test('a very long model name or metadata key does not stop the log', async () => {
  const long = Buffer.from(crypto.getRandomValues(new Uint8Array(3_000))).toString('base64');
  const reply = await gateway.api.post('/v1/chat/completions', { model: long, messages: [] }, { headers: viaSim });
  expect((await gateway.logOf(reply)).model).toBe(long.slice(0, 256));
  const refused = await gateway.api.post(
    '/v1/echo',
    {},
    { headers: { ...viaSim, 'x-gateway-metadata': JSON.stringify({ [long]: 'x' }) } },
  );
  expect([refused.status, refused.json.error.code]).toEqual([400, 'invalid_header']);
});
