import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { serve } from '../gateway.ts';
import type { Visitor } from '../identity-provider.ts';

export interface ProtectedOptions {
  /** What it puts before its users' requests; everything that is let in is answered by it. */
  readonly answer: (request: Request) => Response | Promise<Response>;
  /** Reads the documents of clients, in place of asking the network. */
  readonly fetchDocument?: (url: string) => Promise<Response>;
  readonly registers?: boolean;
  readonly clients?: readonly Record<string, unknown>[];
  /** Changes what the server, or its issuer, says of itself. */
  readonly metadata?: (document: Record<string, unknown>, path: string) => Record<string, unknown>;
}

/** An MCP server whose users have accounts of their own, with a real authorization server in front of it. */
export interface ProtectedServer {
  readonly url: string;
  readonly issuer: string;
  /** Tokens that it takes no longer, as if they had been revoked. */
  readonly refused: Set<string>;
  /** Every access token that it was shown. */
  readonly shown: string[];
  /** How often each kind of grant succeeded, and how often one failed. */
  readonly grants: Record<string, number>;
  /** All requests to any path of the authorization server. */
  readonly asked: string[];
  /** A pause before each answer of the token endpoint. */
  slowness: number;
  stop(): Promise<void>;
}

export async function startProtectedServer(options: ProtectedOptions): Promise<ProtectedServer> {
  const refused = new Set<string>();
  const shown: string[] = [];
  const grants: Record<string, number> = {};
  const asked: string[] = [];
  const count = (name: string) => {
    grants[name] = (grants[name] ?? 0) + 1;
  };
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(listener.address() as { port: number }).port}`;

  const wellKnown = '/.well-known/oauth-protected-resource';
  const resource = serve(async (request) => {
    const { pathname, origin } = new URL(request.url);
    if (pathname === `${wellKnown}/mcp`) {
      const about = { resource: `${origin}/mcp`, authorization_servers: [issuer], scopes_supported: ['notes'] };
      return Response.json(options.metadata?.(about, pathname) ?? about);
    }
    if (pathname !== '/mcp') return new Response(null, { status: 404 });
    const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
    if (token) shown.push(token);
    const known = token && !refused.has(token) ? await provider.AccessToken.find(token) : undefined;
    if (known?.isValid) return options.answer(request);
    const challenge = `Bearer resource_metadata="${origin}${wellKnown}/mcp", error="invalid_token"`;
    return new Response('{"error":"invalid_token"}', { status: 401, headers: { 'www-authenticate': challenge } });
  });

  const provider = new Provider(issuer, configuration(`${resource.origin}/mcp`, options)) as unknown as Models;
  provider.on('grant.success', ({ oidc }) => count(String(oidc.params.grant_type)));
  provider.on('grant.error', () => count('error'));
  const answer = provider.callback();
  const server: ProtectedServer = {
    url: `${resource.origin}/mcp`,
    issuer,
    refused,
    shown,
    grants,
    asked,
    slowness: 0,
    stop: async () => {
      resource.stop();
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
  listener.on('request', async (request, response) => {
    const path = (request.url ?? '').split('?')[0]!;
    asked.push(`${request.method} ${path}`);
    if (path === '/token' && server.slowness > 0) await Bun.sleep(server.slowness);
    if (options.metadata && path.startsWith('/.well-known/')) {
      const said = await own(path);
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify(options.metadata(said, path)));
    }
    return answer(request, response);
  });
  /** What it says of itself, asked at another door. */
  const own = async (path: string): Promise<Record<string, unknown>> => {
    const inner = createServer((request, response) => answer(request, response));
    await new Promise<void>((resolve) => inner.listen(0, '127.0.0.1', resolve));
    const { port } = inner.address() as { port: number };
    const { host } = new URL(issuer);
    const said = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { host } });
    inner.closeAllConnections();
    inner.close();
    return (await said.json()) as Record<string, unknown>;
  };
  return server;
}

/** What is used of the package, which brings no types. */
interface Models {
  readonly AccessToken: { find(token: string): Promise<{ isValid: boolean } | undefined> };
  on(event: string, handler: (context: { oidc: { params: Record<string, unknown> } }) => void): void;
  callback(): (...parts: unknown[]) => unknown;
}

const configuration = (resource: string, { registers = true, clients = [], fetchDocument }: ProtectedOptions) => ({
  clients: [...clients],
  scopes: ['openid', 'offline_access', 'notes'],
  cookies: { keys: ['only for tests'] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  ...(fetchDocument && { fetch: (url: string | URL) => fetchDocument(String(url)) }),
  findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: async () => ({ sub }) }),
  features: {
    registration: { enabled: registers },
    revocation: { enabled: true },
    ...(fetchDocument && { clientIdMetadataDocument: { enabled: true, ack: 'draft-02' } }),
    resourceIndicators: {
      enabled: true,
      defaultResource: () => undefined,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context: unknown, asked: string) => {
        if (asked !== resource) throw new Error(`tokens for ${asked} are not given out here`);
        return { scope: 'notes', audience: resource, accessTokenTTL: 600, accessTokenFormat: 'opaque' };
      },
    },
  },
});

/** The way of a user through the connect page, the authorization server, and back. Answers the last page. */
export async function connectAccount(visitor: Visitor, link: string, way: Way = {}): Promise<Response> {
  const back = await leaveAndReturn(visitor, link, way);
  const arrived = await visitor.open(back);
  const location = arrived.headers.get('location');
  return location ? visitor.open(new URL(location, back).href) : arrived;
}

export interface Way {
  /** At the authorization server. */
  readonly account?: string;
  /** Where the gateway says it is, if not at the link. */
  readonly publicUrl?: string;
}

/** Up to the address that the authorization server sends the user back to, at the gateway of the link. */
export async function leaveAndReturn(visitor: Visitor, link: string, { account = 'ada', publicUrl }: Way = {}) {
  const { origin } = new URL(link);
  const away = await beginConnecting(visitor, link);
  const back = await visitor.passThrough(away, account, `${publicUrl ?? origin}/oauth/upstream-callback`);
  return publicUrl ? back.replace(publicUrl, origin) : back;
}

/** Presses the button. Answers where the browser is sent. */
export async function beginConnecting(visitor: Visitor, link: string): Promise<string> {
  const shown = await (await visitor.open(link)).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(shown)?.[1];
  if (!csrf) throw new Error(`no form at ${link}: ${shown}`);
  const left = await visitor.open(link, { csrf });
  const away = /^0;url=(.+)$/.exec(left.headers.get('refresh') ?? '')?.[1];
  if (!away) throw new Error(`no way on from ${link}: ${left.status} ${await left.text()}`);
  return away;
}
