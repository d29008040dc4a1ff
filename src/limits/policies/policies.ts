import { type Budgets, isSpent, type RestartBudgets, usageOf } from '../../core/budgets.ts';
import { fail } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Limit } from '../../core/limits.ts';
import { type Page, type PageQuery, page } from '../../core/paging.ts';
import type { Principal } from '../../core/principal.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import { cachedBy } from '../../storage/cached-by.ts';
import type { Changes } from '../../storage/changes.ts';
import type { PolicyEntityRow, PolicyRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { workspaceFor } from '../../storage/workspace-lookup.ts';
import { createPolicyEntities } from './entities.ts';
import { compilePolicies, type Facts, limitIn, limitOfGroup, type PolicySet } from './match.ts';
import { definitionAfter, type Policy, shown } from './policy.ts';
import { checkNames, find, visible, workspaceIn } from './rows.ts';
import type { PolicyChange, PolicyEntity, PolicyInput, PolicyKind, Target } from './schema.ts';

export type { Facts };

/** How many entities `include_usage` shows; the list of entities has pages. */
const MOST_IN_MAP = 1_000;

export function createPolicies({
  store,
  changes,
  budgets,
  now,
}: {
  store: Store;
  changes: Pick<Changes, 'subscribe' | 'transaction'>;
  budgets: Budgets;
  now: () => number;
}) {
  const entities = createPolicyEntities({ store, now });

  const load = async (organisationId: string): Promise<PolicySet> => {
    const rows = await store.db
      .selectFrom('policies')
      .selectAll()
      .where('organisation_id', '=', organisationId)
      .orderBy('id')
      .execute();
    const workspaces = rows.some(({ definition }) => definition.includes('"workspace_id"'))
      ? await store.db
          .selectFrom('workspaces')
          .select(['id', 'slug'])
          .where('organisation_id', '=', organisationId)
          .execute()
      : [];
    return compilePolicies(rows, new Map(workspaces.map(({ id, slug }) => [slug, id])), entities.meet);
  };

  // Conditions name keys and workspaces, which are changed with keys.
  const cache = cachedBy(changes, ['policies', 'keys'], load, { most: 1_000, now });

  const changing = <Result>(work: (db: Db) => Promise<Result>, who: Principal): Promise<Result> =>
    changes.transaction('policies', work, who);

  const shownEntities = async (policy: PolicyRow, rows: readonly PolicyEntityRow[]): Promise<PolicyEntity[]> => {
    const limit = limitIn(policy);
    const limits = rows.map(({ value_key }) => limitOfGroup(limit, value_key));
    const levels = limits.length === 0 ? new Map() : await budgets.levels(limits);
    return rows.map(({ id, value_key }, index) => {
      const { current_usage, resets_at, unpriced_calls } = usageOf(limits[index]!, levels, now());
      const status = isSpent(limits[index]!, levels) ? 'exhausted' : 'active';
      return { id, object: 'policy_entity', value_key, current_usage, status, resets_at, unpriced_calls };
    });
  };

  const limitsOfEntity = (policy: PolicyRow, { value_key }: PolicyEntityRow) => [
    limitOfGroup(limitIn(policy), value_key),
  ];

  return {
    /** The limits that policies put on a call; at once when the organisation's policies are in the cache. */
    matching(facts: Facts): NowOrLater<readonly Limit[]> {
      const { organisationId } = facts;
      const known = cache.peek(organisationId);
      if (known) return known.matching(facts);
      return cache.get(organisationId).then((loaded) => loaded!.matching(facts));
    },

    /** Whether a policy needs to know the call's model to say what it means for the call; at once like `matching`. */
    askForModel(facts: Facts): NowOrLater<boolean> {
      const { organisationId } = facts;
      const known = cache.peek(organisationId);
      if (known) return known.askForModel(facts);
      return cache.get(organisationId).then((loaded) => loaded!.askForModel(facts));
    },

    /** Whether some policy counts calls of that target in the workspace; at once like `matching`. */
    counts(who: Pick<Principal, 'organisationId' | 'workspaceId'>, target: Target): NowOrLater<boolean> {
      const { organisationId, workspaceId } = who;
      const known = cache.peek(organisationId);
      if (known) return known.counts(workspaceId, target);
      return cache.get(organisationId).then((loaded) => loaded!.counts(workspaceId, target));
    },

    async create<Kind extends PolicyKind>(who: Principal, kind: Kind, input: PolicyInput<Kind>): Promise<Policy<Kind>> {
      const definition = definitionAfter(kind, input);
      const row = await changing(async (db) => {
        const made: PolicyRow = {
          id: newId(),
          organisation_id: who.organisationId,
          workspace_id: await workspaceIn(db, who, input),
          kind,
          name: input.name ?? null,
          description: input.description ?? null,
          definition: JSON.stringify(definition),
          created_at: now(),
          updated_at: now(),
        };
        await checkNames(db, who, definition.conditions);
        await db.insertInto('policies').values(made).execute();
        return made;
      }, who);
      return shown(row);
    },

    async list<Kind extends PolicyKind>(
      who: Principal,
      kind: Kind,
      query: PageQuery & { workspace_id?: string },
    ): Promise<Page<Policy<Kind>>> {
      const workspace = query.workspace_id === undefined ? null : await workspaceFor(store.db, who, query.workspace_id);
      const matching = () => {
        const all = visible(store.db, who, kind);
        return workspace === null ? all : all.where('workspace_id', '=', workspace);
      };
      const { total } = await matching()
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const rows = await matching()
        .selectAll()
        .orderBy('id')
        .limit(query.page_size)
        .offset(query.current_page * query.page_size)
        .execute();
      return page(rows.map(shown<Kind>), Number(total), query);
    },

    async read<Kind extends PolicyKind>(who: Principal, kind: Kind, id: string): Promise<Policy<Kind>> {
      return shown(await find(store.db, who, kind, id));
    },

    /** Beside the policy, what its groups of callers have spent. */
    async readWithUsage(who: Principal, id: string): Promise<Policy<'usage'>> {
      const row = await find(store.db, who, 'usage', id);
      const rows = await entities.list(id, { current_page: 0, page_size: MOST_IN_MAP });
      const found = await shownEntities(row, rows);
      const map = found.map(({ value_key, current_usage, status }) => [value_key, { current_usage, status }] as const);
      return { ...shown<'usage'>(row), value_key_usage_map: Object.fromEntries(map) };
    },

    async update<Kind extends PolicyKind>(
      who: Principal,
      kind: Kind,
      id: string,
      input: PolicyChange<Kind> & { readonly reset_usage_for_value?: string },
    ): Promise<Policy<Kind>> {
      const { reset_usage_for_value: valueKey } = input;
      const entity = valueKey === undefined ? null : await entities.find(id, 'value_key', valueKey);
      const change = async (db: Db, restart: RestartBudgets | null) => {
        const old = await find(db, who, kind, id);
        if (entity === undefined)
          fail('invalid_request', 'reset_usage_for_value', `nothing was counted for "${valueKey}" yet`);
        const definition = definitionAfter(kind, input, JSON.parse(old.definition));
        if (input.conditions) await checkNames(db, who, definition.conditions);
        const updated: PolicyRow = {
          ...old,
          name: input.name === undefined ? old.name : input.name,
          description: input.description === undefined ? old.description : input.description,
          definition: JSON.stringify(definition),
          updated_at: now(),
        };
        await db.updateTable('policies').set(updated).where('id', '=', id).execute();
        if (entity) await restart?.(db, limitsOfEntity(updated, entity));
        return updated;
      };
      const row = entity
        ? await budgets.restarting((restart) => changing((db) => change(db, restart), who))
        : await changing((db) => change(db, null), who);
      return shown(row);
    },

    async delete(who: Principal, kind: PolicyKind, id: string): Promise<void> {
      await changing(async (db) => {
        await find(db, who, kind, id);
        await db.deleteFrom('policy_entities').where('policy_id', '=', id).execute();
        await db.deleteFrom('policies').where('id', '=', id).execute();
      }, who);
    },

    /** The groups of callers that a usage policy has counted. */
    async entities(who: Principal, id: string, query: PageQuery): Promise<Page<PolicyEntity>> {
      const policy = await find(store.db, who, 'usage', id);
      const rows = await entities.list(id, query);
      return page(await shownEntities(policy, rows), await entities.count(id), query);
    },

    async resetEntity(who: Principal, id: string, entityId: string): Promise<PolicyEntity> {
      const found = await entities.find(id, 'id', entityId);
      const { policy, entity } = await budgets.restarting((restart) =>
        changing(async (db) => {
          const policy = await find(db, who, 'usage', id);
          const entity = found ?? fail('policy_entity_not_found', entityId, id);
          await restart(db, limitsOfEntity(policy, entity));
          return { policy, entity };
        }, who),
      );
      return (await shownEntities(policy, [entity]))[0]!;
    },

    /** Stores the groups that were met and not written yet. */
    flush: () => entities.flush(),
  };
}

export type Policies = ReturnType<typeof createPolicies>;
