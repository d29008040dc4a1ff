import * as z from 'zod';
import { type Page, type PageQuery, pageOf, pageQuery } from '../../core/paging.ts';
import type { Principal } from '../../core/principal.ts';
import type { Checked } from '../../core/schema.ts';
import { deleted, name, note } from '../../http/resource.ts';
import { del, get, post, put, type Route } from '../../http/route.ts';

const url = () =>
  z
    .url({ protocol: /^(?:https?|stdio)$/, error: 'give the http(s) address of the MCP endpoint' })
    .max(2_048)
    .describe('The MCP endpoint that calls are relayed to, or the base address of an API. A program has none.');

export const create = () =>
  z.strictObject({
    name: name(),
    slug: z.string().optional().describe('Unique over the installation: the server is called at /{slug}/mcp.'),
    description: note().optional(),
    workspace_id: z.string().min(1).optional(),
    url: url().optional(),
    auth_type: z
      .enum(['none', 'headers', 'oauth_auto', 'oauth_client_credentials'], {
        error: 'give "none", "headers", "oauth_auto" or "oauth_client_credentials"',
      })
      .optional(),
    configurations: z
      .record(z.string(), z.unknown(), { error: 'give an object' })
      .optional()
      .describe('Headers, identity, authorization, guardrails, pinning and limits; see docs/mcp.md.'),
  });
const update = () =>
  create()
    .omit({ slug: true, workspace_id: true })
    .partial()
    .describe('A given member of configurations replaces the old one; null removes it.');

const server = () =>
  z
    .object({
      id: z.string(),
      object: z.literal('mcp-server'),
      slug: z.string(),
      name: z.string(),
      description: z.string().nullable(),
      workspace_id: z.string(),
      url: z.string(),
      endpoint: z.string().describe('Where clients reach the server through the gateway.'),
      auth_type: z.string(),
      configurations: z.record(z.string(), z.unknown()).describe('Secrets are masked.'),
      warnings: z.array(z.string()).describe('What works and is not as safe as it could be.'),
      created_at: z.string(),
      last_updated_at: z.string(),
    })
    .meta({ id: 'McpServer' });
const tested = () =>
  z.object({
    success: z.boolean(),
    status_code: z.number().int().nullable(),
    response_time_ms: z.number(),
    url: z.string(),
    server_name: z.string().nullable(),
    protocol_version: z.string().nullable(),
    error: z.string().nullable(),
  });
const identity = () =>
  z.object({
    object: z.literal('mcp-identity'),
    method: z.enum(['claims_header', 'bearer', 'jwt_header']).nullable().describe('null: the server is not told.'),
    header: z.string().nullable(),
    claims: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('Those of the caller that would be told; null where a token goes on unchanged.'),
    signed: z
      .object({ algorithm: z.literal('RS256'), issuer: z.string(), audience: z.string().nullable(), seconds: z.int() })
      .nullable()
      .describe('What the gateway adds when it signs; null: it does not.'),
    problem: z.string().nullable(),
  });
const listQuery = () => pageQuery().extend({ workspace_id: z.string().min(1).optional() });

type Create = Checked<typeof create>;

/** What stands behind these routes: the registry in `mcp`. */
export interface McpServerAdmin {
  create(who: Principal, input: Create): Promise<object>;
  list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<object>>;
  read(who: Principal, idOrSlug: string): Promise<object>;
  update(who: Principal, idOrSlug: string, input: Partial<Create>): Promise<object>;
  delete(who: Principal, idOrSlug: string): Promise<string>;
  /** Calls the server once, as a client with this key would. */
  test(who: Principal, idOrSlug: string): Promise<Checked<typeof tested>>;
  /** What the server would be told of this caller. */
  identity(who: Principal, idOrSlug: string): Promise<Checked<typeof identity>>;
}

export const mcpServerRoutes = (servers: McpServerAdmin): Route[] => [
  post(
    '/v1/mcp-servers',
    {
      scopes: ['mcp_servers.create'],
      audit: { resource: 'mcp_servers' },
      summary: 'Register an MCP server',
      body: create,
      response: server,
    },
    (call) => servers.create(call.principal, call.body),
  ),
  get(
    '/v1/mcp-servers',
    {
      scopes: ['mcp_servers.list'],
      summary: 'MCP servers the caller may see',
      query: listQuery,
      response: () => pageOf(server),
    },
    (call) => servers.list(call.principal, call.query),
  ),
  get(
    '/v1/mcp-servers/:slug',
    { scopes: ['mcp_servers.read'], summary: 'One MCP server, by slug or id', response: server },
    (call) => servers.read(call.principal, call.params.slug),
  ),
  put(
    '/v1/mcp-servers/:slug',
    {
      scopes: ['mcp_servers.update'],
      audit: { resource: 'mcp_servers' },
      summary: 'Change an MCP server',
      body: update,
      response: server,
    },
    (call) => servers.update(call.principal, call.params.slug, call.body),
  ),
  del(
    '/v1/mcp-servers/:slug',
    {
      scopes: ['mcp_servers.delete'],
      audit: { resource: 'mcp_servers' },
      summary: 'Remove an MCP server',
      response: () => deleted('mcp-server'),
    },
    async (call) => ({
      id: await servers.delete(call.principal, call.params.slug),
      object: 'mcp-server',
      deleted: true,
    }),
  ),
  post(
    '/v1/mcp-servers/:slug/test',
    {
      scopes: ['mcp_servers.read'],
      audit: { resource: 'mcp_servers', action: 'test' },
      summary: 'Call an MCP server once and say how it went',
      response: tested,
    },
    (call) => servers.test(call.principal, call.params.slug),
  ),
  get(
    '/v1/mcp-servers/:slug/identity',
    {
      scopes: ['mcp_servers.read'],
      summary: 'What an MCP server would be told of the caller; no token is made',
      response: identity,
    },
    (call) => servers.identity(call.principal, call.params.slug),
  ),
];
