export interface LoginTables {
  login_grants: LoginGrantRow;
  device_codes: DeviceCodeRow;
  managed_settings: ManagedSettingsRow;
}

/** A program that a person has signed in. What it may do is in its API key, and with that key it ends. */
export interface LoginGrantRow {
  id: string;
  api_key_id: string;
  salt: string;
  /** How often tokens were issued. */
  generation: number;
  rotated_at: number;
  created_at: number;
  /** When its newest refresh token ends. */
  expires_at: number;
}

/** A program that waits for a person to let it in (RFC 8628). */
export interface DeviceCodeRow {
  /** SHA-256 of the code that the program holds. */
  hash: string;
  /** What the person reads on the program and types into the page. */
  user_code: string;
  /** What the program calls itself. */
  client_id: string | null;
  state: 'pending' | 'allowed' | 'denied';
  /** Of one that was allowed. */
  grant_id: string | null;
  /** How often users have asked for it on the page. */
  looks: number;
  /** How long the program has to wait between two questions. */
  pause_ms: number;
  polled_at: number | null;
  created_at: number;
  expires_at: number;
}

/** What programs of an organisation or of one workspace are told to keep to. */
export interface ManagedSettingsRow {
  owner_id: string;
  /** Null: of the organisation. */
  workspace_id: string | null;
  /** JSON object: of Claude Code. */
  settings: string | null;
  /** JSON object: of Claude Desktop. */
  desktop: string | null;
  updated_at: number;
}
