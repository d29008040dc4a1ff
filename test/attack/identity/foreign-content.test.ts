import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { type Chromium, startChromium } from '../../chromium.ts';
import { ADMIN_KEY, client, serve, startGateway, type TestGateway } from '../../gateway.ts';
import { givenBrowser, PASSWORD } from '../../people.ts';
import { startRecorder } from '../../recorder.ts';

const NEW_OWNER = 'intruder@example.com';
/** Runs in a page of the gateway's origin: takes the session's CSRF token and makes an owner. */
const STEAL = `
  (async () => {
    document.title = 'ran';
    const { csrf_token } = await (await fetch('/v1/sessions/current')).json();
    await fetch('/v1/admin/users', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-gateway-csrf': csrf_token },
      body: JSON.stringify({ email: '${NEW_OWNER}', role: 'owner', password: '${PASSWORD}' }),
    });
  })();`;
const PAGE = `<!doctype html><title>still</title><script>${STEAL}</script><img src=x onerror="document.title='ran'">`;
const FENCES = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
};
const SPEAKS_FOR_US = {
  'clear-site-data': '"*"',
  'strict-transport-security': 'max-age=31536000',
  'alt-svc': 'h3="evil.example:443"',
  'service-worker-allowed': '/',
  'access-control-allow-origin': '*',
  'access-control-allow-credentials': 'true',
  'report-to': '{}',
  'content-security-policy': "script-src 'unsafe-inline'",
  'x-content-type-options': 'sniff',
};

const evil = startRecorder();
let gateway: TestGateway;
let viaEvil: Record<string, string>;

beforeAll(async () => {
  gateway = await startGateway();
  await gateway.given.virtualKey({ slug: 'evil', custom_host: `${evil.origin}/v1` });
  viaEvil = { 'x-gateway-virtual-key': 'evil' };
  evil.answers(({ path }) => {
    const headers = new Headers({ 'content-type': 'text/html', ...SPEAKS_FOR_US });
    headers.append('set-cookie', `gateway_session=${'x'.repeat(43)}; Path=/`);
    headers.append('set-cookie', 'other=1');
    if (path.includes('stream')) return new Response(streamOf([PAGE, PAGE]), { headers });
    return new Response(PAGE, { status: path.includes('fails') ? 400 : 200, headers });
  });
});
afterAll(async () => {
  await gateway.stop();
  evil.stop();
});

const streamOf = (pieces: readonly string[]) =>
  new ReadableStream({
    async start(controller) {
      for (const piece of pieces) {
        controller.enqueue(Buffer.from(piece));
        await Bun.sleep(5);
      }
      controller.close();
    },
  });

function expectFenced(headers: Headers) {
  for (const [name, value] of Object.entries(FENCES)) expect([name, headers.get(name)]).toEqual([name, value]);
  for (const name of ['set-cookie', ...Object.keys(SPEAKS_FOR_US)].filter((name) => !(name in FENCES)))
    expect([name, headers.get(name)]).toEqual([name, null]);
}

describe('what a provider answers', () => {
  const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
  const roads: [name: string, method: string, path: string, body?: unknown][] = [
    ['a pass-through', 'GET', '/v1/pages/1'],
    ['a forced pass-through', 'GET', '/v1/proxy/pages/1'],
    ['a HEAD', 'HEAD', '/v1/pages/1'],
    ['a stream', 'GET', '/v1/stream'],
    ['a failure', 'GET', '/v1/fails'],
    ['a chat', 'POST', '/v1/chat/completions', chat],
    ['a list of models', 'GET', '/v1/models'],
    ['a response that the provider keeps', 'GET', '/v1/responses/resp_1'],
  ];
  for (const [name, method, path, body] of roads)
    test(`${name} sets no cookie, says nothing for our origin, and is sandboxed`, async () => {
      const reply = await gateway.api.call(method, path, { body, headers: viaEvil });
      expect(reply.headers.get('x-gateway-request-id')).not.toBeNull();
      expectFenced(reply.headers);
    });

  test('the same holds for an answer out of the cache, and one of the built-in provider', async () => {
    const config = JSON.stringify({ virtual_key: 'evil', cache: { mode: 'simple' } });
    for (let turn = 0; turn < 2; turn++) {
      const reply = await gateway.api.post('/v1/chat/completions', chat, { headers: { 'x-gateway-config': config } });
      expectFenced(reply.headers);
    }
    const demo = await gateway.api.post('/v1/chat/completions', chat, { headers: { 'x-gateway-virtual-key': 'demo' } });
    expect(demo.status).toBe(200);
    expectFenced(demo.headers);
  });

  test('an MCP server is a provider like any other', async () => {
    const made = await gateway.api.post('/v1/mcp-servers', { name: 'evil', slug: 'evil', url: `${evil.origin}/mcp` });
    expect(made.status).toBe(200);
    const hello = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const reply = await gateway.api.post('/evil/mcp', hello, {
      headers: { accept: 'application/json, text/event-stream' },
    });
    expect(reply.text).toContain('<script>');
    expectFenced(reply.headers);
  });

  test('an upload is sandboxed when it is downloaded', async () => {
    const form = new FormData();
    form.set('purpose', 'assistants');
    form.set('file', new File([PAGE], 'page.html', { type: 'text/html' }));
    const file = (await gateway.api.post('/v1/files', form)).json;
    const reply = await gateway.api.get(`/v1/files/${file.id}/content`);
    expect(reply.text).toBe(PAGE);
    expect(reply.headers.get('content-disposition')).toStartWith('attachment');
    expectFenced(reply.headers);
  });

  test('our own answers are never guessed to be something else', async () => {
    for (const path of ['/v1/api-keys', '/v1/logs', '/v1/nothing-here', '/health'])
      expect((await gateway.api.get(path)).headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('a signed-in user', () => {
  test('reaches a provider only with the CSRF token, by every method and on every road', async () => {
    const { browser } = await givenBrowser(gateway, { role: 'owner' });
    const { cookie, 'x-gateway-csrf': csrf } = browser.headers;
    const before = evil.requests.length;
    const ask = (method: string, path: string, headers: Record<string, string>) =>
      gateway.api.call(method, path, { key: null, headers: { ...viaEvil, cookie: cookie!, ...headers } });

    const roads = ['/v1/pages/1', '/v1/proxy/pages/1', '/v1/models', '/v1/models/m', '/v1/responses/resp_1'];
    for (const path of roads)
      for (const method of ['GET', 'HEAD']) {
        expect([path, (await ask(method, path, {})).status]).toEqual([path, 403]);
        expect([path, (await ask(method, path, { 'x-gateway-csrf': 'guessed' })).status]).toEqual([path, 403]);
      }
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect((await ask(method, '/v1/pages/1', {})).json.error.code).toBe('csrf_token_missing');
    expect(evil.requests.length).toBe(before);

    for (const path of roads) expect((await ask('GET', path, { 'x-gateway-csrf': csrf! })).status).toBe(200);
    expect(evil.requests.length).toBe(before + roads.length);
    expect((await ask('GET', '/v1/sessions/current', {})).status).toBe(200);
    expect((await gateway.api.get('/v1/pages/1', { headers: viaEvil })).status).toBe(200);
  });

  test('without the token no GET of the whole table causes a call to a provider', async () => {
    const { browser } = await givenBrowser(gateway, { role: 'owner' });
    const before = evil.requests.length;
    const made = await gateway.api.post('/v1/mcp-servers', { name: 'walk', slug: 'walk', url: `${evil.origin}/mcp` });
    expect(made.status).toBe(200);
    const calls = evil.requests.length;
    for (const route of gateway.routes.filter(({ method }) => method === 'GET')) {
      const path = route.path
        .replace(/:slug|:server/, 'walk')
        .replace(/\/:\w+/g, '/x')
        .replace('*', 'x');
      const headers = { ...viaEvil, cookie: browser.headers.cookie! };
      await gateway.api.get(path, { key: null, headers });
    }
    expect(evil.requests.slice(calls).map(({ path }) => path)).toEqual([]);
    expect(before).toBeLessThanOrEqual(calls);
  });

  test('has no cookie sent on, whatever a config says', async () => {
    const { browser } = await givenBrowser(gateway, { role: 'owner' });
    const names = ['cookie', 'Cookie', 'cookie2', 'x-kept'];
    const config = { virtual_key: 'evil', forward_headers: names };
    const saved = await gateway.api.post('/v1/configs', { name: 'cookies', config });
    expect(saved.status).toBe(200);
    const cookie = `${browser.headers.cookie}; theme=dark`;
    const asked: Record<string, string>[] = [
      { ...viaEvil },
      { 'x-gateway-config': JSON.stringify(config) },
      { 'x-gateway-config': saved.json.slug },
    ];
    for (const headers of asked)
      for (const who of [{ key: ADMIN_KEY }, { key: null }]) {
        const reply = await gateway.api.get('/v1/pages/1', {
          ...who,
          headers: { ...browser.headers, ...headers, cookie, cookie2: 'a=1', 'x-kept': 'yes' },
        });
        expect(reply.status).toBe(200);
        const sent = evil.last.headers;
        expect(sent.get('x-kept')).toBe('yes');
        expect([sent.get('cookie'), sent.get('cookie2'), sent.get('x-gateway-csrf')]).toEqual([null, null, null]);
        expect(JSON.stringify([...sent])).not.toContain(browser.headers.cookie!.split('=')[1]!);
      }
  });
});

describe('in a real browser', () => {
  let chromium: Chromium;
  beforeAll(async () => {
    chromium = await startChromium();
  });
  afterAll(() => chromium.close());

  test("a provider's page under our origin runs no script and has no session", async () => {
    const { browser } = await givenBrowser(gateway, { role: 'owner' });
    const context = await chromium.newContext({ extraHTTPHeaders: { ...browser.headers, ...viaEvil } });
    const page = await context.newPage();
    const answered = await page.goto(`${gateway.url}/v1/pages/1`);
    expect(answered!.status()).toBe(200);
    expect(await page.content()).toContain('intruder@example.com');
    await page.waitForLoadState('networkidle');
    expect(await page.title()).toBe('still');
    // The page has no origin: scripts of the test itself find no cookies and cannot read an answer of ours.
    expect(await page.evaluate('self.origin')).toBe('null');
    expect((await context.cookies()).map(({ name }) => name)).toEqual([]);
    const users = await gateway.api.get('/v1/admin/users');
    expect(users.json.data.map(({ email }: { email: string }) => email)).not.toContain(NEW_OWNER);
    await context.close();
  });

  test('a link, a frame or a form elsewhere makes a signed-in browser call no provider', async () => {
    const { user } = await givenBrowser(gateway, { role: 'owner' });
    await gateway.given.virtualKey({ slug: 'own', custom_host: `${evil.origin}/v1` });
    const elsewhere = serve(
      () =>
        new Response(
          `<a href="${gateway.url}/v1/pages/1">go</a><iframe src="${gateway.url}/v1/pages/2"></iframe><form method=post action="${gateway.url}/v1/pages/3"></form>`,
          { headers: { 'content-type': 'text/html' } },
        ),
    );
    try {
      const context = await chromium.newContext();
      const signedIn = await context.request.post(`${gateway.url}/v1/sessions`, {
        data: { email: user.email, password: PASSWORD },
      });
      expect(signedIn.status()).toBe(200);
      const before = evil.requests.length;
      const page = await context.newPage();
      await page.goto(elsewhere.origin);
      await page.waitForLoadState('networkidle');
      await Promise.all([page.waitForURL(/pages\/1/), page.click('a')]);
      expect(await page.content()).toContain('csrf_token_missing');
      await page.goto(elsewhere.origin);
      await Promise.all([page.waitForURL(/pages\/3/), page.evaluate('document.forms[0].submit()')]);
      expect(evil.requests.length).toBe(before);
      await context.close();
    } finally {
      elsewhere.stop();
    }
  });
});

test('the fences are on answers of a gateway on PostgreSQL, too', async () => {
  const other = await startGateway({ engine: 'postgres' });
  try {
    await other.given.virtualKey({ slug: 'evil', custom_host: `${evil.origin}/v1` });
    expectFenced((await client(other.url).get('/v1/pages/1', { headers: viaEvil })).headers);
  } finally {
    await other.stop();
  }
});
