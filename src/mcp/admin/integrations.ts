import * as z from 'zod';
import { fail } from '../../core/errors.ts';
import { pageOf, pageQuery } from '../../core/paging.ts';
import { schemaOf } from '../../core/schema.ts';
import { deleted } from '../../http/resource.ts';
import { del, get, post, put, type Route } from '../../http/route.ts';
import type { ShownServer } from '../server/shown.ts';
import { type McpCapabilityAdmin, switches } from './capabilities.ts';
import { type McpServerAdmin, create as serverCreate } from './servers.ts';

/** What Portkey's clients call MCP integrations: MCP servers in other words; see docs/terraform.md. */

const TRANSPORTS = { http: 'streamable_http', sse: 'sse' } as const;
const transport = () =>
  z.enum(['http', 'sse'], { error: 'give "http" or "sse"; programs and APIs are made as MCP servers' });

const create = () => serverCreate().extend({ transport: transport().optional() });
const update = () => create().omit({ slug: true, workspace_id: true }).partial();

const integration = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('mcp-integration'),
      slug: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      url: z.string(),
      auth_type: z.string(),
      transport: z.string().describe('"http" or "sse"; "openapi" or "stdio" of a server that is no MCP server itself.'),
      configurations: z.record(z.string(), z.unknown()).describe('Secrets are masked.'),
      workspace_id: z.string(),
      type: z.literal('workspace').describe('An MCP server belongs to one workspace.'),
      status: z.literal('active'),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'McpIntegration' });
const listQuery = () => pageQuery().extend({ workspace_id: z.string().min(1).optional() });

const shown = ({ endpoint: _, warnings: __, object: ___, configurations, ...server }: ShownServer) => {
  const { transport: spoken = TRANSPORTS.http, ...rest } = configurations;
  return {
    ...server,
    object: 'mcp-integration' as const,
    transport: spoken === TRANSPORTS.http ? 'http' : String(spoken),
    configurations: rest,
    type: 'workspace' as const,
    status: 'active' as const,
  };
};

/** The transport is a configuration here and a member of its own there. */
function asServer<Body extends { readonly transport?: 'http' | 'sse'; readonly configurations?: object }>({
  transport: named,
  configurations,
  ...body
}: Body) {
  const given: Record<string, unknown> = { ...configurations };
  if ('transport' in given)
    fail('invalid_request', 'configurations.transport', 'is a member of the integration itself; give it there');
  if (named !== undefined) given.transport = TRANSPORTS[named];
  return { ...body, ...((configurations || named !== undefined) && { configurations: given }) };
}

const access = () =>
  z.object({ object: z.literal('list'), workspaces: z.array(z.object({ id: z.string(), enabled: z.literal(true) })) });
const accessChange = () =>
  z.strictObject({
    workspaces: z
      .array(z.strictObject({ id: z.string().min(1), enabled: z.boolean() }))
      .max(100)
      .optional(),
  });

const INTEGRATION = '/v1/mcp-integrations/:slug';
const changing = { scopes: ['mcp_servers.update'], audit: { resource: 'mcp_servers' } } as const;

export const mcpIntegrationRoutes = (servers: McpServerAdmin, capabilities: McpCapabilityAdmin): Route[] => [
  post(
    '/v1/mcp-integrations',
    {
      scopes: ['mcp_servers.create'],
      audit: { resource: 'mcp_servers' },
      summary: 'Register an MCP server, as an MCP integration',
      body: create,
      response: integration,
    },
    async (call) => shown((await servers.create(call.principal, asServer(call.body))) as ShownServer),
  ),
  get(
    '/v1/mcp-integrations',
    {
      scopes: ['mcp_servers.list'],
      summary: 'MCP servers the caller may see, as MCP integrations',
      query: listQuery,
      response: () => pageOf(integration),
    },
    async (call) => {
      const page = await servers.list(call.principal, call.query);
      return { ...page, data: (page.data as ShownServer[]).map(shown) };
    },
  ),
  get(
    INTEGRATION,
    { scopes: ['mcp_servers.read'], summary: 'One MCP integration, by slug or id', response: integration },
    async (call) => shown((await servers.read(call.principal, call.params.slug)) as ShownServer),
  ),
  put(
    INTEGRATION,
    { ...changing, summary: 'Change an MCP integration', body: update, response: integration },
    async (call) => shown((await servers.update(call.principal, call.params.slug, asServer(call.body))) as ShownServer),
  ),
  del(
    INTEGRATION,
    {
      scopes: ['mcp_servers.delete'],
      audit: { resource: 'mcp_servers' },
      summary: 'Remove an MCP integration',
      response: () => deleted('mcp-integration'),
    },
    async (call) => ({
      id: await servers.delete(call.principal, call.params.slug),
      object: 'mcp-integration',
      deleted: true,
    }),
  ),
  get(
    `${INTEGRATION}/workspaces`,
    { scopes: ['mcp_servers.read'], summary: 'The workspace of an MCP integration', response: access },
    async (call) => {
      const { workspace_id: id } = (await servers.read(call.principal, call.params.slug)) as ShownServer;
      return { object: 'list', workspaces: [{ id, enabled: true }] };
    },
  ),
  put(
    `${INTEGRATION}/workspaces`,
    { ...changing, summary: 'Refused: an MCP server belongs to one workspace', body: accessChange, response: access },
    async (call) => {
      await servers.read(call.principal, call.params.slug);
      return fail(
        'invalid_request',
        'workspaces',
        'an MCP server belongs to one workspace; give workspace_id when the integration is made, one integration for each workspace',
      );
    },
  ),
  get(
    `${INTEGRATION}/capabilities`,
    {
      scopes: ['mcp_servers.read'],
      summary: 'What an MCP integration offers, and whether it may be used',
      query: pageQuery,
      response: () => z.looseObject({ data: z.array(z.looseObject({ name: z.string(), enabled: z.boolean() })) }),
    },
    (call) =>
      capabilities.list(call.principal, call.params.slug, {
        ...call.query,
        // Its client takes one page for all of them.
        page_size: Math.max(call.query.page_size, schemaOf(pageQuery).parse({ page_size: '1000' }).page_size),
      }),
  ),
  put(
    `${INTEGRATION}/capabilities`,
    {
      ...changing,
      summary: 'Switch tools, prompts and resources of an MCP integration on or off',
      body: switches,
      response: () => z.looseObject({ object: z.literal('list') }),
    },
    (call) => capabilities.switch(call.principal, call.params.slug, call.body.capabilities),
  ),
];
