import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`workspaces on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const path = '/v1/admin/workspaces';
    const refusal = (reply: Reply, status: number, error: Record<string, unknown>) => {
      expect(reply.status).toBe(status);
      expect(reply.json.error).toMatchObject(error);
    };

    test('the first start made an organisation with the workspace default', async () => {
      const organisation = await gateway.api.get('/v1/admin/organisation');
      expect(organisation.status).toBe(200);
      expect(organisation.json.id).toMatch(UUID);
      expect(organisation.json.object).toBe('organisation');
      const workspace = (await gateway.api.get(`${path}/default`)).json;
      expect(workspace).toMatchObject({ object: 'workspace', slug: 'default', name: 'Default' });
      expect(workspace.id).toMatch(UUID);
    });

    test('one is deleted while configs are being made in it', async () => {
      const { api, given } = gateway;
      for (let round = 0; round < 15; round++) {
        const { id } = await given.workspace({ name: `Short-lived ${round}` });
        const key = (await given.apiKey({ workspace_id: id, scopes: ['configs.create'] })).key;
        const make = (name: string) => api.post('/v1/configs', { name, config: { provider: 'openai' } }, { key });
        const making = ['a', 'b', 'c', 'd', 'e', 'f'].map(make);
        if (round % 3 > 0) await making[round % 3];
        const deleted = await api.delete(`${path}/${id}`);
        const made = await Promise.all(making);
        expect([deleted.status, made.filter(({ status }) => status >= 500)]).toEqual([200, []]);
      }
    });

    test('one is created and read by its id or its slug', async () => {
      const made = await gateway.api.post(path, {
        name: 'Research & Development',
        description: 'all of it',
        defaults: { metadata: { team: 'research' } },
      });
      expect(made.status).toBe(200);
      expect(made.json).toMatchObject({
        object: 'workspace',
        slug: 'research-development',
        name: 'Research & Development',
        description: 'all of it',
        defaults: { metadata: { team: 'research' } },
      });
      for (const name of [made.json.id, made.json.slug]) {
        expect((await gateway.api.get(`${path}/${name}`)).json).toEqual(made.json);
      }
    });

    test('a slug made from the name gets a suffix when it is taken, one that was asked for is refused', async () => {
      const first = await gateway.given.workspace({ name: 'Twin' });
      const second = await gateway.given.workspace({ name: 'Twin' });
      expect(first.slug).toBe('twin');
      expect(second.slug).toMatch(/^twin-[0-9a-f]{6}$/);
      refusal(await gateway.api.post(path, { name: 'x', slug: 'twin' }), 400, { code: 'slug_taken', param: 'slug' });
      refusal(await gateway.api.post(path, { name: 'x', slug: 'default' }), 400, { code: 'slug_taken' });
    });

    test('an update changes what it names and nothing else', async () => {
      const made = await gateway.given.workspace({ name: 'Before', description: 'kept' });
      const reply = await gateway.api.put(`${path}/${made.slug}`, { name: 'After' });
      expect(reply.json).toEqual({ ...made, name: 'After', last_updated_at: expect.any(String) });
    });

    test('deleting one ends its keys with the very next request', async () => {
      const workspace = await gateway.given.workspace({ name: 'Doomed' });
      const { key } = await gateway.given.apiKey({ workspace_id: workspace.id, defaults: { virtual_key: 'inner' } });
      await gateway.given.virtualKey({ workspace_id: workspace.id, slug: 'inner' });
      expect((await gateway.api.get('/v1/echo', { key })).status).toBe(200);

      const reply = await gateway.api.delete(`${path}/${workspace.slug}`);
      expect(reply.status).toBe(200);
      expect(reply.json).toMatchObject({ object: 'workspace', deleted: true });

      refusal(await gateway.api.get('/v1/echo', { key }), 401, { code: 'invalid_api_key' });
      refusal(await gateway.api.get(`${path}/${workspace.id}`), 404, { code: 'workspace_not_found' });
      refusal(await gateway.api.delete(`${path}/${workspace.id}`), 404, { code: 'workspace_not_found' });
      const slugs = (await gateway.api.get('/v1/virtual-keys?page_size=1000')).json.data;
      expect(slugs.map(({ slug }: { slug: string }) => slug)).not.toContain('inner');
    });

    test('deleting one ends the rotated secrets of its keys too', async () => {
      const workspace = await gateway.given.workspace({ name: 'Rotating' });
      const { id, key } = await gateway.given.apiKey({ workspace_id: workspace.id });
      const rotated = (await gateway.api.post(`/v1/api-keys/${id}/rotate`)).json.key;
      expect((await gateway.api.delete(`${path}/${workspace.id}`)).status).toBe(200);
      for (const secret of [key, rotated]) {
        expect((await gateway.api.get('/v1/providers', { key: secret })).status).toBe(401);
      }
    });

    test('what lies in a deleted one is missing at once; row-owners.test.ts counts what is left', async () => {
      const workspace = await gateway.given.workspace({ name: 'Full' });
      const within = { workspace_id: workspace.id };
      const { key } = await gateway.given.apiKey(within);
      await gateway.given.virtualKey({ ...within, slug: 'inside' });
      const checks = [{ id: 'default.wordCount', parameters: { maxWords: 5 } }];
      const limits = { conditions: [{ key: 'model', value: '*' }], group_by: [{ key: 'api_key' }], type: 'requests' };
      const made: [string, Record<string, unknown>][] = [
        ['/v1/configs', { name: 'x', config: { virtual_key: 'inside' } }],
        ['/v1/guardrails', { name: 'x', checks, actions: { deny: true } }],
        ['/v1/mcp-servers', { name: 'x', slug: `full-${engine}`, url: 'http://127.0.0.1:9/mcp' }],
        ['/v1/webhooks', { name: 'x', url: 'http://127.0.0.1:9/hook', events: ['batch.completed'] }],
        ['/v1/alert-channels', { name: 'x', kind: 'slack', settings: { url: 'http://127.0.0.1:9/hook' } }],
        ['/v1/alerts', { name: 'x', condition: { type: 'key_expiring' } }],
        ['/v1/views', { name: 'x', page: 'explore', query: {}, is_shared: true }],
        ['/v1/policies/rate-limits', { ...limits, unit: 'rpm', value: 9 }],
        ['/v1/policies/usage-limits', { ...limits, credit_limit: 9 }],
      ];
      for (const [where, body] of made)
        expect((await gateway.api.post(where, { ...body, ...within })).json).toHaveProperty('id');
      const inside = { key, headers: { 'x-gateway-virtual-key': 'inside' } };
      const used: [string, Record<string, unknown>][] = [
        ['/v1/assistants', { model: 'gpt' }],
        ['/v1/threads', { messages: [{ role: 'user', content: 'hi' }] }],
        ['/v1/vector_stores', { name: 'x' }],
      ];
      for (const [where, body] of used) expect((await gateway.api.post(where, body, inside)).status).toBe(200);

      expect((await gateway.api.delete(`${path}/${workspace.id}`)).status).toBe(200);
      expect((await gateway.api.get(`${path}/${workspace.id}`)).status).toBe(404);
      for (const where of ['/v1/configs', '/v1/guardrails', '/v1/mcp-servers', '/v1/virtual-keys'])
        expect((await gateway.api.get(`${where}?workspace_id=${workspace.id}`)).status).toBe(404);
    });

    test('the default workspace stays, and so does that of the calling key', async () => {
      refusal(await gateway.api.delete(`${path}/default`), 400, { code: 'workspace_in_use' });
      const workspace = await gateway.given.workspace({ name: 'Own' });
      const { key } = await gateway.given.apiKey({ workspace_id: workspace.id, scopes: ['workspaces.delete'] });
      refusal(await gateway.api.delete(`${path}/${workspace.id}`, { key }), 400, { code: 'workspace_in_use' });
    });

    test('creating one needs a key that acts on the organisation', async () => {
      const { key } = await gateway.given.apiKey({ scopes: ['workspaces.create'] });
      refusal(await gateway.api.post(path, { name: 'x' }, { key }), 403, { code: 'insufficient_scope' });
    });

    test('lists come in pages', async () => {
      for (const name of ['P1', 'P2', 'P3']) await gateway.given.workspace({ name });
      const all = (await gateway.api.get(path)).json;
      expect(all).toMatchObject({ object: 'list', has_more: false });
      expect(all.total).toBe(all.data.length);

      const first = (await gateway.api.get(`${path}?page_size=2`)).json;
      const second = (await gateway.api.get(`${path}?page_size=2&current_page=1`)).json;
      expect([...first.data, ...second.data]).toEqual(all.data.slice(0, 4));
      expect(first).toMatchObject({ total: all.total, has_more: true });
      refusal(await gateway.api.get(`${path}?page_size=0`), 400, { param: 'page_size' });
      for (const size of ['', '1e2', '0x10', '%205', '1.5', '1001'])
        refusal(await gateway.api.get(`${path}?page_size=${size}`), 400, { param: 'page_size' });
      for (const number of ['', '-1', '99999999999999999999'])
        refusal(await gateway.api.get(`${path}?current_page=${number}`), 400, { param: 'current_page' });
      const { error } = (await gateway.api.get(`${path}?page_size=many`)).json;
      expect(error.message).toBe('page_size: give a whole number from 1 to 1000');
      refusal(await gateway.api.get(`${path}?workspace_id=default`), 400, { param: 'workspace_id' });
    });

    describe('a body is refused that has', () => {
      const rows: [string, Record<string, unknown>, string][] = [
        ['no name', {}, 'name'],
        ['a slug with a space', { name: 'x', slug: 'a b' }, 'slug'],
        ['an unknown field', { name: 'x', colour: 'red' }, 'colour'],
        ['a default it does not know', { name: 'x', defaults: { config: 'c' } }, 'defaults.config'],
        ['a note that is too long', { name: 'x', description: 'y'.repeat(2_001) }, 'description'],
      ];
      for (const [name, body, param] of rows) {
        test(name, async () => {
          refusal(await gateway.api.post(path, body), 400, { code: 'invalid_request', param });
        });
      }

      test('half of a surrogate pair, which could not be read back', async () => {
        const json = { headers: { 'content-type': 'application/json' } };
        const torn = await gateway.api.post(path, '{"name":"x","description":"\\ud83d"}', json);
        refusal(torn, 400, { code: 'invalid_request', param: 'description' });
        const whole = await gateway.given.workspace({ description: '\u{1f600}' });
        expect((await gateway.api.get(`${path}/${whole.id}`)).json.description).toBe('\u{1f600}');
      });

      test('broken JSON, another content type, or too many bytes', async () => {
        const json = { headers: { 'content-type': 'application/json' } };
        const text = { headers: { 'content-type': 'text/plain' } };
        refusal(await gateway.api.post(path, '{', json), 400, { code: 'invalid_json' });
        refusal(await gateway.api.post(path, '{"name":"x"}', text), 415, { code: 'unsupported_media_type' });
        refusal(await gateway.api.post(path, { name: 'x'.repeat(1 << 20) }), 413, { code: 'body_too_large' });
      });
    });
  });
}
