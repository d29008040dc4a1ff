/** Figures, as `/v1/analytics/series` calls them. */
const METRIC_NAMES = [
  ...(['requests', 'cost', 'total_tokens', 'input_tokens', 'output_tokens', 'cached_tokens'] as const),
  ...(['reasoning_tokens', 'errors', 'error_rate', 'client_errors', 'gateway_errors', 'provider_errors'] as const),
  ...(['latency_avg', 'latency_p50', 'latency_p90', 'latency_p99'] as const),
  ...(['first_byte_avg', 'first_byte_p50', 'first_byte_p90', 'first_byte_p99'] as const),
  ...(['requests_without_cost', 'request_bytes', 'response_bytes'] as const),
] as const;
export type MetricName = (typeof METRIC_NAMES)[number];

export const isMetric = (name: string): name is MetricName => (METRIC_NAMES as readonly string[]).includes(name);
