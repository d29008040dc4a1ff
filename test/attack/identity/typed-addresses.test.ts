import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ADMIN_KEY, startGateway, type TestGateway } from '../../gateway.ts';
import { startRecorder } from '../../recorder.ts';
import { openSocket } from '../../socket.ts';

let gateway: TestGateway;
const recorder = startRecorder();
const keys = { one: '', other: '', poor: '' };
beforeAll(async () => {
  gateway = await startGateway();
  await gateway.given.virtualKey({ slug: 'recorder', custom_host: `${recorder.origin}/v1` });
  const defaults = { virtual_key: 'recorder' };
  keys.one = (await gateway.given.apiKey({ name: 'one', defaults })).key;
  keys.other = (await gateway.given.apiKey({ name: 'other', defaults })).key;
  keys.poor = (await gateway.given.apiKey({ name: 'poor', defaults, scopes: ['logs.read'] })).key;
});
afterAll(async () => {
  await gateway.stop();
  recorder.stop();
});

const CHAT = '/openai/deployments/m/chat/completions';
const call = (path: string, headers: Record<string, string>) =>
  gateway.api.post(path, { messages: [] }, { key: null, headers });
const nameOf = async (id: string) => (await gateway.api.get(`/v1/api-keys/${id}`)).json.name;

test('of two keys the one that stands first in the order counts, and neither goes on', async () => {
  const both = [
    { 'x-gateway-api-key': keys.one, 'api-key': keys.other },
    { authorization: `Bearer ${keys.one}`, 'api-key': keys.other },
    { 'x-api-key': keys.one, 'api-key': keys.other },
    { 'x-goog-api-key': keys.one, 'api-key': keys.other },
  ];
  for (const headers of both) {
    const reply = await call(CHAT, headers as unknown as Record<string, string>);
    expect(reply.status).toBe(200);
    expect(await nameOf((await gateway.logOf(reply)).api_key_id)).toBe('one');
    expect(JSON.stringify(Object.fromEntries(recorder.last.headers))).not.toContain('gw-');
  }
});

test('a key that counts and is wrong is not made good by a good one behind it', async () => {
  const reply = await call(CHAT, { authorization: 'Bearer gw-wrong', 'api-key': keys.one });
  expect([reply.status, reply.json.error.code]).toEqual([401, 'invalid_api_key']);
});

test("Azure's header is a key on Azure's paths alone", async () => {
  expect((await call('/v1/chat/completions', { 'api-key': keys.one })).status).toBe(401);
  expect((await call('/chat/completions', { 'api-key': keys.one })).status).toBe(401);
  expect((await call('/openai/v1/chat/completions', { 'api-key': keys.one })).status).toBe(200);
});

test('no config has it forwarded', async () => {
  const config = JSON.stringify({ virtual_key: 'recorder', forward_headers: ['api-key', 'x-goog-api-key'] });
  await call(CHAT, { 'api-key': keys.one, 'x-gateway-config': config });
  expect(recorder.last.headers.get('api-key')).toBeNull();
  expect(JSON.stringify(Object.fromEntries(recorder.last.headers))).not.toContain('gw-');
});

test('a key in the query is no key there, and is logged nowhere', async () => {
  expect((await gateway.api.get(`/v1/models?key=${keys.one}`, { key: null })).status).toBe(401);
  expect((await gateway.api.get(`/openai/v1/models?key=${keys.one}`, { key: null })).status).toBe(401);
  const logs = await gateway.api.get('/v1/logs?limit=100');
  expect(logs.text).not.toContain(keys.one);
});

test('another address needs the scopes of its route', async () => {
  for (const path of ['/chat/completions', '/openai/v1/chat/completions', CHAT, '/v1/v1/messages']) {
    const reply = await call(path, { 'x-gateway-api-key': keys.poor });
    expect([path, reply.status, reply.json.error.code]).toEqual([path, 403, 'insufficient_scope']);
  }
});

test('no other address leads to what administrators manage', async () => {
  for (const before of ['', '/openai', '/openai/v1', '/anthropic/v1', '/v1beta/openai'])
    for (const path of ['/api-keys', '/admin/workspaces', '/logs', '/virtual-keys', '/audit-logs', '/proxy/models']) {
      const reply = await gateway.api.get(before + path);
      expect([before + path, reply.status]).toEqual([before + path, 404]);
    }
});

test('dots, slashes and escapes in it lead nowhere', async () => {
  const raw = async (path: string) => {
    const socket = openSocket(gateway.url);
    socket.socket.write(
      `GET ${path} HTTP/1.1\r\nhost: x\r\nx-gateway-api-key: ${ADMIN_KEY}\r\nconnection: close\r\n\r\n`,
    );
    await socket.over;
    return { status: Number(/^HTTP\/1.1 (\d+)/.exec(socket.received)?.[1]), text: socket.received };
  };
  const before = recorder.requests.length;
  for (const path of [
    '/openai/v1/../api-keys',
    '/openai/models/..%2f..%2fv1%2fapi-keys',
    '/openai//v1/api-keys',
    '/openai%2fv1%2fapi-keys',
    '/openai/deployments/..%2f..%2fv1%2fapi-keys/chat/completions',
    '/openai/deployments/%zz/chat/completions',
    '/openai/deployments//chat/completions',
  ]) {
    const { status, text } = await raw(path);
    expect([path, text.includes('"one"')]).toEqual([path, false]);
    expect([path, status >= 400 && status < 500]).toEqual([path, true]);
  }
  expect(recorder.requests.length).toBe(before);
});

test('a page in the browser of a signed-in user cannot spend by another address', async () => {
  const reply = await gateway.api.post(
    '/openai/v1/chat/completions',
    { messages: [] },
    { key: null, headers: { cookie: 'gateway_session=forged' } },
  );
  expect(reply.status).toBe(401);
});
