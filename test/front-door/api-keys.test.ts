import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ADMIN_SCOPES, DATA_SCOPES, SCOPES } from '../../src/core/scopes.ts';
import { ADMIN_KEY, type Reply, startGateway, type TestGateway } from '../gateway.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`API keys on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const works = async (key: string) => (await gateway.api.get('/v1/providers', { key })).status === 200;
    const refusal = (reply: Reply, status: number, error: Record<string, unknown>) => {
      expect(reply.status).toBe(status);
      expect(reply.json.error).toMatchObject(error);
    };

    test('creating one answers the object and, this once, the secret', async () => {
      const reply = await gateway.api.post('/v1/api-keys', { name: ' ci ', description: 'for builds' });

      expect(reply.status).toBe(200);
      const { id, key, ...rest } = reply.json;
      expect(id).toMatch(UUID);
      expect(key).toMatch(/^gw-[\w-]{32}$/);
      expect(rest).toMatchObject({
        object: 'api-key',
        name: 'ci',
        description: 'for builds',
        user_id: null,
        defaults: {},
        expires_at: null,
        status: 'active',
      });
      expect(rest.workspace_id).toMatch(UUID);
      expect(rest.masked_key).toBe(`${key.slice(0, 3)}***${key.slice(-3)}`);
      expect(Date.parse(rest.created_at)).toBeLessThanOrEqual(Date.now());
      expect(await works(key)).toBe(true);
    });

    test('without scopes it may call models and MCP servers and no admin route', async () => {
      const { key, scopes } = await gateway.given.apiKey();
      expect(scopes).toEqual([...DATA_SCOPES]);
      expect(scopes).toContain('mcp.invoke');
      expect((await gateway.api.get('/v1/models', { key, headers: { 'x-gateway-virtual-key': 'sim' } })).status).toBe(
        200,
      );
      for (const path of ['/v1/api-keys', '/v1/virtual-keys', '/v1/logs', '/v1/admin/workspaces', '/metrics']) {
        refusal(await gateway.api.get(path, { key }), 403, { code: 'insufficient_scope', type: 'permission_error' });
      }
    });

    test('the secret is shown by no later answer', async () => {
      const { id, key } = await gateway.given.apiKey({ name: 'hidden' });
      const rotated = (await gateway.api.post(`/v1/api-keys/${id}/rotate`)).json;
      const texts = [
        (await gateway.api.get(`/v1/api-keys/${id}`)).text,
        (await gateway.api.get('/v1/api-keys?page_size=1000')).text,
        (await gateway.api.put(`/v1/api-keys/${id}`, { name: 'still hidden' })).text,
        (await gateway.api.get('/v1/logs?limit=1000')).text,
      ];
      for (const text of texts) {
        expect(text).not.toContain(key);
        expect(text).not.toContain(rotated.key);
        expect(text).not.toContain(ADMIN_KEY);
      }
      expect(texts[0]).toContain(`${rotated.key.slice(0, 3)}***${rotated.key.slice(-3)}`);
    });

    test('an update changes what it names and nothing else', async () => {
      const made = await gateway.given.apiKey({ name: 'one', description: 'first', defaults: { virtual_key: 'demo' } });
      const reply = await gateway.api.put(`/v1/api-keys/${made.id}`, { name: 'two' });

      expect(reply.status).toBe(200);
      const { key: _, ...shown } = made;
      expect(reply.json).toEqual({ ...shown, name: 'two', last_updated_at: expect.any(String) });
      expect((await gateway.api.get(`/v1/api-keys/${made.id}`)).json).toEqual(reply.json);

      const cleared = await gateway.api.put(`/v1/api-keys/${made.id}`, { description: null, defaults: {} });
      expect(cleared.json).toMatchObject({ description: null, defaults: {} });
    });

    test('scopes that are taken away are gone on the next request', async () => {
      const { id, key } = await gateway.given.apiKey({ scopes: ['models.list', 'logs.list'] });
      expect((await gateway.api.get('/v1/logs', { key })).status).toBe(200);
      await gateway.api.put(`/v1/api-keys/${id}`, { scopes: ['models.list'] });
      expect((await gateway.api.get('/v1/logs', { key })).status).toBe(403);
      expect(await works(key)).toBe(true);
    });

    test('a deleted key stops working with the very next request', async () => {
      const { id, key } = await gateway.given.apiKey();
      expect(await works(key)).toBe(true);
      const reply = await gateway.api.delete(`/v1/api-keys/${id}`);
      expect(reply.status).toBe(200);
      expect(reply.json).toEqual({ id, object: 'api-key', deleted: true });

      refusal(await gateway.api.get('/v1/providers', { key }), 401, { code: 'invalid_api_key' });
      refusal(await gateway.api.get(`/v1/api-keys/${id}`), 404, { code: 'api_key_not_found' });
      refusal(await gateway.api.delete(`/v1/api-keys/${id}`), 404, { code: 'api_key_not_found' });
    });

    describe('rotation', () => {
      test('leaves the old secret valid for the transition, and no second one starts meanwhile', async () => {
        const { id, key } = await gateway.given.apiKey();
        const reply = await gateway.api.post(`/v1/api-keys/${id}/rotate`);
        expect(reply.status).toBe(200);
        expect(reply.json).toMatchObject({ id, object: 'api-key' });
        expect(reply.json.key).toMatch(/^gw-/);
        expect(reply.json.key).not.toBe(key);
        const half = Date.parse(reply.json.key_transition_expires_at) - Date.now();
        expect(half).toBeWithin(29 * 60_000, 30 * 60_000 + 1);
        expect(await works(key)).toBe(true);
        expect(await works(reply.json.key)).toBe(true);

        refusal(await gateway.api.post(`/v1/api-keys/${id}/rotate`), 400, { code: 'rotation_in_progress' });
        expect(await works(reply.json.key)).toBe(true);
      });

      test('ends the old secret after the transition that was asked for', async () => {
        const { id, key } = await gateway.given.apiKey();
        const { json } = await gateway.api.post(`/v1/api-keys/${id}/rotate`, { key_transition_period_ms: 200 });
        await Bun.sleep(Date.parse(json.key_transition_expires_at) - Date.now() + 10);

        expect((await gateway.api.get('/v1/providers', { key })).status).toBe(401);
        expect(await works(json.key)).toBe(true);
        const again = await gateway.api.post(`/v1/api-keys/${id}/rotate`, { key_transition_period_ms: 0 });
        expect(again.status).toBe(200);
        expect(await works(again.json.key)).toBe(true);
      });

      test('with no transition ends the old secret at once', async () => {
        const { id, key } = await gateway.given.apiKey();
        expect(await works(key)).toBe(true);
        const { json } = await gateway.api.post(`/v1/api-keys/${id}/rotate`, { key_transition_period_ms: 0 });
        expect(await works(key)).toBe(false);
        expect(await works(json.key)).toBe(true);
      });

      test('refuses a transition out of bounds', async () => {
        const { id, key } = await gateway.given.apiKey();
        for (const period of [-1, 0.5, 31 * 86_400_000, '60000']) {
          const reply = await gateway.api.post(`/v1/api-keys/${id}/rotate`, { key_transition_period_ms: period });
          refusal(reply, 400, { param: 'key_transition_period_ms' });
        }
        expect(await works(key)).toBe(true);
      });
    });

    describe('nobody hands out more than they hold', () => {
      const manager = async (scopes: string[]) => (await gateway.given.apiKey({ name: 'manager', scopes })).key;

      test('when creating', async () => {
        const key = await manager(['api_keys.create', 'models.list']);
        const asked = await gateway.api.post('/v1/api-keys', { name: 'more', scopes: ['logs.list'] }, { key });
        refusal(asked, 403, { code: 'scope_not_grantable', param: 'scopes' });
        const silent = await gateway.api.post('/v1/api-keys', { name: 'more' }, { key });
        refusal(silent, 403, { code: 'scope_not_grantable' });
        const fine = await gateway.api.post('/v1/api-keys', { name: 'less', scopes: ['models.list'] }, { key });
        expect(fine.status).toBe(200);
      });

      test('when changing, rotating or deleting a key that holds more', async () => {
        const key = await manager(['api_keys.update', 'api_keys.rotate', 'api_keys.delete', 'api_keys.read']);
        const strong = await gateway.given.apiKey({ scopes: ['logs.list', 'models.list'] });
        const path = `/v1/api-keys/${strong.id}`;
        refusal(await gateway.api.put(path, { name: 'mine' }, { key }), 403, { code: 'scope_not_grantable' });
        refusal(await gateway.api.post(`${path}/rotate`, {}, { key }), 403, { code: 'scope_not_grantable' });
        refusal(await gateway.api.delete(path, { key }), 403, { code: 'scope_not_grantable' });
        expect(await works(strong.key)).toBe(true);
      });

      test('when adding scopes to itself', async () => {
        const { id, key } = await gateway.given.apiKey({ scopes: ['api_keys.update'] });
        const reply = await gateway.api.put(`/v1/api-keys/${id}`, { scopes: [...ADMIN_SCOPES] }, { key });
        refusal(reply, 403, { code: 'scope_not_grantable' });
      });
    });

    test('the bootstrap key cannot be changed, rotated or deleted', async () => {
      const list = (await gateway.api.get('/v1/api-keys?page_size=1000')).json.data;
      const admin = list.find(({ name }: { name: string }) => name === 'admin');
      expect(admin.scopes).toEqual([...SCOPES]);
      const path = `/v1/api-keys/${admin.id}`;
      refusal(await gateway.api.delete(path), 400, { code: 'invalid_request', param: 'id' });
      refusal(await gateway.api.put(path, { scopes: [] }), 400, { code: 'invalid_request', param: 'id' });
      refusal(await gateway.api.post(`${path}/rotate`), 400, { code: 'invalid_request', param: 'id' });
      expect(await works(ADMIN_KEY)).toBe(true);
    });

    test('the default virtual key is used when a request names no provider', async () => {
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim' } });
      const reply = await gateway.api.get('/v1/echo', { key });
      expect(reply.status).toBe(200);
      expect(reply.json.headers.authorization).toBe('Bearer sk-test-credential');
    });

    test('default metadata is on every log entry and stands above what the request says', async () => {
      const { key } = await gateway.given.apiKey({ defaults: { virtual_key: 'sim', metadata: { team: 'a' } } });
      const reply = await gateway.api.get('/v1/echo', {
        key,
        headers: { 'x-gateway-metadata': '{"team":"b","run":"7"}' },
      });
      expect((await gateway.logOf(reply)).metadata).toEqual({ team: 'a', run: '7' });
    });

    test('a key of another workspace is made by naming it, by id or by slug', async () => {
      const workspace = await gateway.given.workspace({ name: 'Keys' });
      const byId = await gateway.given.apiKey({ workspace_id: workspace.id });
      const bySlug = await gateway.given.apiKey({ workspace_id: workspace.slug });
      expect(byId.workspace_id).toBe(workspace.id);
      expect(bySlug.workspace_id).toBe(workspace.id);
      const list = (await gateway.api.get(`/v1/api-keys?workspace_id=${workspace.slug}`)).json;
      expect(list.total).toBe(2);
      refusal(await gateway.api.post('/v1/api-keys', { name: 'x', workspace_id: 'nowhere' }), 404, {
        code: 'workspace_not_found',
      });
    });

    test('lists come in pages', async () => {
      const { id: workspace } = await gateway.given.workspace({ name: 'Paged' });
      for (const name of ['a', 'b', 'c', 'd', 'e']) await gateway.given.apiKey({ name, workspace_id: workspace });
      const pageOf = async (query: string) => {
        const { json } = await gateway.api.get(`/v1/api-keys?workspace_id=${workspace}${query}`);
        return { ...json, data: json.data.map(({ name }: { name: string }) => name).join('') };
      };
      expect(await pageOf('')).toEqual({ object: 'list', data: 'abcde', total: 5, has_more: false });
      expect(await pageOf('&page_size=2')).toEqual({ object: 'list', data: 'ab', total: 5, has_more: true });
      expect(await pageOf('&page_size=2&current_page=1')).toMatchObject({ data: 'cd', has_more: true });
      expect(await pageOf('&page_size=2&current_page=2')).toMatchObject({ data: 'e', total: 5, has_more: false });
      expect(await pageOf('&page_size=2&current_page=9')).toMatchObject({ data: '', total: 5, has_more: false });
    });

    describe('a query is refused that has', () => {
      for (const [query, param] of [
        ['page_size=0', 'page_size'],
        ['page_size=1001', 'page_size'],
        ['page_size=two', 'page_size'],
        ['page_size=1.5', 'page_size'],
        ['current_page=-1', 'current_page'],
        ['current_page=1e400', 'current_page'],
        ['page=2', 'page'],
        ['page_size=1&page_size=2', 'page_size'],
      ] as const) {
        test(query, async () => {
          refusal(await gateway.api.get(`/v1/api-keys?${query}`), 400, { code: 'invalid_request', param });
        });
      }
    });

    describe('a body is refused that has', () => {
      const rows: [string, Record<string, unknown>, string][] = [
        ['no name', {}, 'name'],
        ['an empty name', { name: '  ' }, 'name'],
        ['a name of 256 characters', { name: 'x'.repeat(256) }, 'name'],
        ['an unknown field', { name: 'x', colour: 'red' }, 'colour'],
        ['an unknown default', { name: 'x', defaults: { colour: 'red' } }, 'defaults.colour'],
        ['a config as default', { name: 'x', defaults: { config: 'not a slug' } }, 'defaults.config'],
        ['an unknown scope', { name: 'x', scopes: ['models.list', 'everything'] }, 'scopes[1]'],
        ['a scope twice', { name: 'x', scopes: ['models.list', 'models.list'] }, 'scopes'],
        ['an expiry in the past', { name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
        ['an expiry without a zone', { name: 'x', expires_at: '2099-01-01T00:00:00' }, 'expires_at'],
        ['a user that is no id', { name: 'x', user_id: 'ada' }, 'user_id'],
        ['an unknown user', { name: 'x', user_id: '00000000-0000-4000-8000-000000000000' }, 'user_id'],
        ['rate limits that are no list', { name: 'x', rate_limits: {} }, 'rate_limits'],
        ['usage limits that say nothing', { name: 'x', usage_limits: {} }, 'usage_limits.credit_limit'],
        ['metadata that is not text', { name: 'x', defaults: { metadata: { a: 1 } } }, 'defaults.metadata.a'],
      ];
      for (const [name, body, param] of rows) {
        test(name, async () => {
          refusal(await gateway.api.post('/v1/api-keys', body), 400, {
            code: 'invalid_request',
            type: 'invalid_request_error',
            param,
          });
        });
      }

      test('an expiry that is no moment, and only that is said of it', async () => {
        const { error } = (await gateway.api.post('/v1/api-keys', { name: 'x', expires_at: 'tomorrow' })).json;
        expect(error.message).toBe('expires_at: give an ISO 8601 moment such as 2030-01-31T12:00:00Z');
      });

      test('broken JSON', async () => {
        const headers = { 'content-type': 'application/json' };
        for (const body of ['{"name":', 'name=x', '[1', new Uint8Array([0x22, 0xff, 0x22])]) {
          refusal(await gateway.api.post('/v1/api-keys', body, { headers }), 400, { code: 'invalid_json' });
        }
      });

      test('JSON that is no object', async () => {
        for (const body of ['[]', 'null', '"name"']) {
          const headers = { 'content-type': 'application/json' };
          refusal(await gateway.api.post('/v1/api-keys', body, { headers }), 400, { code: 'invalid_request' });
        }
      });

      test('another content type', async () => {
        for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp']) {
          const reply = await gateway.api.post('/v1/api-keys', '{"name":"x"}', { headers: { 'content-type': type } });
          refusal(reply, 415, { code: 'unsupported_media_type' });
        }
      });

      test('more than a megabyte', async () => {
        const huge = { name: 'x', description: 'y'.repeat(1 << 20) };
        refusal(await gateway.api.post('/v1/api-keys', huge), 413, { code: 'body_too_large' });
      });
    });

    test('ids nobody gave, even odd ones, are not found', async () => {
      for (const id of ['none', '00000000-0000-4000-8000-000000000000', "'%20or%201=1", 'a%2Fb']) {
        refusal(await gateway.api.get(`/v1/api-keys/${id}`), 404, { code: 'api_key_not_found' });
      }
    });

    test('U+0000, which not every store can hold, is refused wherever it stands', async () => {
      refusal(await gateway.api.get('/v1/api-keys/%00'), 400, { code: 'invalid_path' });
      refusal(await gateway.api.get('/v1/api-keys?workspace_id=a%00'), 400, { param: 'workspace_id' });
      refusal(await gateway.api.post('/v1/api-keys', { name: 'a\0b' }), 400, { param: 'name' });
      const metadata = { 'a\0b': 'x' };
      refusal(await gateway.api.post('/v1/api-keys', { name: 'x', defaults: { metadata } }), 400, {
        param: 'defaults',
      });
      refusal(await gateway.api.post('/v1/echo', { model: '@a\0b/c' }), 400, { code: 'unknown_virtual_key' });
    });

    test('a body nested deeper than any stack is refused like any other', async () => {
      const body = `{"name":"x","defaults":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
      const reply = await gateway.api.post('/v1/api-keys', body, { headers: { 'content-type': 'application/json' } });
      expect(reply.status).toBe(400);
    });
  });
}
