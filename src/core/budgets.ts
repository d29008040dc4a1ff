import { type Limit, windowAt } from './limits.ts';
import { NANO_DOLLARS } from './money.ts';

/** How full a counter is, in the measure of its limit. */
export interface Level {
  readonly used: number;
  readonly held: number;
}

/** What has been spent of budgets, for people to look at and to start again. A port: the composition gives it. */
export interface Budgets {
  /** By `Limit.counter`, in the windows that are open now; a counter that was never charged may be missing. */
  levels(limits: readonly Limit[]): Promise<ReadonlyMap<string, Level>>;
  /**
   * Starts windows that are open now again from 0, together with the change that asks for it: `change` runs its own
   * transaction and calls `restart` inside, with the transaction's handle. Neither is there without the other.
   */
  restarting<Result>(change: (restart: RestartBudgets) => Promise<Result>): Promise<Result>;
}

export type RestartBudgets = (transaction: unknown, limits: readonly Limit[]) => Promise<void>;

/** For commands that work on the database while nothing counts. */
export const uncounted: Budgets = {
  levels: async () => new Map(),
  restarting: async () => {
    throw new Error('Nothing counts in this process, so there is no usage to reset.');
  },
};

/** One budget as people see it: dollars, tokens or requests. */
export interface BudgetUsage {
  readonly type: Limit['counts'];
  readonly credit_limit: number;
  readonly current_usage: number;
  readonly resets_at: string | null;
  /** Calls whose price is not known, where the budget lets them pass: nothing was taken from it for them. */
  readonly unpriced_calls?: number;
}

export const budgetsAmong = (limits: readonly Limit[]): readonly Limit[] =>
  limits.filter(({ kind }) => kind === 'budget');

export const isSpent = (limit: Limit, levels: ReadonlyMap<string, Level>): boolean =>
  (levels.get(limit.counter)?.used ?? 0) >= limit.max;

export function usageOf(limit: Limit, levels: ReadonlyMap<string, Level>, now: number): BudgetUsage {
  const measure = limit.counts === 'cost' ? NANO_DOLLARS : 1;
  const { end } = windowAt(limit.period, now);
  return {
    type: limit.counts,
    credit_limit: limit.max / measure,
    current_usage: (levels.get(limit.counter)?.used ?? 0) / measure,
    resets_at: Number.isFinite(end) ? new Date(end).toISOString() : null,
    ...(limit.unpriced && { unpriced_calls: levels.get(limit.unpriced.counter)?.used ?? 0 }),
  };
}
