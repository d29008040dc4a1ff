import { scopesOf } from '../../auth/roles.ts';
import type { Db } from '../../storage/store.ts';

/** Who may call MCP servers where. */

export interface WorkspaceChoice {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
}

const membershipsOf = (db: Db, userId: string) =>
  db
    .selectFrom('users')
    .innerJoin('workspaces', 'workspaces.organisation_id', 'users.organisation_id')
    .leftJoin('workspace_members', (join) =>
      join
        .onRef('workspace_members.workspace_id', '=', 'workspaces.id')
        .onRef('workspace_members.user_id', '=', 'users.id'),
    )
    .where('users.id', '=', userId)
    .select([
      'workspaces.id',
      'workspaces.slug',
      'workspaces.name',
      'users.role',
      'workspace_members.role as member_role',
    ]);

type Row = Awaited<ReturnType<ReturnType<typeof membershipsOf>['execute']>>[number];

const mayCall = ({ role, member_role }: Row): boolean => scopesOf(role, member_role)?.has('mcp.invoke') ?? false;

export async function isAllowedIn(db: Db, userId: string, workspaceId: string): Promise<boolean> {
  const row = await membershipsOf(db, userId).where('workspaces.id', '=', workspaceId).executeTakeFirst();
  return row !== undefined && mayCall(row);
}

/** The workspaces a user may choose from. */
export async function workspacesOpenTo(db: Db, userId: string): Promise<WorkspaceChoice[]> {
  const rows = await membershipsOf(db, userId).orderBy('workspaces.slug').limit(1_000).execute();
  return rows.filter(mayCall).map(({ id, slug, name }) => ({ id, slug, name }));
}
