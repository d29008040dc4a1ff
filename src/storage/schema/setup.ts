export interface SetupTables {
  virtual_keys: VirtualKeyRow;
  configs: ConfigRow;
  config_versions: ConfigVersionRow;
  guardrails: GuardrailRow;
  guardrail_versions: GuardrailVersionRow;
  webhooks: WebhookRow;
  managed: ManagedRow;
}

export interface VirtualKeyRow {
  id: string;
  organisation_id: string;
  workspace_id: string;
  slug: string;
  name: string;
  note: string | null;
  provider: string;
  custom_host: string | null;
  /** Sealed JSON `{ key, configurations }`. */
  sealed: string;
  masked: string;
  expires_at: number | null;
  /** JSON as it was given. */
  rate_limits: string | null;
  usage_limits: string | null;
  /** The virtual key whose credential it uses; null: it has its own. */
  source_id: string | null;
  /** Set where source_id is: `access` lets the workspace in, `provider` is a further name in it. */
  link: 'access' | 'provider' | null;
  created_at: number;
  updated_at: number;
}

export interface ConfigRow {
  id: string;
  organisation_id: string;
  workspace_id: string;
  slug: string;
  name: string;
  status: string;
  /** The version that is in force. */
  version_id: string;
  owner_id: string;
  updated_by: string;
  created_at: number;
  updated_at: number;
}

export interface ConfigVersionRow {
  id: string;
  config_id: string;
  /** Sealed JSON of the config object, which may hold provider keys. */
  sealed: string;
  created_by: string;
  created_at: number;
}

export interface GuardrailRow {
  id: string;
  organisation_id: string;
  /** Null: it belongs to the organisation itself, and all its workspaces may use it. */
  workspace_id: string | null;
  slug: string;
  name: string;
  /** The version that is in force. */
  version_id: string;
  owner_id: string;
  updated_by: string | null;
  created_at: number;
  updated_at: number;
}

export interface GuardrailVersionRow {
  id: string;
  guardrail_id: string;
  name: string;
  /** Sealed JSON `{ checks, actions }`: parameters may hold secrets. */
  sealed: string;
  created_by: string;
  created_at: number;
}

/** Whom a workspace tells what has ended. */
export interface WebhookRow {
  id: string;
  organisation_id: string;
  workspace_id: string;
  name: string;
  url: string;
  /** JSON: the types of events it is told of. */
  events: string;
  is_enabled: 0 | 1;
  /** Sealed JSON of the secrets that messages are signed with. */
  sealed: string;
  /** JSON: how the last attempt to reach it went. */
  last_delivery: string | null;
  created_at: number;
  updated_at: number;
}

/** That a file made an object: only what has such a mark may be deleted when the file no longer names it. */
export interface ManagedRow {
  kind: 'organisation' | 'workspace' | 'virtual-key' | 'config' | 'api-key' | 'policy';
  id: string;
  /** `apply/<name of the file>` or `import/<where from>`. */
  manager: string;
  /** What the file calls it. */
  ref: string;
  /** Sealed digest of what the file last said, secrets included. */
  sealed: string;
  updated_at: number;
}
