import { useMemo } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import { useAnalyticsQuery } from '../../shell/range.ts';

export type Graph = ResponseOf<'/v1/analytics/graphs/all'>;
export type Point = Graph['data_points'][number];

export interface Figures {
  readonly now: Graph;
  /** The same of the time before; null where it is not asked for, or not here yet. */
  readonly before: Graph | null;
}

const ALL = '/v1/analytics/graphs/all';
const KEEPS = { keepsLast: true } as const;

/** Everything that is drawn comes in one answer: charts that come one by one would jump. */
export function useOverview(isCompared: boolean) {
  const { now, before } = useAnalyticsQuery();
  const asked = useApi(ALL, { query: now }, KEEPS);
  const { data: past } = useApi(ALL, { query: before }, { ...KEEPS, enabled: isCompared });
  const { data } = asked;
  const figures = useMemo(
    (): Figures | null => (data ? { now: data, before: isCompared ? (past ?? null) : null } : null),
    [data, past, isCompared],
  );
  return { figures, error: asked.error, retry: () => void asked.refetch() };
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
