import * as z from 'zod';
import { pageOf, pageQuery } from '../../core/paging.ts';
import { MCP_TOOLS } from '../../core/principal.ts';
import { deleted, name, note } from '../../http/resource.ts';
import { del, get, post, put, type Route } from '../../http/route.ts';
import { setTools } from '../tools/tool-set.ts';
import type { ToolSets } from '../tools/tool-sets.ts';

const create = () =>
  z.strictObject({
    name: name(),
    slug: z.string().optional().describe('Unique over the installation: the set is called at /mcp/sets/{slug}.'),
    description: note().optional().describe('For people; clients get it as instructions.'),
    workspace_id: z.string().min(1).optional(),
    mcp_tools: z
      .enum(MCP_TOOLS, { error: 'give "all", "search", "code" or null' })
      .nullable()
      .optional()
      .describe('Whether its clients get all definitions or search them; null: as their key says.'),
    tools: setTools(),
  });
const update = () => create().omit({ slug: true, workspace_id: true }).partial();

const toolSet = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('mcp-tool-set'),
      slug: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      workspace_id: z.string(),
      endpoint: z.string().describe('Where clients reach the set.'),
      mcp_tools: z.enum(MCP_TOOLS).nullable(),
      tools: z.array(
        z.object({
          server: z.string(),
          tool: z.string(),
          name: z.string(),
          description: z.string().nullable(),
          status: z
            .enum(['available', 'switched_off', 'not_offered', 'server_deleted', 'unknown'])
            .describe('As of the last sync of the server; unknown: it was never synced.'),
        }),
      ),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'McpToolSet' });
const listQuery = () => pageQuery().extend({ workspace_id: z.string().min(1).optional() });

export const mcpToolSetRoutes = (sets: ToolSets): Route[] => [
  post(
    '/v1/mcp-tool-sets',
    {
      scopes: ['mcp_servers.create'],
      audit: { resource: 'mcp_tool_sets' },
      summary: 'Make a set of tools of several MCP servers',
      body: create,
      response: toolSet,
    },
    (call) => sets.create(call.principal, call.body),
  ),
  get(
    '/v1/mcp-tool-sets',
    {
      scopes: ['mcp_servers.list'],
      summary: 'Tool sets the caller may see',
      query: listQuery,
      response: () => pageOf(toolSet),
    },
    (call) => sets.list(call.principal, call.query),
  ),
  get(
    '/v1/mcp-tool-sets/:slug',
    { scopes: ['mcp_servers.read'], summary: 'One tool set, by slug or id', response: toolSet },
    (call) => sets.read(call.principal, call.params.slug),
  ),
  put(
    '/v1/mcp-tool-sets/:slug',
    {
      scopes: ['mcp_servers.update'],
      audit: { resource: 'mcp_tool_sets' },
      summary: 'Change a tool set; a given list of tools replaces the old one',
      body: update,
      response: toolSet,
    },
    (call) => sets.update(call.principal, call.params.slug, call.body),
  ),
  del(
    '/v1/mcp-tool-sets/:slug',
    {
      scopes: ['mcp_servers.delete'],
      audit: { resource: 'mcp_tool_sets' },
      summary: 'Remove a tool set',
      response: () => deleted('mcp-tool-set'),
    },
    async (call) => ({
      id: await sets.delete(call.principal, call.params.slug),
      object: 'mcp-tool-set',
      deleted: true,
    }),
  ),
];
