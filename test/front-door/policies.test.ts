import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const RATES = '/v1/policies/rate-limits';
const USAGE = '/v1/policies/usage-limits';
const whom = {
  conditions: [{ key: 'metadata._user', value: '*' }],
  group_by: [{ key: 'metadata._user' }, { key: 'model' }],
};
const rate = { name: 'Free tier', ...whom, type: 'requests', unit: 'rpm', value: 10 };
const usage = { name: 'Pocket money', ...whom, type: 'cost', credit_limit: 5, periodic_reset: 'weekly' };

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`policies on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const refusal = (reply: Reply, status: number, error: Record<string, unknown>) => {
      expect(reply.status).toBe(status);
      expect(reply.json.error).toMatchObject(error);
    };

    test('one is created with everything it says, and read back', async () => {
      const workspace = (await gateway.api.get('/v1/admin/workspaces/default')).json;
      for (const [path, body, more] of [
        [RATES, rate, { object: 'policy_rate_limits', target: 'llm' }],
        [
          USAGE,
          usage,
          {
            object: 'policy_usage_limits',
            alert_threshold: null,
            periodic_reset_days: null,
            next_usage_reset_at: null,
          },
        ],
      ] as const) {
        const made = await gateway.api.post(path, body);
        expect(made.status).toBe(200);
        expect(made.json).toEqual({
          id: expect.stringMatching(UUID),
          ...body,
          ...more,
          description: null,
          organisation_id: expect.stringMatching(UUID),
          workspace_id: workspace.id,
          status: 'active',
          created_at: expect.any(String),
          last_updated_at: expect.any(String),
        });
        expect((await gateway.api.get(`${path}/${made.json.id}`)).json).toEqual(made.json);
        const { data } = (await gateway.api.get(path)).json;
        expect(data).toContainEqual(made.json);
      }
    });

    test('an update changes what it names and nothing else', async () => {
      const { json: made } = await gateway.api.post(USAGE, { ...usage, alert_threshold: 4 });
      const reply = await gateway.api.put(`${USAGE}/${made.id}`, {
        description: 'more',
        periodic_reset: null,
        periodic_reset_days: 3,
      });
      const changed = { description: 'more', periodic_reset: null, periodic_reset_days: 3 };
      expect(reply.json).toEqual({ ...made, ...changed, last_updated_at: expect.any(String) });
      refusal(await gateway.api.put(`${USAGE}/${made.id}`, { credit_limit: 4 }), 400, { param: 'alert_threshold' });
      refusal(await gateway.api.put(`${USAGE}/${made.id}`, { periodic_reset: 'weekly' }), 400, {
        param: 'periodic_reset_days',
      });
      expect((await gateway.api.get(`${USAGE}/${made.id}`)).json.credit_limit).toBe(5);
    });

    test('a deleted one is gone, and the two kinds are apart', async () => {
      const { json: made } = await gateway.api.post(RATES, rate);
      for (const path of [`${USAGE}/${made.id}`, `${RATES}/none`, `${USAGE}/${made.id}/entities`]) {
        refusal(await gateway.api.get(path), 404, { code: 'policy_not_found' });
      }
      const gone = await gateway.api.delete(`${RATES}/${made.id}`);
      expect(gone.json).toEqual({ id: made.id, object: 'policy_rate_limits', deleted: true });
      refusal(await gateway.api.get(`${RATES}/${made.id}`), 404, { code: 'policy_not_found' });
      refusal(await gateway.api.delete(`${RATES}/${made.id}`), 404, { code: 'policy_not_found' });
    });

    test("a policy of another workspace or of the organisation is out of a workspace key's reach", async () => {
      const workspace = await gateway.given.workspace({ name: 'Policed' });
      const scopes = ['create', 'list', 'read', 'update', 'delete'].map((verb) => `policies.${verb}`);
      const { key } = await gateway.given.apiKey({ workspace_id: workspace.id, scopes });
      const organisation_id = (await gateway.api.get('/v1/admin/organisation')).json.id;
      const foreign = (await gateway.api.post(RATES, rate)).json;
      const global = (await gateway.api.post(RATES, { ...rate, organisation_id })).json;
      expect(global).toMatchObject({ organisation_id, workspace_id: null });
      const own = (await gateway.api.post(RATES, rate, { key })).json;
      expect(own.workspace_id).toBe(workspace.id);

      for (const { id } of [foreign, global]) {
        refusal(await gateway.api.get(`${RATES}/${id}`, { key }), 404, { code: 'policy_not_found' });
        refusal(await gateway.api.put(`${RATES}/${id}`, { value: 1 }, { key }), 404, { code: 'policy_not_found' });
        refusal(await gateway.api.delete(`${RATES}/${id}`, { key }), 404, { code: 'policy_not_found' });
      }
      expect((await gateway.api.get(RATES, { key })).json).toMatchObject({ data: [own], total: 1 });
      refusal(await gateway.api.post(RATES, { ...rate, organisation_id }, { key }), 403, {
        code: 'insufficient_scope',
      });
      refusal(await gateway.api.post(RATES, { ...rate, workspace_id: 'default' }, { key }), 404, {
        code: 'workspace_not_found',
      });
      const filtered = (await gateway.api.get(`${RATES}?workspace_id=${workspace.slug}`)).json;
      expect(filtered).toMatchObject({ data: [own], total: 1 });
      expect((await gateway.api.delete(`/v1/admin/workspaces/${workspace.id}`)).status).toBe(200);
      refusal(await gateway.api.get(`${RATES}/${own.id}`), 404, { code: 'policy_not_found' });
    });

    test('each operation needs its scope', async () => {
      const { key } = await gateway.given.apiKey({ scopes: ['policies.list'] });
      const { id } = (await gateway.api.post(USAGE, usage)).json;
      expect((await gateway.api.get(USAGE, { key })).status).toBe(200);
      refusal(await gateway.api.get(`${USAGE}/${id}`, { key }), 403, { code: 'insufficient_scope' });
      refusal(await gateway.api.post(USAGE, usage, { key }), 403, { code: 'insufficient_scope' });
      refusal(await gateway.api.put(`${USAGE}/${id}/entities/x/reset`, undefined, { key }), 403, {
        code: 'insufficient_scope',
      });
    });

    test('a usage policy that has counted nobody has no entities', async () => {
      const { id } = (await gateway.api.post(USAGE, usage)).json;
      const path = `${USAGE}/${id}`;
      expect((await gateway.api.get(`${path}/entities`)).json).toEqual({
        object: 'list',
        data: [],
        total: 0,
        has_more: false,
      });
      expect((await gateway.api.get(`${path}?include_usage=true`)).json.value_key_usage_map).toEqual({});
      refusal(await gateway.api.get(`${path}?include_usage=maybe`), 400, { param: 'include_usage' });
      refusal(await gateway.api.put(`${path}/entities/none/reset`), 404, { code: 'policy_entity_not_found' });
      refusal(await gateway.api.put(path, { reset_usage_for_value: 'metadata._user:ada' }), 400, {
        param: 'reset_usage_for_value',
      });
    });

    test('conditions may name workspaces by id or slug, and keys by id', async () => {
      const { id } = await gateway.given.apiKey();
      const conditions = [
        { key: 'workspace_id', value: 'default' },
        { key: 'api_key', value: [id], excludes: true },
        { key: 'model', value: ['gpt-4o', '@openai/*'] },
      ];
      const made = await gateway.api.post(RATES, { ...rate, conditions });
      expect(made.json.conditions).toEqual(conditions);
    });

    describe('a body is refused that has', () => {
      const one = (key: string, value: unknown, more: object = {}) => ({ conditions: [{ key, value, ...more }] });
      const both: [string, object, string][] = [
        ['no conditions', { conditions: [] }, 'conditions'],
        ['no groups', { group_by: [] }, 'group_by'],
        ['a group twice', { group_by: [{ key: 'model' }, { key: 'model' }] }, 'group_by'],
        ['an unknown condition', one('colour', 'red'), 'conditions[0].key'],
        ['metadata without a name', one('metadata.', 'red'), 'conditions[0].key'],
        ['an unknown group', { group_by: [{ key: 'model' }, { key: 'user' }] }, 'group_by[1].key'],
        ['a condition on a number', one('model', 4), 'conditions[0].value'],
        ['a condition on nothing', one('model', []), 'conditions[0].value'],
        ['an empty value', one('model', ['a', '']), 'conditions[0].value[1]'],
        ['a pattern', one('model', 'gpt-*'), 'conditions[0].value'],
        ['a pattern in a list', one('model', ['*', '@openai/gpt-*']), 'conditions[0].value[1]'],
        ['a word for excludes', one('model', 'a', { excludes: 'yes' }), 'conditions[0].excludes'],
        ['an unknown workspace', one('workspace_id', 'nowhere'), 'conditions[0].value'],
        ['an unknown API key', one('api_key', ['*', 'nobody']), 'conditions[0].value'],
        ['an unknown member', { colour: 'red' }, 'colour'],
        ['a name that is too long', { name: 'x'.repeat(256) }, 'name'],
        ['a description that is too long', { description: 'x'.repeat(501) }, 'description'],
        ['a foreign organisation', { organisation_id: '00000000-0000-4000-8000-000000000000' }, 'organisation_id'],
      ];
      const rows: [string, string, object, string][] = [
        ...both.map(
          ([name, more, param]) => [name, RATES, { ...rate, ...more }, param] as [string, string, object, string],
        ),
        ...both.map(
          ([name, more, param]) => [name, USAGE, { ...usage, ...more }, param] as [string, string, object, string],
        ),
        ['an unknown unit', RATES, { ...rate, unit: 'tpm' }, 'unit'],
        ['an unknown type', RATES, { ...rate, type: 'cost' }, 'type'],
        ['a rate of 0', RATES, { ...rate, value: 0 }, 'value'],
        ['an unknown target', RATES, { ...rate, target: 'tools' }, 'target'],
        ['an unknown type', USAGE, { ...usage, type: 'words' }, 'type'],
        ['half a request', USAGE, { ...usage, type: 'requests', credit_limit: 1.5 }, 'credit_limit'],
        ['a budget of 0', USAGE, { ...usage, credit_limit: 0 }, 'credit_limit'],
        ['an alarm above the budget', USAGE, { ...usage, alert_threshold: 6 }, 'alert_threshold'],
        ['two periods', USAGE, { ...usage, periodic_reset_days: 3 }, 'periodic_reset_days'],
        [
          'a reset in the past',
          USAGE,
          { ...usage, next_usage_reset_at: '2020-01-01T00:00:00Z' },
          'next_usage_reset_at',
        ],
      ];
      for (const [name, path, body, param] of rows) {
        test(`${name} (${path})`, async () => {
          refusal(await gateway.api.post(path, body), 400, { code: 'invalid_request', param });
        });
      }

      test('an organisation and a workspace', async () => {
        const organisation_id = (await gateway.api.get('/v1/admin/organisation')).json.id;
        refusal(await gateway.api.post(RATES, { ...rate, organisation_id, workspace_id: 'default' }), 400, {
          param: 'organisation_id',
        });
      });

      test('an unknown condition, and says which are known', async () => {
        const reply = await gateway.api.post(RATES, { ...rate, ...one('colour', 'red') });
        expect(reply.json.error.message).toContain('virtual_key');
        expect(reply.json.error.message).toContain('metadata.<name>');
      });
    });

    test('lists come in pages', async () => {
      const { id: workspace_id } = await gateway.given.workspace({ name: 'Paged' });
      for (const name of ['a', 'b', 'c']) await gateway.api.post(RATES, { ...rate, name, workspace_id });
      const names = async (query: string) =>
        (await gateway.api.get(`${RATES}?workspace_id=${workspace_id}${query}`)).json.data
          .map(({ name }: { name: string }) => name)
          .join('');
      expect(await names('')).toBe('abc');
      expect(await names('&page_size=2')).toBe('ab');
      expect(await names('&page_size=2&current_page=1')).toBe('c');
    });

    test('a misspelt path in the area does not reach a provider', async () => {
      const before = gateway.provider.calls;
      for (const path of ['/v1/policies', '/v1/policies/rates', `${RATES}/a/b`]) {
        refusal(await gateway.api.get(path, { headers: { 'x-gateway-virtual-key': 'sim' } }), 404, {
          code: 'route_not_found',
        });
      }
      expect(gateway.provider.calls).toBe(before);
    });
  });
}
