import { sha256 } from '../../crypto/seal.ts';
import type { McpGrantRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { readRefreshToken } from './secrets.ts';

const MOST_SWEPT = 500;

/** What a user has just allowed. */
export interface Permission {
  readonly userId: string;
  readonly workspaceId: string;
  /** Null: all servers of the workspace. */
  readonly serverId: string | null;
  readonly client: { readonly id: string; readonly name: string; readonly isRenewable: boolean };
  readonly resource: string;
  readonly scope: string;
  readonly redirectUri: string;
  readonly challenge: string;
  /** Whether the user need not be asked the next time. */
  readonly isRemembered: boolean;
}

/** Always the grant first: a transaction that ends a grant locks it before its tokens. */
export async function lockGrant(db: Db, engine: Store['engine'], id: string): Promise<McpGrantRow | undefined> {
  const query = db.selectFrom('mcp_grants').selectAll().where('id', '=', id);
  return (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
}

/** The grant that a token says it is of, and the number of a refresh token. */
export async function grantOf(db: Db, token: string): Promise<{ grant: McpGrantRow; generation: number } | null> {
  const said = readRefreshToken(token);
  const grants = db.selectFrom('mcp_grants').selectAll('mcp_grants');
  const grant = said
    ? await grants.where('id', '=', said.grantId).executeTakeFirst()
    : await grants
        .innerJoin('mcp_access_tokens', 'mcp_access_tokens.grant_id', 'mcp_grants.id')
        .where('mcp_access_tokens.hash', '=', sha256(token))
        .executeTakeFirst();
  return grant ? { grant, generation: said?.generation ?? 0 } : null;
}

export async function remember(db: Db, permission: Permission, at: number) {
  const { userId, workspaceId, serverId, client, resource, scope, redirectUri } = permission;
  const row = { workspace_id: workspaceId, server_id: serverId, redirect_uri: redirectUri, scope, created_at: at };
  await db
    .insertInto('mcp_consents')
    .values({ ...row, user_id: userId, client_id: client.id, resource })
    .onConflict((conflict) => conflict.columns(['user_id', 'client_id', 'resource']).doUpdateSet(row))
    .execute();
}

/**
 * What has expired goes when something new is stored, a little each time. On PostgreSQL, rows that another transaction
 * has locked wait for the next time: two sweeps must not wait for each other.
 */
export async function sweep(db: Db, engine: Store['engine'], at: number) {
  const grants = db.selectFrom('mcp_grants').select('id').where('expires_at', '<=', at).limit(MOST_SWEPT);
  const tokens = db.selectFrom('mcp_access_tokens').select('hash').where('expires_at', '<=', at).limit(MOST_SWEPT);
  const isShared = engine === 'postgres';
  await db
    .deleteFrom('mcp_grants')
    .where('id', 'in', isShared ? grants.forUpdate().skipLocked() : grants)
    .execute();
  await db
    .deleteFrom('mcp_access_tokens')
    .where('hash', 'in', isShared ? tokens.forUpdate().skipLocked() : tokens)
    .execute();
}
