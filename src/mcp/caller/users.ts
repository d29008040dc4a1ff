import { type Role, scopesOf, type WorkspaceRole } from '../../auth/roles.ts';
import type { UserId, WorkspaceId } from '../../core/ids.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import { cachedBy } from '../../storage/cached-by.ts';
import type { Changes } from '../../storage/changes.ts';
import type { Store } from '../../storage/store.ts';

/** What a server may be told of a user, and what they are in a workspace. */
export interface KnownUser {
  readonly email: string;
  readonly username: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly role: Role;
  /** Null: not a member. */
  readonly workspaceRole: WorkspaceRole | null;
}
export type FindUser = (id: UserId, workspaceId: WorkspaceId) => NowOrLater<KnownUser | null>;

export interface UsersDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly now: () => number;
}

interface Place {
  readonly id: UserId;
  readonly workspaceId: WorkspaceId;
}

export function createFindUser({ store, changes, now }: UsersDeps): FindUser {
  const load = async (_key: string, { id, workspaceId }: Place): Promise<KnownUser | null> => {
    const row = await store.db
      .selectFrom('users')
      .leftJoin('workspace_members', (join) =>
        join.onRef('workspace_members.user_id', '=', 'users.id').on('workspace_members.workspace_id', '=', workspaceId),
      )
      .where('users.id', '=', id)
      .where('users.deactivated_at', 'is', null)
      .select(['email', 'username', 'first_name', 'last_name', 'users.role', 'workspace_members.role as member_role'])
      .executeTakeFirst();
    return row
      ? {
          email: row.email,
          username: row.username,
          firstName: row.first_name,
          lastName: row.last_name,
          role: row.role,
          workspaceRole: row.member_role,
        }
      : null;
  };
  // Memberships go with their workspace, and workspaces are changed with keys.
  const cache = cachedBy(changes, ['users', 'keys'], load, { most: 10_000, now });
  return (id, workspaceId) => {
    const key = `${id} ${workspaceId}`;
    return cache.peek(key) ?? cache.get(key, { id, workspaceId });
  };
}

export const mayCall = ({ role, workspaceRole }: KnownUser): boolean =>
  scopesOf(role, workspaceRole)?.has('mcp.invoke') ?? false;

/** Of a user, as far as it is known. */
export const userClaims = (user: KnownUser | null) => ({
  email: user?.email,
  username: user?.username,
  name: [user?.firstName, user?.lastName].filter(Boolean).join(' ') || undefined,
  given_name: user?.firstName,
  family_name: user?.lastName,
  role: user?.role,
  workspace_role: user?.workspaceRole,
});
