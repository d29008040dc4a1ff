import type { User, WorkspaceUser } from '../../api/types.d.ts';
import type { Choice } from '../../design/field.tsx';

export const ROLE_CHOICES: readonly Choice<User['role']>[] = [
  { value: 'member', label: 'Member: what their workspaces allow' },
  { value: 'admin', label: 'Admin: everything but owners' },
  { value: 'owner', label: 'Owner: everything' },
];

export const WORKSPACE_ROLE_CHOICES: readonly Choice<WorkspaceUser['role']>[] = [
  { value: 'member', label: 'Member: calls models' },
  { value: 'manager', label: 'Manager: keys, routing, logs' },
  { value: 'admin', label: 'Admin: also who belongs' },
];
