import { keepPreviousData, type QueryClient, type UseQueryResult, useQueries } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { query, useApi } from '../../api/hooks.ts';
import type { Opening } from '../../pages.ts';
import { openedFilters } from '../../shell/filters.ts';
import { type AnalyticsQuery, openedQuery, useAnalyticsQuery } from '../../shell/range.ts';

export const FILTERS = { compare: true };

export type Graph = ResponseOf<'/v1/analytics/graphs/all'>;
export type Point = Graph['data_points'][number];

export interface Figures {
  readonly now: Graph;
  /** The same of the time before; null where it is not asked for, or not here yet. */
  readonly before: Graph | null;
}

const ALL = '/v1/analytics/graphs/all';
const KEEPS = { keepsLast: true } as const;

/** Everything that is drawn comes at once: charts that come one by one would jump, and be drawn twice. */
export function useOverview(isCompared: boolean) {
  const { now, before } = useAnalyticsQuery();
  const asked = useApi(ALL, { query: now }, KEEPS);
  const past = useApi(ALL, { query: before }, { ...KEEPS, enabled: isCompared });
  const { data } = asked;
  const isDrawn = useRef(false);
  const isWaiting = isCompared && !isDrawn.current && past.isLoading && past.failureCount === 0;
  const figures = useMemo(
    (): Figures | null => (data && !isWaiting ? { now: data, before: isCompared ? (past.data ?? null) : null } : null),
    [data, past.data, isCompared, isWaiting],
  );
  useEffect(() => {
    if (figures) isDrawn.current = true;
  }, [figures]);
  return { figures, error: asked.error, retry: () => void asked.refetch() };
}

/** Calls told apart by what the cache or the guardrails said of them. */
export const TOLD = {
  cache_status: { title: 'Cache', order: ['HIT', 'REFRESH', 'MISS'] },
  verdict: { title: 'Guardrails', order: ['passed', 'failed', 'denied'] },
} as const;
export type ToldBy = keyof typeof TOLD;

const SERIES = '/v1/analytics/series';
const toldQuery = (now: AnalyticsQuery, by: ToldBy) => ({
  query: { ...now, metric: 'requests' as const, group_by: by, limit: 8 },
});
export const useTold = (by: ToldBy) => useApi(SERIES, toldQuery(useAnalyticsQuery().now, by), KEEPS).data;

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
const FEW = 30;
const rankedQuery = (now: AnalyticsQuery, by: string, metric: Metric) => ({
  query: { ...now, metric, group_by: by, limit: 7 },
});
export type Series = ResponseOf<typeof SERIES>;
/** Null until all have come: what comes at once is drawn once. */
const together = (asked: readonly UseQueryResult<Series>[]) =>
  asked.some(({ isLoading, failureCount }) => isLoading && failureCount === 0) ? null : asked.map(({ data }) => data);

/** What `RANKED` names, in that order; undefined where it could not be had. */
export function useRankings(metric: Metric): readonly (Series | undefined)[] | null {
  const { now } = useAnalyticsQuery(FEW);
  return useQueries({
    queries: RANKED.map((ranked) => ({
      ...query(SERIES, rankedQuery(now, ranked.by, ranked.metric ?? metric)),
      placeholderData: keepPreviousData,
    })),
    combine: together,
  });
}

/** Everything that the page asks first. */
export function ask(queries: QueryClient, opening: Opening) {
  const { now, before } = openedQuery(opening);
  const few = openedQuery(opening, FEW).now;
  void queries.prefetchQuery(query(ALL, { query: now }));
  if (openedFilters(opening, FILTERS).compare) void queries.prefetchQuery(query(ALL, { query: before }));
  for (const { by, metric = USUAL } of RANKED) void queries.prefetchQuery(query(SERIES, rankedQuery(few, by, metric)));
  for (const by of Object.keys(TOLD) as ToldBy[]) void queries.prefetchQuery(query(SERIES, toldQuery(now, by)));
}

const COLUMNS = [
  ...(['requests', 'errors', 'client_errors', 'gateway_errors', 'provider_errors'] as const),
  ...(['latency_p50', 'latency_p90', 'latency_p99', 'first_byte_p50', 'first_byte_p90', 'first_byte_p99'] as const),
  ...(['input_tokens', 'output_tokens', 'cached_tokens', 'reasoning_tokens', 'cost'] as const),
  'requests_without_cost',
] as const satisfies readonly (keyof Point)[];
const UNITS: Readonly<Record<string, string>> = { cost: '_usd' };
const titleOf = (name: string) => name + (UNITS[name] ?? (/^latency|^first_byte/.test(name) ? '_ms' : ''));

/** A table of all that is drawn, a row for each point. */
export const timelineOf = ({ now }: Figures) => [
  ['timestamp', ...COLUMNS.map(titleOf)],
  ...now.data_points.map((point) => [point.timestamp, ...COLUMNS.map((name) => point[name])]),
];
