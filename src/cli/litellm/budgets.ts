import { secondsOf } from '../../core/durations.ts';
import type { UsageLimit } from '../../core/limits.ts';

export type Reset = Pick<UsageLimit, 'periodic_reset' | 'periodic_reset_days'>;

const DAY_S = 86_400;

/** LiteLLM resets `7d` on Mondays and `30d` on the first of the month. A text says why a duration cannot be kept. */
export function resetOf(duration: string | null | undefined): Reset | string {
  const text = duration?.trim().toLowerCase() ?? '';
  if (text === '' || text === 'none' || text === 'null') return {};
  if (text === 'weekly') return { periodic_reset: 'weekly' };
  if (text === 'monthly' || text === '1mo') return { periodic_reset: 'monthly' };
  const months = /^(\d{1,2})mo$/.exec(text)?.[1];
  const days = (months ? Number(months) * 30 * DAY_S : secondsOf(text === 'daily' ? '1d' : text)) / DAY_S;
  if (days === 7) return { periodic_reset: 'weekly' };
  if (days === 30) return { periodic_reset: 'monthly' };
  if (Number.isInteger(days) && days >= 1 && days <= 365) return { periodic_reset_days: days };
  return `"${text.slice(0, 20)}" cannot be kept: budgets start again after 1 to 365 whole days (24h, 30d), weekly (7d) or monthly (1mo)`;
}
