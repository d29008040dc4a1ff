import {
  type Budgets,
  type BudgetUsage,
  budgetsAmong,
  isSpent,
  type Level,
  type RestartBudgets,
  usageOf,
} from '../core/budgets.ts';
import { compileLimits, type Limit, type LimitOwner, type RateLimit, type UsageLimits } from '../core/limits.ts';

/** What keys, virtual keys and workspaces have in common: limits of their own. */

export interface LimitInput {
  readonly rate_limits?: readonly RateLimit[] | null;
  readonly usage_limits?: UsageLimits | null;
}

export interface LimitChange extends LimitInput {
  /** Starts the budgets of this owner again from 0. */
  readonly reset_usage?: boolean;
}

export interface LimitColumns {
  readonly rate_limits: string | null;
  readonly usage_limits: string | null;
}

/** Limits as they are shown: in the form they were given, and how much of the budgets is spent. */
export interface ShownLimits {
  readonly rate_limits: readonly RateLimit[] | null;
  readonly usage_limits: UsageLimits | null;
  readonly usage: readonly BudgetUsage[];
}

const text = (value: unknown) => (value === null ? null : JSON.stringify(value));

/** The columns after a change: what it does not name stays. */
export const storedLimits = (input: LimitInput, old?: LimitColumns): LimitColumns => ({
  rate_limits: input.rate_limits === undefined ? (old?.rate_limits ?? null) : text(input.rate_limits),
  usage_limits: input.usage_limits === undefined ? (old?.usage_limits ?? null) : text(input.usage_limits),
});

const parsed = ({ rate_limits, usage_limits }: LimitColumns) => ({
  rate_limits: rate_limits === null ? null : (JSON.parse(rate_limits) as RateLimit[]),
  usage_limits: usage_limits === null ? null : (JSON.parse(usage_limits) as UsageLimits),
});

export const limitsOf = (owner: LimitOwner, columns: LimitColumns, since: number): readonly Limit[] =>
  columns.rate_limits === null && columns.usage_limits === null ? [] : compileLimits(owner, parsed(columns), since);

export const budgetsOf = (owner: LimitOwner, columns: LimitColumns, since: number): readonly Limit[] =>
  columns.usage_limits === null ? [] : budgetsAmong(limitsOf(owner, columns, since));

/** Makes a change, and starts the budgets of its owner again in the same transaction where it asks for that. */
export function restartingIfAsked<Result>(
  { reset_usage = false }: LimitChange,
  budgets: Budgets,
  change: (restart: RestartBudgets) => Promise<Result>,
): Promise<Result> {
  return reset_usage ? budgets.restarting(change) : change(async () => {});
}

interface LimitedRow extends LimitColumns {
  readonly created_at: number;
}

/** Shows rows together with what is spent of their budgets, which is asked for once for all of them. */
export async function withUsage<Row extends LimitedRow, Shown>(
  rows: readonly Row[],
  { ownerOf, budgets, now }: { ownerOf: (row: Row) => LimitOwner; budgets: Budgets; now: number },
  show: (row: Row, limits: ShownLimits, isExhausted: boolean) => Shown,
): Promise<Shown[]> {
  const owned = rows.map((row) => budgetsOf(ownerOf(row), row, row.created_at));
  const all = owned.flat();
  const levels: ReadonlyMap<string, Level> = all.length === 0 ? new Map() : await budgets.levels(all);
  return rows.map((row, index) => {
    const limits = owned[index]!;
    const usage = limits.map((limit) => usageOf(limit, levels, now));
    return show(
      row,
      { ...parsed(row), usage },
      limits.some((limit) => isSpent(limit, levels)),
    );
  });
}
