import type { Question } from '../../api/early.ts';
import { openedFilters } from '../../shell/opened-filters.ts';
import { type AnalyticsQuery, type OpenedView, queriesIn } from '../../shell/reach.ts';

export const FILTERS = { compare: true };

export const ALL = '/v1/analytics/graphs/all';
export const SERIES = '/v1/analytics/series';

/** Calls told apart by what the cache or the guardrails said of them. */
export const TOLD = {
  cache_status: { title: 'Cache', order: ['HIT', 'REFRESH', 'MISS'] },
  verdict: { title: 'Guardrails', order: ['passed', 'failed', 'denied'] },
} as const;
export type ToldBy = keyof typeof TOLD;

export const toldQuery = (now: AnalyticsQuery, by: ToldBy) => ({
  query: { ...now, metric: 'requests' as const, group_by: by, limit: 8 },
});

/** What calls are ranked by, and what is ranked. */
export type Metric = 'requests' | 'cost' | 'total_tokens' | 'errors';
export const USUAL: Metric = 'requests';
export interface Ranked {
  readonly title: string;
  readonly by: string;
  /** Left out: what is chosen. */
  readonly metric?: Metric;
  readonly color: string;
}
export const RANKED: readonly Ranked[] = [
  { title: 'Models', by: 'model', color: '--series-1' },
  { title: 'API keys', by: 'api_key_id', color: '--series-2' },
  { title: 'Users', by: 'user_id', color: '--series-5' },
  { title: 'Error codes', by: 'error_code', metric: 'errors', color: '--bad-solid' },
];

/** Only sums are shown, and long points are quicker to add up. */
export const FEW = 30;
export const rankedQuery = (now: AnalyticsQuery, by: string, metric: Metric) => ({
  query: { ...now, metric, group_by: by, limit: 7 },
});

const scopes = ['analytics.view'];

/** What is in view asks these; what lies further down asks when that is painted. */
export function questions(view: OpenedView): Question[] {
  const { now, before } = queriesIn(view);
  const times = openedFilters(view, FILTERS).compare ? [now, before] : [now];
  return times.map((query) => ({ path: ALL, query, scopes }));
}
