import { z } from 'zod';
import { fail } from '../core/errors.ts';
import { type Checked, lazily } from '../core/lazily.ts';
import { integerInQuery } from '../core/list.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { Call, Route } from '../http/route.ts';
import { type LogQuery, type LogReach, positionOf } from './log-query.ts';
import type { Metrics } from './metrics.ts';
import type { RequestLog } from './request-log.ts';

const EPOCH = /^\d{9,16}$/;
/** Numbers of this size are milliseconds already; in seconds they would lie beyond the year 5000. */
const MILLISECONDS_FROM = 1e11;

function timeOf(text: string): number {
  if (EPOCH.test(text)) return Number(text) >= MILLISECONDS_FROM ? Number(text) : Number(text) * 1000;
  return /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
}

/** No text in the store holds U+0000, and PostgreSQL refuses the question. */
const word = lazily(() =>
  z
    .string()
    .min(1)
    .max(1000)
    .refine((text) => !text.includes('\0'), 'must not contain U+0000'),
);
const time = lazily(() =>
  word().refine((text) => !Number.isNaN(timeOf(text)), 'must be ISO 8601 or seconds or milliseconds since the epoch'),
);
const METADATA = 'metadata.';

const logsQuery = lazily(() =>
  z
    .object({
      workspace_id: word()
        .optional()
        .describe('Only for keys that act on the whole organisation; others see their own.'),
      start_time: time().optional().describe('Entries from this moment on: ISO 8601 or epoch.'),
      end_time: time().optional().describe('Entries before this moment: ISO 8601 or epoch.'),
      status: integerInQuery(100, 599).optional(),
      failed_by: z.enum(['gateway', 'provider', 'client']).optional(),
      provider: word().optional(),
      model: word().optional(),
      virtual_key: word().optional(),
      api_key_id: word().optional(),
      user_id: word().optional(),
      trace_id: word().optional(),
      path: word().optional().describe('The beginning of the path.'),
      is_stream: z.enum(['true', 'false']).optional(),
      limit: integerInQuery(1, 1000).default(100),
      after: word()
        .refine((cursor) => positionOf(cursor) !== null, 'must be the next_cursor of an earlier page')
        .optional()
        .describe('The next_cursor of the page before.'),
    })
    .catchall(word())
    .superRefine((query, context) => {
      const isKnown = (name: string) =>
        Object.hasOwn(logsQuery().shape, name) || (name.startsWith(METADATA) && name.length > METADATA.length);
      const keys = Object.keys(query).filter((name) => !isKnown(name));
      if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: query });
    })
    .describe('Besides these, metadata.<key>=<value> selects entries by their metadata.'),
);

type LogsQuery = Checked<typeof logsQuery>;

const count = lazily(() => z.number().nullable());
const logRecord = lazily(() =>
  z.object({
    id: z.string(),
    trace_id: z.string(),
    created_at: z.number().describe('Milliseconds since the epoch.'),
    organisation_id: z.string().nullable(),
    workspace_id: z.string().nullable(),
    api_key_id: z.string().nullable(),
    user_id: z.string().nullable(),
    virtual_key: z.string().nullable(),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    method: z.string(),
    path: z.string(),
    status: z.number(),
    failed_by: z.enum(['gateway', 'provider', 'client']).nullable(),
    error_code: z.string().nullable(),
    is_stream: z.boolean(),
    request_bytes: z.number(),
    response_bytes: z.number(),
    first_byte_ms: count(),
    duration_ms: z.number(),
    input_tokens: count(),
    output_tokens: count(),
    total_tokens: count(),
    cached_tokens: count(),
    reasoning_tokens: count(),
    cost: count().describe('US dollars by list price; null when the price or the usage is unknown.'),
    client_address: z.string(),
    metadata: z.record(z.string(), z.string()).nullable(),
    hook_results: z
      .object({ before_request_hooks: z.array(z.unknown()), after_request_hooks: z.array(z.unknown()) })
      .nullable()
      .describe('What guardrails found; null where none looked.'),
  }),
);

const logPage = lazily(() =>
  z.object({
    object: z.literal('list'),
    data: z.array(logRecord()).describe('Newest first.'),
    has_more: z.boolean(),
    next_cursor: z.string().optional().describe('Send it as after to get the next page.'),
  }),
);

const message = lazily(() =>
  z.object({
    headers: z.record(z.string(), z.string()).describe('Values that could open a door are [redacted].'),
    body: z.string().nullable(),
    encoding: z.enum(['utf8', 'base64']),
    truncated: z.boolean(),
  }),
);

const logDetail = lazily(() =>
  logRecord().extend({
    request: message().nullable().describe('null when bodies were not kept.'),
    response: message().nullable(),
  }),
);

export interface TelemetryDeps {
  readonly log: RequestLog;
  readonly metrics: Metrics;
}

export const telemetryRoutes = ({ log, metrics }: TelemetryDeps): Route[] => [
  {
    method: 'GET',
    path: '/v1/logs',
    scopes: ['logs.list'],
    summary: 'Request logs, newest first',
    query: logsQuery,
    response: logPage,
    handle: async ({ principal, query }: Call<LogsQuery>) => json(await log.list(toQuery(principal, query))),
  },
  {
    method: 'GET',
    path: '/v1/logs/:id',
    scopes: ['logs.read'],
    summary: 'One request log with its bodies',
    response: logDetail,
    handle: async ({ principal, params }: Call) => {
      const id = params.id ?? '';
      const found = id.includes('\0') ? null : await log.read(reachOf(principal), id);
      return json(found ?? fail('log_not_found', id));
    },
  },
  {
    method: 'GET',
    path: '/metrics',
    scopes: ['metrics.read'],
    summary: 'Metrics in the Prometheus text format',
    handle: () =>
      new Response(metrics.render(), { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } }),
  },
];

const json = (text: string) => new Response(text, { headers: { 'content-type': 'application/json' } });

const reachOf = (who: Principal): LogReach => ({
  organisationId: who.organisationId,
  workspaceId: reachesOrganisation(who) ? null : who.workspaceId,
});

function toQuery(who: Principal, query: LogsQuery): LogQuery {
  const reach = reachOf(who);
  if (reach.workspaceId !== null && query.workspace_id !== undefined && query.workspace_id !== reach.workspaceId) {
    fail('workspace_not_found', query.workspace_id);
  }
  const metadata = Object.entries(query)
    .filter(([name]) => name.startsWith(METADATA))
    .map(([name, value]) => [name.slice(METADATA.length), String(value)]);
  return {
    organisationId: reach.organisationId,
    workspaceId: reach.workspaceId ?? query.workspace_id ?? null,
    limit: query.limit,
    ...(query.start_time !== undefined && { startTime: timeOf(query.start_time) }),
    ...(query.end_time !== undefined && { endTime: timeOf(query.end_time) }),
    ...(query.after !== undefined && { after: positionOf(query.after)! }),
    ...(query.is_stream !== undefined && { isStream: query.is_stream === 'true' }),
    status: query.status,
    failedBy: query.failed_by,
    provider: query.provider,
    model: query.model,
    virtualKey: query.virtual_key,
    apiKeyId: query.api_key_id,
    userId: query.user_id,
    traceId: query.trace_id,
    pathPrefix: query.path,
    metadata: Object.fromEntries(metadata),
  };
}
