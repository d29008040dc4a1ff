import { createServer, type Server } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { Provider } from 'oidc-provider';

/** A real OpenID provider that issues access tokens to machines, for whatever audience they ask. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly jwksUri: string;
  readonly introspectEndpoint: string;
  /** How often its keys were asked for. */
  readonly keyRequests: number;
  /** An access token: a JWT for that audience, or an opaque one without. */
  token(audience?: string): Promise<string>;
  stop(): Promise<void>;
}

export const CLIENT = { id: 'agent', secret: 'agent-secret-for-tests' };
/** Tokens for this audience live one second. */
export const SHORT_LIVED = 'https://short-lived.example/mcp';

export async function newSigningKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, use: 'sig', alg: 'RS256' };
}

export interface ProviderOptions {
  readonly keys: readonly JWK[];
  /** One that was in use before; 0 picks a free one. */
  readonly port?: number;
  /** Claimed in place of its own address. */
  readonly issuer?: string;
}

export async function startIdentityProvider({ keys, port = 0, issuer }: ProviderOptions): Promise<IdentityProvider> {
  let answer: ((...parts: unknown[]) => unknown) | null = null;
  let keyRequests = 0;
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/jwks')) keyRequests++;
    answer?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const own = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const provider = new Provider(issuer ?? own, configuration(keys));
  answer = provider.callback();
  return {
    issuer: issuer ?? own,
    jwksUri: `${own}/jwks`,
    introspectEndpoint: `${own}/token/introspection`,
    get keyRequests() {
      return keyRequests;
    },
    token: (audience) => fetchToken(own, audience),
    stop: () => close(server),
  };
}

function configuration(keys: readonly JWK[]) {
  return {
    jwks: { keys: [...keys] },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        scope: 'mcp',
      },
    ],
    scopes: ['mcp'],
    extraTokenClaims: () => ({
      email: 'ada@example.com',
      groups: ['mathematicians', 'engineers'],
      workspace_id: 'theirs',
    }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: 'mcp',
          audience: resource,
          accessTokenTTL: resource === SHORT_LIVED ? 1 : 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  } as const;
}

async function fetchToken(origin: string, resource?: string): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', scope: 'mcp', ...(resource && { resource }) });
  const response = await fetch(`${origin}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}` },
    body: form,
  });
  const answer = (await response.json()) as { access_token?: string };
  if (!answer.access_token) throw new Error(`no token: ${JSON.stringify(answer)}`);
  return answer.access_token;
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
