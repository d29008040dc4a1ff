import type { Generated } from 'kysely';

export interface CallerTables {
  organisations: OrganisationRow;
  workspaces: WorkspaceRow;
  users: UserRow;
  workspace_members: WorkspaceMemberRow;
  sessions: SessionRow;
  invites: InviteRow;
  sign_in_failures: SignInFailureRow;
  api_keys: ApiKeyRow;
  api_key_secrets: ApiKeySecretRow;
  machine_callers: MachineCallerRow;
}

export interface OrganisationRow {
  id: string;
  name: string;
  /** JSON. */
  defaults: Generated<string>;
  /** JSON: the issuers whose tokens let machines in. Null: none. */
  machine_tokens?: string | null;
  /** JSON array: what calls may not bring along. Null: nothing is forbidden. */
  forbidden: string | null;
  created_at: number;
}

export interface WorkspaceRow {
  id: string;
  organisation_id: string;
  slug: string;
  name: string;
  description: string | null;
  /** JSON. */
  defaults: string;
  /** JSON as it was given. */
  rate_limits: string | null;
  usage_limits: string | null;
  /** JSON array: what calls may not bring along. */
  forbidden: string | null;
  /** JSON: what members may have as keys of their own. Null: none. */
  member_keys?: string | null;
  created_at: number;
  updated_at: number;
}

export interface UserRow {
  id: string;
  organisation_id: string;
  email: string;
  username: string | null;
  first_name: string | null;
  last_name: string | null;
  role: 'owner' | 'admin' | 'member';
  /** Argon2id in its own notation. Null: no password lets this user in. */
  password_hash: string | null;
  /** Who the identity provider says it is: its address and its name for the user. */
  external_id: string | null;
  /** What a directory (SCIM) calls this user: its name for signing in, its id, and the name for people. */
  scim_user_name?: string | null;
  scim_external_id?: string | null;
  scim_display_name?: string | null;
  /** When a directory has shut this user out. Null: the user may come in. */
  deactivated_at?: number | null;
  /** `scim`: groups of a directory gave the role. `set`: an administrator changed it, and groups leave it alone. */
  role_origin?: string | null;
  created_at: number;
  updated_at: number;
}

export interface WorkspaceMemberRow {
  workspace_id: string;
  user_id: string;
  role: 'admin' | 'manager' | 'member';
  /** `scim`: groups of a directory gave it, and take it away. Null: an administrator did. */
  origin?: string | null;
  created_at: number;
  updated_at: number;
}

/** A session of a user who signed in with a browser. */
export interface SessionRow {
  /** SHA-256 of the token, hexadecimal. */
  hash: string;
  user_id: string;
  created_at: number;
  expires_at: number;
}

export interface InviteRow {
  id: string;
  organisation_id: string;
  email: string;
  role: UserRow['role'];
  /** JSON `[{ id, role }]`. */
  workspaces: string;
  token_hash: string;
  status: 'pending' | 'accepted' | 'cancelled';
  created_at: number;
  expires_at: number;
  updated_at: number;
}

/** How often signing in has failed in a period, from one address or for one user. */
export interface SignInFailureRow {
  source: string;
  failures: number;
  ends_at: number;
}

export interface ApiKeyRow {
  id: string;
  organisation_id: string;
  workspace_id: string;
  user_id: string | null;
  name: string;
  description: string | null;
  /** JSON array of scopes. */
  scopes: string;
  /** JSON. */
  defaults: string;
  /** The first and last characters of the secret, for people to recognise it. */
  masked: string;
  /**
   * `bootstrap`: the key of GATEWAY_ADMIN_KEY. `api`: made by who manages keys. `member`: made by its user.
   * `login`: of a program that its user has signed in.
   */
  origin: 'bootstrap' | 'api' | 'member' | 'login';
  expires_at: number | null;
  /** JSON as it was given. */
  rate_limits: string | null;
  usage_limits: string | null;
  /** JSON array: what calls may not bring along. */
  forbidden: string | null;
  /** JSON array: the models that it may call. Null: every model. */
  models: string | null;
  created_at: number;
  updated_at: number;
}

/** A key has one secret, and two while it is being rotated. */
export interface ApiKeySecretRow {
  /** SHA-256 of the whole secret, hexadecimal. */
  hash: string;
  api_key_id: string;
  valid_until: number | null;
  created_at: number;
}

/** A machine that began work and was known by its token alone: what the last such token said of it. */
export interface MachineCallerRow {
  id: string;
  workspace_id: string;
  name: string;
  /** JSON. */
  scopes: string;
  updated_at: number;
}
