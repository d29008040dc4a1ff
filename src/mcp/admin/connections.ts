import * as z from 'zod';
import { type Page, type PageQuery, pageOf, pageQuery } from '../../core/paging.ts';
import type { Principal } from '../../core/principal.ts';
import type { Checked } from '../../core/schema.ts';
import { deleted } from '../../http/resource.ts';
import { del, get, type Route } from '../../http/route.ts';

const connection = () =>
  z.object({
    user_id: z.string(),
    email: z.string(),
    issuer: z.string().nullable(),
    scope: z.string().nullable(),
    renews_itself: z.boolean().describe('Whether the gateway can renew it without the user.'),
    expires_at: z.string().nullable(),
    created_at: z.string(),
    last_updated_at: z.string(),
  });

/** What stands behind these routes: the vault in `mcp`. */
export interface McpConnectionAdmin {
  connections(who: Principal, idOrSlug: string, query: PageQuery): Promise<Page<Checked<typeof connection>>>;
  disconnect(who: Principal, idOrSlug: string, userId: string): Promise<void>;
}

export const mcpConnectionRoutes = (servers: McpConnectionAdmin): Route[] => [
  get(
    '/v1/mcp-servers/:slug/connections',
    {
      scopes: ['mcp_servers.read'],
      summary: 'Users who have connected an account of theirs at an MCP server',
      query: pageQuery,
      response: () => pageOf(connection),
    },
    ({ principal, params, query }) => servers.connections(principal, params.slug, query),
  ),
  del(
    '/v1/mcp-servers/:slug/connections/:user',
    {
      scopes: ['mcp_servers.update'],
      audit: { resource: 'mcp_servers', action: 'disconnect' },
      summary: "Forget a user's tokens for an MCP server",
      response: () => deleted('mcp-connection'),
    },
    async ({ principal, params }) => {
      await servers.disconnect(principal, params.slug, params.user);
      return { id: params.user, object: 'mcp-connection', deleted: true };
    },
  ),
];
