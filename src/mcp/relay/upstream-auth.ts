import { BoundedMap } from '../../core/bounded-map.ts';
import { fail } from '../../core/errors.ts';
import type { TokenSource } from '../../providers/provider.ts';
import type { Caller } from '../caller/caller.ts';
import type { OauthMetadata } from '../server/oauth-metadata.ts';
import type { McpServer } from '../server/server.ts';
import type { Refusal, UserTokens } from '../upstream-oauth/user-tokens.ts';

/** How the gateway itself gets in at a server, where it does not do so by headers that never change. */
export interface UpstreamAuth {
  /** The value of Authorization; null where none is needed. Throws when the caller must connect an account first. */
  authorizationFor(server: McpServer, caller: Caller): Promise<string | null>;
  /** The server refused that value with 401: another one to try once; null when there is none. */
  renewed(server: McpServer, caller: Caller, refused: string | null): Promise<string | null>;
  /** To be called when the server refused it for good: throws what the user can do, and else the next call gets a new one. */
  refused(server: McpServer, caller: Caller, refusal: Refusal): void;
}

export interface UpstreamAuthDeps {
  readonly tokens: TokenSource;
  readonly userTokens: UserTokens;
  readonly now: () => number;
}

/** Where the issuer does not say how long a token lives. */
const ASSUMED_SECONDS = 300;
const MOST_REFUSALS = 10_000;

export function createUpstreamAuth({ tokens, userTokens, now }: UpstreamAuthDeps): UpstreamAuth {
  const refusals = new BoundedMap<string, number>(MOST_REFUSALS);

  /** Client credentials (RFC 6749 section 4.4): one token for all callers, fetched once however many wait for it. */
  const sharedToken = (server: McpServer, oauth: OauthMetadata): Promise<string> => {
    const cacheKey = `mcp ${server.version} ${refusals.get(server.version) ?? 0}`;
    return tokens.get(cacheKey, async () => {
      const answer = await tokens.postForm(`MCP server ${server.slug}`, oauth.token_endpoint!, ...requestOf(oauth));
      if (typeof answer.access_token !== 'string' || !/^[\x21-\x7e]+$/.test(answer.access_token))
        return fail('credential_rejected', `MCP server ${server.slug}`, 'the answer holds no access_token');
      const lifetime = Number(answer.expires_in ?? ASSUMED_SECONDS);
      const seconds = Number.isFinite(lifetime) && lifetime > 0 ? lifetime : ASSUMED_SECONDS;
      return { value: answer.access_token, expiresAt: now() + seconds * 1_000 };
    });
  };

  return {
    authorizationFor: async (server, caller) => {
      const { oauth, authType } = server;
      if (authType === 'oauth_auto') return userTokens.authorizationFor(server, caller);
      return authType === 'oauth_client_credentials' && oauth ? `Bearer ${await sharedToken(server, oauth)}` : null;
    },
    renewed: async (server, caller, refused) =>
      server.authType === 'oauth_auto' && refused !== null ? userTokens.renewed(server, caller, refused) : null,
    refused: (server, caller, refusal) => {
      const { version, authType } = server;
      if (authType === 'oauth_auto') return userTokens.refused(server, caller, refusal);
      if (authType !== 'oauth_client_credentials') return;
      refusals.set(version, (refusals.get(version) ?? 0) + 1);
    },
  };
}

function requestOf(oauth: OauthMetadata): [form: Record<string, string>, headers: Record<string, string>] {
  const { client_id = '', client_secret = '', scope, resource, audience, token_endpoint_auth_method } = oauth;
  const form: Record<string, string> = { grant_type: 'client_credentials' };
  for (const [name, value] of Object.entries({ scope, resource, audience })) if (value) form[name] = value;
  if (token_endpoint_auth_method === 'client_secret_post') return [{ ...form, client_id, client_secret }, {}];
  const pair = [client_id, client_secret].map(encodeURIComponent).join(':');
  return [form, { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }];
}
