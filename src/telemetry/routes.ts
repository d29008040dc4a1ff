import * as z from 'zod';
import { fail } from '../core/errors.ts';
import { integerInQuery } from '../core/list.ts';
import type { Prices } from '../core/prices.ts';
import { type Principal, reachesOrganisation } from '../core/principal.ts';
import type { Checked } from '../core/schema.ts';
import { headerOf } from '../http/headers.ts';
import { closingLog } from '../http/pulled-stream.ts';
import { jsonText } from '../http/reply.ts';
import type { Call, CallAt, Route } from '../http/route.ts';
import type { Store } from '../storage/store.ts';
import { workspaceAsked } from '../storage/workspace-lookup.ts';
import { withCostDetails } from './cost-details.ts';
import { EXPORT_TYPES, exported } from './export.ts';
import { MOST_HITS } from './hits/counts.ts';
import { filterFields, filterOf, filterText, queryWithMetadata, termsOf, time, timeOf, word } from './log-filters.ts';
import { type LogQuery, type LogReach, positionOf } from './log-query.ts';
import type { Metrics } from './metrics/metrics.ts';
import { CONTENT_TYPES, formatOf, render } from './metrics/render.ts';
import type { RequestLog } from './request-log.ts';
import { type SearchedWorkspaces, searchesAny, searchesOf } from './search/chosen.ts';

const workspaceId = () =>
  word()
    .optional()
    .describe('Id or slug; of a deleted workspace the id. Keys that act on one workspace see their own.');

const entriesAsked = () => ({
  workspace_id: workspaceId(),
  start_time: time().optional().describe('Entries from this moment on: ISO 8601 or epoch.'),
  end_time: time().optional().describe('Entries before this moment: ISO 8601 or epoch.'),
  filter: filterText(),
  ...filterFields(),
});

const exportQuery = () =>
  queryWithMetadata({
    ...entriesAsked(),
    format: z.enum(['ndjson', 'csv']).default('ndjson'),
  });

type ExportQuery = Checked<typeof exportQuery>;

const logsQuery = () =>
  queryWithMetadata({
    ...entriesAsked(),
    limit: integerInQuery(1, 1000).default(100),
    after: word()
      .refine((cursor) => positionOf(cursor) !== null, 'must be the next_cursor of an earlier page')
      .optional()
      .describe('The next_cursor of the page before.'),
  });

type LogsQuery = Checked<typeof logsQuery>;

const hitsQuery = () =>
  z.strictObject({
    workspace_id: workspaceId(),
    guardrail: word().optional().describe('The slug of a guardrail; all of them when left out.'),
    limit: integerInQuery(1, MOST_HITS).default(MOST_HITS),
  });

type HitsQuery = Checked<typeof hitsQuery>;

const count = () => z.number().nullable();
const logRecord = () =>
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
    session_id: z.string().nullable().describe('The session the call belongs to; null where it named none.'),
    attempt_count: count().describe('How often a provider was asked; null in entries from before this was counted.'),
  });

const logPage = () =>
  z.object({
    object: z.literal('list'),
    data: z.array(logRecord()).describe('Newest first.'),
    has_more: z.boolean(),
    next_cursor: z.string().optional().describe('Send it as after to get the next page.'),
  });

const message = () =>
  z.object({
    headers: z.record(z.string(), z.string()).describe('Values that could open a door are [redacted].'),
    body: z.string().nullable(),
    encoding: z.enum(['utf8', 'base64']),
    truncated: z.boolean(),
  });

const body = () =>
  z.object({ body: z.string().nullable(), encoding: z.enum(['utf8', 'base64']), truncated: z.boolean() });

const cacheDecision = () =>
  z.object({
    status: z.enum(['HIT', 'MISS', 'REFRESH']),
    started_ms: z.number(),
    duration_ms: z.number(),
  });

const attempt = () =>
  z.object({
    target: z.string().describe('Where it stands in the config: config, config.targets[1].'),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    virtual_key: z.string().nullable(),
    host: z.string().nullable().describe('null: the provider is inside the gateway, or was not asked.'),
    skipped: z.boolean().describe('The provider was not asked.'),
    reason: z
      .enum(['retry', 'fallback', 'stream_options_refused', 'circuit_open'])
      .nullable()
      .describe('Why it was made after another one, or why the target was passed over.'),
    started_ms: z.number().describe('Times are milliseconds since created_at.'),
    connect_ms: count().describe('How long a connection took to make; null: an open one was used.'),
    first_byte_ms: count().describe('When the answer began.'),
    ended_ms: z.number(),
    status: count().describe('What the provider answered, or the gateway for it where it was not asked.'),
    error_code: z.string().nullable(),
    input_tokens: count(),
    output_tokens: count(),
    total_tokens: count(),
    cost: count(),
    cache: cacheDecision().nullable(),
    guardrails: z.array(
      z.object({
        hook: z.enum(['input', 'output']),
        id: z.string(),
        verdict: z.boolean().nullable(),
        deny: z.boolean(),
        started_ms: z.number(),
        duration_ms: z.number(),
      }),
    ),
    request: body()
      .nullable()
      .describe('What went to the provider, where it speaks another format than the client and bodies were kept.'),
    response: body().nullable().describe('What it answered; null where guardrails judge answers.'),
  });

const logDetail = () =>
  logRecord().extend({
    cost_details: z
      .object({ input: z.number(), cached_input: z.number(), output: z.number(), reasoning: z.number() })
      .nullable()
      .describe('US dollars of each kind of tokens, by the prices of now; null where these do not come to the cost.'),
    attempts: z
      .array(attempt())
      .describe('Every request to a provider, and every target that was passed over, in order.'),
    cache: cacheDecision()
      .extend({ target: z.string() })
      .nullable()
      .describe('Set where the answer was one that had been kept.'),
    request: message().nullable().describe('null when bodies were not kept.'),
    response: message().nullable(),
  });

export interface TelemetryDeps extends SearchDeps {
  readonly log: RequestLog;
  readonly metrics: Metrics;
  readonly prices: Pick<Prices, 'priceOf'>;
}

interface SearchDeps {
  readonly store: Store;
  /** Workspaces whose bodies are found by their words. */
  readonly searched: SearchedWorkspaces;
}

export const telemetryRoutes = ({ log, metrics, prices, store, searched }: TelemetryDeps): Route[] => [
  {
    method: 'GET',
    path: '/v1/logs',
    scopes: ['logs.list'],
    summary: 'Request logs, newest first',
    query: logsQuery,
    response: logPage,
    handle: async ({ principal, query }: Call<LogsQuery>) =>
      jsonText(await log.list(await toQuery({ store, searched }, principal, query))),
  },
  {
    method: 'GET',
    path: '/v1/logs/export',
    scopes: ['logs.list'],
    summary: 'All request logs that a filter means, as a stream of lines, newest first',
    query: exportQuery,
    handle: async ({ principal, query, log: own }: Call<ExportQuery>) => {
      const entries = exported(await toFilter({ store, searched }, principal, query), query.format, (page) =>
        log.list(page),
      );
      const headers = {
        'content-type': EXPORT_TYPES[query.format],
        'content-disposition': `attachment; filename="logs.${query.format}"`,
        'x-content-type-options': 'nosniff',
      };
      return new Response(closingLog(entries, own, 200), { headers });
    },
  },
  {
    method: 'GET',
    path: '/v1/guardrail-hits',
    scopes: ['logs.list'],
    summary: 'The request logs of the latest calls that a guardrail objected to, newest first',
    query: hitsQuery,
    response: logPage,
    handle: async ({ principal, query }: Call<HitsQuery>) => {
      const workspaceId = await workspaceAsked(store.db, principal, query.workspace_id);
      const reach = { organisationId: principal.organisationId, workspaceId };
      const { guardrail = null, limit } = query;
      return jsonText(await log.analyse({ kind: 'hits', reach, guardrail, limit }));
    },
  },
  {
    method: 'GET',
    path: '/v1/logs/:id',
    scopes: ['logs.read'],
    summary: 'One request log with its bodies',
    response: logDetail,
    handle: async ({ principal, params: { id } }: CallAt<'id'>) => {
      const found = id.includes('\0') ? null : await log.read(reachOf(principal), id);
      return jsonText(withCostDetails(found ?? fail('log_not_found', id), prices));
    },
  },
  {
    method: 'GET',
    path: '/metrics',
    scopes: ['metrics.read'],
    summary: 'Metrics for Prometheus, as text or as OpenMetrics with exemplars',
    handle: async ({ headers }) => {
      const format = formatOf(headerOf(headers, 'accept'));
      const text = render(await metrics.scrape(), format);
      return new Response(text, { headers: { 'content-type': CONTENT_TYPES[format] } });
    },
  },
];

const reachOf = (who: Principal): LogReach => ({
  organisationId: who.organisationId,
  workspaceId: reachesOrganisation(who) ? null : who.workspaceId,
});

/** Whether what was said can be asked for: of all workspaces, where any of them has chosen so. */
async function isSearched(
  { db }: Store,
  searched: SearchedWorkspaces,
  who: Principal,
  workspaceId: string | null,
): Promise<boolean> {
  if (workspaceId === null || !searchesAny(searched)) return searchesAny(searched);
  const slug = workspaceId === who.workspaceId ? who.workspaceSlug : await slugOf(db, workspaceId);
  return searchesOf(searched)(slug);
}

async function slugOf(db: Store['db'], id: string): Promise<string | null> {
  const found = await db.selectFrom('workspaces').select('slug').where('id', '=', id).executeTakeFirst();
  return found?.slug ?? null;
}

async function toFilter(
  { store, searched }: SearchDeps,
  who: Principal,
  query: Omit<LogsQuery, 'limit' | 'after'>,
): Promise<Omit<LogQuery, 'limit' | 'after'>> {
  const workspaceId = await workspaceAsked(store.db, who, query.workspace_id);
  return {
    ...filterOf(query),
    terms: termsOf(query.filter, await isSearched(store, searched, who, workspaceId)),
    organisationId: who.organisationId,
    workspaceId,
    ...(query.start_time !== undefined && { startTime: timeOf(query.start_time) }),
    ...(query.end_time !== undefined && { endTime: timeOf(query.end_time) }),
  };
}

const toQuery = async (deps: SearchDeps, who: Principal, query: LogsQuery): Promise<LogQuery> => ({
  ...(await toFilter(deps, who, query)),
  limit: query.limit,
  ...(query.after !== undefined && { after: positionOf(query.after)! }),
});
