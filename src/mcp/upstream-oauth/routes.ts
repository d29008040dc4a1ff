import { get, post, type Route } from '../../http/route.ts';
import type { ConnectPages } from './connect-pages.ts';
import { CALLBACK, CLIENT_DOCUMENT } from './oauth-client.ts';

export interface ConnectParts {
  readonly connect: ConnectPages;
  readonly clientDocument: () => unknown;
}

/** Where users connect their own accounts at MCP servers. The page asks its visitor to sign in. */
export const connectRoutes = ({ connect, clientDocument }: ConnectParts): Route[] => [
  get('/connect', { scopes: 'public', summary: 'Page: all MCP servers that one may call' }, connect.index),
  post(
    '/connect',
    {
      scopes: 'public',
      audit: { resource: 'sessions', changedStatus: 303 },
      summary: 'Sign in to see them',
    },
    connect.signIn,
  ),
  get('/connect/:server', { scopes: 'public', summary: "Page: connect one's account at an MCP server" }, connect.show),
  post(
    '/connect/:server',
    { scopes: 'public', summary: 'Go to the authorization server of an MCP server' },
    connect.begin,
  ),
  post(
    '/connect/:server/sign-in',
    {
      scopes: 'public',
      audit: { resource: 'sessions', changedStatus: 303 },
      summary: 'Sign in on the way to connecting',
    },
    connect.signIn,
  ),
  post(
    '/connect/:server/disconnect',
    {
      scopes: 'public',
      audit: { resource: 'mcp_connections', action: 'disconnect', changedStatus: 303 },
      summary: "Forget one's tokens for an MCP server",
    },
    connect.leave,
  ),
  get(CALLBACK, { scopes: 'public', summary: 'Where authorization servers send users back to' }, connect.comeBack),
  get(
    CLIENT_DOCUMENT,
    {
      scopes: 'public',
      stamp: () => ({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=300' }),
      summary: 'What this gateway is to authorization servers of MCP servers',
    },
    clientDocument,
  ),
];
