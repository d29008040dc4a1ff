import { del, get, options, post, type Route } from '../http/route.ts';
import type { Mcp } from './mcp.ts';
import { listingQuery } from './server/listing.ts';
import { connectRoutes } from './upstream-oauth/routes.ts';

const ENDPOINT = '/:server/mcp';
/** All servers of a workspace. */
const COMMON = '/mcp';
const KEY_SET = '/.well-known/jwks.json';
const METADATA = '/.well-known/oauth-protected-resource';

/** Pages of any origin may read these: they hold nothing that is not public. */
const fromAnywhere = () => ({ 'access-control-allow-origin': '*' });

/** What MCP clients and servers ask; the registry of servers is an admin resource. */
export const mcpRoutes = (mcp: Mcp): Route[] => [...publicRoutes(mcp), ...connectRoutes(mcp), ...endpointRoutes(mcp)];

const publicRoutes = (mcp: Mcp): Route[] => [
  get(
    KEY_SET,
    { scopes: 'public', stamp: fromAnywhere, summary: 'Public keys that signed identities are checked with' },
    (call) => mcp.keySet(call.headers),
  ),
  get(METADATA, { scopes: 'public', stamp: fromAnywhere, summary: 'What this gateway is to OAuth clients' }, () =>
    mcp.metadata(null),
  ),
  get(
    `${METADATA}${COMMON}`,
    { scopes: 'public', stamp: fromAnywhere, summary: 'Whose tokens the address of all MCP servers takes' },
    () => mcp.commonMetadata(),
  ),
  get(
    `${METADATA}${ENDPOINT}`,
    { scopes: 'public', stamp: fromAnywhere, summary: 'Whose tokens an MCP server takes' },
    (call) => mcp.metadata(call.params.server),
  ),
  get(
    '/v0.1/servers',
    { scopes: ['mcp_servers.list'], summary: 'MCP servers, in the format of the public registry', query: listingQuery },
    (call) => mcp.list(call.principal, call.query),
  ),
];

function endpointRoutes(mcp: Mcp): Route[] {
  const details = (summary: string) =>
    ({
      scopes: ['mcp.invoke'],
      isMcp: true,
      stamp: (headers) => mcp.origins.corsOf(headers),
      summary,
    }) as const satisfies Partial<Route>;
  return [
    post(COMMON, details('Send a message to any MCP server of the workspace'), (call) => mcp.relayToAny(call)),
    del(COMMON, details('End a session with all MCP servers'), (call) => mcp.relayToAny(call)),
    options(COMMON, { ...details('What a page of another origin may send'), scopes: 'public', isMcp: false }, (call) =>
      mcp.origins.preflight(call.headers),
    ),
    post(ENDPOINT, details('Send a message to an MCP server'), (call) => mcp.relay(call)),
    get(ENDPOINT, details('Open the stream of an MCP session'), (call) => mcp.relay(call)),
    del(ENDPOINT, details('End an MCP session'), (call) => mcp.relay(call)),
    options(
      ENDPOINT,
      { ...details('What a page of another origin may send'), scopes: 'public', isMcp: false },
      (call) => mcp.origins.preflight(call.headers),
    ),
  ];
}
