import { type Budgets, isSpent, type RestartBudgets, usageOf } from '../../core/budgets.ts';
import { fail } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { budgetFaults, type Limit } from '../../core/limits.ts';
import { type Page, type PageQuery, page } from '../../core/paging.ts';
import { type Principal, reachesOrganisation } from '../../core/principal.ts';
import { StaleCache } from '../../core/stale-cache.ts';
import type { PolicyEntityRow, PolicyRow } from '../../storage/schema.ts';
import { workspaceFor } from '../../storage/scoped.ts';
import type { Db, Store } from '../../storage/store.ts';
import { createPolicyEntities } from './entities.ts';
import { compilePolicies, type Facts, limitIn, limitOfGroup, type PolicySet } from './match.ts';
import {
  type Condition,
  type Definitions,
  type PolicyChange,
  type PolicyEntity,
  type PolicyInput,
  type PolicyKind,
  type Target,
  targetFaults,
  type UsageDefinition,
} from './schema.ts';

export type { Facts };

export type Policy<Kind extends PolicyKind> = Definitions[Kind] & {
  readonly id: string;
  readonly object: Kind extends 'rate' ? 'policy_rate_limits' : 'policy_usage_limits';
  readonly name: string | null;
  readonly description: string | null;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly status: 'active';
  readonly created_at: string;
  readonly last_updated_at: string;
  readonly value_key_usage_map?: Readonly<Record<string, { current_usage: number; status: PolicyEntity['status'] }>>;
};

/** How many entities `include_usage` shows; the list of entities has pages. */
const MOST_IN_MAP = 1_000;

const shown = <Kind extends PolicyKind>(row: PolicyRow): Policy<Kind> =>
  ({
    id: row.id,
    object: row.kind === 'rate' ? 'policy_rate_limits' : 'policy_usage_limits',
    name: row.name,
    description: row.description,
    organisation_id: row.organisation_id,
    workspace_id: row.workspace_id,
    ...JSON.parse(row.definition),
    status: 'active',
    created_at: new Date(row.created_at).toISOString(),
    last_updated_at: new Date(row.updated_at).toISOString(),
  }) as Policy<Kind>;

const EMPTY = {
  rate: { target: 'llm' },
  usage: { alert_threshold: null, periodic_reset: null, periodic_reset_days: null, next_usage_reset_at: null },
} as const;
const MEMBERS: Record<PolicyKind, readonly string[]> = {
  rate: ['conditions', 'group_by', 'type', 'unit', 'value', 'target'],
  usage: [
    'conditions',
    'group_by',
    'type',
    'credit_limit',
    'alert_threshold',
    'periodic_reset',
    'periodic_reset_days',
    'next_usage_reset_at',
    'unpriced',
  ],
};

/** What a policy says after a change: what the change does not name stays. */
function definitionAfter<Kind extends PolicyKind>(kind: Kind, input: object, old: object = EMPTY[kind]) {
  const given = Object.entries(input).filter(([name, value]) => value !== undefined && MEMBERS[kind].includes(name));
  const definition = { ...old, ...Object.fromEntries(given) } as Definitions[Kind];
  const isOther = 'target' in old && 'target' in definition && old.target !== definition.target;
  if (isOther && old !== EMPTY[kind]) fail('invalid_request', 'target', 'cannot be changed; make another policy');
  const budgets = kind === 'usage' ? budgetFaults(definition as UsageDefinition) : [];
  const faults: [string, string][] = [...budgets, ...targetFaults(definition)];
  const [fault] = faults;
  if (fault) fail('invalid_request', ...fault);
  return definition;
}

/** Policies the caller may see and change: all of its organisation, or those of its workspace. */
const visible = (db: Db, who: Principal, kind: PolicyKind) => {
  const query = db.selectFrom('policies').where('organisation_id', '=', who.organisationId).where('kind', '=', kind);
  return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
};

async function find(db: Db, who: Principal, kind: PolicyKind, id: string): Promise<PolicyRow> {
  const row = await visible(db, who, kind).selectAll().where('id', '=', id).executeTakeFirst();
  return row ?? fail('policy_not_found', id);
}

/** Null is the whole organisation. */
async function workspaceIn(db: Db, who: Principal, input: { workspace_id?: string; organisation_id?: string }) {
  if (input.organisation_id === undefined) return workspaceFor(db, who, input.workspace_id);
  if (input.workspace_id !== undefined)
    fail('invalid_request', 'organisation_id', 'cannot stand beside workspace_id; give one of the two');
  if (input.organisation_id !== who.organisationId)
    fail('invalid_request', 'organisation_id', `is not the organisation of this key, ${who.organisationId}`);
  if (!reachesOrganisation(who)) fail('insufficient_scope', 'organisation.manage');
  return null;
}

/** A condition on something that does not exist would never hold, and nobody would notice. */
async function checkNames(db: Db, who: Principal, conditions: readonly Condition[]) {
  for (const [index, { key, value }] of conditions.entries()) {
    if (key !== 'workspace_id' && key !== 'api_key') continue;
    const names = (typeof value === 'string' ? [value] : value).filter((name) => name !== '*');
    const known = names.length === 0 ? null : await knownAmong(db, who, key, names);
    const missing = names.find((name) => !known?.has(name));
    const what = key === 'api_key' ? 'API key with the id' : 'workspace';
    if (missing) fail('invalid_request', `conditions[${index}].value`, `there is no ${what} ${missing}`);
  }
}

async function knownAmong(db: Db, who: Principal, key: 'workspace_id' | 'api_key', names: readonly string[]) {
  if (key === 'api_key') {
    const rows = await db
      .selectFrom('api_keys')
      .select('id')
      .where('organisation_id', '=', who.organisationId)
      .where('id', 'in', names)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }
  const rows = await db
    .selectFrom('workspaces')
    .select(['id', 'slug'])
    .where('organisation_id', '=', who.organisationId)
    .where((where) => where.or([where('id', 'in', names), where('slug', 'in', names)]))
    .execute();
  return new Set(rows.flatMap(({ id, slug }) => [id, slug]));
}

export function createPolicies({
  store,
  budgets,
  now,
  transaction = store.transaction,
}: {
  store: Store;
  budgets: Budgets;
  now: () => number;
  /** Where several nodes share the store: a transaction that tells the others. */
  transaction?: Store['transaction'];
}) {
  const cache = new StaleCache<PolicySet>({ capacity: 1_000, freshMs: 10_000, staleMs: 3_600_000, now });
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

  const changing = async <Result>(work: (db: Db) => Promise<Result>, who: Principal): Promise<Result> => {
    const result = await transaction(work, who);
    cache.clear();
    return result;
  };

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
    matching(facts: Facts): readonly Limit[] | Promise<readonly Limit[]> {
      const { organisationId } = facts;
      const known = cache.peek(organisationId);
      if (known) return known.matching(facts);
      return cache.get(organisationId, () => load(organisationId)).then((loaded) => loaded!.matching(facts));
    },

    /** Whether a policy needs to know the call's model to say what it means for the call; at once like `matching`. */
    askForModel(facts: Facts): boolean | Promise<boolean> {
      const { organisationId } = facts;
      const known = cache.peek(organisationId);
      if (known) return known.askForModel(facts);
      return cache.get(organisationId, () => load(organisationId)).then((loaded) => loaded!.askForModel(facts));
    },

    /** Whether some policy counts calls of that target in the workspace; at once like `matching`. */
    counts(who: Pick<Principal, 'organisationId' | 'workspaceId'>, target: Target): boolean | Promise<boolean> {
      const { organisationId, workspaceId } = who;
      const known = cache.peek(organisationId);
      if (known) return known.counts(workspaceId, target);
      return cache
        .get(organisationId, () => load(organisationId))
        .then((loaded) => loaded!.counts(workspaceId, target));
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
        transaction(async (db) => {
          const policy = await find(db, who, 'usage', id);
          const entity = found ?? fail('policy_entity_not_found', entityId, id);
          await restart(db, limitsOfEntity(policy, entity));
          return { policy, entity };
        }, who),
      );
      return (await shownEntities(policy, [entity]))[0]!;
    },

    /** To be called after a change that another node made. */
    forget(): void {
      cache.clear();
    },

    /** Stores the groups that were met and not written yet. */
    flush: () => entities.flush(),
  };
}

export type Policies = ReturnType<typeof createPolicies>;
