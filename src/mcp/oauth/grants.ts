import { fail } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import type { Witnessed } from '../../core/principal.ts';
import { type Sealer, sha256 } from '../../crypto/seal.ts';
import type { Changes } from '../../storage/changes.ts';
import type { McpGrantRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { isAllowedIn } from '../caller/access.ts';
import { isAccessToken } from '../caller/access-tokens.ts';
import { isAppId } from './apps.ts';
import { grantOf, lockGrant, type Permission, remember, sweep } from './grant-rows.ts';
import {
  accessTokenOf,
  answersChallenge,
  isSame,
  newCode,
  newSalt,
  readRefreshToken,
  refreshTokenOf,
} from './secrets.ts';

export interface Tokens {
  readonly accessToken: string;
  /** Null: the client cannot renew it. */
  readonly refreshToken: string | null;
  readonly expiresAt: number;
  readonly scope: string;
}

export interface GrantsDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'announce' | 'catchUp' | 'transaction'>;
  readonly sealer: Sealer;
  readonly tokenSeconds: number;
  readonly refreshDays: number;
  readonly now: () => number;
}

const CODE_MS = 60_000;
/** A client whose answer got lost may ask for the same once more; after that two parties hold the token. */
export const REPEAT_MS = 30_000;

/** Refusals are values: what a transaction found out must be committed before the client is told. */
type Outcome = { readonly tokens: Tokens } | { readonly refused: string; readonly isEnded?: boolean };

export function createGrants(deps: GrantsDeps) {
  const { store, changes, sealer, now } = deps;
  const tokenMs = deps.tokenSeconds * 1_000;
  const refreshMs = deps.refreshDays * 86_400_000;

  /** Ends a grant that two parties seem to hold, and asks the user again the next time. */
  const end = async (db: Db, grant: McpGrantRow, why: string): Promise<Outcome> => {
    await db.deleteFrom('mcp_grants').where('id', '=', grant.id).execute();
    await db
      .deleteFrom('mcp_consents')
      .where('user_id', '=', grant.user_id)
      .where('client_id', '=', grant.client_id)
      .where('resource', '=', grant.resource)
      .execute();
    await changes.announce(db, 'mcp-tokens');
    return { refused: why, isEnded: true };
  };

  const tokensOf = (grant: McpGrantRow, generation: number, expiresAt: number): Tokens => ({
    accessToken: accessTokenOf(sealer, grant, generation),
    refreshToken: grant.is_renewable === 1 ? refreshTokenOf(sealer, grant, generation) : null,
    expiresAt,
    scope: grant.scope,
  });

  const issue = async (db: Db, grant: McpGrantRow): Promise<Outcome> => {
    if (!(await isAllowedIn(db, grant.user_id, grant.workspace_id)))
      return end(db, grant, 'its user may not call this resource any more');
    const at = now();
    const generation = grant.generation + 1;
    const tokens = tokensOf(grant, generation, at + tokenMs);
    await db
      .updateTable('mcp_grants')
      .set({ generation, rotated_at: at, expires_at: at + (grant.is_renewable === 1 ? refreshMs : tokenMs) })
      .where('id', '=', grant.id)
      .execute();
    await db
      .insertInto('mcp_access_tokens')
      .values({ hash: sha256(tokens.accessToken), grant_id: grant.id, expires_at: tokens.expiresAt })
      .execute();
    const table = isAppId(grant.client_id) ? 'mcp_apps' : 'mcp_clients';
    await db.updateTable(table).set({ used_at: at }).where('id', '=', grant.client_id).execute();
    await sweep(db, store.engine, at);
    return { tokens };
  };

  /** The same tokens as a moment ago, for a client that did not get them. */
  const repeat = async (db: Db, grant: McpGrantRow): Promise<Outcome> => {
    const hash = sha256(accessTokenOf(sealer, grant, grant.generation));
    const row = await db.selectFrom('mcp_access_tokens').selectAll().where('hash', '=', hash).executeTakeFirst();
    return row ? { tokens: tokensOf(grant, grant.generation, Number(row.expires_at)) } : { refused: 'it was revoked' };
  };

  const settled = async (work: (db: Db) => Promise<Outcome>): Promise<Tokens> => {
    const outcome = await store.transaction(work);
    if ('tokens' in outcome) return outcome.tokens;
    // The tokens of the grant are refused from now on, by this node at least.
    if (outcome.isEnded) await changes.catchUp();
    return fail('oauth_invalid_grant', outcome.refused);
  };

  return {
    /** Answers the code by which the client gets its tokens. */
    async begin(permission: Permission, who?: Witnessed): Promise<string> {
      const code = newCode();
      const at = now();
      const { userId, workspaceId, serverId, client, resource, scope, redirectUri, challenge } = permission;
      const grant: McpGrantRow = {
        id: newId(),
        user_id: userId,
        workspace_id: workspaceId,
        server_id: serverId,
        client_id: client.id,
        client_name: client.name,
        resource,
        scope,
        salt: newSalt(),
        is_renewable: client.isRenewable ? 1 : 0,
        generation: 0,
        rotated_at: at,
        created_at: at,
        expires_at: at + CODE_MS,
      };
      await store.transaction(async (db) => {
        await sweep(db, store.engine, at);
        if (!(await isAllowedIn(db, userId, workspaceId)))
          fail('authorization_refused', 'you may not call this server');
        await db.insertInto('mcp_grants').values(grant).execute();
        await db
          .insertInto('mcp_codes')
          .values({
            hash: sha256(code),
            grant_id: grant.id,
            challenge,
            redirect_uri: redirectUri,
            expires_at: at + CODE_MS,
            used_at: null,
          })
          .execute();
        if (permission.isRemembered) await remember(db, permission, at);
      }, who);
      return code;
    },

    /** Whether the user has allowed the same before; the workspace it was for. */
    async remembered(
      asked: Omit<Permission, 'workspaceId' | 'serverId' | 'isRemembered' | 'challenge'>,
    ): Promise<string | null> {
      const row = await store.db
        .selectFrom('mcp_consents')
        .select('workspace_id')
        .where('user_id', '=', asked.userId)
        .where('client_id', '=', asked.client.id)
        .where('resource', '=', asked.resource)
        .where('redirect_uri', '=', asked.redirectUri)
        .where('scope', '=', asked.scope)
        .executeTakeFirst();
      return row?.workspace_id ?? null;
    },

    /** Turns a code into tokens, once. The second time ends what the first time gave. */
    redeem: (asked: Redemption): Promise<Tokens> =>
      settled(async (db) => {
        const codes = () => db.selectFrom('mcp_codes').selectAll().where('hash', '=', sha256(asked.code));
        const found = await codes().executeTakeFirst();
        const grant = found && (await lockGrant(db, store.engine, found.grant_id));
        const code = grant && (await codes().executeTakeFirst());
        if (!code) return { refused: 'the code is unknown, or what it stood for has ended' };
        if (code.used_at !== null) return end(db, grant, 'the code was used before; the tokens it gave are revoked');
        const fault = codeFault(asked, { ...code, client_id: grant.client_id, resource: grant.resource }, now());
        if (fault) return { refused: fault };
        await db.updateTable('mcp_codes').set({ used_at: now() }).where('hash', '=', code.hash).execute();
        return issue(db, grant);
      }),

    /** Turns a refresh token into new tokens. One that was used before ends the grant. */
    refresh: (asked: { token: string; clientId: string; resource: string | null }): Promise<Tokens> =>
      settled(async (db) => {
        const said = readRefreshToken(asked.token);
        const grant = said && (await lockGrant(db, store.engine, said.grantId));
        if (!grant || !isSame(asked.token, refreshTokenOf(sealer, grant, said.generation)))
          return { refused: 'the refresh token is unknown or revoked' };
        const fault = ownerFault(asked, grant);
        if (fault) return { refused: fault };
        const at = now();
        if (Number(grant.expires_at) <= at) return { refused: 'the refresh token has expired' };
        if (said.generation === grant.generation) return issue(db, grant);
        const isRepeated = said.generation === grant.generation - 1 && at - Number(grant.rotated_at) <= REPEAT_MS;
        if (isRepeated) return repeat(db, grant);
        return end(db, grant, 'the refresh token was used before; all tokens of this authorization are revoked');
      }),

    /** RFC 7009: an access token alone, or with a refresh token everything. Answers whether it was the client's to end. */
    async revoke(token: string, clientId: string): Promise<boolean> {
      const found = await grantOf(store.db, token);
      if (!found || (!isAccessToken(token) && !isSame(token, refreshTokenOf(sealer, found.grant, found.generation))))
        return true;
      if (found.grant.client_id !== clientId) return false;
      await changes.transaction('mcp-tokens', async (db) => {
        if (isAccessToken(token)) await db.deleteFrom('mcp_access_tokens').where('hash', '=', sha256(token)).execute();
        else await db.deleteFrom('mcp_grants').where('id', '=', found.grant.id).execute();
      });
      return true;
    },
  };
}

export type Grants = ReturnType<typeof createGrants>;

/** What a client brings to get tokens for a code. */
export interface Redemption {
  readonly code: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly verifier: string;
  /** Null: the one that was authorized. */
  readonly resource: string | null;
}

interface RedeemedCode {
  readonly client_id: string;
  readonly resource: string;
  readonly redirect_uri: string;
  readonly challenge: string;
  readonly expires_at: number;
}

/** A code that does not fit is left for the client it was made for. */
function codeFault(asked: Redemption, code: RedeemedCode, at: number): string | null {
  if (Number(code.expires_at) <= at) return 'the code has expired';
  if (asked.redirectUri !== code.redirect_uri) return 'redirect_uri is not the one the code was sent to';
  if (!answersChallenge(asked.verifier, code.challenge)) return 'code_verifier does not fit the code_challenge';
  return ownerFault(asked, code);
}

function ownerFault(
  asked: { readonly clientId: string; readonly resource: string | null },
  { client_id, resource }: { readonly client_id: string; readonly resource: string },
): string | null {
  if (asked.clientId !== client_id) return 'it was issued to another client';
  return asked.resource !== null && asked.resource !== resource ? 'it was issued for another resource' : null;
}
