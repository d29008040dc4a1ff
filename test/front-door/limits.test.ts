import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Reply, startGateway, type TestGateway } from '../gateway.ts';
import { startRedis } from '../redis.ts';

const chat = (content = 'Hello', more: object = {}) => ({
  model: 'gpt-4o-mini',
  messages: [{ role: 'user', content }],
  ...more,
});

const burst = async (count: number, call: () => Promise<Reply>): Promise<Record<number, number>> => {
  const replies = await Promise.all(Array.from({ length: count }, call));
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

/** A burst must not straddle two windows of a minute or an hour. */
const insideTheHour = async () => {
  const left = 3_600_000 - (Date.now() % 3_600_000);
  if (left < 20_000) await Bun.sleep(left + 100);
};

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`limits on ${engine}`, () => {
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startGateway({ engine });
      await insideTheHour();
    });
    afterAll(() => gateway.stop());

    const ask = (key: string, body: unknown = chat(), path = '/v1/chat/completions') =>
      gateway.api.post(path, body, { key, headers: { 'x-gateway-virtual-key': 'sim' } });

    test('of 200 calls at once against a limit of 50 exactly 50 pass, again and again', async () => {
      for (let round = 0; round < 3; round++) {
        const { key } = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rph', value: 50 }] });
        expect(await burst(200, () => ask(key))).toEqual({ 200: 50, 429: 150 });
      }
    });

    test('a refusal says whose limit, when it ends, and in the headers that SDKs read', async () => {
      const { key } = await gateway.given.apiKey({
        name: 'small',
        rate_limits: [{ type: 'requests', unit: 'rph', value: 1 }],
      });
      const first = await ask(key);
      expect(first.status).toBe(200);
      expect(first.headers.get('x-ratelimit-limit-requests')).toBe('1');
      expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('0');
      const before = gateway.provider.calls;
      const refused = await ask(key);
      expect(refused.status).toBe(429);
      expect(refused.json.error).toMatchObject({ code: 'rate_limited', type: 'rate_limit_error' });
      expect(refused.json.error.message).toContain('small');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(refused.headers.get('x-gateway-error-origin')).toBe('gateway');
      expect(gateway.provider.calls).toBe(before);
    });

    test('a pass-through call counts like any other', async () => {
      const { key } = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rph', value: 2 }] });
      const paths = ['/v1/chat/completions', '/v1/proxy/chat/completions', '/v1/embeddings'];
      const statuses: number[] = [];
      for (const path of paths) statuses.push((await ask(key, chat(), path)).status);
      expect(statuses[2]).toBe(429);
    });

    test('limits of the virtual key and of the workspace hold, too', async () => {
      await gateway.given.virtualKey({ slug: 'capped', rate_limits: [{ type: 'requests', unit: 'rpd', value: 3 }] });
      const { key } = await gateway.given.apiKey();
      const capped = () =>
        gateway.api.post('/v1/chat/completions', chat(), { key, headers: { 'x-gateway-virtual-key': 'capped' } });
      expect(await burst(10, capped)).toEqual({ 200: 3, 429: 7 });

      const workspace = await gateway.given.workspace({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 4 }] });
      await gateway.given.virtualKey({ slug: 'sim', workspace_id: workspace.id });
      const one = await gateway.given.apiKey({ workspace_id: workspace.id });
      const two = await gateway.given.apiKey({ workspace_id: workspace.id });
      const counts = [await burst(5, () => ask(one.key)), await burst(5, () => ask(two.key))];
      expect(counts.reduce((sum, each) => sum + (each[200] ?? 0), 0)).toBe(4);
    });

    test('a budget of tokens is spent by what answers took; then it is 412 and nothing is sent', async () => {
      const { key, id } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 1_000 } });
      let passed = 0;
      for (;;) {
        const reply = await ask(key, chat('Hello', { max_tokens: 200 }));
        if (reply.status !== 200) {
          expect(reply.status).toBe(412);
          expect(reply.json.error.code).toBe('budget_exhausted');
          break;
        }
        passed++;
        await gateway.logOf(reply);
      }
      expect(passed).toBeGreaterThan(3);
      const shown = await gateway.api.get(`/v1/api-keys/${id}`);
      const [budget] = [shown.json.usage].flat();
      expect(budget.current_usage).toBeGreaterThan(0);
      expect(budget.current_usage).toBeLessThanOrEqual(1_000);
    });

    test('what a stream took is counted although its client did not ask for usage, and the client sees no difference', async () => {
      const { key, id } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 100_000 } });
      const plain = await gateway.given.apiKey();
      const body = chat('Count me', { stream: true, max_tokens: 50 });
      const counted = await ask(key, body);
      const uncounted = await ask(plain.key, body);
      // With usage asked for, providers write `"usage":null` into every other chunk.
      const shape = (text: string) => text.replace(/"id":"[^"]*"|"created":\d+|,"usage":null/g, '');
      expect(shape(counted.text)).toBe(shape(uncounted.text));
      expect(counted.text).not.toContain('"choices":[]');
      const entry = await gateway.logOf(counted);
      expect(entry.total_tokens).toBeGreaterThan(0);
      const shown = await gateway.api.get(`/v1/api-keys/${id}`);
      expect([shown.json.usage].flat()[0].current_usage).toBe(entry.total_tokens);
    });

    test('a call that the provider refused costs nothing', async () => {
      const { key, id } = await gateway.given.apiKey({ usage_limits: { type: 'tokens', credit_limit: 100_000 } });
      const reply = await ask(key, chat('[[simulate: status=500]]'));
      expect(reply.status).toBe(500);
      await gateway.logOf(reply);
      const shown = await gateway.api.get(`/v1/api-keys/${id}`);
      expect([shown.json.usage].flat()[0].current_usage).toBe(0);
    });
  });
}

describe('limits on three nodes', () => {
  for (const [name, withRedis] of [
    ['with Redis', true],
    ['without Redis', false],
  ] as const) {
    test(`${name}: of 200 calls at once exactly 50 pass`, async () => {
      await insideTheHour();
      const redis = withRedis ? await startRedis() : null;
      const environment: Record<string, string> = redis ? { REDIS_URL: redis.url } : {};
      const first = await startGateway({ engine: 'postgres', environment });
      const more = await Promise.all(
        [1, 2].map(() => startGateway({ engine: 'postgres', environment, databaseUrl: first.databaseUrl! })),
      );
      const nodes = [first, ...more];
      try {
        for (let round = 0; round < 3; round++) {
          const { key } = await first.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rph', value: 50 }] });
          let next = 0;
          const counts = await burst(200, () =>
            nodes[next++ % nodes.length]!.api.post('/v1/chat/completions', chat(), {
              key,
              headers: { 'x-gateway-virtual-key': 'sim' },
            }),
          );
          expect(counts).toEqual({ 200: 50, 429: 150 });
        }
      } finally {
        for (const node of nodes) await node.stop();
        await redis?.stop();
      }
    });
  }
});
