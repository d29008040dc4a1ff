import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page as Tab } from 'playwright-core';
import { serve } from '../gateway.ts';
import { CLIENT, type IdentityProvider, startIdentityProvider } from '../identity-provider.ts';
import { askingPath } from '../mcp/oauth.ts';
import { givenUser, PASSWORD, signIn } from '../people.ts';
import { settled, startConsole, type TestConsole } from './browser.ts';
import { routesOf, serveElsewhere, visitElsewhere } from './elsewhere.ts';
import { HOSTILE } from './given-calls.ts';
import { PAGES } from './pages.ts';

const elsewhere = serveElsewhere();

let idp: IdentityProvider;
let console: TestConsole;
beforeAll(async () => {
  idp = await startIdentityProvider();
  console = await startConsole({
    environment: {
      GATEWAY_OIDC_ISSUER: idp.issuer,
      GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
      GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
    },
  });
  idp.serve(`${console.gateway.url}/v1/sessions/oidc/callback`);
});
afterAll(async () => {
  await console.stop();
  idp.stop();
  elsewhere.stop();
});

const isHacked = (tab: Tab) => tab.evaluate(() => (globalThis as { hacked?: number }).hacked !== undefined);
/** With every form of body for every route in `test/long/console.test.ts`. */
test('a page elsewhere reads nothing and changes nothing with the session of its visitor', async () => {
  await visitElsewhere(console, elsewhere, { bodiesEach: 1 });
});

test('no page elsewhere shows a page of the gateway in a frame', async () => {
  const { url } = console.gateway;
  const { tab, faults, close } = await console.open('/docs');
  // The policy that keeps it out of frames lets it do its own work.
  await tab.locator('details').first().waitFor();
  expect(faults).toEqual([]);
  const consent = await askingPath(console.gateway);
  for (const path of ['/console', '/console/users', '/', '/docs', '/connect/sim', consent]) {
    await tab.goto(`${elsewhere.origin}/frame?${new URLSearchParams({ src: url + path })}`, { waitUntil: 'load' });
    const framed = tab.frames().find((frame) => frame !== tab.mainFrame());
    // Chromium puts a page of its own in the place of one that refuses.
    expect([path, framed?.url()]).toEqual([path, 'chrome-error://chromewebdata/']);
  }
  await close();
});

test('a cookie from before signing in is not the session after it, and a second one beside it is nobody', async () => {
  const { url } = console.gateway;
  const attacker = (await signIn(console.gateway, 'mia@example.com')).headers.cookie!.split('=')[1]!;
  const { tab, close } = await console.open('/console', { as: null });
  const planted = { name: 'gateway_session', value: 'p'.repeat(43), url, httpOnly: true };
  await tab.context().addCookies([planted]);
  const enter = async () => {
    await tab.getByLabel('Email').fill('olga@example.com');
    await tab.getByLabel('Password').fill(PASSWORD);
    await tab.keyboard.press('Enter');
  };
  await enter();
  await tab.getByRole('button', { name: 'Account of Olga' }).waitFor();
  const [cookie] = await tab.context().cookies(url);
  expect(cookie).toMatchObject({ name: 'gateway_session', httpOnly: true, sameSite: 'Lax' });
  expect(cookie!.value).not.toBe(planted.value);
  const byPlanted = { key: null, headers: { cookie: `gateway_session=${planted.value}` } };
  expect((await console.gateway.api.get('/v1/sessions/current', byPlanted)).status).toBe(401);

  // One with a longer path comes first in what a browser sends: the visitor would act in the session of who planted it.
  const { hostname } = new URL(url);
  const beside = { name: 'gateway_session', value: attacker, domain: hostname, path: '/v1', httpOnly: true };
  await tab.context().addCookies([beside]);
  await tab.goto(`${url}/console/account`);
  await tab.getByRole('heading', { name: 'Sign in to Gateway' }).waitFor();
  await tab.getByText('two sessions').waitFor();
  expect(await tab.evaluate(async () => (await fetch('/v1/sessions/current')).status)).toBe(401);
  await close();
});

test('signing in leads back to the page that was asked for, and never to another site', async () => {
  const { url } = console.gateway;
  const wishes = '?next=https://evil.example&return_to=//evil.example&redirect=javascript:alert(1)';
  for (const path of [`/console/account${wishes}`, '/console//evil.example/%2F%2Fevil.example']) {
    const { tab, faults, close } = await console.open(path, { as: null });
    await tab.getByLabel('Email').fill('olga@example.com');
    await tab.getByLabel('Password').fill(PASSWORD);
    await tab.keyboard.press('Enter');
    await tab.getByRole('button', { name: 'Account of Olga' }).waitFor();
    expect(new URL(tab.url()).origin).toBe(url);
    expect(faults).toEqual([]);
    await close();
  }

  idp.people.set('ivo', { email: 'olga@example.com', email_verified: true });
  const { tab, faults, shot, close } = await console.open(`/console/account${wishes}&filter=${'x'.repeat(600)}`, {
    as: null,
  });
  await tab.getByRole('link', { name: 'Continue with your organisation' }).waitFor();
  await shot('sign-in-oidc');
  await tab.getByRole('link', { name: 'Continue with your organisation' }).click();
  await tab.locator('input[name=login]').fill('ivo');
  await tab.locator('input[name=password]').fill('any');
  await tab.locator('button[type=submit]').click();
  await tab.locator('button[type=submit]').click();
  await tab.getByRole('button', { name: 'Account of Olga' }).waitFor();
  expect(new URL(tab.url()).origin).toBe(url);
  expect(new URL(tab.url()).pathname).toBe('/console/account');
  expect(faults).toEqual([]);
  await close();
});

/** Its tools and itself are called what no page may run. */
const evilTools = serve(async (request) => {
  if (request.method !== 'POST') return new Response(null, { status: 405 });
  const { id, method } = (await request.json()) as { id?: number; method: string };
  if (id === undefined) return new Response(null, { status: 202 });
  const results: Record<string, unknown> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: HOSTILE, version: HOSTILE },
    },
    'tools/list': {
      tools: [{ name: HOSTILE, title: HOSTILE, description: HOSTILE, inputSchema: { type: 'object', title: HOSTILE } }],
    },
  };
  return Response.json({ jsonrpc: '2.0', id, result: results[method] ?? {} });
});
/** Answers with markup in text, thoughts and the call of a tool. */
const evilModel = serve(async (request) => {
  if (request.method === 'GET') return Response.json({ object: 'list', data: [{ id: HOSTILE }] });
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: HOSTILE, arguments: JSON.stringify({ a: HOSTILE }) },
  };
  const message = { role: 'assistant', content: HOSTILE, reasoning_content: HOSTILE, tool_calls: [call] };
  return Response.json({
    ...{ id: HOSTILE, object: 'chat.completion', created: 1, model: HOSTILE },
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  });
});

/** Something of every kind, each called what no page may run. Answers the addresses of pages that show one thing. */
async function givenHostileNames(): Promise<string[]> {
  const { api, given } = console.gateway;
  const made = async (path: string, body: unknown) => {
    const reply = await api.post(path, body);
    if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}: ${reply.text}`);
    return reply.json;
  };
  const named = { name: HOSTILE, description: HOSTILE };
  const host = `${evilModel.origin}/v1`;
  await given.virtualKey({ name: HOSTILE, slug: 'evil', note: HOSTILE, custom_host: host });
  const { key } = await given.apiKey({ ...named, defaults: { virtual_key: 'evil', metadata: { team: HOSTILE } } });
  await givenUser(console.gateway, { email: 'eve@example.com', first_name: HOSTILE, last_name: HOSTILE });
  const config = await made('/v1/configs', { name: HOSTILE, slug: 'evil-config', config: { virtual_key: 'evil' } });
  const checks = [{ id: 'default.contains', parameters: { words: [HOSTILE], operator: 'none' } }];
  const guardrail = await made('/v1/guardrails', { name: HOSTILE, slug: 'evil-guardrail', checks });
  await made('/v1/mcp-servers', { ...named, slug: 'evil-tools', url: `${evilTools.origin}/mcp` });
  await api.post('/v1/mcp-servers/evil-tools/sync');
  await made('/v1/admin/workspaces', { ...named, slug: 'evil-workspace' });
  const channel = { name: HOSTILE, kind: 'slack', settings: { url: `${elsewhere.origin}/hook` } };
  const { id } = await made('/v1/alert-channels', channel);
  await made('/v1/alerts', { name: HOSTILE, condition: { type: 'key_expiring' }, channels: [id] });
  const everyone = { conditions: [{ key: 'workspace_id', value: '*' }], group_by: [{ key: 'api_key' }] };
  await made('/v1/policies/usage-limits', { ...everyone, name: HOSTILE, type: 'requests', credit_limit: 1e6 });
  const metadata = { about: HOSTILE };
  await made('/v1/assistants', { ...named, model: HOSTILE, instructions: HOSTILE, metadata });
  const told = { metadata, messages: [{ role: 'user', content: HOSTILE }] };
  const thread = (await api.post('/v1/threads', told, { key })).json;
  await made('/v1/vector_stores', { name: HOSTILE, metadata });
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new File([HOSTILE], `${HOSTILE.replaceAll('/', '')}.txt`));
  await api.post('/v1/files', form);
  await made('/v1/webhooks', { name: HOSTILE, url: `${elsewhere.origin}/hook` });
  const asked = {
    model: HOSTILE,
    user: HOSTILE,
    tools: [{ type: 'function', function: { name: HOSTILE, description: HOSTILE, parameters: {} } }],
    messages: [
      { role: 'system', content: HOSTILE },
      { role: 'user', name: 'eve', content: [{ type: 'text', text: HOSTILE }] },
    ],
  };
  const called = await api.post('/v1/chat/completions', asked, {
    key,
    headers: {
      'x-gateway-session-id': 'evil-session',
      'x-gateway-metadata': JSON.stringify({ team: HOSTILE, [HOSTILE]: 'x' }),
    },
  });
  const entry = await console.gateway.logOf(called);
  return [
    `/logs?open=${entry.id}`,
    '/sessions/evil-session',
    `/routing/${config.slug}`,
    `/guardrails/${guardrail.slug}`,
    '/mcp/evil-tools',
    `/assistants?tab=threads&thread=${thread.id}`,
    '/explore?group=model',
    '/explore?group=metadata',
  ];
}

test('what people, models and tools call things is text on every page', async () => {
  const single = await givenHostileNames();
  const { tab, faults, visit, close } = await console.open('/console');
  await tab.getByRole('heading', { level: 1 }).waitFor();
  // The page of the design shows nothing but its own examples.
  const plain = PAGES.map(({ path }) => path).filter((path) => !path.includes('$') && path !== '/design');
  const shown: string[] = [];
  for (const path of [...plain, ...single]) {
    // The first page is there already, and a row of the page before may have led to this one.
    const [page] = path.split('?');
    const isThere = new URL(tab.url()).pathname.replace(/\/$/, '') === `/console${page}`.replace(/\/$/, '');
    if (!isThere) await visit(path);
    else {
      await tab.goto(`${console.gateway.url}/console${path}`);
      await tab.locator('main h1, main [role=alert], main .empty').first().waitFor();
      await tab.waitForLoadState('networkidle');
    }
    // What a click opens: the first rows, and every tab.
    const count = await tab.getByRole('tab').count();
    for (let index = 0; index < Math.max(1, count); index++) {
      // What was opened may have other tabs.
      if (index >= Math.max(1, await tab.getByRole('tab').count())) break;
      if (count > 0) await tab.getByRole('tab').nth(index).click();
      const row = tab.getByRole('row').nth(1);
      if (await row.count()) await row.click({ timeout: 5_000 }).catch(() => {});
      await tab.waitForLoadState('networkidle');
      if ((await tab.locator('body').innerText()).includes('<img src=x')) shown.push(path);
      expect([path, await isHacked(tab)]).toEqual([path, false]);
      if (!tab.url().includes(path.split('?')[0]!)) break;
    }
  }
  expect(faults).toEqual([]);
  // It was really there to be run.
  expect(new Set(shown).size).toBeGreaterThan(15);
  await close();
  evilTools.stop();
  evilModel.stop();
});

test('what belongs to another workspace looks like what does not exist', async () => {
  const { api, given } = console.gateway;
  const other = await given.workspace({ name: 'Secret', slug: 'secret' });
  const place = { workspace_id: other.id };
  await given.virtualKey({ name: 'far', slug: 'far', ...place });
  const { key, id: keyId } = await given.apiKey({ name: 'far key', ...place });
  await api.post('/v1/configs', { name: 'Far', slug: 'far-config', config: { virtual_key: 'far' }, ...place });
  const checks = [{ id: 'default.notNull', parameters: {} }];
  await api.post('/v1/guardrails', { name: 'Far', slug: 'far-guardrail', checks, ...place });
  await api.post('/v1/mcp-servers', { name: 'Far', slug: 'far-tools', url: `${elsewhere.origin}/mcp`, ...place });
  const body = { model: 'x', messages: [{ role: 'user', content: 'far away' }] };
  const called = await api.post('/v1/chat/completions', body, {
    key,
    headers: { 'x-gateway-virtual-key': 'far', 'x-gateway-session-id': 'far-session' },
  });
  const { id: logId } = await console.gateway.logOf(called);
  const told = { messages: [{ role: 'user', content: 'far away' }] };
  const thread = (await api.post('/v1/threads', told, { key, headers: { 'x-gateway-virtual-key': 'far' } })).json;

  const { tab, faults, visit, close } = await console.open('/console', { as: 'admin' });
  await tab.getByRole('heading', { level: 1 }).waitFor();
  const textAt = async (path: string, id: string) => {
    await visit(path.replace('{}', id));
    // A busy machine may ask for nothing for a while, and still have something to show.
    await settled(tab, `!document.querySelector('main .skeleton, .loading-line')`);
    const text = await tab.locator('main').innerText();
    // What differs from one look to the next says nothing of the id.
    return text
      .replaceAll(id, 'ID')
      .replace(/request [\w-]{36}/gi, 'request')
      .replace(/\b\d+ \w+ ago\b|\bjust now\b/g, 'ago');
  };
  const asked = [
    ['/routing/{}', 'far-config', 'no-config'],
    ['/guardrails/{}', 'far-guardrail', 'no-guardrail'],
    ['/mcp/{}', 'far-tools', 'no-tools'],
    ['/sessions/{}', 'far-session', 'no-session'],
    ['/logs?open={}', logId, crypto.randomUUID()],
    ['/api-keys?open={}', keyId, crypto.randomUUID()],
    ['/assistants?tab=threads&thread={}', thread.id, 'thread_000000000000000000000000'],
    ['/workspaces?open={}', other.id, crypto.randomUUID()],
  ] as const;
  // One page after the other, so that none is taken for the one before.
  const there: string[] = [];
  for (const [path, id] of asked) there.push(await textAt(path, id));
  for (const [at, [path, , missing]] of asked.entries()) {
    expect([path, there[at]]).toEqual([path, await textAt(path, missing)]);
    expect(there[at]).not.toMatch(/far away|far key|Secret/);
  }
  expect(faults).toEqual([]);
  // The workspace in the address is not theirs, and the console goes on in one that is.
  await tab.goto(`${console.gateway.url}/console/api-keys?workspace=secret`);
  await tab.getByRole('heading', { name: 'API keys' }).waitFor();
  expect(await tab.locator('body').innerText()).not.toContain('far key');
  await close();
});

test('a member who drives pages of administrators by hand is refused, by the page and by the gateway', async () => {
  const { tab, faults, close } = await console.open('/console', { as: 'member' });
  const { scopes, csrf_token } = await tab.evaluate(
    async () => (await (await fetch('/v1/sessions/current')).json()) as { scopes: string[]; csrf_token: string },
  );
  const closed = PAGES.filter((page) => !page.scopes.every((scope) => scopes.includes(scope)));
  expect(closed.length).toBeGreaterThan(8);
  for (const { path } of closed) {
    await tab.goto(`${console.gateway.url}/console${path.replace(/\$\w+/, 'x')}`);
    await tab.getByRole('heading', { name: 'This page is not open to you' }).waitFor();
  }
  expect(faults).toEqual([]);
  const refusable = (await routesOf(console)).filter((route) => route.scopes.some((scope) => !scopes.includes(scope)));
  expect(refusable.length).toBeGreaterThan(60);
  const answers = await tab.evaluate(
    async ({ refusable, csrf_token }) => {
      const headers = { 'content-type': 'application/json', 'x-gateway-csrf': csrf_token };
      const told: string[] = [];
      for (const { method, path } of refusable) {
        const answer = await fetch(path, { method, headers, ...(method !== 'GET' && { body: '{}' }) });
        // The form of SCIM has the code outside.
        const { error, code = error?.code } = (await answer.json()) as { error?: { code?: string }; code?: string };
        if (answer.status !== 403 || code !== 'insufficient_scope')
          told.push(`${method} ${path}: ${answer.status} ${code}`);
      }
      return told;
    },
    { refusable, csrf_token },
  );
  expect(answers).toEqual([]);
  await close();
});
