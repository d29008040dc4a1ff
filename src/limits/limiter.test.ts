import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GatewayError } from '../core/errors.ts';
import { compileRateLimit, compileUsageLimit, type Limit, type LimitOwner } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import { openSqlite, type Store } from '../storage/store.ts';
import type { Alarm } from './alarms.ts';
import type { Ask, Estimate } from './ask.ts';
import type { Counters } from './counters/counters.ts';
import { openJournalCounters } from './journal/journal-counters.ts';
import { type Admission, createLimiter, HOLD_MS, type Limiter } from './limiter.ts';
import { durationText } from './refusal.ts';

const NOON = Date.parse('2026-11-15T12:00:00Z');
const owner: LimitOwner = { kind: 'api-key', id: 'key-1', name: 'chat app' };
const who = { organisationId: 'organisation', workspaceId: 'workspace', keyId: 'key-1' } as Principal;
const estimate: Estimate = { inputTokens: 100, outputTokens: 400, cost: 2_000_000 };
const ask = (more: Partial<Ask> = {}): Ask => ({
  who,
  virtualKey: 'openai-main',
  provider: 'openai',
  model: 'gpt-5',
  estimate: () => estimate,
  ...more,
});
const rate = (type: 'requests' | 'tokens', value: number, unit: 'rpm' | 'rpd' = 'rpm') =>
  compileRateLimit(owner, { type, unit, value });
const budget = (credit_limit: number, more: object = {}) =>
  compileUsageLimit(owner, { type: 'cost', credit_limit, ...more }, NOON);
const usage = { usage: { inputTokens: 90, outputTokens: 60 }, cost: 1_500_000, model: 'gpt-5-2026-01-01' };
const noUsage = { usage: null, cost: null, model: null };

let now = NOON;
let made = 0;
let folder: string;
let store: Store;
let counters: Counters;
let limiter: Limiter;
let alarms: Alarm[];
beforeEach(async () => {
  now = NOON + 15_000;
  alarms = [];
  folder = mkdtempSync(join(tmpdir(), 'gateway-limiter-'));
  store = openSqlite(':memory:');
  await store.migrate();
  counters = await openJournalCounters({ store, folder, now: () => now });
  limiter = createLimiter({
    counters,
    now: () => now,
    newId: () => `call-${++made}`,
    alarm: (alarm) => alarms.push(alarm),
  });
});
afterEach(async () => {
  limiter.close();
  await counters.close();
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const reserve = (limits: readonly Limit[], more: Partial<Ask> = {}) => limiter.reserve(limits, ask(more));
const run = async (
  limits: readonly Limit[],
  outcome: Parameters<Admission['settle']>[0] = usage,
  more: Partial<Ask> = {},
) => {
  const admission = await reserve(limits, more);
  admission.sent();
  admission.settle(outcome);
  return admission;
};
const refusal = async (limits: readonly Limit[], more: Partial<Ask> = {}): Promise<GatewayError> => {
  try {
    await reserve(limits, more);
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error('The call was admitted.');
};
const level = async (limit: Limit) => (await limiter.levels([limit])).get(limit.counter) ?? { used: 0, held: 0 };
const row = async ({ id }: Admission) => {
  await counters.flush();
  return store.db.selectFrom('usage_ledger').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
};

describe('a call that fits', () => {
  test('holds what it may take', async () => {
    const [requests, tokens] = [rate('requests', 10), rate('tokens', 10_000)];
    await reserve([requests, tokens]);

    expect(await level(requests)).toEqual({ used: 0, held: 1 });
    expect(await level(tokens)).toEqual({ used: 0, held: 500 });
  });

  test('says how much of the tightest rates is left', async () => {
    const admission = await reserve([rate('requests', 100), rate('requests', 20, 'rpd'), rate('tokens', 10_000)]);

    expect(admission.headers).toEqual({
      'x-ratelimit-limit-requests': '20',
      'x-ratelimit-remaining-requests': '19',
      'x-ratelimit-reset-requests': '11h59m45s',
      'x-ratelimit-limit-tokens': '10000',
      'x-ratelimit-remaining-tokens': '9500',
      'x-ratelimit-reset-tokens': '45s',
    });
  });

  test('is charged what it took, and the ledger says so', async () => {
    const [requests, tokens, dollars] = [rate('requests', 10), rate('tokens', 10_000), budget(5)];
    const admission = await run([requests, tokens, dollars]);

    expect(await level(requests)).toEqual({ used: 1, held: 0 });
    expect(await level(tokens)).toEqual({ used: 150, held: 0 });
    expect(await level(dollars)).toEqual({ used: 1_500_000, held: 0 });
    expect(await row(admission)).toMatchObject({
      at: now,
      organisation_id: 'organisation',
      workspace_id: 'workspace',
      api_key_id: 'key-1',
      virtual_key: 'openai-main',
      provider: 'openai',
      model: 'gpt-5-2026-01-01',
      input_tokens: 90,
      output_tokens: 60,
      cost: 1_500_000,
      state: 'final',
    });
  });

  test('is estimated only where a limit counts tokens or cost', async () => {
    let estimates = 0;
    const counting = { estimate: () => ({ ...estimate, cost: ++estimates }) };
    await run([], usage, counting);
    await run([rate('requests', 10)], usage, counting);
    expect(estimates).toBe(0);

    await run([rate('requests', 10), budget(5)], usage, counting);
    expect(estimates).toBe(1);
  });

  test('has a row in the ledger without any limit, too', async () => {
    const admission = await run([]);

    expect(admission.headers).toEqual({});
    expect(await row(admission)).toMatchObject({ state: 'final', charges: '[]', cost: 1_500_000 });
  });

  test('is settled by the first settlement', async () => {
    const tokens = rate('tokens', 10_000);
    const admission = await run([tokens]);
    admission.settle({ ...usage, usage: { totalTokens: 9_000 } });

    expect(await level(tokens)).toEqual({ used: 150, held: 0 });
  });

  test('that counts the same limit twice is charged once', async () => {
    const requests = rate('requests', 10);
    await run([requests, requests]);

    expect(await level(requests)).toEqual({ used: 1, held: 0 });
  });

  test('keeps its hold as long as it runs, and no longer', async () => {
    const renewed: string[] = [];
    const spied: Counters = {
      ...counters,
      reserve: (reservation, holdMs) => counters.reserve(reservation, holdMs),
      settle: (settlement) => counters.settle(settlement),
      renew: async (ids) => void renewed.push(...ids),
    };
    let id = 0;
    const own = createLimiter({ counters: spied, now: () => now, newId: () => `running-${++id}`, renewEveryMs: 1 });
    const renewals = async (of: string) => {
      renewed.length = 0;
      const deadline = Date.now() + 60_000;
      while (!renewed.includes(of) && Date.now() < deadline) await Bun.sleep(1);
      return new Set(renewed);
    };
    const [first, second] = await Promise.all([1, 2].map(() => own.reserve([rate('requests', 10)], ask())));

    expect(await renewals('running-2')).toEqual(new Set(['running-1', 'running-2']));
    first!.settle(usage);
    expect(await renewals('running-2')).toEqual(new Set(['running-2']));
    second!.settle(usage);
    own.close();
  });
});

describe('a call that does not fit', () => {
  test('a rate answers 429 with the time to wait', async () => {
    const limit = rate('requests', 1);
    await run([limit]);
    const error = await refusal([limit, rate('tokens', 10_000)]);

    expect(error).toMatchObject({ code: 'rate_limited', status: 429 });
    expect(error.message).toBe(
      'The rate limit of API key "chat app" is 1 requests per minute: it is reached. It starts again at 2026-11-15T12:01:00.000Z.',
    );
    expect(error.headers).toEqual({
      'retry-after': '45',
      'x-ratelimit-limit': '1',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '45',
      'x-ratelimit-limit-requests': '1',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '45s',
      'x-ratelimit-limit-tokens': '10000',
      'x-ratelimit-remaining-tokens': '10000',
      'x-ratelimit-reset-tokens': '45s',
    });
  });

  test('is counted by none of its limits and leaves no row', async () => {
    const [roomy, full] = [rate('tokens', 10_000), rate('requests', 1)];
    await run([full]);
    await refusal([roomy, full]);

    await counters.flush();
    expect(await level(roomy)).toEqual({ used: 0, held: 0 });
    expect(await level(full)).toEqual({ used: 1, held: 0 });
    expect(await store.db.selectFrom('usage_ledger').selectAll().execute()).toHaveLength(1);
  });

  test('is told to wait for the limit that starts again last, and a second at least', async () => {
    const [minute, day] = [rate('requests', 1), rate('requests', 1, 'rpd')];
    await run([minute, day]);
    expect((await refusal([minute, day])).headers['retry-after']).toBe(String(12 * 3_600 - 15));

    now = NOON + 59_999;
    await run([rate('tokens', 600)]);
    expect((await refusal([rate('tokens', 600)])).headers['retry-after']).toBe('1');
  });

  test('passes in the next window', async () => {
    const limit = rate('requests', 1);
    await run([limit]);
    now = NOON + 60_000;

    expect((await reserve([limit])).headers['x-ratelimit-remaining-requests']).toBe('0');
  });

  test('that is larger than the whole limit is told what to change', async () => {
    const error = await refusal([rate('tokens', 300)]);

    expect(error.message).toContain(
      'this call may take 500 tokens, so it never fits; allow less output with max_tokens',
    );
    expect(error.headers['x-should-retry']).toBe('false');
  });

  test('a budget answers 412 and says what is left', async () => {
    const limit = budget(0.003, { periodic_reset: 'monthly' });
    await run([limit]);
    const error = await refusal([limit, rate('tokens', 300)]);

    expect(error).toMatchObject({ code: 'budget_exhausted', status: 412, headers: {} });
    expect(error.message).toBe(
      'The budget of API key "chat app" is $0.003 per month: $0.0015 is left beside calls that still run, and this call may take $0.002. It starts again at 2026-12-01T00:00:00.000Z.',
    );
  });

  test('a budget that is spent for good says who can help', async () => {
    const limit = budget(0.002);
    await run([limit], { ...usage, cost: 2_500_000 });

    expect((await refusal([limit])).message).toBe(
      'The budget of API key "chat app" is $0.002: it is spent. It does not start again by itself; its owner can raise it or reset its usage.',
    );
  });
});

describe('what is counted', () => {
  test('a call that was never sent takes no tokens and no money, and stays a request', async () => {
    const [requests, tokens, dollars] = [rate('requests', 10), rate('tokens', 10_000), budget(5)];
    const admission = await reserve([requests, tokens, dollars]);
    admission.settle(noUsage);

    expect(await level(requests)).toEqual({ used: 1, held: 0 });
    expect(await level(tokens)).toEqual({ used: 0, held: 0 });
    expect(await level(dollars)).toEqual({ used: 0, held: 0 });
    expect(await row(admission)).toMatchObject({ state: 'unsent', input_tokens: 0, output_tokens: 0, cost: 0 });
  });

  test('a call without reported usage takes its estimate, and the row says so', async () => {
    const [tokens, dollars] = [rate('tokens', 10_000), budget(5)];
    const admission = await run([tokens, dollars], noUsage);

    expect(await level(tokens)).toEqual({ used: 500, held: 0 });
    expect(await level(dollars)).toEqual({ used: 2_000_000, held: 0 });
    expect(await row(admission)).toMatchObject({
      state: 'estimated',
      model: 'gpt-5',
      input_tokens: 100,
      output_tokens: 400,
      cost: 2_000_000,
    });
  });

  test('without usage and without an estimate nothing is made up', async () => {
    const admission = await run([rate('requests', 10)], noUsage);

    expect(await row(admission)).toMatchObject({
      state: 'estimated',
      input_tokens: null,
      output_tokens: null,
      cost: null,
    });
  });

  test('a call whose price is unknown is refused by a budget in dollars', async () => {
    const unpriced = { estimate: () => ({ ...estimate, cost: null }) };
    const dollars = budget(5);
    expect(await refusal([rate('tokens', 10_000), dollars], unpriced)).toMatchObject({
      code: 'price_unknown',
      status: 412,
    });
    expect(await level(dollars)).toEqual({ used: 0, held: 0 });
  });

  test('where the budget allows it, it holds no money, costs null and is counted, until the budget is spent', async () => {
    const dollars = budget(0.002, { unpriced: 'allow' });
    const unpriced = { estimate: () => ({ ...estimate, cost: null }) };
    const first = await reserve([dollars], unpriced);
    expect(await level(dollars)).toEqual({ used: 0, held: 0 });
    first.sent();
    first.settle({ ...usage, cost: null });
    expect(await row(first)).toMatchObject({ cost: null, input_tokens: 90, state: 'final' });
    expect(await level(dollars.unpriced!)).toEqual({ used: 1, held: 0 });

    await run([dollars], { ...usage, cost: 2_000_000 });
    expect(await refusal([dollars], unpriced)).toMatchObject({ code: 'budget_exhausted' });
  });

  test('a price that is lost on the way is replaced by the estimate', async () => {
    const dollars = budget(5);
    const admission = await run([dollars], { ...usage, cost: null });

    expect(await level(dollars)).toEqual({ used: 2_000_000, held: 0 });
    expect(await row(admission)).toMatchObject({ cost: 2_000_000, state: 'estimated' });
  });

  test('odd numbers become whole ones', async () => {
    const [tokens, dollars] = [rate('tokens', 10_000), budget(5)];
    const odd = { estimate: () => ({ inputTokens: 1.4, outputTokens: Number.NaN, cost: 7.5 }) };
    const admission = await run(
      [tokens, dollars],
      { usage: { inputTokens: 2.6, outputTokens: -5 }, cost: 3.2, model: null },
      odd,
    );

    expect(await level(tokens)).toEqual({ used: 3, held: 0 });
    expect(await row(admission)).toMatchObject({ input_tokens: 3, output_tokens: null, cost: 3 });
  });

  test('a call that is never settled counts at its estimate when its hold ends', async () => {
    const tokens = rate('tokens', 10_000, 'rpd');
    const admission = await reserve([tokens]);
    now += HOLD_MS + 1;

    expect(await level(tokens)).toEqual({ used: 500, held: 0 });
    expect(await row(admission)).toMatchObject({ state: 'estimated', settled: 0 });
  });

  test('a reset starts the open window again', async () => {
    const dollars = budget(0.002);
    await run([dollars], { ...usage, cost: 2_000_000 });
    await limiter.restarting((restart) => store.transaction((db) => restart(db, [dollars])));

    expect(await level(dollars)).toEqual({ used: 0, held: 0 });
    expect(await reserve([dollars])).toBeDefined();
  });
});

describe('alarms', () => {
  const told = () => alarms.map(({ crossed, used }) => `${crossed} ${used}`);

  test('the threshold and the budget are told once each, when they are crossed', async () => {
    const dollars = budget(0.01, { alert_threshold: 0.003 });
    await run([dollars]);
    expect(told()).toEqual([]);
    await run([dollars]);
    expect(told()).toEqual(['alert 3000000']);
    await run([dollars]);
    await run([dollars], { ...usage, cost: 9_000_000 });
    expect(told()).toEqual(['alert 3000000', 'max 13500000']);
    await refusal([dollars]);
    expect(alarms).toHaveLength(2);
    expect(alarms[0]).toMatchObject({ limit: dollars, at: now });
  });

  test('calls that run beside each other add up', async () => {
    const dollars = budget(0.01, { alert_threshold: 0.003 });
    const calls = [await reserve([dollars]), await reserve([dollars])];
    for (const call of calls) call.sent();
    for (const call of calls) call.settle(usage);

    expect(told()).toEqual(['alert 3000000']);
  });

  test('every window and every reset starts them again', async () => {
    const dollars = budget(0.01, { alert_threshold: 0.001, periodic_reset: 'monthly' });
    await run([dollars]);
    await limiter.restarting((restart) => store.transaction((db) => restart(db, [dollars])));
    await run([dollars]);
    now = Date.parse('2026-12-02T00:00:00Z');
    await run([dollars]);

    expect(told()).toEqual(['alert 1500000', 'alert 1500000', 'alert 1500000']);
  });

  test('what other nodes spent is noticed at the next call', async () => {
    const dollars = budget(0.01, { alert_threshold: 0.003 });
    await run([dollars], { ...usage, cost: 4_000_000 });
    const told: Alarm[] = [];
    const restarted = createLimiter({ counters, now: () => now, newId: () => 'next', alarm: (one) => told.push(one) });
    await restarted.reserve([dollars], ask());
    restarted.close();

    expect(told).toMatchObject([{ crossed: 'alert', used: 4_000_000 }]);
  });

  test('rates have none', async () => {
    await run([rate('requests', 1)]);

    expect(alarms).toEqual([]);
  });
});

test('durations are written as OpenAI writes them', () => {
  const written = [0, 12, 999.2, 1_000, 1_540, 59_900, 60_000, 61_000, 360_000, 86_341_000].map(durationText);

  expect(written).toEqual(['0ms', '12ms', '1000ms', '1s', '1.6s', '59.9s', '1m0s', '1m1s', '6m0s', '23h59m1s']);
});
