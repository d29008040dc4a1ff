import { type AnonymousCall, del, get, options, post, type Route } from '../http/route.ts';
import type { Address } from './aggregate/aggregate.ts';
import type { Mcp } from './mcp.ts';
import { listingQuery } from './server/listing.ts';
import { connectRoutes } from './upstream-oauth/routes.ts';

const ENDPOINT = '/:server/mcp';
/** All servers of a workspace. */
const COMMON = '/mcp';
/** The same, with tools that are searched for. */
const SEARCHED = '/mcp/search';
/** The same, with programs that call them. */
const CODED = '/mcp/code';
const SET = '/mcp/sets/:set';
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

const detailsOf = (mcp: Mcp, summary: string) =>
  ({
    scopes: ['mcp.invoke'],
    isMcp: true,
    stamp: (headers) => mcp.origins.corsOf(headers),
    summary,
  }) as const satisfies Partial<Route>;

/** The addresses behind which several servers stand. */
function commonRoutes(mcp: Mcp, path: string, how: string, addressOf: (call: Addressed) => Address): Route[] {
  const details = (summary: string) => detailsOf(mcp, `${summary}${how}`);
  const relay = (call: AnonymousCall & Addressed) => mcp.relayToAny(call, addressOf(call));
  return [
    post(path, details('Send a message to any MCP server of the workspace'), relay),
    get(path, details('Open the stream of a session with all MCP servers'), relay),
    del(path, details('End a session with all MCP servers'), relay),
    options(path, { ...details('What a page of another origin may send'), scopes: 'public', isMcp: false }, (call) =>
      mcp.origins.preflight(call.headers),
    ),
  ];
}

interface Addressed {
  readonly params: Readonly<Record<string, string>>;
}

function endpointRoutes(mcp: Mcp): Route[] {
  const details = (summary: string) => detailsOf(mcp, summary);
  return [
    ...commonRoutes(mcp, COMMON, '', () => ({ shows: null, set: null })),
    ...commonRoutes(mcp, SEARCHED, ', searching for tools', () => ({ shows: 'search', set: null })),
    ...commonRoutes(mcp, CODED, ', by programs', () => ({ shows: 'code', set: null })),
    ...commonRoutes(mcp, SET, ', as far as a tool set goes', ({ params }) => ({ shows: null, set: params.set! })),
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
