import * as z from 'zod';
import type { FeedbackGraphName } from '../feedback/graphs.ts';
import type { GROUPS, LogGraphName, MADE_GROUPS } from './question.ts';
import { METRIC_NAMES, type MetricName } from './series.ts';

/** What graphs and groups show, for the OpenAPI description. */

const count = () => z.number().int();
const share = () => z.number().nullable();

const graph = (figures: z.ZodRawShape) =>
  z.object({
    object: z.literal('analytics-graph'),
    bucket_seconds: z.number().int().describe('How long the time is that each point stands for.'),
    summary: z.object(figures),
    data_points: z
      .array(z.object({ timestamp: z.iso.datetime().describe('Where the time of the point begins.'), ...figures }))
      .describe('One for every bucket, oldest first.'),
  });

const described = (summary: string, figures: () => z.ZodRawShape) => ({
  summary,
  response: () => graph(figures()),
});

const durations = () => ({ requests: count(), avg: share(), p50: share(), p90: share(), p99: share() });

/** Means and percentiles are null where there is nothing that they are of. */
const figure = (name: MetricName) =>
  /_rate$|_avg$|_p\d\d$/.test(name) ? share() : name === 'cost' ? z.number().describe('US dollars.') : count();
const everyFigure = () => Object.fromEntries(METRIC_NAMES.map((name) => [name, figure(name)]));

export const GRAPHS = {
  all: described('All figures over time, in one answer', everyFigure),
  requests: described('Requests over time', () => ({ requests: count() })),
  cost: described('Cost over time, in US dollars', () => ({
    requests: count(),
    cost: z.number(),
    requests_without_cost: count().describe('Of calls to providers: price or usage is unknown.'),
  })),
  latency: described('Time until the last byte, over time, in milliseconds', durations),
  'first-byte': described('Time until the first byte, over time, in milliseconds', durations),
  tokens: described('Tokens over time', () => ({
    requests: count(),
    input_tokens: count(),
    output_tokens: count(),
    total_tokens: count(),
    cached_tokens: count(),
    reasoning_tokens: count(),
  })),
  bytes: described('Bytes of requests and answers over time', () => ({
    requests: count(),
    request_bytes: count(),
    response_bytes: count(),
  })),
  users: described('Users that called, over time', () => ({ users: count() })),
  'users/requests': described('Requests per user over time', () => ({
    users: count(),
    requests: count().describe('Of users.'),
    requests_per_user: share(),
  })),
  errors: described('Failed requests over time', () => ({ errors: count() })),
  'errors/rate': described('Share of requests that failed, over time', () => ({
    requests: count(),
    errors: count(),
    error_rate: share(),
  })),
  'errors/origins': described('Whose fault failed requests were, over time', () => ({
    errors: count(),
    client_errors: count(),
    gateway_errors: count(),
    provider_errors: count(),
  })),
  'errors/status-codes': described('Statuses of failed requests over time', () => ({
    errors: count(),
    status_codes: z.record(z.string(), count()),
  })),
  feedbacks: described('Feedback over time', () => ({ feedbacks: count() })),
  'feedbacks/scores': described('How often each value was given as feedback, over time', () => ({
    feedbacks: count(),
    scores: z.record(z.string(), count()),
  })),
  'feedbacks/weighted': described('Weighted mean of feedback over time', () => ({
    feedbacks: count(),
    weighted_score: share(),
  })),
} satisfies Record<LogGraphName | FeedbackGraphName, unknown>;

const EACH: Readonly<Record<string, string>> = {
  users: 'user',
  'ai-models': 'model',
  providers: 'provider',
  'virtual-keys': 'virtual key',
  'api-keys': 'API key',
  'status-codes': 'status',
  workspaces: 'workspace',
  'error-codes': 'error code',
  endpoints: 'endpoint',
  verdicts: 'verdict of guardrails',
  'cache-statuses': 'status of the cache',
  'metadata/:key': 'value of a metadata key',
} satisfies Record<keyof typeof GROUPS | keyof typeof MADE_GROUPS | 'metadata/:key', string>;

export const groupSummary = (name: string) => `Requests, errors, cost and tokens of each ${EACH[name]}`;

export const group = (key: string) =>
  z.object({
    [key]: (key === 'status' ? z.number().int() : z.string()).nullable().describe('null: requests that have none.'),
    ...(key === 'workspace_id' && { workspace_slug: z.string().nullable().describe('null when it is deleted.') }),
    requests: z.number().int(),
    errors: z.number().int(),
    cost: z.number().describe('US dollars.'),
    requests_without_cost: z.number().int().describe('Of calls to providers: price or usage is unknown.'),
    input_tokens: z.number().int(),
    output_tokens: z.number().int(),
    total_tokens: z.number().int(),
    avg_duration_ms: z.number().nullable(),
  });

export const guardrailFigures = () =>
  z.object({
    object: z.literal('list'),
    counted_from: z
      .string()
      .nullable()
      .describe('Calls from before are not counted; null: all are. POST /v1/analytics/rebuild counts the others.'),
    data: z.array(
      z.object({
        guardrail: z.string().describe('Its slug, or the id that a config gives to one of its own.'),
        requests: z.number().int().describe('Calls that it looked at.'),
        passed: z.number().int(),
        failed: z.number().int().describe('Calls that it objected to, and that went on.'),
        denied: z.number().int().describe('Calls that it refused.'),
      }),
    ),
  });

const facetValue = () =>
  z.object({
    value: z.union([z.string(), z.number().int()]).nullable().describe('null: requests that have none.'),
    requests: z.number().int(),
  });

export const facets = () =>
  z.object({
    object: z.literal('analytics-facets'),
    facets: z
      .record(z.string(), z.object({ values: z.array(facetValue()), has_more: z.boolean() }))
      .describe('By model, provider, api_key_id and so on; those with the most requests first.'),
  });

const line = () => ({
  value: share().describe('The metric over all of the time.'),
  figures: z.object({
    requests: count(),
    errors: count(),
    error_rate: share(),
    cost: z.number().describe('US dollars.'),
    requests_without_cost: count(),
    input_tokens: count(),
    output_tokens: count(),
    total_tokens: count(),
    cached_tokens: count(),
    reasoning_tokens: count(),
    latency_avg: share(),
    first_byte_avg: share(),
  }),
  points: z.array(share()).describe('The metric in each bucket, in the order of the timestamps.'),
});

const seriesName = () => z.union([z.string(), z.number().int()]).nullable().describe('null: requests that have none.');

export const series = () =>
  z.object({
    object: z.literal('analytics-series'),
    bucket_seconds: z.number().int().describe('How long the time is that each point stands for.'),
    timestamps: z.array(z.iso.datetime()).describe('Where the time of each point begins, oldest first.'),
    total: z.object(line()),
    series: z
      .array(z.object({ group: seriesName(), subgroup: seriesName().optional(), ...line() }))
      .describe('Those with the most first.'),
    others: z
      .object({ groups: count().describe('How many are taken together.'), ...line() })
      .nullable()
      .describe('Everything else; null where nothing is.'),
  });

export const recounted = () =>
  z.object({
    object: z.literal('analytics-rebuild'),
    status: z.enum(['running', 'completed']),
    counted_from: z.iso.datetime().nullable().describe('From here on figures are counted; null: all are.'),
    log_from: z.iso.datetime().nullable().describe('Where the log begins; null: it has no entries.'),
  });
