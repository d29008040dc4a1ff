import type { Scope } from '../core/scopes.ts';
import type { UserRow, WorkspaceMemberRow } from '../storage/schema.ts';
import type { Db } from '../storage/store.ts';
import { scopesOf } from './roles.ts';

/** What a user is, in the organisation and in one workspace. */
export interface UserStanding {
  /** Null: the user does not exist, or was deactivated. */
  readonly user_role: UserRow['role'] | null;
  /** Null: the user is no member of the workspace. */
  readonly member_role: WorkspaceMemberRow['role'] | null;
}

/** What the user may do there now; null: nothing at all. */
export const scopesOfStanding = ({ user_role, member_role }: UserStanding): ReadonlySet<Scope> | null =>
  user_role === null ? null : scopesOf(user_role, member_role);

/** What a key may do: of its own scopes those that its user holds now. Null: its user may not act in its workspace. */
export function keyScopes(
  { user_id, scopes }: { readonly user_id: string | null; readonly scopes: string },
  standing: UserStanding,
): ReadonlySet<Scope> | null {
  const own = new Set(JSON.parse(scopes) as Scope[]);
  if (user_id === null) return own;
  const held = scopesOfStanding(standing);
  return held && own.intersection(held);
}

/** API keys, each with what its user is in the key's workspace at this moment. */
export const keysWithStanding = (db: Db) =>
  db
    .selectFrom('api_keys')
    .leftJoin('users', (join) =>
      join
        .onRef('users.id', '=', 'api_keys.user_id')
        .onRef('users.organisation_id', '=', 'api_keys.organisation_id')
        .on('users.deactivated_at', 'is', null),
    )
    .leftJoin('workspace_members', (join) =>
      join
        .onRef('workspace_members.user_id', '=', 'users.id')
        .onRef('workspace_members.workspace_id', '=', 'api_keys.workspace_id'),
    )
    .select(['users.role as user_role', 'workspace_members.role as member_role']);

/** Whether a user may act in a workspace: as a member of it, or as an owner or administrator of the organisation. */
export async function belongsTo(
  db: Db,
  { organisationId, workspaceId }: { readonly organisationId: string; readonly workspaceId: string },
  userId: string,
): Promise<boolean> {
  const standing = await db
    .selectFrom('users')
    .leftJoin('workspace_members', (join) =>
      join.onRef('workspace_members.user_id', '=', 'users.id').on('workspace_members.workspace_id', '=', workspaceId),
    )
    .where('users.id', '=', userId)
    .where('users.organisation_id', '=', organisationId)
    .where('users.deactivated_at', 'is', null)
    .select(['users.role as user_role', 'workspace_members.role as member_role'])
    .executeTakeFirst();
  return standing !== undefined && scopesOfStanding(standing) !== null;
}
