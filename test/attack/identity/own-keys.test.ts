import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../../gateway.ts';
import { TOLD_MS } from '../../nodes.ts';
import { type Browser, givenBrowser } from '../../people.ts';
import { eventually } from '../../process.ts';

const OWN = '/v1/own-keys';
const DAY_MS = 86_400_000;
const says = (reply: { status: number; json: { error?: { code: string; param: string | null } } }) =>
  `${reply.status} ${reply.json?.error?.code ?? ''}`.trim();

describe.each(['sqlite', 'postgres'] as const)('keys that members make themselves on %s', (engine) => {
  let gateway: TestGateway;
  /** The same store behind another node. */
  let other: TestGateway | null = null;
  beforeAll(async () => {
    gateway = await startGateway({ engine });
    if (gateway.databaseUrl) other = await startGateway({ engine, databaseUrl: gateway.databaseUrl });
  });
  afterAll(async () => {
    await other?.stop();
    await gateway.stop();
  });

  let count = 0;
  /** A workspace with that rule, and a member of it who is signed in. */
  const given = async (member_keys: Record<string, unknown> | null) => {
    const place = await gateway.given.workspace({ name: `Place ${count++}`, member_keys });
    await gateway.given.virtualKey({ slug: 'here', workspace_id: place.id });
    const join = { workspaces: [{ id: place.id, role: 'member' }] };
    const { user, browser } = await givenBrowser(gateway, join);
    const rule = (next: Record<string, unknown> | null) =>
      gateway.api.put(`/v1/admin/workspaces/${place.id}`, { member_keys: next });
    return { place, user, browser, rule, join };
  };
  const make = (browser: Browser, body: Record<string, unknown> = {}) =>
    browser.call('POST', OWN, { name: 'laptop', virtual_key: 'here', ...body });
  const made = async (browser: Browser, body?: Record<string, unknown>) => {
    const reply = await make(browser, body);
    expect([reply.status, reply.text]).toEqual([200, reply.text]);
    return reply.json as { id: string; key: string };
  };
  const chat = (key: string, model = 'gpt-4o', node = gateway) =>
    node.api.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] }, { key });

  test('are none, unless the workspace allows it', async () => {
    const { browser, rule } = await given(null);
    expect((await browser.call('GET', OWN)).json).toMatchObject({ data: [], allowed: null, usage: [] });
    expect(says(await make(browser))).toBe('403 own_keys_not_allowed');
    expect((await rule({})).json.member_keys).toMatchObject({ most: 5, max_days: null, models: null });
    await made(browser);
  });

  test('act for their member, within the bounds of the rule, and are recorded', async () => {
    const bounds = { scopes: ['completions.write'], models: ['gpt-4o*'], max_days: 30 };
    const { user, browser } = await given(bounds);
    const { id, key } = await made(browser);
    const [shown] = (await browser.call('GET', OWN)).json.data;
    expect(shown).toMatchObject({
      id,
      is_own: true,
      user_id: user.id,
      ...{ scopes: bounds.scopes, models: bounds.models },
    });
    expect(Date.parse(shown.expires_at) - Date.now()).toBeWithin(29 * DAY_MS, 30 * DAY_MS + 1);
    const called = await chat(key);
    expect(called.status).toBe(200);
    expect(await gateway.logOf(called)).toMatchObject({ user_id: user.id, api_key_id: id });
    expect(says(await chat(key, 'o3'))).toBe('403 model_not_allowed');
    expect(says(await gateway.api.get('/v1/files', { key }))).toBe('403 insufficient_scope');
    const late = new Date(Date.now() + 31 * DAY_MS).toISOString();
    const refused = await make(browser, { expires_at: late });
    expect([says(refused), refused.json.error.param]).toEqual(['400 invalid_request', 'expires_at']);
    const { id: organisation } = (await gateway.api.get('/v1/admin/organisation')).json;
    const search = `start_time=2020-01-01&end_time=2100-01-01&organisation_id=${organisation}&user_id=${user.id}`;
    const { records } = (await gateway.api.get(`/v1/audit-logs?${search}&resource_type=api_keys`)).json;
    // The one that was made, and the one that was not.
    expect(records).toHaveLength(2);
  });

  test('are never more than allowed, however many are asked for at once and wherever', async () => {
    const { browser, rule } = await given({ most: 3 });
    const nodes = [gateway, other ?? gateway];
    const asked = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        nodes[index % 2]!.api.post(OWN, { name: `key ${index}` }, { key: null, headers: { ...browser.headers } }),
      ),
    );
    expect(asked.map(says).sort()).toEqual([...Array(3).fill('200'), ...Array(9).fill('409 too_many_own_keys')]);
    expect((await rule({ most: 4 })).status).toBe(200);
    await made(browser);
  });

  test('share one budget: another key, and one made anew, has no other', async () => {
    const { browser } = await given({
      rate_limits: [{ type: 'requests', unit: 'rpw', value: 2 }],
      usage_limits: { type: 'tokens', credit_limit: 1_000_000 },
    });
    const first = await made(browser);
    const second = await made(browser);
    expect([(await chat(first.key)).status, (await chat(second.key)).status]).toEqual([200, 200]);
    const refused = await chat(first.key);
    expect(says(refused)).toBe('429 rate_limited');
    expect(refused.json.error.message).toContain('own keys of');
    expect((await browser.call('DELETE', `${OWN}/${first.id}`)).status).toBe(200);
    const third = await made(browser);
    for (const { key } of [second, third]) expect(says(await chat(key))).toBe('429 rate_limited');
    const spent = async () => (await browser.call('GET', OWN)).json.usage[0].current_usage;
    await eventually('what both spent is shown', async () => (await spent()) > 0);
  });

  test('stay within the limits of their workspace, too', async () => {
    const { place, browser } = await given({});
    await gateway.api.put(`/v1/admin/workspaces/${place.id}`, {
      rate_limits: [{ type: 'requests', unit: 'rpw', value: 1 }],
    });
    const { key } = await made(browser);
    expect([(await chat(key)).status, says(await chat(key))]).toEqual([200, '429 rate_limited']);
  });

  test('follow the rule when it changes, on every node', async () => {
    const { browser, rule } = await given({});
    const { id, key } = await made(browser);
    const node = other ?? gateway;
    expect((await chat(key, 'o3', node)).status).toBe(200);
    await rule({ models: ['gpt-4o'], scopes: ['completions.write'] });
    await eventually(
      'it is narrower',
      async () => says(await chat(key, 'o3', node)) === '403 model_not_allowed',
      TOLD_MS,
    );
    expect((await chat(key, 'gpt-4o', node)).status).toBe(200);
    await rule(null);
    await eventually('it is refused', async () => (await chat(key, 'gpt-4o', node)).status === 401, TOLD_MS);
    expect((await browser.call('GET', OWN)).json.data).toMatchObject([{ id, status: 'suspended' }]);
    expect(says(await browser.call('POST', `${OWN}/${id}/rotate`, {}))).toBe('403 own_keys_not_allowed');
    await rule({});
    await eventually('it is taken again', async () => (await chat(key, 'gpt-4o', node)).status === 200, TOLD_MS);
  });

  test('end with the membership, and with the user', async () => {
    const { place, user, browser, join } = await given({});
    const { id, key } = await made(browser);
    const member = `/v1/admin/workspaces/${place.id}/users`;
    await gateway.api.delete(`${member}/${user.id}`);
    expect((await chat(key)).status).toBe(401);
    await gateway.api.post(member, { user_id: user.id, role: join.workspaces[0]!.role });
    expect((await chat(key)).status).toBe(200);
    await gateway.api.delete(`/v1/admin/users/${user.id}`);
    expect((await chat(key)).status).toBe(401);
    expect((await gateway.api.get(`/v1/api-keys/${id}`)).status).toBe(404);
  });

  test('are made and changed by their member alone, who is signed in', async () => {
    const { place, browser, join } = await given({});
    const { id, key } = await made(browser);
    // A key makes none, whatever it may do; nor does a page elsewhere.
    expect(says(await gateway.api.get(OWN, { key }))).toBe('403 insufficient_scope');
    expect(says(await gateway.api.post(OWN, { name: 'x' }))).toBe('403 session_required');
    const cookie = { cookie: browser.headers.cookie! };
    expect(says(await gateway.api.post(OWN, { name: 'x' }, { key: null, headers: cookie }))).toBe(
      '403 csrf_token_missing',
    );
    const { browser: colleague } = await givenBrowser(gateway, join);
    const { browser: owner } = await givenBrowser(gateway, { role: 'owner' });
    for (const each of [colleague, owner])
      for (const [method, path] of [
        ['POST', `${OWN}/${id}/rotate`],
        ['DELETE', `${OWN}/${id}`],
      ] as const) {
        const reply = await each.call(method, path, method === 'POST' ? {} : undefined, {
          'x-gateway-workspace': place.id,
        });
        expect(says(reply)).toBe('404 api_key_not_found');
      }
    const rotated = await browser.call('POST', `${OWN}/${id}/rotate`, { key_transition_period_ms: 0 });
    expect([(await chat(rotated.json.key)).status, (await chat(key)).status]).toEqual([200, 401]);
  });

  test('one that was made for a member is theirs to rotate, and not to delete', async () => {
    const { place, user, browser } = await given({});
    const { id } = await gateway.given.apiKey({ name: 'for them', workspace_id: place.id, user_id: user.id });
    expect((await browser.call('GET', OWN)).json.data).toMatchObject([{ id, is_own: false }]);
    expect((await browser.call('POST', `${OWN}/${id}/rotate`, {})).status).toBe(200);
    expect(says(await browser.call('DELETE', `${OWN}/${id}`))).toBe('403 insufficient_scope');
  });

  test('a rule that would let members manage anything is refused, and members set none', async () => {
    const { place, browser } = await given(null);
    for (const [param, member_keys] of [
      ['member_keys.scopes[0]', { scopes: ['api_keys.create'] }],
      ['member_keys.most', { most: 0 }],
      ['member_keys.max_days', { max_days: 0.5 }],
      ['member_keys.models', { models: [] }],
      ['member_keys.unknown', { unknown: 1 }],
    ] as const) {
      const reply = await gateway.api.put(`/v1/admin/workspaces/${place.id}`, { member_keys });
      expect([says(reply), reply.json.error.param]).toEqual(['400 invalid_request', param]);
    }
    const tried = await browser.call('PUT', `/v1/admin/workspaces/${place.id}`, { member_keys: {} });
    expect(says(tried)).toBe('403 insufficient_scope');
  });
});
