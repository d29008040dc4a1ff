import type { ResponseOf } from '../../api/client.ts';
import { formatBytes, formatDuration, formatMoney, formatNumber } from '../../design/format.ts';
import type { MetricName } from './metric-names.ts';

export type Series = ResponseOf<'/v1/analytics/series'>;

const share = (value: number) => `${(value * 100).toFixed(value < 0.1 ? 2 : 1)} %`;

export interface Metric {
  readonly label: string;
  readonly format: (value: number) => string;
  /** Parts add up to the whole. */
  readonly isSum: boolean;
  /** Less of it is good, or neither is. */
  readonly better?: 'less';
}

const sum = (label: string, format = formatNumber): Metric => ({ label, format, isSum: true });
const failures = (label: string): Metric => ({ ...sum(label), better: 'less' });
const mean = (label: string, format = formatDuration): Metric => ({ label, format, isSum: false, better: 'less' });

export const METRICS = {
  requests: sum('Requests'),
  cost: { ...sum('Cost', formatMoney), better: 'less' },
  total_tokens: sum('Tokens'),
  input_tokens: sum('Input tokens'),
  output_tokens: sum('Output tokens'),
  cached_tokens: sum('Cached tokens'),
  reasoning_tokens: sum('Reasoning tokens'),
  errors: failures('Errors'),
  error_rate: mean('Share of errors', share),
  client_errors: failures('Errors of clients'),
  gateway_errors: failures('Errors of the gateway'),
  provider_errors: failures('Errors of providers'),
  latency_avg: mean('Latency, mean'),
  latency_p50: mean('Latency, p50'),
  latency_p90: mean('Latency, p90'),
  latency_p99: mean('Latency, p99'),
  first_byte_avg: mean('First byte, mean'),
  first_byte_p50: mean('First byte, p50'),
  first_byte_p90: mean('First byte, p90'),
  first_byte_p99: mean('First byte, p99'),
  requests_without_cost: failures('Calls without a price'),
  request_bytes: sum('Bytes of requests', formatBytes),
  response_bytes: sum('Bytes of answers', formatBytes),
} satisfies Record<MetricName, Metric>;

export const METRIC_CHOICES = Object.entries(METRICS).map(([value, { label }]) => ({
  value: value as MetricName,
  label,
}));

export const formatShare = share;

/** Each point with all before it. */
export function running(points: readonly (number | null)[]): number[] {
  let total = 0;
  return points.map((point) => {
    total += point ?? 0;
    return total;
  });
}
