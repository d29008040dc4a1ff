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
    .where('users.deactivated_at', 'is', null)
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

const MOST_NAMED = 50;

/** Servers that are not closed to a user, wherever they are. */
const serversFor = (db: Db, userId: string) =>
  db
    .selectFrom('mcp_servers')
    .leftJoin('mcp_user_access', (join) =>
      join.onRef('mcp_user_access.server_id', '=', 'mcp_servers.id').on('mcp_user_access.user_id', '=', userId),
    )
    .where((where) =>
      where.or([
        where('mcp_user_access.enabled', '=', 1),
        where.and([where('mcp_user_access.enabled', 'is', null), where('default_user_access', '=', 'allow')]),
      ]),
    );

/** What stands behind the address of all servers of a workspace, by name, as far as this user may use it. */
export async function serversOpenTo(db: Db, userId: string, workspaceId: string): Promise<ServerNames> {
  const rows = await serversFor(db, userId)
    .where('mcp_servers.workspace_id', '=', workspaceId)
    .select('mcp_servers.name')
    .orderBy('mcp_servers.slug')
    .execute();
  return { names: rows.slice(0, MOST_NAMED).map(({ name }) => name), more: Math.max(0, rows.length - MOST_NAMED) };
}

export interface ServerNames {
  readonly names: readonly string[];
  /** How many there are besides. */
  readonly more: number;
}

export interface OpenServer {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  /** Whether each user needs an account of their own there. */
  readonly needsAccount: boolean;
  readonly workspace: WorkspaceChoice;
}

/** Servers by their ids, open to the caller or not. */
export const serversOf = async (db: Db, ids: readonly string[]): Promise<OpenServer[]> => {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('mcp_servers')
    .innerJoin('workspaces', 'workspaces.id', 'mcp_servers.workspace_id')
    .select(['mcp_servers.id', 'mcp_servers.slug', 'mcp_servers.name', 'mcp_servers.description', 'auth_type'])
    .select(['workspaces.id as workspace_id', 'workspaces.slug as workspace_slug', 'workspaces.name as workspace_name'])
    .where('mcp_servers.id', 'in', ids)
    .orderBy('mcp_servers.slug')
    .execute();
  return rows.map(({ id, slug, name, description, auth_type, ...row }) => ({
    ...{ id, slug, name, description },
    needsAccount: auth_type === 'oauth_auto',
    workspace: { id: row.workspace_id, slug: row.workspace_slug, name: row.workspace_name },
  }));
};

/** Every server that a user may call, in all their workspaces, by workspace and slug. */
export async function everyServerOpenTo(db: Db, userId: string): Promise<OpenServer[]> {
  const workspaces = await workspacesOpenTo(db, userId);
  if (workspaces.length === 0) return [];
  const rows = await serversFor(db, userId)
    .where(
      'mcp_servers.workspace_id',
      'in',
      workspaces.map(({ id }) => id),
    )
    .select(['id', 'slug', 'name', 'description', 'auth_type', 'workspace_id'])
    .orderBy('slug')
    .execute();
  return workspaces.flatMap((workspace) =>
    rows
      .filter((row) => row.workspace_id === workspace.id)
      .map(({ id, slug, name, description, auth_type }) => ({
        ...{ id, slug, name, description, workspace },
        needsAccount: auth_type === 'oauth_auto',
      })),
  );
}
