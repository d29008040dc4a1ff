import { get, options, post, type Route } from '../../http/route.ts';
import type { Oauth } from './oauth.ts';
import { DEVICE_PAGE } from './paths.ts';

const SERVER = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';

/** Clients may be pages of any origin. No cookie counts here, so they see nothing of a user. */
const fromAnywhere = () => ({ 'access-control-allow-origin': '*' });
const ofClients = (summary: string) => ({ scopes: 'public', stamp: fromAnywhere, summary }) as const;
const ofPeople = (summary: string) => ({ scopes: 'public', summary }) as const;

/** The authorization server for MCP clients: what they and the people behind them ask. */
export const oauthRoutes = ({ oauth }: { readonly oauth: Oauth }): Route[] => [
  get(SERVER, ofClients('What the authorization server can do (RFC 8414)'), () => oauth.metadata()),
  get(OPENID, ofClients('The same, where OpenID clients look'), () => oauth.openidMetadata()),
  get('/oauth/authorize', ofPeople('Page: let an MCP client act for you'), (call) => oauth.authorize(call)),
  post(
    '/oauth/consent',
    { ...ofPeople('Form: allow it, or not'), audit: { resource: 'mcp_consents', changedStatus: 303 } },
    (call) => oauth.consent(call),
  ),
  post(
    '/oauth/sign-in',
    { ...ofPeople('Form: sign in'), audit: { resource: 'sessions', changedStatus: 303 } },
    (call) => oauth.signIn(call),
  ),
  get('/oauth/sign-in/provider', ofPeople('Sign in through the identity provider: goes there'), (call) =>
    oauth.signInThroughProvider(call),
  ),
  post('/oauth/device_authorization', ofClients('Ask to be let in by a person who types a code (RFC 8628)'), (call) =>
    oauth.beginDevice(call),
  ),
  get('/device', ofPeople('Where people begin who have a code of a program; leads to /oauth/device'), (call) =>
    oauth.enterDevice(call),
  ),
  get(DEVICE_PAGE, ofPeople('Page: let a program in by its code'), (call) => oauth.device(call)),
  post(
    DEVICE_PAGE,
    { ...ofPeople('Form: let it in, or not'), audit: { resource: 'api_keys', changedStatus: 303 } },
    (call) => oauth.decideDevice(call),
  ),
  post('/oauth/token', ofClients('Get or renew tokens'), (call) => oauth.token(call)),
  post('/oauth/revoke', ofClients('End a token (RFC 7009)'), (call) => oauth.revoke(call)),
  post('/oauth/register', ofClients('Register a client (RFC 7591)'), (call) => oauth.register(call)),
  ...[SERVER, OPENID, '/oauth/token', '/oauth/device_authorization', '/oauth/revoke', '/oauth/register'].map((path) =>
    options(path, ofClients('What a page of another origin may send'), preflight),
  ),
];

const preflight = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'content-type, authorization, mcp-protocol-version',
      'access-control-max-age': '7200',
    },
  });
