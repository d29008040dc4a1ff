import { DATA_SCOPES, SCOPES, type Scope } from '../core/scopes.ts';
import type { UserRow, WorkspaceMemberRow } from '../storage/schema.ts';

export const ROLES = ['owner', 'admin', 'member'] as const satisfies readonly UserRow['role'][];
export const WORKSPACE_ROLES = ['admin', 'manager', 'member'] as const satisfies readonly WorkspaceMemberRow['role'][];
export type Role = (typeof ROLES)[number];
export type WorkspaceRole = (typeof WORKSPACE_ROLES)[number];

const RESOURCES = [
  'virtual_keys',
  'configs',
  'guardrails',
  'mcp_servers',
  'policies',
  'webhooks',
  'alerts',
  'alert_channels',
];
const isOf = (names: readonly string[], verbs: readonly string[]) => (scope: Scope) => {
  const [name = '', verb = ''] = scope.split('.');
  return names.includes(name) && verbs.includes(verb);
};
const having = (isIn: (scope: Scope) => boolean): Scope[] => SCOPES.filter(isIn);

const READING: readonly Scope[] = [
  ...DATA_SCOPES,
  ...having(isOf([...RESOURCES, 'workspaces'], ['list', 'read'])),
  'organisation.read',
  'sessions.manage',
];
const MANAGING: readonly Scope[] = [
  ...READING,
  ...having(isOf(RESOURCES, ['create', 'update', 'delete'])),
  ...having(isOf(['api_keys'], ['create', 'list', 'read', 'update', 'delete', 'rotate'])),
  ...having(isOf(['workspace_users'], ['list', 'read'])),
  ...having(isOf(['views'], ['create', 'list', 'read', 'update', 'delete'])),
  'logs.list',
  'logs.read',
  'analytics.view',
];
const LEADING: readonly Scope[] = [
  ...MANAGING,
  'workspaces.update',
  ...having(isOf(['workspace_users'], ['create', 'update', 'delete'])),
];
const OF_ADMIN: readonly Scope[] = having((scope) => scope !== 'owners.manage');

/** What a member may do in a workspace. */
const IN_WORKSPACE: Readonly<Record<WorkspaceRole, ReadonlySet<Scope>>> = {
  member: new Set(READING),
  manager: new Set(MANAGING),
  admin: new Set(LEADING),
};
const owning = new Set<Scope>(SCOPES);
const administrating = new Set(OF_ADMIN);

/** What a user may do; null: nothing, because the user does not belong to the workspace. */
export function scopesOf(role: Role, workspaceRole: WorkspaceRole | null): ReadonlySet<Scope> | null {
  if (role === 'owner') return owning;
  if (role === 'admin') return administrating;
  return workspaceRole && IN_WORKSPACE[workspaceRole];
}

/** Whether the second is more than the first. */
export const isRaise = (from: Role, to: Role): boolean => ROLES.indexOf(to) < ROLES.indexOf(from);
export const isWorkspaceRaise = (from: WorkspaceRole, to: WorkspaceRole): boolean =>
  WORKSPACE_ROLES.indexOf(to) < WORKSPACE_ROLES.indexOf(from);
