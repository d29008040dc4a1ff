import { afterAll, beforeAll, expect, test } from 'bun:test';
import * as z from 'zod';
import { GatewayError } from '../core/errors.ts';
import { builtInPrices } from '../core/prices.ts';
import type { Call } from '../http/route.ts';
import { openSqlite } from '../storage/store.ts';
import { termsIn } from './filter/language.ts';
import { timeOf } from './log-filters.ts';
import type { LogQuery, LogReach } from './log-query.ts';
import { cursorOf } from './log-query.ts';
import { createMetrics } from './metrics/metrics.ts';
import { telemetryRoutes } from './routes.ts';

const metrics = createMetrics({ version: '0', startedAt: 0, mostCallers: 0 });
const OTHER = '019a0000-0000-7000-8000-000000000000';

const store = openSqlite(':memory:');
beforeAll(() => store.migrate());
afterAll(() => store.close());

function startRoutes({ isWide = false, found = null as string | null } = {}) {
  const asked: { query?: LogQuery; reach?: LogReach } = {};
  const routes = telemetryRoutes({
    metrics,
    prices: builtInPrices,
    store,
    searched: [],
    log: {
      open: () => {
        throw new Error('not used');
      },
      addSpan: null,
      list: async (query) => {
        asked.query = query;
        return '{"object":"list","data":[],"has_more":false}';
      },
      read: async (reach) => {
        asked.reach = reach;
        return found;
      },
      erase: async () => 0,
      recount: async () => ({ countedFrom: null, oldest: null }),
      pack: async () => null,
      shipped: async () => {},
      analyse: async () => '{}',
      sums: async () => [],
      sessions: async () => '{}',
      session: async () => '[]',
      flush: async () => {},
      close: async () => {},
    },
  });
  const principal = {
    organisationId: 'org',
    workspaceId: 'mine',
    scopes: new Set(isWide ? ['organisation.manage', 'logs.list'] : ['logs.list']),
  };
  const call = async (
    path: string,
    given: { query?: Record<string, string>; params?: Record<string, string> } = {},
  ) => {
    const route = routes.find((each) => each.path === path)!;
    const query = route.query?.().parse(given.query ?? {});
    return (await route.handle({
      principal,
      query,
      headers: {},
      params: given.params ?? {},
    } as unknown as Call)) as Response;
  };
  return { asked, routes, call };
}

const issuesOf = (query: Record<string, string>) => {
  const result = startRoutes().routes[0]!.query!().safeParse(query);
  return result.success ? [] : result.error.issues;
};

test('a listing asks for the caller’s own workspace, newest hundred', async () => {
  const { asked, call } = startRoutes();
  const reply = await call('/v1/logs');
  expect(reply.headers.get('content-type')).toBe('application/json');
  expect(await reply.json()).toEqual({ object: 'list', data: [], has_more: false });
  expect(asked.query).toMatchObject({ organisationId: 'org', workspaceId: 'mine', limit: 100 });
});

test('every filter reaches the store', async () => {
  const { asked, call } = startRoutes({ isWide: true });
  const after = { createdAt: 5, id: 'x' };
  await call('/v1/logs', {
    query: {
      workspace_id: OTHER,
      filter: 'cost:>0.1',
      start_time: '2026-01-02T03:04:05Z',
      end_time: '1767323046',
      status: '429',
      failed_by: 'provider',
      provider: 'p',
      model: 'm',
      virtual_key: 'v',
      api_key_id: 'k',
      user_id: 'u',
      trace_id: 't',
      session_id: 's',
      path: '/v1/chat',
      is_stream: 'false',
      'metadata.team': 'blue',
      limit: '7',
      after: cursorOf(after),
    },
  });
  expect(asked.query).toEqual({
    organisationId: 'org',
    workspaceId: OTHER,
    startTime: Date.UTC(2026, 0, 2, 3, 4, 5),
    endTime: 1_767_323_046_000,
    status: 429,
    failedBy: 'provider',
    provider: 'p',
    model: 'm',
    virtualKey: 'v',
    apiKeyId: 'k',
    userId: 'u',
    traceId: 't',
    sessionId: 's',
    terms: termsIn('cost:>0.1'),
    pathPrefix: '/v1/chat',
    isStream: false,
    metadata: { team: 'blue' },
    limit: 7,
    after,
  });
});

for (const [text, moment] of [
  ['2026-01-02', Date.UTC(2026, 0, 2)],
  ['2026-01-02T03:04:05', Date.UTC(2026, 0, 2, 3, 4, 5)],
  ['2026-01-02T03:04:05.678Z', Date.UTC(2026, 0, 2, 3, 4, 5, 678)],
  ['2026-01-02T03:04+01:00', Date.UTC(2026, 0, 2, 2, 4)],
  ['1767323046', 1_767_323_046_000],
  ['1767323046789', 1_767_323_046_789],
] as const) {
  test(`${text} is a moment, in UTC unless it names a zone`, () => expect(timeOf(text)).toBe(moment));
}

for (const [name, value] of [
  ['limit', '0'],
  ['limit', '1001'],
  ['limit', 'ten'],
  ['limit', ''],
  ['limit', '1.5'],
  ['status', '42'],
  ['is_stream', 'yes'],
  ['failed_by', 'nobody'],
  ['start_time', 'yesterday'],
  ['start_time', '5'],
  ['after', 'not-a-cursor'],
  ['model', ''],
  ['model', 'a\0b'],
  ['metadata.x', 'a\0b'],
] as const) {
  test(`${name}=${JSON.stringify(value)} is refused and named`, () => {
    expect(issuesOf({ [name]: value })[0]!.path).toEqual([name]);
  });
}

for (const name of ['colour', 'metadata', 'metadata.', 'toString', 'status_code']) {
  test(`the unknown parameter ${name} is refused`, () => {
    expect(issuesOf({ [name]: 'x' })[0]).toMatchObject({ code: 'unrecognized_keys', keys: [name] });
  });
}

test('a key of one workspace cannot ask about another', async () => {
  const { call } = startRoutes();
  const refusal = await call('/v1/logs', { query: { workspace_id: OTHER } }).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(GatewayError);
  expect((refusal as GatewayError).code).toBe('workspace_not_found');
});

test('a missing entry is log_not_found', async () => {
  const { asked, call } = startRoutes();
  const refusal = await call('/v1/logs/:id', { params: { id: 'gone' } }).catch((error: unknown) => error);
  expect((refusal as GatewayError).code).toBe('log_not_found');
  expect((refusal as GatewayError).message).toContain('gone');
  expect(asked.reach).toEqual({ organisationId: 'org', workspaceId: 'mine' });
});

test('an entry is sent as the store gave it', async () => {
  const { call } = startRoutes({ found: '{"id":"x"}' });
  expect(await (await call('/v1/logs/:id', { params: { id: 'x' } })).text()).toBe('{"id":"x"}');
});

test('metrics are Prometheus text', async () => {
  const reply = await startRoutes().call('/metrics');
  expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await reply.text()).toContain('# TYPE gateway_requests_total counter');
});

test('every schema can be documented', () => {
  for (const { query, response } of startRoutes().routes) {
    if (query) {
      const { properties } = z.toJSONSchema(query(), { io: 'input' }) as { properties: object };
      expect(Object.keys(properties)).toContain('workspace_id');
    }
    if (response) z.toJSONSchema(response());
  }
});
