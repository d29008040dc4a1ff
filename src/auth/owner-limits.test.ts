import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { Budgets, Level } from '../core/budgets.ts';
import { createHealth } from '../core/health.ts';
import type { Limit } from '../core/limits.ts';
import { NANO_DOLLARS } from '../core/money.ts';
import { noSecrets } from '../core/secret-reference.ts';
import { createSealer } from '../crypto/seal.ts';
import { type Changes, createChanges } from '../storage/changes.ts';
import { openSqlite, type Store } from '../storage/store.ts';
import { createApiKeys } from './api-keys.ts';
import { createAuthenticator } from './authenticate.ts';
import { bootstrap } from './bootstrap.ts';
import { createVirtualKeys } from './virtual-keys.ts';
import { createWorkspaces } from './workspaces.ts';

const NOW = Date.parse('2026-11-15T12:00:00Z');
const ADMIN_KEY = 'gw-admin-key-for-tests-only';
const RATE = { type: 'requests', unit: 'rpm', value: 5 } as const;
const COST = { type: 'cost', credit_limit: 2, periodic_reset: 'monthly' } as const;

let store: Store;
let changes: Changes;
let levels: Map<string, Level>;
let asked: number;
const budgets: Budgets = {
  levels: async () => {
    asked++;
    return levels;
  },
  restarting: (change) =>
    change(async (_, limits) => {
      for (const { counter } of limits) levels.delete(counter);
    }),
};
const sealer = createSealer(Buffer.alloc(32, 1));
const now = () => NOW;
beforeEach(async () => {
  store = openSqlite(':memory:');
  levels = new Map();
  asked = 0;
  await store.migrate();
  changes = createChanges({ store, databaseUrl: null, health: createHealth({ now: Date.now }) });
  await bootstrap(store, sealer, { adminKey: ADMIN_KEY, now: NOW });
});
afterEach(async () => {
  await changes.close();
  await store.close();
});

const authenticator = () => createAuthenticator({ store, changes, now });
const spend = (limit: Limit | undefined, dollars: number) =>
  levels.set(limit!.counter, { used: dollars * NANO_DOLLARS, held: 0 });

test('a caller carries the limits of its key and of its workspace', async () => {
  const admin = await authenticator().authenticate(ADMIN_KEY);
  expect(admin.limits).toEqual([]);
  const workspaces = createWorkspaces({ store, end: async () => {}, budgets });
  const workspace = await workspaces.create(admin, { name: 'Team', rate_limits: [RATE] }, NOW);
  const apiKeys = createApiKeys({ store, budgets });
  const { id, key } = await apiKeys.create(admin, { name: 'app', workspace_id: workspace.id, usage_limits: COST }, NOW);

  const { limits } = await authenticator().authenticate(key);

  expect(limits.map(({ counter, text }) => [counter, text])).toEqual([
    [`api-key/${id}/cost/monthly`, '$2 per month'],
    [`workspace/${workspace.id}/requests/rpm`, '5 requests per minute'],
  ]);
  expect(limits.map(({ owner }) => owner.name)).toEqual(['app', 'team']);
});

test('a key whose budget is spent is exhausted until it is reset, and an expired one is expired', async () => {
  const apiKeys = createApiKeys({ store, budgets });
  const admin = await authenticator().authenticate(ADMIN_KEY);
  const { id, key } = await apiKeys.create(admin, { name: 'app', usage_limits: [COST], rate_limits: [RATE] }, NOW);
  const [, budget] = (await authenticator().authenticate(key)).limits;
  const read = () => apiKeys.read(admin, id, NOW);

  spend(budget, 1.5);
  expect(await read()).toMatchObject({
    status: 'active',
    usage: [{ type: 'cost', credit_limit: 2, current_usage: 1.5, resets_at: '2026-12-01T00:00:00.000Z' }],
  });
  spend(budget, 2);
  expect((await read()).status).toBe('exhausted');
  expect((await apiKeys.update(admin, id, { usage_limits: [{ ...COST, credit_limit: 3 }] }, NOW)).status).toBe(
    'active',
  );
  expect((await apiKeys.update(admin, id, { usage_limits: [COST] }, NOW)).status).toBe('exhausted');
  expect(await apiKeys.update(admin, id, { reset_usage: true }, NOW)).toMatchObject({
    status: 'active',
    usage: [{ current_usage: 0 }],
  });
  spend(budget, 2);
  const ended = await apiKeys.update(admin, id, { expires_at: new Date(NOW - 1).toISOString() }, NOW);
  expect(ended.status).toBe('expired');
});

test('a virtual key whose budget is spent is exhausted, and its credential carries limits and prices', async () => {
  const virtualKeys = createVirtualKeys({
    store,
    changes,
    sealer,
    check: async () => {},
    secrets: noSecrets,
    identities: { refusal: () => null, lend: () => expect.unreachable() },
    environment: new Map(),
    budgets,
    now,
  });
  const admin = await authenticator().authenticate(ADMIN_KEY);
  const { slug, id } = await virtualKeys.create(admin, {
    name: 'main',
    provider: 'openai',
    key: 'sk-test-credential',
    usage_limits: COST,
    configurations: { prices: { 'GPT-X': { input: 1, output: 2, cache_write: 3 } } },
  });

  const stored = await virtualKeys.resolve(admin, slug);

  expect(stored.limits.map(({ counter }) => counter)).toEqual([`virtual-key/${id}/cost/monthly`]);
  expect(stored.prices?.get('gpt-x')).toMatchObject({ rates: { input: 1, output: 2, cached: 1, cacheWrite: 3 } });
  spend(stored.limits[0], 2);
  expect((await virtualKeys.read(admin, { slug })).status).toBe('exhausted');
  expect((await virtualKeys.update(admin, { slug }, { reset_usage: true })).status).toBe('active');
  const demo = await virtualKeys.resolve(admin, 'demo');
  expect([demo.limits, demo.prices]).toEqual([[], null]);
});

test('a list asks for the levels once, and not at all when nothing has a budget', async () => {
  const apiKeys = createApiKeys({ store, budgets });
  const admin = await authenticator().authenticate(ADMIN_KEY);
  await apiKeys.list(admin, { current_page: 0, page_size: 100 }, NOW);
  expect(asked).toBe(0);
  for (const name of ['a', 'b', 'c']) await apiKeys.create(admin, { name, usage_limits: COST }, NOW);
  asked = 0;
  await apiKeys.list(admin, { current_page: 0, page_size: 100 }, NOW);
  expect(asked).toBe(1);
});

test('what a key may use changes with the next call', async () => {
  const auth = authenticator();
  const admin = await auth.authenticate(ADMIN_KEY);
  const apiKeys = createApiKeys({
    store,
    budgets,
    transaction: (work, who) => changes.transaction('keys', work, who),
  });
  const { id, key } = await apiKeys.create(admin, { name: 'app' }, NOW);
  expect((await auth.authenticate(key)).limits).toEqual([]);
  await apiKeys.update(admin, id, { rate_limits: [RATE] }, NOW);
  expect((await auth.authenticate(key)).limits).toHaveLength(1);
});
