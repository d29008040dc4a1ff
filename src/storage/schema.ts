/** The tables of the state database. JSON columns hold text on both engines; times are milliseconds since the epoch. */
export interface Schema {
  organisations: OrganisationRow;
  workspaces: WorkspaceRow;
  users: UserRow;
  api_keys: ApiKeyRow;
  api_key_secrets: ApiKeySecretRow;
  virtual_keys: VirtualKeyRow;
  facts: FactRow;
}

export interface OrganisationRow {
  id: string;
  name: string;
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
  role: string;
  created_at: number;
  updated_at: number;
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
  /** `bootstrap`: the key of GATEWAY_ADMIN_KEY. `api`: made by a route. */
  origin: 'bootstrap' | 'api';
  expires_at: number | null;
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
  created_at: number;
  updated_at: number;
}

/** Single facts about the installation, such as proof of the encryption key. */
export interface FactRow {
  name: string;
  value: string;
}
