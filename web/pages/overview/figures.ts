import { keepPreviousData, type QueryClient, type UseQueryResult, useQueries } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { askAll, query, useApi } from '../../api/hooks.ts';
import type { Opening } from '../../pages.ts';
import { openedView, useAnalyticsQuery } from '../../shell/range.ts';
import { ALL, FEW, type Metric, questions, RANKED, rankedQuery, SERIES, type ToldBy, toldQuery } from './questions.ts';

export type Graph = ResponseOf<'/v1/analytics/graphs/all'>;
export type Point = Graph['data_points'][number];

export interface Figures {
  readonly now: Graph;
  /** The same of the time before; null where it is not asked for, or not here yet. */
  readonly before: Graph | null;
}

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

export const useTold = (by: ToldBy) =>
  useApi(SERIES, toldQuery(useAnalyticsQuery().now, by), { ...KEEPS, isLater: true }).data;

export type Series = ResponseOf<typeof SERIES>;
/** Null until all have come: what comes at once is drawn once. */
const together = (asked: readonly UseQueryResult<Series>[]) =>
  asked.some(({ isLoading, failureCount }) => isLoading && failureCount === 0) ? null : asked.map(({ data }) => data);

/** What `RANKED` names, in that order; undefined where it could not be had. `isNext`: what stands above has come. */
export function useRankings(metric: Metric, isNext: boolean): readonly (Series | undefined)[] | null {
  const { now } = useAnalyticsQuery(FEW);
  return useQueries({
    queries: RANKED.map((ranked) => ({
      ...query(SERIES, rankedQuery(now, ranked.by, ranked.metric ?? metric), { isLater: true }),
      placeholderData: keepPreviousData,
      enabled: isNext,
    })),
    combine: together,
  });
}

export const ask = (queries: QueryClient, opening: Opening) => askAll(queries, questions(openedView(opening)));

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
