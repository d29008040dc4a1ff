/** What a key may be allowed to do. Data-plane scopes come with every key that names none; admin scopes are asked for. */
export const DATA_SCOPES = [
  'completions.write',
  'models.list',
  'files.read',
  'files.write',
  'batches.read',
  'batches.write',
  'fine_tuning.read',
  'fine_tuning.write',
  'assistants.read',
  'assistants.write',
  'feedbacks.write',
  'traces.write',
  'mcp.invoke',
] as const;

const crud = <Name extends string>(name: Name) =>
  [`${name}.create`, `${name}.list`, `${name}.read`, `${name}.update`, `${name}.delete`] as const;

export const ADMIN_SCOPES = [
  /** Acts on every workspace of the organisation instead of the key's own. */
  'organisation.manage',
  'organisation.read',
  /** Makes, changes and removes owners, and decides whose tokens let machines in. */
  'owners.manage',
  /** A user's own session: its owner may read and end it. */
  'sessions.manage',
  ...crud('workspaces'),
  ...crud('users'),
  ...crud('workspace_users'),
  /** Keeps users and groups as a directory has them (SCIM), in the whole organisation. */
  'scim.manage',
  ...crud('api_keys'),
  'api_keys.rotate',
  ...crud('virtual_keys'),
  ...crud('configs'),
  ...crud('guardrails'),
  ...crud('policies'),
  ...crud('mcp_servers'),
  ...crud('webhooks'),
  ...crud('alerts'),
  ...crud('alert_channels'),
  ...crud('views'),
  'audit_logs.list',
  'logs.list',
  'logs.read',
  'analytics.view',
  'metrics.read',
] as const;

export const SCOPES = [...DATA_SCOPES, ...ADMIN_SCOPES] as const;
export type Scope = (typeof SCOPES)[number];
