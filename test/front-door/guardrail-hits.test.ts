import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { eventually } from '../process.ts';

const words = (word: string) => ({ id: 'default.contains', parameters: { words: [word], operator: 'none' } });
const RANGE = () => {
  const now = Date.now();
  const [from, until] = [now - 3_600_000, now + 3_600_000].map((at) => new Date(at).toISOString());
  return `time_of_generation_min=${from}&time_of_generation_max=${until}`;
};

interface Figures {
  readonly guardrail: string;
}

for (const engine of ['sqlite', 'postgres'] as const) {
  let gateway: TestGateway;
  const on = (sentence: string, work: () => Promise<void>) => test(`${engine}: ${sentence}`, work);
  const say = (content: string, config: object) =>
    gateway.api.post(
      '/v1/chat/completions',
      { model: 'demo', messages: [{ role: 'user', content }] },
      { headers: { 'x-gateway-config': JSON.stringify({ virtual_key: 'sim', ...config }) } },
    );
  const figures = async (asked = {}): Promise<Record<string, object>> => {
    const reply = await gateway.api.get(`/v1/analytics/groups/guardrails?${RANGE()}`, asked);
    expect(reply.status).toBe(200);
    return Object.fromEntries(reply.json.data.map(({ guardrail, ...counts }: Figures) => [guardrail, counts]));
  };
  const hits = async (query: string, asked = {}) =>
    (await gateway.api.get(`/v1/guardrail-hits?${query}`, asked)).json.data;
  const counted = (expected: Record<string, object>) =>
    eventually('all calls are counted', async () => Bun.deepEquals(await figures(), expected));

  beforeAll(async () => {
    gateway = await startGateway({ engine });
    const make = (body: object) => gateway.api.post('/v1/guardrails', body);
    expect((await make({ name: 'No walrus', checks: [words('walrus')], actions: { deny: true } })).status).toBe(200);
    expect((await make({ name: 'No seal', checks: [words('seal')] })).status).toBe(200);
    expect((await make({ name: 'Sees otter', checks: [words('otter')], actions: { async: true } })).status).toBe(200);
  });
  afterAll(() => gateway.stop());

  const EXPECTED = {
    'no-walrus': { requests: 3, passed: 1, failed: 0, denied: 2 },
    'no-seal': { requests: 2, passed: 1, failed: 1, denied: 0 },
    'sees-otter': { requests: 2, passed: 1, failed: 1, denied: 0 },
  };

  on('each guardrail is counted by itself, once in a call that it looks at twice', async () => {
    const twice = { input_guardrails: ['no-walrus'], output_guardrails: ['no-walrus'] };
    expect((await say('good morning', twice)).status).toBe(200);
    expect((await say('a walrus', twice)).status).toBe(446);
    expect((await say('a walrus and a seal', { input_guardrails: ['no-walrus', 'no-seal'] })).status).toBe(446);
    expect((await say('good evening', { input_guardrails: ['no-seal', 'sees-otter'] })).status).toBe(200);
    expect((await say('an otter', { input_guardrails: ['sees-otter'] })).status).toBe(200);
    await counted(EXPECTED);
  });

  on('a guardrail that a caller writes under the name of a stored one counts for nothing', async () => {
    const own = { id: 'no-walrus', deny: true, checks: [words('lynx')] };
    const denied = await say('a lynx', { input_guardrails: [own] });
    expect(denied.status).toBe(446);
    const observed = await say('an otter again', { input_guardrails: ['sees-otter'] });
    expect(observed.status).toBe(200);
    await counted({ ...EXPECTED, 'sees-otter': { requests: 3, passed: 1, failed: 2, denied: 0 } });
  });

  on('the latest calls that a guardrail objected to are found, also those that it only observes', async () => {
    const seen = await hits('guardrail=sees-otter');
    expect(seen.map(({ status }: { status: number }) => status)).toEqual([200, 200]);
    expect(seen[0].created_at).toBeGreaterThanOrEqual(seen[1].created_at);
    expect(seen[0].hook_results.before_request_hooks[0]).toMatchObject({ id: 'sees-otter', verdict: false });
    expect(seen[0].hook_results.before_request_hooks[0].isCallers).toBeUndefined();
    expect(await hits('guardrail=no-walrus')).toHaveLength(2);
    expect(await hits('guardrail=no-walrus&limit=1')).toHaveLength(1);
    expect(await hits('')).toHaveLength(4);
    expect(await hits('guardrail=nobody')).toEqual([]);
  });

  on('what is asked wrongly is told so, and a key sees what its workspace met', async () => {
    const { api } = gateway;
    expect((await api.get('/v1/guardrail-hits?limit=21')).json.error.message).toContain('limit');
    expect((await api.get('/v1/guardrail-hits?guardrails=x')).status).toBe(400);
    expect((await api.get('/v1/analytics/groups/guardrails')).json.error.message).toContain('time_of_generation_min');
    expect((await api.get(`/v1/analytics/groups/guardrails?${RANGE()}&model=x`)).status).toBe(400);
    const other = await gateway.given.workspace({ name: 'Elsewhere' });
    const scopes = ['logs.list', 'analytics.view'];
    const { key } = await gateway.given.apiKey({ workspace_id: other.id, scopes });
    expect(await figures({ key })).toEqual({});
    expect(await hits('guardrail=no-walrus', { key })).toEqual([]);
  });

  on('counting anew comes to the same', async () => {
    const before = await figures();
    const count = () => gateway.api.get('/v1/analytics/rebuild');
    expect((await gateway.api.post('/v1/analytics/rebuild', {})).status).toBe(200);
    await eventually('all is counted anew', async () => (await count()).json.status === 'completed', 60_000);
    expect(await figures()).toEqual(before);
    expect(await hits('guardrail=no-walrus')).toHaveLength(2);
  });
}
