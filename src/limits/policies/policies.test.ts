import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../../../test/postgres.ts';
import type { Budgets, Level } from '../../core/budgets.ts';
import { createHealth } from '../../core/health.ts';
import type { Limit } from '../../core/limits.ts';
import { NANO_DOLLARS } from '../../core/money.ts';
import type { Principal } from '../../core/principal.ts';
import { createChanges } from '../../storage/changes.ts';
import { openPostgres, openSqlite, type Store } from '../../storage/store.ts';
import { createPolicies, type Facts, type Policies } from './policies.ts';

const who = {
  organisationId: 'org',
  workspaceId: 'ws-1',
  scopes: new Set(['organisation.manage']),
} as unknown as Principal;
const facts = (user: string): Facts => ({
  organisationId: 'org',
  workspaceId: 'ws-1',
  apiKeyId: 'key-1',
  virtualKey: null,
  provider: 'openai',
  model: 'gpt-4o',
  metadata: { _user: user },
  config: null,
  endpointType: null,
});
const pocketMoney = {
  name: 'Pocket money',
  conditions: [{ key: 'metadata._user', value: '*' }],
  group_by: [{ key: 'metadata._user' }],
  type: 'cost' as const,
  credit_limit: 2,
  periodic_reset: 'weekly' as const,
};

/** Counters that hold what a test puts into them. */
function fakeBudgets() {
  const levels = new Map<string, Level>();
  const budgets: Budgets = {
    levels: async (limits) => new Map(limits.flatMap(({ counter }) => [[counter, levels.get(counter)!]])),
    restarting: (change) =>
      change(async (_, limits) => {
        for (const { counter } of limits) levels.delete(counter);
      }),
  };
  const spend = ({ counter }: Limit, used: number) => levels.set(counter, { used, held: 0 });
  return { budgets, spend };
}

for (const [engine, open] of [
  ['sqlite', async () => openSqlite(':memory:')],
  ['postgres', async () => openPostgres(await createDatabase())],
] as const) {
  describe(`policies on ${engine}`, () => {
    let store: Store;
    let time = 1_000_000;
    const { budgets, spend } = fakeBudgets();
    /** A node of its own. */
    const make = () => {
      const changes = createChanges({ store, databaseUrl: null, health: createHealth({ now: Date.now }) });
      return createPolicies({ store, changes, budgets, now: () => time });
    };
    let policies: Policies;
    beforeAll(async () => {
      store = await open();
      await store.migrate();
      await store.db.insertInto('organisations').values({ id: 'org', name: 'o', created_at: 0 }).execute();
      await store.db
        .insertInto('workspaces')
        .values({
          id: 'ws-1',
          organisation_id: 'org',
          slug: 'default',
          name: 'w',
          defaults: '{}',
          created_at: 0,
          updated_at: 0,
        })
        .execute();
      policies = make();
    });
    afterAll(() => store.close());
    const limitFor = async (user: string, from = policies) => (await from.matching(facts(user)))[0]!;

    test('are matched at once when they are known, and changes show with the next call', async () => {
      expect(await policies.matching(facts('ada'))).toEqual([]);
      expect(policies.matching(facts('ada'))).toEqual([]);
      const { id } = await policies.create(who, 'usage', pocketMoney);
      expect((await limitFor('ada')).max).toBe(2 * NANO_DOLLARS);
      await policies.update(who, 'usage', id, { credit_limit: 3 });
      expect((await limitFor('ada')).max).toBe(3 * NANO_DOLLARS);
      expect(policies.matching(facts('ada'))).not.toBeInstanceOf(Promise);
      await policies.delete(who, 'usage', id);
      expect(await policies.matching(facts('ada'))).toEqual([]);
    });

    test('show what each group has spent, and start one again', async () => {
      const { id } = await policies.create(who, 'usage', pocketMoney);
      spend(await limitFor('ada'), 2 * NANO_DOLLARS);
      spend(await limitFor('bob'), 0.5 * NANO_DOLLARS);

      const page = await policies.entities(who, id, { current_page: 0, page_size: 100 });
      const shown = Object.fromEntries(page.data.map((entity) => [entity.value_key, entity]));
      expect(page.total).toBe(2);
      expect(shown['metadata._user:ada']).toMatchObject({ current_usage: 2, status: 'exhausted' });
      expect(shown['metadata._user:bob']).toMatchObject({ current_usage: 0.5, status: 'active' });
      expect((await policies.readWithUsage(who, id)).value_key_usage_map).toEqual({
        'metadata._user:ada': { current_usage: 2, status: 'exhausted' },
        'metadata._user:bob': { current_usage: 0.5, status: 'active' },
      });

      const ada = await policies.resetEntity(who, id, shown['metadata._user:ada']!.id);
      expect(ada).toMatchObject({ value_key: 'metadata._user:ada', current_usage: 0, status: 'active' });
      await policies.update(who, 'usage', id, { reset_usage_for_value: 'metadata._user:bob' });
      expect((await policies.readWithUsage(who, id)).value_key_usage_map).toMatchObject({
        'metadata._user:bob': { current_usage: 0 },
      });
      await policies.delete(who, 'usage', id);
      expect(await store.db.selectFrom('policy_entities').selectAll().where('policy_id', '=', id).execute()).toEqual(
        [],
      );
    });

    test('agree with another node about the id of a group that both meet', async () => {
      const { id } = await policies.create(who, 'usage', pocketMoney);
      const other = make();
      await limitFor('eve');
      await limitFor('eve', other);
      await Promise.all([policies.flush(), other.flush()]);
      expect((await other.entities(who, id, { current_page: 0, page_size: 10 })).total).toBe(1);
      await policies.delete(who, 'usage', id);
    });

    test('are written to the store in batches when many groups are met', async () => {
      const { id } = await policies.create(who, 'usage', pocketMoney);
      await limitFor('first');
      for (let index = 0; index < 2_000; index++) policies.matching(facts(`user-${index}`));
      const page = await policies.entities(who, id, { current_page: 2, page_size: 1_000 });
      expect(page).toMatchObject({ total: 2_001, has_more: false });
      expect(page.data).toHaveLength(1);
      await policies.delete(who, 'usage', id);
    });

    test('made by another node come into force when the known ones have aged', async () => {
      await policies.matching(facts('ada'));
      const { id } = await make().create(who, 'usage', pocketMoney);
      expect(policies.matching(facts('ada'))).toEqual([]);
      time += 10_001;
      expect(await policies.matching(facts('ada'))).toHaveLength(1);
      await policies.delete(who, 'usage', id);
    });

    test('a change that is refused has changed nothing', async () => {
      const { id } = await policies.create(who, 'usage', pocketMoney);
      const change = { credit_limit: 9, reset_usage_for_value: 'metadata._user:nobody' };
      await expect(policies.update(who, 'usage', id, change)).rejects.toThrow('nothing was counted');
      expect((await policies.read(who, 'usage', id)).credit_limit).toBe(2);
      await policies.delete(who, 'usage', id);
    });
  });
}
