import { describe, expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import { createBreakers } from './breaker.ts';
import { compileCondition, type Facts } from './conditions.ts';
import { type ConfigObject, checkConfig, configSchema } from './config.ts';
import { applyParams, compileParams } from './params.ts';
import { compilePlan, type Step, type TargetStep } from './plan.ts';
import { waitBefore } from './retry.ts';
import { runPlan } from './strategy.ts';

const OPTIONS = ['aws_region', 'azure_resource_name'];
const schema = configSchema(OPTIONS);
const plan = (config: unknown, id = 'test') => compilePlan(checkConfig(config, schema), id, new Set(OPTIONS));

const nothing: Facts = { metadata: null, params: () => null, pathname: '/v1/chat/completions' };

const faultOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof GatewayError) return `${error.status} ${error.code} ${error.message}`;
    throw error;
  }
  throw new Error('no fault');
};

describe('a config is checked with the path of each fault', () => {
  const cases: [string, unknown, string][] = [
    ['a list', [], 'config: '],
    ['an unknown member', { virtual_key: 'a', colour: 1 }, 'config.colour: is not known here'],
    ['targets without strategy', { targets: [{ virtual_key: 'a' }] }, 'config.strategy: is missing beside targets'],
    ['a strategy without targets', { strategy: { mode: 'fallback' } }, 'config.targets: is missing'],
    ['no targets', { strategy: { mode: 'fallback' }, targets: [] }, 'config.targets: give at least one'],
    ['an unknown mode', { strategy: { mode: 'random' }, targets: [{}] }, 'config.strategy.mode: give "single"'],
    [
      'a fault two levels down',
      {
        strategy: { mode: 'fallback' },
        targets: [{ strategy: { mode: 'loadbalance' }, targets: [{ virtual_key: 'a', weight: -1 }] }],
      },
      'config.targets[0].targets[0].weight: give 0 or more',
    ],
    ['too many attempts', { retry: { attempts: 6 } }, 'config.retry.attempts: give at most 5'],
    ['a cache that is too short', { cache: { mode: 'simple', max_age: 59 } }, 'config.cache.max_age: give at least 60'],
    ['a semantic cache', { cache: { mode: 'semantic' } }, 'config.cache.mode: give "simple"'],
    [
      'a stored key with a host',
      { virtual_key: 'a', custom_host: 'https://b' },
      'config.custom_host: cannot stand beside',
    ],
    ['a host without provider', { custom_host: 'https://b' }, 'config.custom_host: needs provider'],
    [
      'a condition without target',
      {
        strategy: { mode: 'conditional', conditions: [{ query: { 'metadata.a': 'b' }, then: 'x' }], default: 'y' },
        targets: [{ name: 'y', virtual_key: 'a' }],
      },
      'config.strategy.conditions[0].then: names no target; the targets are named y',
    ],
    [
      'a condition without default',
      {
        strategy: { mode: 'conditional', conditions: [{ query: { 'metadata.a': 'b' }, then: 'y' }] },
        targets: [{ name: 'y', virtual_key: 'a' }],
      },
      'config.strategy.default: is missing',
    ],
    [
      'weights that are all 0',
      { strategy: { mode: 'loadbalance' }, targets: [{ weight: 0 }] },
      'config.targets: all have weight 0',
    ],
    ['a path that is none', { drop_params: ['a..b'] }, 'config.drop_params[0]: give a path'],
    [
      'statuses that are none',
      { strategy: { mode: 'fallback', on_status_codes: [9] }, targets: [{}] },
      'config.strategy.on_status_codes: give the statuses of failures',
    ],
    [
      'a gateway header to forward',
      { forward_headers: ['X-Gateway-Api-Key'] },
      'config.forward_headers[0]: headers of the gateway',
    ],
    [
      'a breaker without threshold',
      { strategy: { mode: 'fallback', cb_config: {} }, targets: [{}] },
      'config.strategy.cb_config.failure_threshold: give',
    ],
  ];
  test.each(cases)('%s', (_, config, fault) => {
    expect(faultOf(() => plan(config))).toContain(`400 invalid_config ${fault}`);
  });

  test('all faults are named at once', () => {
    expect(faultOf(() => plan({ colour: 1, retry: { attempts: 9 } }))).toMatch(
      /retry\.attempts.*colour|colour.*retry\.attempts/,
    );
  });

  test('targets beyond the caps and nesting beyond the stack are refused', () => {
    const many = (count: number) => ({
      strategy: { mode: 'fallback' },
      targets: Array.from({ length: count }, () => ({ virtual_key: 'a' })),
    });
    plan(many(100));
    expect(faultOf(() => plan(many(101)))).toContain('config.targets: holds 101 targets; at most 100');
    expect(faultOf(() => plan({ strategy: { mode: 'fallback' }, targets: [many(51)] }))).toContain(
      'config.targets[0]: holds 51',
    );
    let deep: unknown = { virtual_key: 'a' };
    for (let level = 0; level < 100_000; level++) deep = { strategy: { mode: 'single' }, targets: [deep] };
    expect(faultOf(() => plan(deep))).toContain('nested deeper than 8');
  });
});

const targetsOf = (step: Step): TargetStep[] =>
  step.kind === 'target'
    ? [step]
    : step.kind === 'conditional'
      ? [...step.branches.flatMap(({ step: each }) => targetsOf(each)), ...targetsOf(step.otherwise)]
      : step.steps.flatMap(targetsOf);

describe('a target inherits', () => {
  const [first, second, third] = targetsOf(
    plan({
      strategy: { mode: 'fallback' },
      retry: { attempts: 2 },
      request_timeout: 5_000,
      override_params: { temperature: 0, model: 'a' },
      forward_headers: ['X-One'],
      targets: [
        { virtual_key: 'one' },
        { virtual_key: 'two', retry: { attempts: 0 }, request_timeout: 1, override_params: { model: 'b' } },
        {
          strategy: { mode: 'single' },
          targets: [{ provider: 'bedrock', api_key: 'k', aws_region: 'eu-west-1', resource_name: 'r' }],
        },
      ],
    }).root,
  ) as [TargetStep, TargetStep, TargetStep];

  test('what it does not say itself', () => {
    expect(first.settings).toMatchObject({ retry: { attempts: 2 }, timeoutMs: 5_000, forwardHeaders: ['x-one'] });
    expect(first.settings.params?.overrides).toEqual([
      { name: 'temperature', text: '0' },
      { name: 'model', text: '"a"' },
    ]);
  });
  test('not what it says itself; parameters are merged', () => {
    expect(second.settings).toMatchObject({ retry: { attempts: 0 }, timeoutMs: 1 });
    expect(second.settings.params?.overrides).toEqual([
      { name: 'temperature', text: '0' },
      { name: 'model', text: '"b"' },
    ]);
  });
  test('through a level that only groups, with its path and its options', () => {
    expect(third.path).toBe('config.targets[2].targets[0]');
    expect(third.choice).toMatchObject({
      by: 'provider',
      name: 'bedrock',
      options: { aws_region: 'eu-west-1', azure_resource_name: 'r' },
    });
  });
  test('its provider from above, unless it names its own', () => {
    const [inherits, own] = targetsOf(
      plan({ virtual_key: 'up', strategy: { mode: 'fallback' }, targets: [{}, { provider: 'openai' }] }).root,
    ) as [TargetStep, TargetStep];
    expect(inherits.choice).toEqual({ by: 'virtual-key', slug: 'up' });
    expect(own.choice).toMatchObject({ by: 'provider', name: 'openai' });
  });
  test('a model that it overrides may begin with a slug, or with an @ of its own: who is asked shows which', () => {
    const [only] = targetsOf(plan({ override_params: { model: '@prod/gpt-5' } }).root) as [TargetStep];
    expect(only.choice).toEqual({ by: 'request' });
    const { params } = only.settings;
    expect(params?.overrides).toEqual([{ name: 'model', text: '"@prod/gpt-5"' }]);
    expect(params?.slugged?.slug).toBe('prod');
    expect(params?.slugged?.plain.overrides).toEqual([{ name: 'model', text: '"gpt-5"' }]);
  });
});

/** Runs a plan against targets that answer with fixed statuses; an Error is thrown. Answers who was asked. */
async function run(
  config: unknown,
  answers: Record<string, number | Error>,
  options: Partial<{
    facts: Facts;
    breakers: ReturnType<typeof createBreakers>;
    random: () => number;
    isAborted: () => boolean;
    now: () => number;
  }> = {},
) {
  const now = options.now ?? (() => 0);
  const asked: string[] = [];
  const discarded: string[] = [];
  const result = await runPlan(plan(config), {
    attempt: async ({ choice }) => {
      const name = choice.by === 'virtual-key' ? choice.slug : choice.by;
      asked.push(name);
      const answer = answers[name] ?? 200;
      if (answer instanceof Error) throw answer;
      return { status: answer, name, discard: () => discarded.push(name) };
    },
    breakers: options.breakers ?? createBreakers({ now }),
    facts: options.facts ?? nothing,
    now,
    random: options.random ?? (() => 0),
    statusOf: (error) => (error instanceof GatewayError && !options.isAborted?.() ? error.status : null),
  }).catch((error: Error) => ({ status: 0, name: error.message }));
  return { asked, discarded, status: result.status, name: result.name };
}

const vk = (slug: string, more: object = {}) => ({ virtual_key: slug, ...more });
const away = new GatewayError('upstream_unreachable', ['host', 'why']);

describe('fallback', () => {
  const config = (more: object = {}) => ({
    strategy: { mode: 'fallback', ...more },
    targets: [vk('a'), vk('b'), vk('c')],
  });

  test.each([
    ['stays with the first that answers', {}, {}, ['a'], 200],
    ['goes on after any status that is not 2xx', {}, { a: 404, b: 500 }, ['a', 'b', 'c'], 200],
    ['answers with the last failure', {}, { a: 500, b: 500, c: 429 }, ['a', 'b', 'c'], 429],
    ['goes on only after the given statuses', { on_status_codes: [429] }, { a: 429, b: 500 }, ['a', 'b'], 500],
    ['goes on after a connection that failed', {}, { a: away }, ['a', 'b'], 200],
    [
      'does not go on after a connection that failed when 502 is not listed',
      { on_status_codes: [429] },
      { a: away },
      ['a'],
      0,
    ],
    ['may go on after 246', { on_status_codes: [246] }, { a: 246 }, ['a', 'b'], 200],
  ] as [string, object, Record<string, number | Error>, string[], number][])(
    '%s',
    async (_, more, answers, asked, status) => {
      expect(await run(config(more), answers)).toMatchObject({ asked, status });
    },
  );

  test('lets go of the answers it does not use', async () => {
    expect((await run(config(), { a: 500, b: 503 })).discarded).toEqual(['a', 'b']);
  });
  test('does not ask the next one for a client that has left', async () => {
    expect((await run(config(), { a: away }, { isAborted: () => true })).asked).toEqual(['a']);
  });
  test('does not hide a fault of ours', async () => {
    expect(await run(config(), { a: new TypeError('bug') })).toMatchObject({ asked: ['a'], name: 'bug' });
  });
});

describe('loadbalance', () => {
  const config = {
    strategy: { mode: 'loadbalance' },
    targets: [vk('a', { weight: 3 }), vk('b'), vk('c', { weight: 0 })],
  };

  test.each([
    [0, 'a'],
    [0.74, 'a'],
    [0.76, 'b'],
    [0.999999, 'b'],
  ])('at %p it asks %p', async (point, name) => {
    expect((await run(config, {}, { random: () => point })).asked).toEqual([name]);
  });

  test('a sticky one keeps the same values on the same target for a time', async () => {
    const sticky = {
      strategy: { mode: 'loadbalance', sticky: { hash_fields: ['metadata.user'], ttl: 60 } },
      targets: [vk('a'), vk('b'), vk('c')],
    };
    const asks = async (user: string, at: number) =>
      (await run(sticky, {}, { facts: { ...nothing, metadata: { user } }, now: () => at })).asked[0]!;
    const users = Array.from({ length: 60 }, (_, index) => `user-${index}`);
    const at0 = await Promise.all(users.map((user) => asks(user, 0)));
    expect(new Set(at0)).toEqual(new Set(['a', 'b', 'c']));
    const again = await Promise.all(users.map((user) => asks(user, 1)));
    expect(again.filter((name, index) => name !== at0[index]).length).toBeLessThan(3);
    const later = await Promise.all(users.map((user) => asks(user, 60_000)));
    expect(later).not.toEqual(at0);
  });
});

describe('conditional', () => {
  const config = {
    strategy: {
      mode: 'conditional',
      conditions: [
        { query: { 'metadata.tier': { $eq: 'paid' } }, then: 'good' },
        {
          query: { $or: [{ 'params.max_tokens': { $gt: 1000 } }, { 'params.model': { $regex: '^o\\d' } }] },
          then: 'big',
        },
      ],
      default: 'rest',
    },
    targets: [vk('a', { name: 'good' }), vk('b', { name: 'big' }), vk('c', { name: 'rest' })],
  };
  test.each([
    ['a', { tier: 'paid' }, { max_tokens: 5_000 }],
    ['b', { tier: 'free' }, { max_tokens: 5_000 }],
    ['b', null, { model: 'o3-mini' }],
    ['c', null, { model: 'gpt' }],
    ['c', null, null],
  ] as [string, Record<string, string> | null, Record<string, unknown> | null][])(
    'asks %p',
    async (name, metadata, params) => {
      const facts = { ...nothing, metadata, params: () => params };
      expect((await run(config, {}, { facts })).asked).toEqual([name]);
    },
  );

  const holds = (query: unknown, value: unknown) =>
    compileCondition({ 'params.x': query }, 'q')({ ...nothing, params: () => ({ x: value }) });
  test.each([
    [{ $eq: 5 }, '5', true],
    [{ $ne: 'a' }, 'b', true],
    [{ $ne: 'a' }, 'a', false],
    [{ $in: ['a', 'b'] }, 'b', true],
    [{ $nin: ['a', 'b'] }, 'b', false],
    [{ $gt: 5 }, 6, true],
    [{ $gt: 5 }, '10', true],
    [{ $gte: 5, $lt: 7 }, 5, true],
    [{ $gte: 5, $lt: 7 }, 7, false],
    [{ $lte: 'b' }, 'a', true],
    [{ $regex: '(a+)+$' }, `${'a'.repeat(50_000)}b`, false],
    ['plain', 'plain', true],
    [true, 'true', true],
  ] as [unknown, unknown, boolean][])('%j on %p is %p', (query, value, verdict) => {
    expect(holds(query, value)).toBe(verdict);
  });
  test('nothing holds for a value that is missing', () => {
    for (const query of [{ $ne: 'a' }, { $nin: ['a'] }, { $lt: 1 }, { $regex: '.*' }])
      expect(holds(query, undefined)).toBe(false);
  });
  test.each([
    [{}, 'config.q: give an object'],
    [{ 'headers.x': 'a' }, 'config.q.headers.x: give metadata.<key>'],
    [{ 'params.x': { $like: 'a' } }, 'config.q.params.x.$like: is no operator'],
    [{ 'params.x': { $regex: '(' } }, 'config.q.params.x.$regex: is not a pattern'],
    [{ 'params.x': { $in: 'a' } }, 'config.q.params.x.$in: give a list'],
    [{ $and: [] }, 'config.q.$and: give a list'],
  ])('%j is refused', (query, fault) => {
    expect(faultOf(() => compileCondition(query, 'config.q'))).toContain(fault);
  });
});

describe('a circuit breaker', () => {
  const config = (more: object) => ({
    strategy: { mode: 'fallback', cb_config: { cooldown_interval: 30_000, ...more } },
    targets: [vk('a'), vk('b')],
  });

  test('leaves a target alone that failed too often, until the cooldown is over', async () => {
    let now = 0;
    const breakers = createBreakers({ now: () => now });
    const call = () => run(config({ failure_threshold: 2 }), { a: 503 }, { breakers, now: () => now });
    expect((await call()).asked).toEqual(['a', 'b']);
    expect((await call()).asked).toEqual(['a', 'b']);
    expect((await call()).asked).toEqual(['b']);
    now = 30_001;
    expect((await call()).asked).toEqual(['a', 'b']);
  });
  test('counts a share of the calls only after the minimum', async () => {
    const breakers = createBreakers({ now: () => 0 });
    const call = (status: number) =>
      run(config({ failure_threshold_percentage: 50, minimum_requests: 4 }), { a: status }, { breakers });
    for (const status of [500, 500, 200]) expect((await call(status)).asked[0]).toBe('a');
    expect((await call(200)).asked[0]).toBe('a');
    expect((await call(200)).asked[0]).toBe('b');
  });
  test('is passed over when every target is broken', async () => {
    const breakers = createBreakers({ now: () => 0 });
    const call = () => run(config({ failure_threshold: 1 }), { a: 500, b: 500 }, { breakers });
    await call();
    expect((await call()).asked).toEqual(['a', 'b']);
  });
  test('does not count what a client broke off', async () => {
    const breakers = createBreakers({ now: () => 0 });
    await run(config({ failure_threshold: 1 }), { a: away }, { breakers, isAborted: () => true });
    expect((await run(config({ failure_threshold: 1 }), {}, { breakers })).asked).toEqual(['a']);
  });
});

describe('the wait before a retry', () => {
  const retry = { attempts: 3, statuses: new Set([429, 503]), usesRetryAfter: true };
  const failed = { attempt: 1, status: 503, headers: null, waitedMs: 0, now: Date.parse('2026-01-01T00:00:00Z') };
  test.each([
    ['doubles', {}, 1_000],
    ['doubles again', { attempt: 3 }, 4_000],
    ['ends with the attempts', { attempt: 4 }, null],
    ['is not for other statuses', { status: 500 }, null],
    ['is what the provider asks for, in seconds', { headers: { 'retry-after': '7' } }, 7_000],
    ['in milliseconds', { headers: { 'retry-after-ms': '70', 'retry-after': '7' } }, 70],
    ['as a date', { headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' } }, 5_000],
    ['is none when the provider asks for more than a minute', { headers: { 'retry-after': '61' } }, null],
    ['is none when all waits would take more than a minute', { waitedMs: 59_500 }, null],
  ] as [string, object, number | null][])('%s', (_, more, wait) => {
    expect(waitBefore(retry, { ...failed, ...more })).toBe(wait);
  });
});

describe('parameters', () => {
  const edit = (config: ConfigObject, body: string) =>
    new TextDecoder().decode(applyParams(Buffer.from(body), compileParams(config)!));
  test.each([
    ['a default is set where nothing stands', { default_params: { a: 1 } }, '{"b":2}', '{"b":2,"a":1}'],
    ['a default gives way', { default_params: { a: 1 } }, '{"a":2}', '{"a":2}'],
    ['an override replaces', { override_params: { a: { b: 1 } } }, '{ "a" : 2 , "c":3}', '{ "a" : {"b":1} , "c":3}'],
    ['an override leaves one of several', { override_params: { a: 1 } }, '{"a":2,"b":3,"a":4}', '{"b":3,"a":1}'],
    ['into an empty object', { override_params: { a: 1 } }, '{ }', '{ "a":1}'],
    ['a prefix goes', { strip_model_prefix: 'a/' }, '{"model" : "a/b" ,"x":1}', '{"model" : "b" ,"x":1}'],
    ['no other name changes', { strip_model_prefix: 'a/' }, '{"model":"b/a/"}', '{"model":"b/a/"}'],
    ['a name is never empty', { strip_model_prefix: 'a/' }, '{"model":"a/"}', '{"model":"a/"}'],
    ['a member is dropped', { drop_params: ['a'] }, '{"a":2,"b":3}', '{"b":3}'],
    ['the last member is dropped', { drop_params: ['b'] }, '{"a":2 , "b":3 }', '{"a":2  }'],
    ['the only member is dropped', { drop_params: ['a'] }, '{"a":2}', '{}'],
    ['a path is dropped', { drop_params: ['a.b'] }, '{"a":{"b":1,"c":2}}', '{"a":{"c":2}}'],
    ['in every item', { drop_params: ['t[*].x'] }, '{"t":[{"x":1,"y":2},{"x":3}]}', '{"t":[{"y":2},{}]}'],
    ['in one item', { drop_params: ['t[1].x'] }, '{"t":[{"x":1},{"x":3}]}', '{"t":[{"x":1},{}]}'],
    [
      'a path that is not there',
      { drop_params: ['a.b.c', 'z'] },
      '{"a":12345678901234567890}',
      '{"a":12345678901234567890}',
    ],
    [
      'default, override, drop, in this order',
      { default_params: { a: 1 }, override_params: { a: 2 }, drop_params: ['a'] },
      '{}',
      '{}',
    ],
  ])('%s', (_, config, body, edited) => {
    expect(edit(config, body)).toBe(edited);
  });
  test('big integers elsewhere keep their digits', () => {
    expect(edit({ override_params: { a: 1 } }, '{"big":12345678901234567890,"a":0}')).toBe(
      '{"big":12345678901234567890,"a":1}',
    );
  });
});
