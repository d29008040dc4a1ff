export interface McpTables {
  mcp_servers: McpServerRow;
  mcp_capabilities: McpCapabilityRow;
  mcp_user_access: McpUserAccessRow;
  mcp_syncs: McpSyncRow;
  mcp_clients: McpClientRow;
  mcp_apps: McpAppRow;
  mcp_consents: McpConsentRow;
  mcp_grants: McpGrantRow;
  mcp_codes: McpCodeRow;
  mcp_access_tokens: McpAccessTokenRow;
  mcp_user_tokens: McpUserTokenRow;
  mcp_oauth_clients: McpOauthClientRow;
  mcp_connect_flows: McpConnectFlowRow;
  mcp_tool_sets: McpToolSetRow;
}

/** An MCP server behind the gateway. Its slug is unique over the installation: it is the first segment of its path. */
export interface McpServerRow {
  id: string;
  organisation_id: string;
  workspace_id: string;
  slug: string;
  name: string;
  description: string | null;
  url: string;
  auth_type: 'none' | 'headers' | 'oauth_auto' | 'oauth_client_credentials';
  /** Sealed JSON of the configurations, which hold credentials. */
  sealed: string;
  /** For users of whom `mcp_user_access` says nothing. */
  default_user_access: 'allow' | 'deny';
  owner_id: string;
  updated_by: string;
  created_at: number;
  updated_at: number;
}

/** An application that an administrator has registered. */
export interface McpAppRow {
  id: string;
  organisation_id: string;
  name: string;
  /** JSON. */
  redirect_uris: string;
  is_renewable: number;
  /** Null: it has no secret. */
  secret_hash: string | null;
  /** The secret before, and until when it holds. */
  old_secret_hash: string | null;
  old_secret_until: number | null;
  secret_at: number | null;
  created_at: number;
  updated_at: number;
  used_at: number | null;
}

/** Some tools of some servers, served like a server. Its slug is unique over the installation. */
export interface McpToolSetRow {
  id: string;
  organisation_id: string;
  workspace_id: string;
  slug: string;
  name: string;
  description: string | null;
  /** Null: as the client's key says. */
  mcp_tools: 'all' | 'search' | 'code' | null;
  /** JSON. Servers are named by id and slug: one that is deleted does not take the set along. */
  tools: string;
  created_at: number;
  updated_at: number;
}

/** A tool, prompt or resource of an MCP server: whether it may be used, and its definition as seen and as approved. */
export interface McpCapabilityRow {
  server_id: string;
  /** Hash of type and name, which may be long. */
  key: string;
  type: 'tool' | 'prompt' | 'resource' | 'resource_template';
  name: string;
  enabled: number;
  /** Whether the server offered it when it was last asked for everything. */
  offered: number;
  /** Of the definition seen last; null: none was seen. */
  hash: string | null;
  approved_hash: string | null;
  /** JSON. */
  flags: string;
  /** JSON, cut where it is long. */
  definition: string | null;
  /** The approved one, where another has been seen since: so that people see what changed. */
  approved_definition?: string | null;
  approved_by: string | null;
  first_seen_at: number;
  changed_at: number;
}

export interface McpUserAccessRow {
  server_id: string;
  user_id: string;
  enabled: number;
}

/** What an MCP server said of itself when it was last asked. */
export interface McpSyncRow {
  server_id: string;
  status: 'success' | 'failed';
  error: string | null;
  server_name: string | null;
  server_version: string | null;
  protocol_version: string | null;
  /** JSON. */
  capability_flags: string;
  synced_at: number;
}

/** An MCP client that registered itself. */
export interface McpClientRow {
  id: string;
  /** JSON, as RFC 7591 names its members. */
  metadata: string;
  created_at: number;
  /** When it last got a token. Null: never. */
  used_at: number | null;
}

/** A user need not be asked again whether this client may call this resource. */
export interface McpConsentRow {
  user_id: string;
  client_id: string;
  resource: string;
  workspace_id: string;
  /** Null: all servers of the workspace. */
  server_id: string | null;
  redirect_uri: string;
  scope: string;
  created_at: number;
}

/** What a user has allowed a client once. Its code and all of its tokens go with it. */
export interface McpGrantRow {
  id: string;
  user_id: string;
  workspace_id: string;
  /** Null: all servers of the workspace. */
  server_id: string | null;
  client_id: string;
  client_name: string;
  /** The address of the MCP endpoint that its tokens are good for. */
  resource: string;
  scope: string;
  /** Random; without it and the master secret no token can be made. */
  salt: string;
  is_renewable: 0 | 1;
  /** How often tokens were issued. 0: the code waits. */
  generation: number;
  rotated_at: number;
  created_at: number;
  expires_at: number;
}

export interface McpCodeRow {
  /** SHA-256, hexadecimal. */
  hash: string;
  grant_id: string;
  /** SHA-256 of the verifier, base64url. */
  challenge: string;
  redirect_uri: string;
  expires_at: number;
  used_at: number | null;
}

export interface McpAccessTokenRow {
  /** SHA-256, hexadecimal. */
  hash: string;
  grant_id: string;
  expires_at: number;
}

/** What a user has granted the gateway at an MCP server. */
export interface McpUserTokenRow {
  server_id: string;
  user_id: string;
  /** Sealed JSON of the tokens and of what renews them. */
  sealed: string;
  /** The renewal that is under way; until `lease_until` no other may begin. */
  lease: string | null;
  lease_until: number | null;
  created_at: number;
  updated_at: number;
}

/** What an authorization server calls this gateway, as a client of one MCP server. */
export interface McpOauthClientRow {
  server_id: string;
  issuer: string;
  /** Sealed JSON of id and secret. */
  sealed: string;
  created_at: number;
}

/** A user's browser on its way to an authorization server and back. */
export interface McpConnectFlowRow {
  state_hash: string;
  server_id: string;
  user_id: string;
  session_hash: string;
  /** Sealed JSON of what the way back is checked and finished with. */
  sealed: string;
  expires_at: number;
}
