import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../../gateway.ts';
import { eventually } from '../../process.ts';

/** A caller under a budget in dollars asks for models without a known price. */

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`models without a price on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
    });
    afterAll(() => gateway.stop());

    const chat = { model: 'nobody-knows-its-price', max_tokens: 5, messages: [{ role: 'user', content: 'x' }] };
    const ask = (key: string, body: unknown = chat, path = '/v1/chat/completions', more: object = {}) =>
      gateway.api.post(path, body, { key, headers: { 'x-gateway-virtual-key': 'sim', ...more } });
    const usageOf = async (id: string) => [(await gateway.api.get(`/v1/api-keys/${id}`)).json.usage].flat()[0];

    test('they are refused under a budget in dollars, on every road, and nothing is sent', async () => {
      const { key } = await gateway.given.apiKey({ usage_limits: { type: 'cost', credit_limit: 5 } });
      const before = gateway.provider.calls;
      const form = new FormData();
      form.set('file', new Blob(['audio']), 'a.mp3');
      form.set('model', 'nobody-knows-its-price');
      const replies = [
        await ask(key),
        await ask(key, chat, '/v1/proxy/chat/completions'),
        await ask(key, { prompt: 'x' }, '/v1/proxy/no/model'),
        await ask(key, { model: 'nobody-knows', input: 'x' }, '/v1/embeddings'),
        await ask(key, form, '/v1/audio/transcriptions'),
        await ask(key, chat, '/v1/chat/completions', {
          'x-gateway-config': JSON.stringify({ strategy: { mode: 'fallback' }, targets: [{ virtual_key: 'sim' }, {}] }),
        }),
      ];
      for (const reply of replies) {
        expect([reply.status, reply.json.error.code]).toEqual([412, 'price_unknown']);
        expect(reply.json.error.message).toContain('unpriced');
      }
      expect(gateway.provider.calls).toBe(before);
      expect((await ask(key, { ...chat, model: 'gpt-4o-mini' })).status).toBe(200);
      expect((await gateway.api.get('/v1/models', { key, headers: { 'x-gateway-virtual-key': 'sim' } })).status).toBe(
        200,
      );
    });

    test('a policy says it for its callers, and its entities show how many passed', async () => {
      const policy = await gateway.api.post('/v1/policies/usage-limits', {
        conditions: [{ key: 'metadata.team', value: '*' }],
        group_by: [{ key: 'metadata.team' }],
        type: 'cost',
        credit_limit: 5,
        unpriced: 'allow',
      });
      expect([policy.status, policy.json.unpriced]).toEqual([200, 'allow']);
      const { key } = await gateway.given.apiKey();
      const team = { 'x-gateway-metadata': '{"team":"a"}' };
      expect((await ask(key, chat, '/v1/chat/completions', team)).status).toBe(200);
      const entities = `/v1/policies/usage-limits/${policy.json.id}/entities`;
      await eventually('the call is counted', async () => {
        const { json } = await gateway.api.get(entities);
        return json.data?.[0]?.unpriced_calls === 1 && json.data[0].current_usage === 0;
      });
      await gateway.api.put(`/v1/policies/usage-limits/${policy.json.id}`, { unpriced: 'refuse' });
      const refused = await ask(key, chat, '/v1/chat/completions', team);
      expect([refused.status, refused.json.error.code]).toEqual([412, 'price_unknown']);
    });

    test('where the budget allows them they pass, and are counted until a reset', async () => {
      const usage_limits = { type: 'cost', credit_limit: 5, unpriced: 'allow' };
      const { key, id } = await gateway.given.apiKey({ usage_limits });
      expect((await ask(key)).status).toBe(200);
      expect((await ask(key)).status).toBe(200);
      await eventually('both are counted', async () => (await usageOf(id)).unpriced_calls === 2);
      expect((await usageOf(id)).current_usage).toBe(0);
      const metrics = await gateway.api.get('/metrics');
      const health = await gateway.api.get('/health');
      expect([health.status, health.json.status, health.json.degraded]).toEqual([200, 'ok', []]);
      expect(health.json.notes[0]).toContain('is not known');
      expect(health.text).not.toContain('nobody-knows-its-price');
      expect(metrics.text).toMatch(/gateway_unpriced_calls_total\{[^}]*nobody-knows-its-price[^}]*\} \d/);
      await gateway.api.put(`/v1/api-keys/${id}`, { reset_usage: true });
      expect((await usageOf(id)).unpriced_calls).toBe(0);
    });

    test('the member is checked', async () => {
      const wrong = [
        { type: 'cost', credit_limit: 5, unpriced: 'free' },
        { type: 'tokens', credit_limit: 5, unpriced: 'allow' },
      ];
      for (const usage_limits of wrong) {
        const reply = await gateway.api.post('/v1/api-keys', { name: 'x', usage_limits });
        expect([reply.status, reply.json.error.param]).toEqual([400, 'usage_limits.unpriced']);
      }
    });
  });
}
