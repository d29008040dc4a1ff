import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';

const RATES = [
  { type: 'requests', unit: 'rpm', value: 100 },
  { type: 'tokens', unit: 'rpd', value: 1_000_000 },
];
const BUDGET = { type: 'cost', credit_limit: 12.5, alert_threshold: 10, periodic_reset: 'monthly' };
const FUTURE = '2099-01-01T00:00:00Z';

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`limits on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const refusal = (reply: Reply, status: number, error: Record<string, unknown>) => {
      expect(reply.status).toBe(status);
      expect(reply.json.error).toMatchObject(error);
    };

    /** Each kind of owner: how one is made, and where it is. */
    const owners = {
      'an API key': async (limits: object) => {
        const made = await gateway.given.apiKey({ ...limits });
        return { made, path: `/v1/api-keys/${made.id}`, list: '/v1/api-keys' };
      },
      'a virtual key': async (limits: object) => {
        const made = await gateway.given.virtualKey({ ...limits });
        return { made, path: `/v1/virtual-keys/${made.slug}`, list: '/v1/virtual-keys' };
      },
      'a workspace': async (limits: object) => {
        const made = await gateway.given.workspace({ ...limits });
        return { made, path: `/v1/admin/workspaces/${made.id}`, list: '/v1/admin/workspaces' };
      },
    };

    for (const [owner, make] of Object.entries(owners)) {
      test(`${owner} shows its limits in the form they were given`, async () => {
        const { made, path, list } = await make({ rate_limits: RATES, usage_limits: BUDGET });
        expect(made).toMatchObject({ rate_limits: RATES, usage_limits: BUDGET });
        expect(made.usage).toEqual([
          {
            type: 'cost',
            credit_limit: 12.5,
            current_usage: 0,
            resets_at: expect.stringMatching(/^\d{4}-\d{2}-01T00:/),
          },
        ]);
        const read = (await gateway.api.get(path)).json;
        const { key: _, ...shown } = made;
        expect(read).toEqual(shown);
        const { data } = (await gateway.api.get(`${list}?page_size=1000`)).json;
        expect(data.find(({ id }: { id: string }) => id === made.id)).toEqual(shown);

        const listed = await gateway.api.put(path, { usage_limits: [BUDGET, { type: 'tokens', credit_limit: 500 }] });
        expect(listed.json.usage_limits).toEqual([BUDGET, { type: 'tokens', credit_limit: 500 }]);
        expect(listed.json.usage[1]).toEqual({ type: 'tokens', credit_limit: 500, current_usage: 0, resets_at: null });
        expect(listed.json.rate_limits).toEqual(RATES);
      });

      test(`${owner} without limits says so, and null takes them away`, async () => {
        const none = { rate_limits: null, usage_limits: null, usage: [] };
        const { made } = await make({});
        expect(made).toMatchObject(none);
        const { path } = await make({ rate_limits: RATES, usage_limits: BUDGET });
        const changed = await gateway.api.put(path, { rate_limits: null, usage_limits: null });
        expect(changed.json).toMatchObject(none);
        expect((await gateway.api.get(path)).json).toMatchObject(none);
      });

      describe(`${owner} refuses`, () => {
        const budget = (more: object) => ({ usage_limits: { type: 'cost', credit_limit: 5, ...more } });
        const rows: [string, object, string][] = [
          [
            'a rate of an unknown type',
            { rate_limits: [RATES[0], { ...RATES[1], type: 'cost' }] },
            'rate_limits[1].type',
          ],
          [
            'a rate of an unknown unit',
            { rate_limits: [RATES[0], { ...RATES[1], unit: 'tpd' }] },
            'rate_limits[1].unit',
          ],
          ['a rate of 0', { rate_limits: [{ ...RATES[0], value: 0 }] }, 'rate_limits[0].value'],
          ['a rate with a fraction', { rate_limits: [{ ...RATES[0], value: 1.5 }] }, 'rate_limits[0].value'],
          ['the same rate twice', { rate_limits: [RATES[0], { ...RATES[0], value: 7 }] }, 'rate_limits[1]'],
          ['an unknown member', { rate_limits: [{ ...RATES[0], burst: 1 }] }, 'rate_limits[0].burst'],
          ['a budget that is a text', { usage_limits: '5 dollars' }, 'usage_limits'],
          ['a budget of 0', budget({ credit_limit: 0 }), 'usage_limits.credit_limit'],
          ['a budget of more than a number can hold', budget({ credit_limit: 1e10 }), 'usage_limits.credit_limit'],
          ['half a token', budget({ type: 'tokens', credit_limit: 100.5 }), 'usage_limits.credit_limit'],
          ['an alarm above the budget', budget({ alert_threshold: 5 }), 'usage_limits.alert_threshold'],
          ['an unknown period', budget({ periodic_reset: 'daily' }), 'usage_limits.periodic_reset'],
          [
            'two periods',
            budget({ periodic_reset: 'weekly', periodic_reset_days: 3 }),
            'usage_limits.periodic_reset_days',
          ],
          ['a period of 366 days', budget({ periodic_reset_days: 366 }), 'usage_limits.periodic_reset_days'],
          ['a reset without a period', budget({ next_usage_reset_at: FUTURE }), 'usage_limits.next_usage_reset_at'],
          [
            'a reset in the past',
            budget({ periodic_reset: 'weekly', next_usage_reset_at: '2020-01-01T00:00:00Z' }),
            'usage_limits.next_usage_reset_at',
          ],
          ['a fault in a list', { usage_limits: [BUDGET, { ...BUDGET, type: 'words' }] }, 'usage_limits[1].type'],
          ['the same budget twice', { usage_limits: [BUDGET, BUDGET] }, 'usage_limits[1]'],
        ];
        let path: string;
        beforeAll(async () => {
          ({ path } = await make({}));
        });
        for (const [name, body, param] of rows) {
          test(name, async () => {
            refusal(await gateway.api.put(path, body), 400, { code: 'invalid_request', param });
          });
        }
      });
    }

    test('the bootstrap key cannot be limited', async () => {
      const { data } = (await gateway.api.get('/v1/api-keys?page_size=1000')).json;
      const admin = data.find(({ name }: { name: string }) => name === 'admin');
      refusal(await gateway.api.put(`/v1/api-keys/${admin.id}`, { rate_limits: RATES }), 400, {
        code: 'invalid_request',
        message: expect.stringContaining('bootstrap key'),
      });
    });

    test("a workspace's keys cannot lift the workspace's limits", async () => {
      const workspace = await gateway.given.workspace({ name: 'Held', rate_limits: RATES });
      const scopes = ['workspaces.read', 'workspaces.update'];
      const { key } = await gateway.given.apiKey({ workspace_id: workspace.id, scopes });
      const path = `/v1/admin/workspaces/${workspace.id}`;
      for (const body of [{ rate_limits: null }, { usage_limits: null }, { reset_usage: true }]) {
        refusal(await gateway.api.put(path, body, { key }), 403, { code: 'insufficient_scope' });
      }
      expect((await gateway.api.put(path, { name: 'Renamed' }, { key })).json.rate_limits).toEqual(RATES);
    });

    test('the prices of a virtual key are shown, and change without its credential', async () => {
      const prices = { 'gpt-4o-mini': { input: 1, output: 2, cached: 0.5, cache_write: 0 } };
      const { slug } = await gateway.given.virtualKey({ configurations: { prices } });
      const path = `/v1/virtual-keys/${slug}`;
      expect((await gateway.api.get(path)).json.configurations).toEqual({ prices });

      const cheaper = { 'my-secret-token-model': { input: 0, output: 0 } };
      const changed = await gateway.api.put(path, { configurations: { prices: cheaper } });
      expect(changed.json.configurations).toEqual({ prices: cheaper });
      const headers = { configurations: { prices: cheaper, custom_headers: { 'x-team': 'search' } } };
      refusal(await gateway.api.put(path, headers), 400, { param: 'key' });
    });

    describe('prices are refused that are', () => {
      const rows: [string, unknown, string][] = [
        ['negative', { m: { input: -1, output: 1 } }, 'configurations.prices.m.input'],
        ['text', { m: { input: 1, output: '1' } }, 'configurations.prices.m.output'],
        ['half known', { m: { input: 1 } }, 'configurations.prices.m.output'],
        ['misspelt', { m: { input: 1, output: 1, cahced: 1 } }, 'configurations.prices.m.cahced'],
        ['a number', { m: 5 }, 'configurations.prices.m'],
        ['a list', [], 'configurations.prices'],
      ];
      for (const [name, prices, param] of rows) {
        test(name, async () => {
          const body = { name: 'x', provider: 'openai', key: 'sk-x', configurations: { prices } };
          refusal(await gateway.api.post('/v1/virtual-keys', body), 400, { code: 'invalid_request', param });
        });
      }
    });
  });
}
