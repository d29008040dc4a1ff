import { storedModels } from '../core/allowed-models.ts';
import type { Limit, LimitOwner, RateLimit, UsageLimits } from '../core/limits.ts';
import type { Scope } from '../core/scopes.ts';
import type { ApiKeyRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { limitsOf } from './owner-limits.ts';

/** What members of a workspace may have as keys of their own. Without one they may have none. */
export interface MemberKeyRule {
  /** How many each of them may have at once. */
  readonly most: number;
  /** What their keys may do, of what the member may do. */
  readonly scopes: readonly Scope[];
  /** Null: every model. */
  readonly models: readonly string[] | null;
  /** How long such a key lives; null: until it is deleted. */
  readonly max_days: number | null;
  /** For all keys of one member together, so that another key is not another budget. */
  readonly rate_limits: readonly RateLimit[] | null;
  readonly usage_limits: UsageLimits | null;
}

const DAY_MS = 86_400_000;

export const ruleIn = (stored: string | null | undefined): MemberKeyRule | null =>
  stored ? (JSON.parse(stored) as MemberKeyRule) : null;
export const storedRule = (rule: MemberKeyRule | null | undefined): string | null =>
  rule ? JSON.stringify(rule) : null;

/** When a key that was made at that time ends at the latest. */
export const endUnder = ({ max_days }: MemberKeyRule, since: number): number | null =>
  max_days === null ? null : since + max_days * DAY_MS;

/** What all keys of one member in one workspace share. */
export const memberOwner = (
  workspaceId: string,
  user: { readonly id: string; readonly email: string },
): LimitOwner => ({
  kind: 'member',
  id: `${workspaceId}~${user.id}`,
  name: user.email,
});

export const memberLimits = (rule: MemberKeyRule, owner: LimitOwner, since: number): readonly Limit[] =>
  limitsOf(owner, columnsOf(rule), since);

export const columnsOf = ({ rate_limits, usage_limits }: MemberKeyRule) => ({
  rate_limits: rate_limits && JSON.stringify(rate_limits),
  usage_limits: usage_limits && JSON.stringify(usage_limits),
});

/** Whether its user made it, as a key or by signing a program in: what the rule of its workspace is about. */
export const isMembers = ({ origin }: Pick<ApiKeyRow, 'origin'>): boolean => origin === 'member' || origin === 'login';

type Bounded = Pick<ApiKeyRow, 'origin' | 'scopes' | 'models' | 'expires_at' | 'created_at'>;

/**
 * A key as the rule of its workspace has it now: whatever the rule was when the key was made. Keys that no member made are
 * under none. Null: members may have no keys any more.
 */
export function underRule<Row extends Bounded>(row: Row, rule: MemberKeyRule | null): Row | null {
  if (!isMembers(row)) return row;
  if (!rule) return null;
  const scopes = (JSON.parse(row.scopes) as Scope[]).filter((scope) => rule.scopes.includes(scope));
  const end = endUnder(rule, row.created_at);
  return {
    ...row,
    scopes: JSON.stringify(scopes),
    models: storedModels(rule.models),
    expires_at: end === null ? row.expires_at : Math.min(end, row.expires_at ?? end),
  };
}

/** The rules of the workspaces of those keys that members made. */
export async function rulesFor(db: Db, rows: readonly ApiKeyRow[]): Promise<ReadonlyMap<string, MemberKeyRule | null>> {
  const places = [...new Set(rows.filter(isMembers).map(({ workspace_id }) => workspace_id))];
  if (places.length === 0) return new Map();
  const found = await db.selectFrom('workspaces').select(['id', 'member_keys']).where('id', 'in', places).execute();
  return new Map(found.map(({ id, member_keys }) => [id, ruleIn(member_keys)]));
}
