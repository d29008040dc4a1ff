import { afterAll, beforeAll, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../../gateway.ts';

/** A caller writes a config into a header, and tries to make one call into many, or into much work. */

let gateway: TestGateway;
let provider: ReturnType<typeof serve>;
let asked = 0;
let status = 503;
beforeAll(async () => {
  gateway = await startGateway();
  provider = serve(async (request) => {
    await request.arrayBuffer();
    asked++;
    return Response.json(
      { choices: [{ message: { content: 'ok' } }], usage: { prompt_tokens: 1, completion_tokens: 1 } },
      { status },
    );
  });
  await gateway.given.virtualKey({ slug: 'up', custom_host: `${provider.origin}/v1` });
});
afterAll(async () => {
  provider.stop();
  await gateway.stop();
});

const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hello' }] };
const withConfig = (config: unknown, body: unknown = chat, key?: string) => {
  asked = 0;
  return gateway.api.post('/v1/chat/completions', body, {
    headers: { 'x-gateway-config': JSON.stringify(config) },
    ...(key && { key }),
  });
};
const store = (config: unknown) => gateway.api.post('/v1/configs', { name: 'stored', config });
const targets = (count: number, more: object = {}) =>
  Array.from({ length: count }, () => ({ virtual_key: 'up', ...more }));
const fallback = (count: number, more: object = {}) => ({
  strategy: { mode: 'fallback' },
  targets: targets(count, more),
});

test('statuses of answers that stand are no failures, in a header and in a stored config', async () => {
  status = 200;
  const given: [string, object][] = [
    ['config.retry.on_status_codes', { virtual_key: 'up', retry: { attempts: 5, on_status_codes: [200] } }],
    ['config.retry.on_status_codes', { virtual_key: 'up', retry: { attempts: 5, on_status_codes: [302, 500] } }],
    ['config.retry.on_status_codes', { virtual_key: 'up', retry: { attempts: 5, on_status_codes: [246] } }],
    ['config.retry.on_status_codes', { virtual_key: 'up', retry: { attempts: 5, on_status_codes: [446] } }],
    [
      'config.strategy.on_status_codes',
      { strategy: { mode: 'fallback', on_status_codes: [200] }, targets: targets(3) },
    ],
    [
      'config.strategy.on_status_codes',
      { strategy: { mode: 'fallback', on_status_codes: [429, 399] }, targets: targets(3) },
    ],
    [
      'config.strategy.cb_config.failure_status_codes',
      {
        strategy: { mode: 'fallback', cb_config: { failure_threshold: 1, failure_status_codes: [200] } },
        targets: targets(2),
      },
    ],
  ];
  for (const [param, config] of given) {
    const reply = await withConfig(config);
    expect([reply.status, reply.json.error.param, asked]).toEqual([400, param, 0]);
    expect((await store(config)).json.error?.param).toBe(param);
  }
});

test('targets, depth and retries of a config in a header are bounded; a stored one may have more', async () => {
  status = 503;
  const wide = fallback(21);
  const deep = [1, 2, 3].reduce<object>((below) => ({ strategy: { mode: 'single' }, targets: [below] }), fallback(1));
  const many = fallback(6, { retry: { attempts: 5 } });
  for (const [config, why] of [
    [wide, 'hold 21 targets; at most 20'],
    [{ strategy: { mode: 'loadbalance' }, targets: [fallback(11), fallback(10)] }, 'hold 21 targets; at most 20'],
    [deep, 'nested deeper than 3'],
    [many, 'one call could become 36 calls of providers'],
    [{ ...fallback(6), retry: { attempts: 5 } }, 'one call could become 36 calls of providers'],
  ] as const) {
    const reply = await withConfig(config);
    expect([reply.status, reply.json.error.code, asked]).toEqual([400, 'invalid_config', 0]);
    expect(reply.json.error.message).toContain(why);
    expect((await store(config)).status).toBe(200);
  }
});

test('a stored config is bounded, too', async () => {
  const reply = await store({
    strategy: { mode: 'fallback' },
    retry: { attempts: 5 },
    targets: Array.from({ length: 5 }, () => fallback(21)),
  });
  expect([reply.status, reply.json.error.code]).toEqual([400, 'invalid_config']);
  expect(reply.json.error.message).toContain('one call could become 630 calls of providers');
});

test('checks that a caller writes are bounded in number and in what they read together', async () => {
  status = 200;
  const check = { id: 'default.contains', parameters: { words: ['x'], operator: 'none' } };
  const guardrail = (checks: number) => ({ checks: Array.from({ length: checks }, () => check) });
  const over = [
    { virtual_key: 'up', input_guardrails: [guardrail(21)] },
    { virtual_key: 'up', input_guardrails: Array.from({ length: 21 }, () => guardrail(1)) },
    { virtual_key: 'up', output_guardrails: Array.from({ length: 21 }, () => 'some-slug') },
    fallback(3, { before_request_hooks: [guardrail(7)] }),
  ];
  for (const config of over) {
    const reply = await withConfig(config);
    expect([reply.status, reply.json.error.code, asked]).toEqual([400, 'invalid_config', 0]);
    expect(reply.json.error.message).toContain('21 checks of guardrails; at most 20');
  }
  const long = { ...chat, messages: [{ role: 'user', content: 'y'.repeat(900_000) }] };
  const costly = await withConfig({ virtual_key: 'up', input_guardrails: [guardrail(10)] }, long);
  expect([costly.status, costly.json.error.code, asked]).toEqual([400, 'invalid_config', 0]);
  expect(costly.json.error.message).toContain('its 10 checks would read');
  expect((await withConfig({ virtual_key: 'up', input_guardrails: [guardrail(10)] })).status).toBe(200);
});

test('every retry and every further target is a request of the limits, and takes what it may take', async () => {
  status = 503;
  const { key } = await gateway.given.apiKey({ rate_limits: [{ type: 'requests', unit: 'rpd', value: 4 }] });
  const retry = { attempts: 5, on_status_codes: [503], use_retry_after_headers: true };
  const first = await withConfig({ ...fallback(2), request_timeout: 5_000 }, chat, key);
  expect([first.status, asked]).toEqual([503, 2]);
  expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('2');
  const second = await withConfig({ virtual_key: 'up', retry }, chat, key);
  // The limit ends the retries; the client gets the provider's last answer.
  expect([second.status, asked]).toEqual([503, 2]);
  expect(second.headers.get('x-gateway-retry-attempt-count')).toBe('-1');
  const third = await withConfig({ virtual_key: 'up' }, chat, key);
  expect([third.status, third.json.error.code, asked]).toEqual([429, 'rate_limited', 0]);
});
