import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rowsIn } from '../belongings.ts';
import { startGateway, type TestGateway } from '../gateway.ts';
import { type Browser, givenBrowser } from '../people.ts';
import { query } from '../state-tables.ts';

const PATH = '/v1/views';
const QUERY = { metric: 'cost', group: 'model', filter: 'status:>=500' };

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`saved views on ${engine}`, () => {
    let gateway: TestGateway;
    let ada: { user: { id: string }; browser: Browser };
    let bob: { user: { id: string }; browser: Browser };
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      const workspaces = [{ id: 'default', role: 'manager' }];
      ada = await givenBrowser(gateway, { workspaces });
      bob = await givenBrowser(gateway, { workspaces });
    });
    afterAll(() => gateway.stop());

    const saved = async ({ browser }: typeof ada, body: Record<string, unknown> = {}) => {
      const reply = await browser.call('POST', PATH, { name: 'Spend', page: 'explore', query: QUERY, ...body });
      expect([reply.status, reply.text]).toEqual([200, expect.any(String)]);
      return reply.json;
    };
    const namesSeenBy = async ({ browser }: typeof ada, query = '') =>
      (await browser.call('GET', `${PATH}${query}`)).json.data.map(({ name }: { name: string }) => name);

    test('a view is its user’s own until it is shared; then the workspace may rename, take and delete it', async () => {
      const view = await saved(ada, { name: 'Mine' });
      expect(view).toMatchObject({ object: 'view', page: 'explore', query: QUERY, is_shared: false });
      const place = `${PATH}/${view.id}`;
      expect(await namesSeenBy(ada, '?page=explore')).toEqual(['Mine']);
      expect(await namesSeenBy(ada, '?page=logs')).toEqual([]);
      expect(await namesSeenBy(bob)).toEqual([]);
      for (const [method, body] of [['GET'], ['PUT', { name: 'Taken' }], ['DELETE']] as const)
        expect((await bob.browser.call(method, place, body)).json.error.code).toBe('view_not_found');
      // Neither does an owner's key see what one person keeps.
      expect((await gateway.api.get(place)).status).toBe(404);

      expect((await ada.browser.call('PUT', place, { is_shared: true })).json.is_shared).toBe(true);
      expect((await bob.browser.call('PUT', place, { name: 'Ours' })).json).toMatchObject({
        name: 'Ours',
        query: QUERY,
      });
      expect(await namesSeenBy(ada)).toEqual(['Ours']);
      expect((await bob.browser.call('PUT', place, { is_shared: false })).json.is_shared).toBe(false);
      expect(await namesSeenBy(ada)).toEqual([]);
      expect((await bob.browser.call('DELETE', place)).json).toEqual({ id: view.id, object: 'view', deleted: true });
      expect((await bob.browser.call('GET', place)).status).toBe(404);
    });

    test('what is no view is refused by name, and a key of no user has none of its own', async () => {
      const good = { name: 'x', page: 'logs', query: {}, is_shared: true };
      for (const [over, param, message] of [
        [{ page: 'home' }, 'page', 'give one of overview, explore, logs'],
        [{ name: ' ' }, 'name', 'at least one character'],
        [{ query: { filter: 'x'.repeat(2_001) } }, 'query.filter', 'at most 2000 characters'],
        [{ query: { range: 7 } }, 'query.range', 'give texts as values'],
        [{ query: { __proto__x: 'y' } }, 'query.__proto__x', 'small letters'],
        [{ is_shared: false }, 'is_shared', 'this caller is no user'],
        [{ is_shared: undefined }, 'is_shared', 'this caller is no user'],
        [{ colour: 'red' }, 'colour', ''],
      ] as const) {
        const reply = await gateway.api.post(PATH, { ...good, ...over });
        expect([reply.status, reply.json.error.param]).toEqual([400, param]);
        expect(reply.json.error.message).toContain(message);
      }
      const member = await givenBrowser(gateway, { workspaces: [{ id: 'default', role: 'member' }] });
      expect((await member.browser.call('GET', PATH)).json.error.code).toBe('insufficient_scope');
    });

    test('another workspace sees nothing of it, and nobody has more than 200', async () => {
      const other = await gateway.given.workspace({ name: 'Other' });
      const body = { name: 'shared', page: 'overview', query: {}, is_shared: true, workspace_id: other.id };
      const { json: view } = await gateway.api.post(PATH, body);
      expect((await ada.browser.call('GET', `${PATH}/${view.id}`)).status).toBe(404);
      expect((await ada.browser.call('POST', PATH, body)).json.error.code).toBe('workspace_not_found');
      const owner = `(select organisation_id from workspaces where id = '${other.id}')`;
      const rows = Array.from(
        { length: 198 },
        () => `('${crypto.randomUUID()}', ${owner}, '${other.id}', 'overview', 'x', '{}', 0, 0)`,
      );
      const columns = 'id, organisation_id, workspace_id, page, name, query, created_at, updated_at';
      await query(gateway, `insert into saved_views (${columns}) values ${rows.join(', ')}`);
      const many = await Promise.all(Array.from({ length: 4 }, () => gateway.api.post(PATH, body)));
      const refused = many.filter(({ status }) => status !== 200);
      expect(refused.map(({ json }) => json.error.code)).toEqual(Array(3).fill('too_many_views'));
    });

    test('own views go with their user, deleted or forgotten; shared ones stay', async () => {
      const eve = await givenBrowser(gateway, { workspaces: [{ id: 'default', role: 'manager' }] });
      const zoe = await givenBrowser(gateway, { workspaces: [{ id: 'default', role: 'manager' }] });
      for (const each of [eve, zoe]) {
        await saved(each, { name: 'Own' });
        await saved(each, { name: `Left by ${each.user.id}`, is_shared: true });
      }
      const own = () => rowsIn(gateway, 'saved_views', `name = 'Own'`);
      expect(await own()).toBe(2);
      expect((await gateway.api.delete(`/v1/admin/users/${eve.user.id}`)).status).toBe(200);
      expect(await own()).toBe(1);
      expect((await gateway.api.post('/v1/admin/erasures', { user: zoe.user.id })).status).toBe(200);
      expect(await own()).toBe(0);
      const left = await namesSeenBy(ada);
      for (const { user } of [eve, zoe]) expect(left).toContain(`Left by ${user.id}`);
    });

    if (engine === 'postgres')
      test('what one node saves, the other shows at once', async () => {
        const second = await startGateway({ engine, databaseUrl: gateway.databaseUrl! });
        const view = await saved(ada, { name: 'Here' });
        const place = `${PATH}/${view.id}`;
        const there = (method: string, body?: unknown) =>
          second.api.call(method, place, { key: null, headers: ada.browser.headers, body });
        expect((await there('PUT', { name: 'There' })).json.name).toBe('There');
        expect((await ada.browser.call('GET', place)).json.name).toBe('There');
        expect((await there('DELETE')).status).toBe(200);
        expect((await ada.browser.call('GET', place)).status).toBe(404);
        await second.stop();
      });
  });
