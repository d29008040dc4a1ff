import type { Limit } from '../core/limits.ts';
import type { OpenWindow } from './windows.ts';

export interface Alarm {
  readonly limit: Limit;
  /** What was crossed: the threshold of the alert, or the budget itself. */
  readonly crossed: 'alert' | 'max';
  /** In the measure of the limit. */
  readonly used: number;
  readonly at: number;
}

interface Watched {
  readonly end: number;
  used: number;
  alerted: boolean;
  spent: boolean;
}

export interface Alarms {
  /** The counters said so. */
  seen(limit: Limit, window: OpenWindow, used: number): void;
  /** A call of this process was charged. */
  added(limit: Limit, window: OpenWindow, amount: number): void;
  /** The counter starts again, and so do its alarms. */
  forget(counter: string): void;
}

const SWEEP_FROM = 1_000;

/**
 * Budgets that cross their threshold or are spent, each told once per window and process. What is known of a budget is
 * what the counters said last, plus what this process has charged since: never more than the truth.
 */
export function createAlarms(tell: (alarm: Alarm) => void, now: () => number): Alarms {
  const watched = new Map<string, Watched>();
  let sweepAt = SWEEP_FROM;

  const watch = ({ counter, end }: OpenWindow): Watched => {
    let one = watched.get(counter);
    if (!one) {
      one = { end, used: 0, alerted: false, spent: false };
      watched.set(counter, one);
      if (watched.size > sweepAt) sweep();
    }
    return one;
  };
  const sweep = () => {
    for (const [counter, { end }] of watched) if (end <= now()) watched.delete(counter);
    sweepAt = Math.max(SWEEP_FROM, 2 * watched.size);
  };
  const check = (limit: Limit, one: Watched) => {
    const { used } = one;
    if (!one.alerted && limit.alertAt !== null && used >= limit.alertAt) {
      one.alerted = true;
      tell({ limit, crossed: 'alert', used, at: now() });
    }
    if (!one.spent && used >= limit.max) {
      one.spent = true;
      tell({ limit, crossed: 'max', used, at: now() });
    }
  };

  return {
    seen: (limit, window, used) => {
      if (limit.kind !== 'budget') return;
      const one = watch(window);
      one.used = Math.max(one.used, used);
      check(limit, one);
    },
    added: (limit, window, amount) => {
      if (limit.kind !== 'budget') return;
      const one = watch(window);
      one.used += amount;
      check(limit, one);
    },
    forget: (counter) => watched.delete(counter),
  };
}
