import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ADMIN_KEY, startGateway, type TestGateway } from '../../gateway.ts';
import { givenBrowser } from '../../people.ts';
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

test("a key in the query is one for Google's clients alone, goes no further, and is logged nowhere", async () => {
  await gateway.given.virtualKey({ slug: 'google', provider: 'google', custom_host: `${recorder.origin}/v1beta` });
  const defaults = { virtual_key: 'google' };
  const { key } = await gateway.given.apiKey({ name: 'one', defaults });
  const paths = ['models/m:generateContent', 'models/m:countTokens', 'models', 'models/m', 'files', 'cachedContents/x'];
  for (const path of paths)
    for (const name of ['key', 'k%65y', '%6bey']) {
      const method = path.includes(':') ? 'POST' : 'GET';
      const reply = await gateway.api.call(method, `/v1beta/${path}?a=1&${name}=${key}&${name}=again`, {
        key: null,
        ...(method === 'POST' && { body: { contents: [] } }),
      });
      expect([path, name, reply.status]).toEqual([path, name, 200]);
      expect(recorder.last.path).toBe(`/v1beta/${path}?a=1`);
      expect(recorder.last.headers.get('x-goog-api-key')).toBe('sk-test-credential');
      const log = await gateway.logOf(reply);
      expect(JSON.stringify(log)).not.toContain(key);
      expect(JSON.stringify(log)).not.toContain('again');
    }
  const both = await gateway.api.post(
    `/v1beta/models/m:generateContent?key=${keys.other}`,
    { contents: [] },
    { key: null, headers: { 'x-goog-api-key': key } },
  );
  expect(await nameOf((await gateway.logOf(both)).api_key_id)).toBe('one');
  const wrong = await gateway.api.post(
    `/v1beta/models/m:generateContent?key=${key}`,
    { contents: [] },
    { key: null, headers: { 'x-goog-api-key': 'gw-wrong' } },
  );
  expect([wrong.status, wrong.text.includes(key)]).toEqual([401, false]);
  expect((await gateway.api.get(`/v1/logs?key=${keys.one}`, { key: null })).status).toBe(401);
});

test('a model that the body names beside the address counts for nothing, or the call is refused', async () => {
  const path = '/v1beta/models/cheap:generateContent';
  const call = (body: unknown) =>
    gateway.api.call('POST', path, {
      key: null,
      headers: { 'x-goog-api-key': keys.one, 'content-type': 'application/json' },
      body: body as string,
    });
  for (const body of [
    '{"contents":[],"model":"dear"}',
    '{"contents":[],"model":"cheap","m\\u006fdel":"dear"}',
    '{"contents":[],"stream":true}',
    '{"contents":[],"str\\u0065am":false}',
    '[]',
    'null',
    '"{"',
  ]) {
    const before = recorder.requests.length;
    const reply = await call(body);
    expect([body, reply.status]).toEqual([body, 400]);
    expect(reply.json.error.status).toBe('INVALID_ARGUMENT');
    expect(recorder.requests.length).toBe(before);
  }
});

test('another address needs the scopes of its route', async () => {
  for (const path of ['/chat/completions', '/openai/v1/chat/completions', CHAT, '/v1/v1/messages']) {
    const reply = await call(path, { 'x-gateway-api-key': keys.poor });
    expect([path, reply.status, reply.json.error.code]).toEqual([path, 403, 'insufficient_scope']);
  }
});

test('no other address leads to what administrators manage', async () => {
  for (const before of ['', '/openai', '/openai/v1', '/anthropic/v1'])
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
  const { browser } = await givenBrowser(gateway, { role: 'admin' });
  const { cookie } = browser.headers;
  for (const path of ['/openai/v1/chat/completions', CHAT, '/v1beta/models/m:generateContent', '/api/chat']) {
    const reply = await gateway.api.post(path, { messages: [] }, { key: null, headers: { cookie: cookie! } });
    expect([path, reply.status]).toEqual([path, 403]);
  }
  const reading = await gateway.api.get('/v1beta/models', { key: null, headers: { cookie: cookie! } });
  expect(reading.status).toBe(403);
});
