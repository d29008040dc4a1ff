import { type Budgets, type BudgetUsage, budgetsAmong, usageOf } from '../core/budgets.ts';
import { fail } from '../core/errors.ts';
import type { Principal } from '../core/principal.ts';
import { lockName } from '../storage/name-lock.ts';
import type { ApiKeyRow } from '../storage/schema.ts';
import type { Db, Store } from '../storage/store.ts';
import type { ApiKey, ApiKeys } from './api-keys.ts';
import { endUnder, isMembers, type MemberKeyRule, memberLimits, memberOwner, ruleIn } from './member-keys.ts';

export interface OwnKeyInput {
  readonly name: string;
  readonly description?: string | null;
  readonly virtual_key?: string;
  readonly expires_at?: string;
}

export interface OwnKeys {
  readonly object: 'list';
  readonly data: readonly ApiKey[];
  /** Null: members may have no keys of their own. */
  readonly allowed: MemberKeyRule | null;
  /** What all of them together have spent of each budget. */
  readonly usage: readonly BudgetUsage[];
}

export interface OwnKeysDeps {
  readonly store: Store;
  readonly apiKeys: ApiKeys;
  readonly budgets: Budgets;
}

const MOST_SHOWN = 200;

interface Place {
  readonly rule: MemberKeyRule | null;
  readonly since: number;
}

/** The keys of a user who is signed in, in the workspace they act in: what the rule of that workspace lets them have. */
export function createOwnKeys({ store, apiKeys, budgets }: OwnKeysDeps) {
  /** A key never makes keys this way: a thief of one would make more. */
  const user = (who: Principal): string => (who.session && who.userId) || fail('session_required');

  const placeOf = async (db: Db, who: Principal): Promise<Place> => {
    const row = await db
      .selectFrom('workspaces')
      .select(['member_keys', 'created_at'])
      .where('id', '=', who.workspaceId)
      .executeTakeFirstOrThrow();
    return { rule: ruleIn(row.member_keys), since: Number(row.created_at) };
  };
  const allowed = async (db: Db, who: Principal): Promise<MemberKeyRule> =>
    (await placeOf(db, who)).rule ?? fail('own_keys_not_allowed', who.workspaceSlug);

  const keysOf = (db: Db, who: Principal) =>
    db.selectFrom('api_keys').where('workspace_id', '=', who.workspaceId).where('user_id', '=', user(who));
  /** To a key there are none. */
  const find = async (who: Principal, id: string): Promise<ApiKeyRow> =>
    (who.session && (await keysOf(store.db, who).selectAll().where('id', '=', id).executeTakeFirst())) ??
    fail('api_key_not_found', id);

  const checkCount = async (db: Db, who: Principal) => {
    // Also against a rule that is being changed: what comes after the lock sees it.
    await lockName(db, store, `own keys ${who.workspaceId} ${who.userId}`);
    const { most } = await allowed(db, who);
    const made = await keysOf(db, who).select('id').where('origin', '=', 'member').execute();
    if (made.length >= most) fail('too_many_own_keys', most);
  };

  return {
    async list(who: Principal, now: number): Promise<OwnKeys> {
      const rows = await keysOf(store.db, who).selectAll().orderBy('id', 'desc').limit(MOST_SHOWN).execute();
      const { rule, since } = await placeOf(store.db, who);
      const owner = memberOwner(who.workspaceId, { id: user(who), email: who.keyName });
      const limits = rule ? budgetsAmong(memberLimits(rule, owner, since)) : [];
      const levels = limits.length > 0 ? await budgets.levels(limits) : new Map();
      return {
        object: 'list',
        data: await apiKeys.shown(rows, now),
        allowed: rule,
        usage: limits.map((limit) => usageOf(limit, levels, now)),
      };
    },

    async create(who: Principal, input: OwnKeyInput, now: number): Promise<ApiKey & { key: string }> {
      const user_id = user(who);
      const rule = await allowed(store.db, who);
      const latest = endUnder(rule, now);
      const end = input.expires_at === undefined ? latest : Date.parse(input.expires_at);
      if (latest !== null && end !== null && end > latest)
        fail('invalid_request', 'expires_at', `give a moment within ${rule.max_days} days`);
      const scopes = rule.scopes.filter((scope) => who.scopes.has(scope));
      return apiKeys.create(
        who,
        {
          name: input.name,
          description: input.description,
          scopes,
          workspace_id: who.workspaceId,
          user_id,
          models: rule.models,
          expires_at: end === null ? null : new Date(end).toISOString(),
          ...(input.virtual_key !== undefined && { defaults: { virtual_key: input.virtual_key } }),
        },
        now,
        { check: (db) => checkCount(db, who) },
      );
    },

    /** Also of a key that an administrator made for the user. */
    async rotate(who: Principal, id: string, input: { key_transition_period_ms?: number }, now: number) {
      await find(who, id);
      await allowed(store.db, who);
      return apiKeys.rotate(who, id, input, now);
    },

    /** Of those that the user made; the others are for an administrator to end. */
    async delete(who: Principal, id: string): Promise<void> {
      if (!isMembers(await find(who, id))) fail('insufficient_scope', 'api_keys.delete');
      await apiKeys.delete(who, id);
    },
  };
}

export type OwnKeysStore = ReturnType<typeof createOwnKeys>;
