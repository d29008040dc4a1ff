import { fail } from '../../core/errors.ts';
import type { ApiKeyId, UserId, WorkspaceId } from '../../core/ids.ts';
import type { Principal } from '../../core/principal.ts';
import { sha256 } from '../../crypto/seal.ts';
import { cachedBy } from '../../storage/cached-by.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Store } from '../../storage/store.ts';
import { type FindUser, mayCall } from './users.ts';
import type { FindWorkspace } from './workspaces.ts';

/** What an access token of ours says. */
export interface AccessToken {
  readonly userId: UserId;
  readonly workspaceId: WorkspaceId;
  readonly clientId: string;
  readonly resource: string;
  readonly scope: string;
  readonly expiresAt: number;
}

const FORM = /^gwt_[\w-]{43}$/;

/** Told by its form, so that it is never taken for a key or for a token of another issuer. */
export const isAccessToken = (text: string): boolean => FORM.test(text);

/** Who a token stands for: the user, in the workspace that the token is for. */
export interface TokenHolder {
  readonly token: AccessToken;
  readonly principal: Principal;
}

export interface AccessTokensDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly findUser: FindUser;
  readonly findWorkspace: FindWorkspace;
  readonly now: () => number;
}

export function createAccessTokens({ store, changes, findUser, findWorkspace, now }: AccessTokensDeps) {
  const load = async (hash: string): Promise<AccessToken | null> => {
    const row = await store.db
      .selectFrom('mcp_access_tokens')
      .innerJoin('mcp_grants', 'mcp_grants.id', 'mcp_access_tokens.grant_id')
      .where('mcp_access_tokens.hash', '=', hash)
      .select(['user_id', 'workspace_id', 'client_id', 'resource', 'scope', 'mcp_access_tokens.expires_at'])
      .executeTakeFirst();
    return row
      ? {
          userId: row.user_id as UserId,
          workspaceId: row.workspace_id as WorkspaceId,
          clientId: row.client_id,
          resource: row.resource,
          scope: row.scope,
          expiresAt: Number(row.expires_at),
        }
      : null;
  };
  // Tokens end with their user, their server and their workspace, too.
  const topics = ['mcp-tokens', 'mcp-servers', 'users', 'keys'] as const;
  const cache = cachedBy(changes, topics, load, { most: 10_000, staleMs: 60_000, now });

  return {
    /** Throws 401 unless the token lives, is meant for this resource, and its user may still call it. */
    async identify(secret: string, resource: string | null): Promise<TokenHolder> {
      const hash = sha256(secret);
      const token = cache.peek(hash) ?? (await cache.get(hash));
      if (!token || token.expiresAt <= now() || token.resource !== resource) return fail('invalid_access_token');
      const user = await findUser(token.userId, token.workspaceId);
      const workspace = await findWorkspace(token.workspaceId);
      if (!user || !workspace || !mayCall(user)) return fail('invalid_access_token');
      return {
        token,
        principal: {
          ...workspace,
          keyId: token.userId as string as ApiKeyId,
          keyName: user.email,
          userId: token.userId,
          scopes: new Set(['mcp.invoke'] as const),
        },
      };
    },
  };
}

export type AccessTokens = ReturnType<typeof createAccessTokens>;
