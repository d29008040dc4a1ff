import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ADMIN_KEY, serve, startGateway, type TestGateway } from '../../gateway.ts';
import { eventually } from '../../process.ts';
import { openSocket, requestText } from '../../socket.ts';

/** Somebody sends half a body and stops, or a byte now and then; or far more than a door without a key takes. */

let begun = 0;
let ended = 0;
const taker = serve(async (request) => {
  begun++;
  await request.arrayBuffer().catch(() => {});
  ended++;
  return Response.json({});
});
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway({ environment: { GATEWAY_BODY_TIMEOUT_MS: '700', GATEWAY_OAUTH_REGISTRATION: 'true' } });
  await gateway.given.virtualKey({ name: 'taker', slug: 'taker', custom_host: `${taker.origin}/v1` });
});
afterAll(async () => {
  await gateway.stop();
  taker.stop();
});

const KEY = { 'x-gateway-api-key': ADMIN_KEY };
const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'multipart/form-data; boundary=b' };
const FILE_HEAD = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n';
const LARGE = String(3 << 20);
const CHUNKED = { 'transfer-encoding': 'chunked' };
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

const send = (path: string, headers: Record<string, string>, body: string) => {
  const exchange = openSocket(gateway.url);
  exchange.socket.write(requestText('POST', path, headers, body).replace('gateway.test', new URL(gateway.url).host));
  return exchange;
};
const statusIn = (received: string) => Number(received.split(' ')[1]);
const codeIn = (received: string) => /"code":"(\w+)"/.exec(received)?.[1];
const openRequests = async () => {
  const { text } = await gateway.api.get('/metrics');
  return Number(/^gateway_open_requests (\d+)/m.exec(text)![1]);
};

const HALVES: Record<string, [path: string, headers: Record<string, string>, body: string]> = {
  'a change by an administrator': ['/v1/api-keys', { ...KEY, ...JSON_TYPE, 'content-length': '500' }, '{"name":"half'],
  'the same in chunks': ['/v1/api-keys', { ...KEY, ...JSON_TYPE, ...CHUNKED }, chunk('{"name":"half')],
  'a file': ['/v1/files', { ...KEY, ...FORM_TYPE, 'content-length': LARGE }, `${FILE_HEAD}half of it`],
  'a small model call': [
    '/v1/chat/completions',
    { ...KEY, ...JSON_TYPE, 'x-gateway-virtual-key': 'sim', 'content-length': '500' },
    '{"model":"half',
  ],
  'a large model call': [
    '/v1/chat/completions',
    { ...KEY, ...JSON_TYPE, 'x-gateway-virtual-key': 'sim', 'content-length': LARGE },
    '{"model":"any","messages":[',
  ],
  'bytes on their way to a provider': [
    '/v1/proxy/files',
    { ...KEY, 'content-type': 'application/octet-stream', 'x-gateway-virtual-key': 'taker', 'content-length': LARGE },
    'half of it',
  ],
  'a sign-in': ['/v1/sessions', { ...JSON_TYPE, 'content-length': '60' }, '{"email":'],
  'the registration of a client': ['/oauth/register', { ...JSON_TYPE, ...CHUNKED }, chunk('{"redirect_uris":')],
  'a message for all MCP servers': ['/mcp', { ...KEY, ...JSON_TYPE, 'content-length': '500' }, '{"jsonrpc":'],
};

describe('half a body', () => {
  const halves = new Map<string, ReturnType<typeof send>>();
  beforeAll(() => {
    for (const [what, half] of Object.entries(HALVES)) halves.set(what, send(...half));
  });

  for (const what in HALVES) {
    test(`of ${what} ends with 408 and its connection`, async () => {
      const exchange = halves.get(what)!;
      await exchange.over;
      expect([statusIn(exchange.received), codeIn(exchange.received)]).toEqual([408, 'body_too_slow']);
      expect(exchange.received).toContain('at most 0.7 s');
    });
  }

  test('leaves nothing behind, at the provider or here', async () => {
    await eventually('no request is open', async () => (await openRequests()) === 0);
    expect(begun).toBe(1);
    await eventually('the provider was let go', () => ended === 1);
    expect((await gateway.api.get('/v1/files')).json.data).toEqual([]);
    const entry = async () => (await gateway.api.get('/v1/logs?status=408&path=/v1/proxy/files')).json.data[0];
    await eventually('it is in the log', async () => (await entry()) !== undefined);
    expect(await entry()).toMatchObject({ failed_by: 'client', error_code: 'body_too_slow' });
  });
});

test('a body that drips ends as one that stops does, and one that comes steadily does not', async () => {
  const drip = send('/v1/api-keys', { ...KEY, ...JSON_TYPE, 'content-length': '500' }, '{');
  const steady = send('/v1/files', { ...KEY, ...FORM_TYPE, ...CHUNKED }, chunk(FILE_HEAD));
  let sent = 0;
  const timer = setInterval(() => {
    sent++;
    drip.socket.write(' ');
    if (sent < 16) steady.socket.write(chunk('x'.repeat(400)));
    else if (sent === 16)
      steady.socket.write(
        `${chunk('\r\n--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--b--\r\n')}0\r\n\r\n`,
      );
  }, 120);
  await drip.over;
  expect(statusIn(drip.received)).toBe(408);
  await steady.until((text) => text.includes('\r\n\r\n'));
  clearInterval(timer);
  expect(statusIn(steady.received)).toBe(200);
  expect(sent).toBeGreaterThanOrEqual(16);
  steady.socket.destroy();
});

describe('a stranger', () => {
  test('is refused before the body comes, and cannot hold the connection with it', async () => {
    for (const path of ['/v1/api-keys', '/v1/chat/completions', '/v1/files', '/v1/batches', '/mcp/any', '/nowhere']) {
      const key = { 'x-gateway-api-key': 'gw-nobody', ...JSON_TYPE };
      const exchange = send(path, { ...key, 'content-length': LARGE }, '{');
      await exchange.until((text) => text.includes('"error"'));
      expect([401, 404]).toContain(statusIn(exchange.received));
      exchange.socket.destroy();
    }
    const staying = send('/v1/api-keys', { ...JSON_TYPE, 'content-length': LARGE }, '{');
    const began = performance.now();
    const dripping = setInterval(() => staying.socket.write('x'), 200);
    await staying.over;
    clearInterval(dripping);
    expect(performance.now() - began).toBeLessThan(60_000);
  });

  test('finds no door without a key that takes more than 8 KiB', async () => {
    const doors = gateway.routes.filter(({ scopes, method }) => scopes === 'public' && method === 'POST');
    expect(doors.length).toBeGreaterThan(8);
    for (const { path } of doors) {
      const asked = path.replaceAll(/:\w+/g, 'any');
      const declared = send(asked, { ...JSON_TYPE, 'content-length': '8193' }, '{');
      await declared.until((text) => text.includes('8192'));
      expect([path, statusIn(declared.received)]).toEqual([path, 413]);
      declared.socket.destroy();
    }
    for (const path of [
      '/v1/sessions',
      '/v1/sessions/invites/accept',
      '/oauth/token',
      '/oauth/register',
      '/oauth/sign-in',
    ]) {
      const form = path.startsWith('/oauth/') && path !== '/oauth/register';
      const type = { 'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json' };
      const chunked = send(path, { ...type, ...CHUNKED }, chunk('x'.repeat(8_193)));
      await chunked.until((text) => text.includes('8192'));
      expect([path, statusIn(chunked.received)]).toEqual([path, 413]);
      chunked.socket.destroy();
    }
    const whole = await gateway.api.post('/v1/sessions', `{"email":"a@b.example"}${' '.repeat(8_000)}`, {
      key: null,
      headers: JSON_TYPE,
    });
    expect(whole.json.error.param).toBe('password');
  });
});
