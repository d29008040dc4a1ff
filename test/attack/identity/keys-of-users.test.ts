import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../../gateway.ts';
import { startRecorder, toolCall } from '../../mcp/recorder.ts';
import { TOLD_MS } from '../../nodes.ts';
import { type Browser, givenBrowser, givenUser } from '../../people.ts';
import { eventually } from '../../process.ts';

const KEYS = '/v1/api-keys';
/** A manager of the workspace `default`, unless told otherwise. */
const MANAGER = { workspaces: [{ id: 'default', role: 'manager' }] };

describe.each(['sqlite', 'postgres'] as const)('keys of users on %s', (engine) => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway({ engine });
  });
  afterAll(() => gateway.stop());

  const made = async (browser: Browser, body: Record<string, unknown>) => {
    const reply = await browser.call('POST', KEYS, { name: 'theirs', ...body });
    expect([reply.status, reply.text]).toEqual([200, reply.text]);
    return reply.json as { id: string; key: string };
  };
  const statusOf = async (method: string, path: string, key: string, body?: unknown) =>
    (await gateway.api.call(method, path, { key, body })).status;
  const calls = (key: string) => statusOf('GET', '/v1/models', key);
  const member = (user: { id: string }) => `/v1/admin/workspaces/default/users/${user.id}`;

  describe('whose a key may be', () => {
    test('one is made for oneself, by a session and by a key of oneself', async () => {
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const first = await made(browser, { user_id: user.id, scopes: ['api_keys.create', 'models.list'] });
      const second = await gateway.api.post(
        KEYS,
        { name: 'second', user_id: user.id, scopes: ['models.list'] },
        { key: first.key },
      );
      expect([second.status, second.json.user_id]).toEqual([200, user.id]);
    });

    test('a manager and an administrator make none for others, whether these exist or not', async () => {
      const manager = await givenBrowser(gateway, MANAGER);
      const admin = await givenBrowser(gateway, { role: 'admin' });
      const owner = await givenUser(gateway, { role: 'owner' });
      const colleague = await givenUser(gateway);
      for (const { browser } of [manager, admin]) {
        for (const user_id of [owner.id, colleague.id, '00000000-0000-4000-8000-000000000000']) {
          const reply = await browser.call('POST', KEYS, { name: 'not mine', user_id, scopes: ['models.list'] });
          expect([reply.status, reply.json.error.code, reply.json.error.param]).toEqual([
            403,
            'key_of_another_user',
            'user_id',
          ]);
        }
      }
    });

    test('a key of a workspace, which acts for nobody, makes none for a user', async () => {
      const user = await givenUser(gateway);
      const { key } = await gateway.given.apiKey({ scopes: ['api_keys.create', 'models.list', 'organisation.manage'] });
      expect(await statusOf('POST', KEYS, key, { name: 'x', user_id: user.id, scopes: ['models.list'] })).toBe(403);
    });

    test('an owner makes them for members of that workspace, and for none who is elsewhere', async () => {
      const { browser } = await givenBrowser(gateway, { role: 'owner' });
      const place = await gateway.given.workspace({ name: 'Elsewhere' });
      const here = await givenUser(gateway);
      const there = await givenUser(gateway, { workspaces: [{ id: place.id, role: 'member' }] });
      const ask = (user_id: string, workspace_id: string) =>
        browser.call('POST', KEYS, { name: 'x', user_id, workspace_id });
      expect((await ask(here.id, 'default')).status).toBe(200);
      expect((await ask(there.id, place.id)).status).toBe(200);
      for (const [user_id, workspace] of [
        [here.id, place.id],
        [there.id, 'default'],
      ] as const) {
        const reply = await ask(user_id, workspace);
        expect([reply.status, reply.json.error.param]).toEqual([400, 'user_id']);
      }
    });

    test('a key stays with its user: an update names none', async () => {
      const [ann, bob] = [await givenUser(gateway), await givenUser(gateway)];
      const key = await gateway.given.apiKey({ user_id: ann.id });
      for (const user_id of [bob.id, null]) {
        const reply = await gateway.api.put(`${KEYS}/${key.id}`, { user_id });
        expect([reply.status, reply.text.includes('user_id')]).toEqual([400, true]);
      }
      expect((await gateway.api.get(`${KEYS}/${key.id}`)).json.user_id).toBe(ann.id);
    });
  });

  describe('who changes the key of a user', () => {
    test('its user and an owner rotate it, and it stays with its user', async () => {
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const owner = await givenBrowser(gateway, { role: 'owner' });
      const own = await made(browser, { user_id: user.id, scopes: ['models.list', 'api_keys.rotate'] });
      for (const who of [browser, owner.browser]) {
        const reply = await who.call('POST', `${KEYS}/${own.id}/rotate`, { key_transition_period_ms: 0 });
        expect([reply.status, await calls(reply.json.key)]).toEqual([200, 200]);
        expect((await gateway.api.get(`${KEYS}/${own.id}`)).json.user_id).toBe(user.id);
      }
    });

    test('a colleague who manages keys gets no secret that acts for another', async () => {
      const ann = await givenUser(gateway);
      const theirs = await gateway.given.apiKey({ user_id: ann.id, scopes: ['models.list'] });
      const { browser } = await givenBrowser(gateway, MANAGER);
      const admin = await givenBrowser(gateway, { role: 'admin' });
      for (const who of [browser, admin.browser]) {
        const reply = await who.call('POST', `${KEYS}/${theirs.id}/rotate`, {});
        expect([reply.status, reply.json.error.code]).toEqual([403, 'key_of_another_user']);
      }
      expect(await calls(theirs.key)).toBe(200);
    });

    test('a colleague takes from it and does not give to it', async () => {
      const ann = await givenUser(gateway);
      const theirs = await gateway.given.apiKey({
        user_id: ann.id,
        scopes: ['models.list', 'files.read'],
        expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      });
      const { browser } = await givenBrowser(gateway, MANAGER);
      const put = async (body: unknown) => {
        const reply = await browser.call('PUT', `${KEYS}/${theirs.id}`, body);
        return reply.status === 200 ? 200 : reply.json.error.code;
      };
      expect(await put({ scopes: ['models.list', 'files.read', 'files.write'] })).toBe('key_of_another_user');
      expect(await put({ expires_at: null })).toBe('key_of_another_user');
      expect(await put({ expires_at: new Date(Date.now() + 7_200_000).toISOString() })).toBe('key_of_another_user');
      expect(await put({ name: 'seen', scopes: ['models.list'] })).toBe(200);
      expect(await put({ expires_at: new Date(Date.now() + 60_000).toISOString() })).toBe(200);
      expect((await browser.call('DELETE', `${KEYS}/${theirs.id}`)).status).toBe(200);
      expect(await calls(theirs.key)).toBe(401);
    });

    test('a narrow key of a user does not rotate a wider one of the same user', async () => {
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const wide = await made(browser, { user_id: user.id, scopes: ['virtual_keys.delete'] });
      const narrow = await made(browser, { user_id: user.id, scopes: ['api_keys.rotate'] });
      const reply = await gateway.api.post(`${KEYS}/${wide.id}/rotate`, {}, { key: narrow.key });
      expect([reply.status, reply.json.error.code]).toEqual([403, 'scope_not_grantable']);
    });
  });

  describe('what a key of a user may do', () => {
    test('follows the role of its user down and up, whatever its own scopes say', async () => {
      const { user, browser } = await givenBrowser(gateway, { role: 'admin' });
      const { key, id } = await made(browser, {
        user_id: user.id,
        scopes: ['workspaces.list', 'users.list', 'models.list', 'organisation.manage'],
      });
      expect([await statusOf('GET', '/v1/admin/users', key), await calls(key)]).toEqual([200, 200]);

      await gateway.api.put(`/v1/admin/users/${user.id}`, { role: 'member' });
      expect([await statusOf('GET', '/v1/admin/users', key), await calls(key)]).toEqual([403, 200]);
      const seen = (await gateway.api.get('/v1/admin/workspaces', { key })).json.data;
      expect(seen.map(({ slug }: { slug: string }) => slug)).toEqual(['default']);
      // What the key was given is still shown, and its user may still revoke it.
      expect((await gateway.api.get(`${KEYS}/${id}`)).json.scopes).toContain('users.list');

      await gateway.api.put(`/v1/admin/users/${user.id}`, { role: 'admin' });
      expect(await statusOf('GET', '/v1/admin/users', key)).toBe(200);
    });

    test('is no more than its user may, also when an owner gave it more', async () => {
      const user = await givenUser(gateway);
      const { key } = await gateway.given.apiKey({
        user_id: user.id,
        scopes: ['models.list', 'api_keys.list', 'owners.manage', 'organisation.manage', 'users.create'],
      });
      expect(await calls(key)).toBe(200);
      expect(await statusOf('GET', KEYS, key)).toBe(403);
      expect(await statusOf('POST', '/v1/admin/users', key, { email: 'e@example.com', role: 'owner' })).toBe(403);
    });

    test('follows the role in the workspace', async () => {
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const { key } = await made(browser, { user_id: user.id, scopes: ['api_keys.list', 'models.list'] });
      expect(await statusOf('GET', KEYS, key)).toBe(200);
      await gateway.api.put(member(user), { role: 'member' });
      expect([await statusOf('GET', KEYS, key), await calls(key)]).toEqual([403, 200]);
    });

    test('a demoted user still rotates and revokes the key that was made before', async () => {
      const { user, browser } = await givenBrowser(gateway, { role: 'admin', ...MANAGER });
      const { id } = await made(browser, { user_id: user.id, scopes: ['users.list', 'models.list'] });
      await gateway.api.put(`/v1/admin/users/${user.id}`, { role: 'member' });
      const rotated = await browser.call('POST', `${KEYS}/${id}/rotate`, { key_transition_period_ms: 0 });
      expect([rotated.status, await statusOf('GET', '/v1/admin/users', rotated.json.key)]).toEqual([200, 403]);
      expect((await browser.call('DELETE', `${KEYS}/${id}`)).status).toBe(200);
    });

    test('ends when its user leaves the workspace, is shown so, and goes on when they come back', async () => {
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const { key, id } = await made(browser, { user_id: user.id });
      expect(await calls(key)).toBe(200);
      await gateway.api.delete(member(user));
      expect(await calls(key)).toBe(401);
      expect((await gateway.api.get(`${KEYS}/${id}`)).json.status).toBe('suspended');
      await gateway.api.post('/v1/admin/workspaces/default/users', { user_id: user.id, role: 'member' });
      expect(await calls(key)).toBe(200);
      expect((await gateway.api.get(`${KEYS}/${id}`)).json.status).toBe('active');
    });

    test('ends with its user, and does not come back with another of the same address', async () => {
      const user = await givenUser(gateway, { email: 'again@example.com' });
      const { key } = await gateway.given.apiKey({ user_id: user.id });
      expect(await calls(key)).toBe(200);
      await gateway.api.delete(`/v1/admin/users/${user.id}`);
      expect(await calls(key)).toBe(401);
      await givenUser(gateway, { email: 'again@example.com', role: 'owner' });
      expect(await calls(key)).toBe(401);
    });

    test('tells an MCP server nothing of a user who left', async () => {
      const upstream = startRecorder();
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const { key } = await made(browser, { user_id: user.id, scopes: ['mcp.invoke', 'api_keys.list'] });
      const slug = `told-${engine}`;
      const configurations = { user_identity_forwarding: { method: 'claims_header' } };
      await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url: upstream.url, configurations });
      const claims = async () => {
        const { status } = await gateway.api.post(`/${slug}/mcp`, toolCall(), { key });
        return status === 200 ? JSON.parse(upstream.last.headers['x-user-claims']!) : status;
      };
      expect(await claims()).toMatchObject({ email: user.email, scope: 'mcp.invoke api_keys.list' });
      await gateway.api.put(member(user), { role: 'member' });
      expect(await claims()).toMatchObject({ email: user.email, scope: 'mcp.invoke' });
      await gateway.api.delete(member(user));
      expect(await claims()).toBe(401);
      upstream.stop();
    });

    test('does not keep an MCP stream open for a user who left', async () => {
      const open = new ReadableStream({ start: (controller) => controller.enqueue(': open\n\n') });
      const upstream = startRecorder(() => new Response(open, { headers: { 'content-type': 'text/event-stream' } }));
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const { key } = await made(browser, { user_id: user.id });
      const slug = `heard-${engine}`;
      await gateway.api.post('/v1/mcp-servers', { name: slug, slug, url: upstream.url });
      const stream = await fetch(`${gateway.url}/${slug}/mcp`, {
        headers: { 'x-gateway-api-key': key, accept: 'text/event-stream', 'mcp-protocol-version': '2025-11-25' },
      });
      const reader = stream.body!.getReader();
      expect([stream.status, (await reader.read()).done]).toEqual([200, false]);
      await gateway.api.delete(member(user));
      // The test waits for as long as its own limit allows: a stream that is not cut never ends.
      const isOver = async () => {
        while (!(await reader.read()).done);
        return true;
      };
      expect(await isOver().catch(() => true)).toBe(true);
      upstream.stop();
    });

    test('an administrator who becomes a member has no key where they are none', async () => {
      const place = await gateway.given.workspace({ name: 'Not theirs' });
      const { user, browser } = await givenBrowser(gateway, { role: 'admin' });
      const { key } = await made(browser, { user_id: user.id, workspace_id: place.id });
      expect(await calls(key)).toBe(200);
      await gateway.api.put(`/v1/admin/users/${user.id}`, { role: 'member' });
      expect(await calls(key)).toBe(401);
    });

    test('does not survive in the secret of before a rotation', async () => {
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const { key, id } = await made(browser, { user_id: user.id });
      const rotated = await browser.call('POST', `${KEYS}/${id}/rotate`, {});
      await gateway.api.delete(member(user));
      expect([await calls(key), await calls(rotated.json.key)]).toEqual([401, 401]);
    });

    test('a key of the workspace outlives whoever made it', async () => {
      const { user, browser } = await givenBrowser(gateway, MANAGER);
      const { key } = await made(browser, {});
      await gateway.api.delete(`/v1/admin/users/${user.id}`);
      expect(await calls(key)).toBe(200);
    });
  });
});

test('what a user loses on one node, their key and their session lose on the other before it would look by itself', async () => {
  const one = await startGateway({ engine: 'postgres' });
  const two = await startGateway({ engine: 'postgres', databaseUrl: one.databaseUrl! });
  try {
    const { user, browser } = await givenBrowser(one, { role: 'admin' });
    const reply = await browser.call('POST', KEYS, { name: 'x', user_id: user.id, scopes: ['users.list'] });
    const byKey = async () => (await two.api.get('/v1/admin/users', { key: reply.json.key })).status;
    const bySession = async () =>
      (await two.api.get('/v1/admin/users', { key: null, headers: browser.headers })).status;
    expect([await byKey(), await bySession()]).toEqual([200, 200]);
    await one.api.put(`/v1/admin/users/${user.id}`, { role: 'member' });
    const lost = async () => (await byKey()) === 403 && (await bySession()) === 403;
    await eventually('both are demoted', lost, TOLD_MS);
    await one.api.delete(`/v1/admin/users/${user.id}`);
    await eventually('both are dead', async () => (await byKey()) === 401 && (await bySession()) === 401, TOLD_MS);
  } finally {
    await two.stop();
    await one.stop();
  }
});
