import * as z from 'zod';
import { get, type Route } from '../../http/route.ts';
import { rangeFields, rangeOf } from '../../telemetry/analytics/asked-range.ts';
import { timeOf } from '../../telemetry/log-filters.ts';
import type { Usage } from '../policy/usage.ts';

const figures = () => ({
  calls: z.number().int(),
  errors: z.number().int().describe('Refusals, failures, errors of JSON-RPC, and tools that said that they failed.'),
  error_rate: z.number(),
  latency_ms: z.object({
    avg: z.number(),
    p50: z.number().nullable(),
    p90: z.number().nullable(),
    p99: z.number().nullable(),
  }),
  request_bytes: z.number().int(),
  response_bytes: z.number().int().describe('What a client, and often a model, got to read.'),
});
const row = () =>
  z.object({
    server: z.string().nullable().optional(),
    tool: z.string().nullable().optional(),
    user_id: z.string().nullable().optional().describe('Null: keys of no user.'),
    ...figures(),
  });
const usage = () =>
  z.object({
    object: z.literal('mcp-usage'),
    server: z.string().optional(),
    data: z.array(row()).describe('Those with the most calls first.'),
    unused_tools: z
      .array(z.string())
      .nullable()
      .optional()
      .describe('Tools of the last sync that are switched on and were not called; null: there was no sync.'),
  });

const USUAL_MS = 30 * 86_400_000;
const times = () => {
  const { time_of_generation_min: from, time_of_generation_max: until } = rangeFields();
  return {
    time_of_generation_min: from.optional().describe('ISO 8601 or epoch; 30 days before the end unless given.'),
    time_of_generation_max: until.optional().describe('Now unless given.'),
  };
};
type Times = { readonly time_of_generation_min?: string; readonly time_of_generation_max?: string };
const askedRange = ({ time_of_generation_min: from, time_of_generation_max: until }: Times, now: number) => {
  const end = until ?? new Date(now + 1).toISOString();
  const start = from ?? new Date(timeOf(end) - USUAL_MS).toISOString();
  return rangeOf({ time_of_generation_min: start, time_of_generation_max: end });
};

const ofServer = () =>
  z.strictObject({
    ...times(),
    group_by: z.enum(['tool', 'user'], { error: 'give "tool" or "user"' }).default('tool'),
  });
const ofAll = () =>
  z.strictObject({
    ...times(),
    group_by: z.enum(['server', 'user'], { error: 'give "server" or "user"' }).default('server'),
  });

export const mcpUsageRoutes = (figures: Usage): Route[] => [
  get(
    '/v1/mcp-servers/:slug/usage',
    {
      scopes: ['analytics.view', 'mcp_servers.read'],
      summary: 'Calls, errors, latency and bytes of an MCP server by tool or user, and tools that are not used',
      query: ofServer,
      response: usage,
    },
    ({ principal, params, query, now }) =>
      query.group_by === 'tool'
        ? figures.byTool(principal, params.slug, askedRange(query, now))
        : figures.byUser(principal, params.slug, askedRange(query, now)),
  ),
  get(
    '/v1/mcp-usage',
    {
      scopes: ['analytics.view', 'mcp_servers.list'],
      summary: 'The same of all MCP servers, by server or user',
      query: ofAll,
      response: usage,
    },
    ({ principal, query, now }) => figures.ofAll(principal, askedRange(query, now), query.group_by),
  ),
];
