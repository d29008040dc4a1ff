import * as z from 'zod';
import { integerInQuery } from '../../core/list.ts';
import { get, type Route } from '../../http/route.ts';
import { LONGEST_CURSOR, type PublicRegistry } from '../server/public-registry.ts';

const query = () =>
  z.strictObject({
    search: z.string().max(200).optional().describe('A part of the name.'),
    cursor: z.string().min(1).max(LONGEST_CURSOR).optional().describe('The `next_cursor` of the page before.'),
    limit: integerInQuery(1, 100).default(30).describe('Servers per page.'),
  });
const found = () =>
  z
    .object({
      name: z.string().describe('Its name in the registry, such as com.example/weather.'),
      title: z.string(),
      description: z.string(),
      version: z.string(),
      url: z.string().nullable().describe('Its Streamable HTTP endpoint; null: it cannot be added as it is.'),
      header: z.string().nullable().describe('The header that it wants a secret in.'),
      problem: z.string().nullable().describe('Why it cannot be added as it is.'),
    })
    .meta({ id: 'McpRegistryEntry' });
const page = () =>
  z.object({
    object: z.literal('list'),
    registry: z.string().describe('The host that was asked.'),
    data: z.array(found()),
    next_cursor: z.string().nullable(),
  });

export const mcpRegistryRoutes = (registry: PublicRegistry): Route[] => [
  get(
    '/v1/mcp-registry/servers',
    {
      ...{ scopes: ['mcp_servers.create'], summary: 'Search the registry of MCP servers that the operator has named' },
      ...{ query, response: page },
    },
    (call) => registry.search(call.query),
  ),
];
