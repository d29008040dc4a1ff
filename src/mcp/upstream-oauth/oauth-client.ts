import type { FetchSmall } from '../../auth/key-sets.ts';
import { fail } from '../../core/errors.ts';
import type { Sealer } from '../../crypto/seal.ts';
import type { Db, Store } from '../../storage/store.ts';
import { TOKEN_AUTH_METHODS, type TokenAuthMethod } from '../server/oauth-metadata.ts';
import type { McpServer } from '../server/server.ts';
import { type Discovered, reasonOf } from './discovery.ts';

/** What this gateway is to an authorization server. */
export interface OauthClient {
  readonly id: string;
  readonly secret: string | null;
  readonly method: TokenAuthMethod;
}

export interface OauthClientsDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly fetch: FetchSmall;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

/** Where authorization servers send users back to. */
export const CALLBACK = '/oauth/upstream-callback';
/** Where they read who this gateway is, if they do. */
export const CLIENT_DOCUMENT = '/.well-known/oauth-client';

const NAME = 'Gateway';

/** A client that was registered by itself (RFC 7591), as it is kept. */
interface Registered {
  readonly client: OauthClient;
  readonly redirectUri: string;
  /** Milliseconds; null: never. */
  readonly expiresAt: number | null;
}

/** Finds out as which client to ask: a configured one, the document about this gateway, or one registered on the way. */
export function createOauthClients(deps: OauthClientsDeps) {
  const { store, sealer, publicUrl, now } = deps;
  const redirectUri = () => publicUrl() + CALLBACK;
  const contextOf = (server: McpServer, issuer: string) => `client ${server.id} ${issuer}`;

  const kept = async (server: McpServer, issuer: string): Promise<OauthClient | null> => {
    const row = await store.db
      .selectFrom('mcp_oauth_clients')
      .select('sealed')
      .where('server_id', '=', server.id)
      .where('issuer', '=', issuer)
      .executeTakeFirst();
    if (!row) return null;
    const found: Registered = JSON.parse(sealer.open('mcp-user-token', contextOf(server, issuer), row.sealed));
    const isOver = found.expiresAt !== null && found.expiresAt <= now();
    return isOver || found.redirectUri !== redirectUri() ? null : found.client;
  };

  const keep = async (server: McpServer, issuer: string, registered: Registered) => {
    const sealed = sealer.seal('mcp-user-token', contextOf(server, issuer), JSON.stringify(registered));
    await store.db
      .insertInto('mcp_oauth_clients')
      .values({ server_id: server.id, issuer, sealed, created_at: now() })
      .onConflict((conflict) => conflict.columns(['server_id', 'issuer']).doUpdateSet({ sealed, created_at: now() }))
      .execute();
  };

  return {
    async clientFor(server: McpServer, found: Discovered): Promise<OauthClient> {
      const given = server.oauth ?? {};
      if (given.client_id !== undefined) return configuredClient(server, found);
      if (found.takesDocuments && publicUrl().startsWith('https:'))
        return { id: publicUrl() + CLIENT_DOCUMENT, secret: null, method: 'none' };
      if (found.registrationEndpoint === null)
        return fail(
          'mcp_upstream_oauth_failed',
          server.slug,
          'it registers no clients by itself; register one there and set oauth_metadata.client_id',
        );
      const issuer = found.issuer ?? found.tokenEndpoint;
      const known = await kept(server, issuer);
      if (known) return known;
      const registered = await register(server, found, { ...deps, redirectUri: redirectUri() });
      await keep(server, issuer, registered);
      return registered.client;
    },

    /** The document that stands for this gateway as a client. */
    document: () => ({
      client_id: publicUrl() + CLIENT_DOCUMENT,
      client_uri: publicUrl(),
      token_endpoint_auth_method: 'none',
      ...commonMetadata(redirectUri()),
    }),
  };
}

export type OauthClients = ReturnType<typeof createOauthClients>;

/** After the issuer has said that it does not know the client (any more): the next user registers a new one. */
export const forgetClients = async (db: Db, serverId: string): Promise<void> =>
  void (await db.deleteFrom('mcp_oauth_clients').where('server_id', '=', serverId).execute());

/** The configured client; a secret is shown in the way that the configuration names, or that the issuer knows. */
export function configuredClient({ oauth }: McpServer, { authMethods }: Pick<Discovered, 'authMethods'>): OauthClient {
  const { client_id: id = '', client_secret: secret = null, token_endpoint_auth_method: method } = oauth ?? {};
  return { id, secret, method: secret === null ? 'none' : (method ?? confidentialMethod(authMethods)) };
}

const confidentialMethod = (known: readonly string[]): TokenAuthMethod =>
  !known.includes('client_secret_basic') && known.includes('client_secret_post')
    ? 'client_secret_post'
    : 'client_secret_basic';

const commonMetadata = (redirectUri: string) => ({
  client_name: NAME,
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  // Issuers let a `web` client come back to https only.
  application_type: redirectUri.startsWith('https:') ? 'web' : 'native',
});

async function register(
  server: McpServer,
  found: Discovered,
  { fetch, redirectUri, now }: Pick<OauthClientsDeps, 'fetch' | 'now'> & { readonly redirectUri: string },
): Promise<Registered> {
  const refuse = (why: string): never => fail('mcp_upstream_oauth_failed', server.slug, why);
  const method = server.oauth?.token_endpoint_auth_method ?? registeredMethod(found.authMethods);
  const asked = {
    ...commonMetadata(redirectUri),
    ...aboutClient(server),
    token_endpoint_auth_method: method,
    ...(found.scope !== null && { scope: found.scope }),
  };
  let response: Response;
  try {
    response = await fetch(found.registrationEndpoint!, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(asked),
    });
  } catch (error) {
    return refuse(reasonOf(error));
  }
  const answer = ((await response.json().catch(() => null)) ?? {}) as Record<string, unknown>;
  if (!response.ok || typeof answer.client_id !== 'string' || answer.client_id === '')
    return refuse(`registering a client there was answered ${response.status}; set oauth_metadata.client_id`);
  const secret = typeof answer.client_secret === 'string' ? answer.client_secret : null;
  const agreed = answer.token_endpoint_auth_method ?? method;
  const ends = Number(answer.client_secret_expires_at ?? 0);
  if (!isKnownMethod(agreed)) return refuse('it wants clients to prove themselves in a way that is not known here');
  return {
    client: { id: answer.client_id, secret, method: secret === null ? 'none' : agreed },
    redirectUri,
    expiresAt: secret !== null && Number.isFinite(ends) && ends > 0 ? Math.max(ends * 1_000, now() + 1) : null,
  };
}

const isKnownMethod = (value: unknown): value is TokenAuthMethod =>
  TOKEN_AUTH_METHODS.includes(value as TokenAuthMethod);

/** This gateway can keep a secret, so it asks for one wherever it may. */
const registeredMethod = (known: readonly string[]): TokenAuthMethod =>
  (['client_secret_basic', 'client_secret_post', 'none'] as const).find((each) => known.includes(each)) ??
  'client_secret_basic';

function aboutClient({ oauth }: McpServer): Readonly<Record<string, unknown>> {
  const { client_name, client_uri, logo_uri, tos_uri, policy_uri, contacts, software_id, software_version } =
    oauth ?? {};
  const given = { client_name, client_uri, logo_uri, tos_uri, policy_uri, contacts, software_id, software_version };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
