import type { Generated } from 'kysely';

/** The tables of the state database. JSON columns hold text on both engines; times are milliseconds since the epoch. */
export interface Schema {
  organisations: OrganisationRow;
  workspaces: WorkspaceRow;
  users: UserRow;
  api_keys: ApiKeyRow;
  api_key_secrets: ApiKeySecretRow;
  virtual_keys: VirtualKeyRow;
  facts: FactRow;
  assistants: AssistantRow;
  threads: ThreadRow;
  messages: MessageRow;
  runs: RunRow;
  run_steps: RunStepRow;
  run_calls: RunCallRow;
  run_events: RunEventRow;
  code_cells: CodeCellRow;
  vector_stores: VectorStoreRow;
  vector_store_files: VectorStoreFileRow;
  vector_store_batches: VectorStoreBatchRow;
  indexed_stores: IndexedStoreRow;
  indexed_files: IndexedFileRow;
  chunks: ChunkRow;
  chunk_vectors: ChunkVectorsRow;
  work: WorkRow;
  configs: ConfigRow;
  config_versions: ConfigVersionRow;
  guardrails: GuardrailRow;
  guardrail_versions: GuardrailVersionRow;
  mcp_servers: McpServerRow;
  mcp_capabilities: McpCapabilityRow;
  mcp_user_access: McpUserAccessRow;
  mcp_syncs: McpSyncRow;
  mcp_clients: McpClientRow;
  mcp_consents: McpConsentRow;
  mcp_grants: McpGrantRow;
  mcp_codes: McpCodeRow;
  mcp_access_tokens: McpAccessTokenRow;
  mcp_user_tokens: McpUserTokenRow;
  mcp_oauth_clients: McpOauthClientRow;
  mcp_connect_flows: McpConnectFlowRow;
  managed: ManagedRow;
  imported_messages: ImportedMessageRow;
  machine_callers: MachineCallerRow;
  versions: VersionRow;
  blobs: BlobRow;
  blob_chunks: BlobChunkRow;
  files: FileRow;
  file_segments: FileSegmentRow;
  uploads: UploadRow;
  upload_parts: UploadPartRow;
  fine_tuning_jobs: FineTuningJobRow;
  fine_tuning_events: FineTuningEventRow;
  fine_tuning_checkpoints: FineTuningCheckpointRow;
  batches: BatchRow;
  batch_lines: BatchLineRow;
  batch_results: BatchResultRow;
  webhooks: WebhookRow;
  usage_ledger: UsageLedgerRow;
  limit_counters: LimitCounterRow;
  limit_holds: LimitHoldRow;
  responses: ResponseRow;
  kept_thoughts: KeptThoughtsRow;
  response_items: ResponseItemRow;
  policies: PolicyRow;
  policy_entities: PolicyEntityRow;
  workspace_members: WorkspaceMemberRow;
  sessions: SessionRow;
  invites: InviteRow;
  sign_in_failures: SignInFailureRow;
  audit_records: AuditRecordRow;
  audit_batches: AuditBatchRow;
  audit_days: AuditDayRow;
  audit_heads: AuditHeadRow;
}

export interface OrganisationRow {
  id: string;
  name: string;
  /** JSON. */
  defaults: Generated<string>;
  /** JSON: whose tokens let machines in. Null: nobody's. */
  machine_tokens?: string | null;
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
  created_at: number;
  updated_at: number;
}

export interface WorkspaceMemberRow {
  workspace_id: string;
  user_id: string;
  role: 'admin' | 'manager' | 'member';
  created_at: number;
  updated_at: number;
}

/** Somebody who signed in with a browser. */
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

/** How often signing in has failed from somewhere, or for somebody, in a period. */
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
  /** `bootstrap`: the key of GATEWAY_ADMIN_KEY. `api`: made by a route. */
  origin: 'bootstrap' | 'api';
  expires_at: number | null;
  /** JSON as it was given. */
  rate_limits: string | null;
  usage_limits: string | null;
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
  /** JSON as it was given. */
  rate_limits: string | null;
  usage_limits: string | null;
  created_at: number;
  updated_at: number;
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
  /** Who is renewing them, and until when nobody else may. */
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

/** Somebody on the way to an authorization server and back. */
export interface McpConnectFlowRow {
  state_hash: string;
  server_id: string;
  user_id: string;
  session_hash: string;
  /** Sealed JSON of what the way back is checked and finished with. */
  sealed: string;
  expires_at: number;
}

export interface AssistantRow {
  id: string;
  workspace_id: string;
  /** JSON of everything but id and times. */
  body: string;
  created_at: number;
  deleted_at: number | null;
}

export interface ThreadRow {
  id: string;
  workspace_id: string;
  tool_resources: string;
  metadata: string;
  created_at: number;
  deleted_at: number | null;
}

export interface MessageRow {
  id: string;
  thread_id: string;
  role: string;
  status: string;
  content: string;
  attachments: string;
  assistant_id: string | null;
  run_id: string | null;
  metadata: string;
  incomplete_reason: string | null;
  created_at: number;
  completed_at: number | null;
  incomplete_at: number | null;
  deleted_at: number | null;
}

export interface VectorStoreRow {
  id: string;
  workspace_id: string;
  /** JSON: name, description and metadata. */
  body: string;
  /** It expires so many days after it was last used; null: never. */
  expires_days: number | null;
  last_active_at: number;
  expires_at: number | null;
  /** Since when its chunks are being removed. */
  expired_at: number | null;
  created_at: number;
  deleted_at: number | null;
}

/** A file in a store. One that was taken out stays as a row for a while, so that paging survives it. */
export interface VectorStoreFileRow {
  store_id: string;
  file_id: string;
  /** New whenever it is taken in: names the attempt, and sorts by the time. */
  position: string;
  /** With which it was added last. */
  batch_id: string | null;
  status: 'in_progress' | 'completed' | 'cancelled' | 'failed';
  /** JSON. */
  last_error: string | null;
  usage_bytes: number;
  /** JSON. */
  attributes: string;
  chunk_tokens: number;
  overlap_tokens: number;
  created_at: number;
  deleted_at: number | null;
}

/** Files that were added to a store together. What became of them is counted by their rows until it has ended. */
export interface VectorStoreBatchRow {
  id: string;
  store_id: string;
  status: 'in_progress' | 'completed' | 'cancelled';
  total: number;
  completed: number | null;
  failed: number | null;
  created_at: number;
}

/** By which model the vectors of a store are made, once there are any. */
export interface IndexedStoreRow {
  store_id: string;
  model: string;
  /** How many numbers the model is asked for; null: as many as it gives by itself. */
  dimensions: number | null;
}

/** A file as it was once taken into a store. */
export interface IndexedFileRow {
  /** By which its chunks are known: no two takings-in share one, so a chunk is never mistaken for another. */
  id: string;
  store_id: string;
  file_id: string;
  /** Chunks of what is not `current` are found by nobody and removed in time. */
  state: 'writing' | 'current' | 'removed';
  chunks: number;
  /** Of its vectors; null: it has none. */
  dimensions: number | null;
  /** Where they are: in blocks that a thread scans, or where pgvector finds them. */
  vectors: 'none' | 'scanned' | 'pgvector';
  touched_at: number;
}

/** On PostgreSQL only. */
export interface ChunkRow {
  /** The id of the indexed file. */
  source: string;
  number: number;
  text: string;
  begins: number;
  ends: number;
  words: string;
  embedding: string | null;
}

/** On PostgreSQL only: the vectors of some chunks that follow each other. */
export interface ChunkVectorsRow {
  source: string;
  first: number;
  dimensions: number;
  scales: Uint8Array;
  rows: Uint8Array;
}

export interface RunRow {
  id: string;
  workspace_id: string;
  thread_id: string;
  assistant_id: string;
  /** On whose behalf models are called. */
  api_key_id: string;
  /** JSON: which provider, config and trace its model calls name, as headers. */
  headers: string;
  status: string;
  /** JSON: what it was asked to do, as it was when it was created; later changes of the assistant are not its concern. */
  body: string;
  metadata: string;
  /** JSON. */
  required_action: string | null;
  last_error: string | null;
  incomplete_reason: string | null;
  /** Of all its finished calls. */
  prompt_tokens: number;
  completion_tokens: number;
  /** Model calls that were made again because nobody knows what became of them: they may have been billed twice. */
  repeated_calls: number;
  /** Grows with everyone who comes to write its history, so that a former writer's events are told apart. */
  epoch: number;
  created_at: number;
  expires_at: number;
  started_at: number | null;
  cancelled_at: number | null;
  failed_at: number | null;
  completed_at: number | null;
  /** Whichever way it ended. */
  ended_at: number | null;
  /** 1 until its events are pruned. */
  keeps_events: 0 | 1;
}

export interface RunStepRow {
  id: string;
  run_id: string;
  /** The number of the model call it came from. */
  call: number;
  status: string;
  /** JSON, as clients see it. */
  details: string;
  /** JSON: the tool calls and their results, as the model sees them. */
  exchange: string;
  last_error: string | null;
  usage: string | null;
  created_at: number;
  expired_at: number | null;
  cancelled_at: number | null;
  failed_at: number | null;
  completed_at: number | null;
}

/** One call of a model. `lost`: whoever made it died, and it was made again. */
export interface RunCallRow {
  run_id: string;
  number: number;
  attempt: number;
  /** Of the lease it was made under. */
  fence: number;
  state: 'started' | 'done' | 'lost';
  /** Whatever comes of it goes by these ids, in every attempt: a repetition overwrites, it adds nothing. */
  message_id: string;
  message_step_id: string;
  tool_step_id: string;
  /** JSON. */
  usage: string | null;
  started_at: number;
}

/** Events of a run's stream that were written together. */
export interface RunEventRow {
  run_id: string;
  epoch: number;
  /** Of the last event in it. */
  seq: number;
  /** Of pieces of an answer: the number of the call they came from. */
  call: number | null;
  /** A line for each: its name, a space, its data. */
  events: string;
}

/** Code that a run has executed; its place in the order of its thread. */
export interface CodeCellRow {
  run_id: string;
  /** Which of the run's calls of tools it is. */
  ordinal: number;
  thread_id: string;
  number: number;
  /** JSON: the code, and the files that were mounted before it. */
  cell: string;
  /** JSON: what came of it. */
  result: string;
  /** 1: cells after it find what it has left; 0: it was stopped, and nothing of it is there. */
  leaves_state: number;
  /** 1: it found nothing of the cells before it. */
  begins_anew: number;
  created_at: number;
}

/** Single facts about the installation, such as proof of the encryption key. */
export interface FactRow {
  name: string;
  value: string;
}

/** Something to be done that outlives the process it was asked of. All times are the database's own. */
export interface WorkRow {
  id: string;
  kind: string;
  /** Between whom the kind's slots are shared: a workspace. */
  tenant: string;
  /** The object this is done for; several rows may have the same. */
  ref: string;
  /** JSON. */
  payload: string | null;
  /** Not before. */
  run_at: number;
  /** The node that does it now. */
  owner: string | null;
  lease_until: number;
  /** Grows with every claim: a former owner is recognised by an older one. */
  fence: number;
  /** How often it was begun since it last got on. */
  attempts: number;
  cancelled_at: number | null;
  last_error: string | null;
  created_at: number;
}

/** How often a kind of thing has changed, so that nodes notice what others did. */
export interface VersionRow {
  topic: string;
  version: number;
}

/** One upload of a blob, when blobs are kept in the database. Several may exist for an id, at most one of them whole. */
export interface BlobRow {
  upload: string;
  id: string;
  /** Null until the upload is whole. */
  size: number | null;
  created_at: number;
}

export interface BlobChunkRow {
  upload: string;
  number: number;
  bytes: Uint8Array;
}

export interface FileRow {
  id: string;
  workspace_id: string;
  filename: string;
  purpose: string;
  bytes: number;
  created_at: number;
  expires_at: number | null;
  /** From here on nobody finds it. The row stays for a while: lists that are being paged know its place. */
  deleted_at: number | null;
}

/** One blob of those that make up a file, in their order. */
export interface FileSegmentRow {
  file_id: string;
  number: number;
  blob: string;
  bytes: number;
}

export interface UploadRow {
  id: string;
  workspace_id: string;
  filename: string;
  purpose: string;
  mime_type: string;
  /** How many the parts must have together. */
  bytes: number;
  /** Null: as long as its purpose lets it. */
  file_lives_seconds: number | null;
  status: 'pending' | 'completed' | 'cancelled' | 'expired';
  /** The file it became. */
  file_id: string | null;
  created_at: number;
  expires_at: number;
}

/** A part whose upload is not completed yet; its blob has its id. Completed, it is a segment of the file. */
export interface UploadPartRow {
  id: string;
  upload_id: string;
  bytes: number;
  created_at: number;
}

export interface BatchRow {
  id: string;
  workspace_id: string;
  /** Whose calls its requests are. */
  api_key_id: string;
  virtual_key: string;
  /** JSON: the headers that each of its requests is made with. */
  headers: string;
  endpoint: string;
  input_file_id: string;
  completion_window: string;
  /** Who carries it out: the gateway, or the provider's own batch API. */
  mode: 'managed' | 'native';
  /** JSON: what is known of the provider's job. */
  native: string | null;
  status: string;
  /** Why it ends before all of its requests were made. */
  stop: 'expired' | 'cancelled' | null;
  /** JSON. */
  errors: string | null;
  output_file_id: string | null;
  error_file_id: string | null;
  /** Null: as long as such files usually live. */
  output_lives_seconds: number | null;
  /** JSON. */
  metadata: string;
  /** Null until its input was found to be good. */
  total: number | null;
  /** Null until it has ended: before that, its results are counted. */
  completed: number | null;
  failed: number | null;
  created_at: number;
  expires_at: number;
  in_progress_at: number | null;
  finalizing_at: number | null;
  completed_at: number | null;
  failed_at: number | null;
  expired_at: number | null;
  cancelling_at: number | null;
  cancelled_at: number | null;
}

/** Where one request of a batch stands in the input file. */
export interface BatchLineRow {
  batch_id: string;
  /** From 0, without empty lines. */
  number: number;
  /** JSON: it may hold characters that no text column takes. */
  custom_id: string;
  position: number;
  bytes: number;
}

/** What became of one request of a batch. */
export interface BatchResultRow {
  batch_id: string;
  number: number;
  id: string;
  is_error: 0 | 1;
  /** JSON. */
  response: string | null;
  error: string | null;
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

export interface FineTuningJobRow {
  id: string;
  workspace_id: string;
  organisation_id: string;
  /** The slug whose provider does the work. */
  virtual_key: string;
  provider: string;
  /** JSON: what was asked for. */
  request: string;
  status: 'validating_files' | 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** JSON: what belongs to the status, such as an error. */
  state: string;
  /** JSON: what the job and its files are called at the provider, as far as they are there. */
  remote: string;
  created_at: number;
  finished_at: number | null;
}

export interface FineTuningEventRow {
  id: string;
  job_id: string;
  /** The provider's id, or a name of ours for what the gateway says itself. */
  remote_id: string;
  level: 'info' | 'warn' | 'error';
  message: string;
  type: 'message' | 'metrics';
  /** JSON. */
  data: string | null;
  created_at: number;
}

export interface FineTuningCheckpointRow {
  id: string;
  job_id: string;
  remote_id: string;
  model: string;
  step_number: number;
  /** JSON. */
  metrics: string;
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

/** That a message of an export was taken over: it is not taken over again, whatever has become of it here. */
export interface ImportedMessageRow {
  thread_id: string;
  /** Its id in the export; here it has one that sorts by time. */
  source_id: string;
  message_id: string;
}

/** That a file made an object: only what has such a mark may be deleted when the file no longer names it. */
export interface ManagedRow {
  kind: 'workspace' | 'virtual-key' | 'config' | 'api-key' | 'policy';
  id: string;
  /** `apply/<name of the file>` or `import/<where from>`. */
  manager: string;
  /** What the file calls it. */
  ref: string;
  /** Sealed digest of what the file last said, secrets included. */
  sealed: string;
  updated_at: number;
}

/** What one call cost. Counters and budgets are sums of these rows. */
export interface UsageLedgerRow {
  id: string;
  at: number;
  organisation_id: string;
  workspace_id: string;
  api_key_id: string;
  virtual_key: string | null;
  provider: string;
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  /** Billionths of a US dollar; null when unknown. */
  cost: number | null;
  state: 'final' | 'estimated' | 'unsent';
  /** JSON `[[counter, amount, ends_at]]`: what was added to which counter. */
  charges: string;
  /** 0 when the hold ended before anybody settled it: a settlement still corrects the row and its counters. */
  settled: 0 | 1;
}

export interface LimitCounterRow {
  counter: string;
  used: number;
  held: number;
  /** Null: never. */
  ends_at: number | null;
}

/** What a running call may still take. Only where several nodes share the counters; a single one keeps a journal. */
export interface LimitHoldRow {
  id: string;
  node: string;
  /** JSON `[[counter, amount, ends_at]]`. */
  charges: string;
  /** JSON of the ledger entry that is written if nobody settles. */
  estimate: string;
  /** By the database's clock. */
  expires_at: number;
}

/** A response of a model that is kept for clients, because its provider has no such API. */
export interface ResponseRow {
  id: string;
  workspace_id: string;
  /** The response it goes on from. */
  previous_id: string | null;
  /** JSON, without the output, which is in the items. */
  body: string;
  /** Of all its items together. */
  bytes: number;
  created_at: number;
  /** From then on it cannot be read; it stays as long as others go on from it. */
  expires_at: number;
}

/** What went into a response, and what came out of it, in this order. */
export interface ResponseItemRow {
  response_id: string;
  position: number;
  side: 'input' | 'output';
  item_id: string;
  /** JSON. */
  body: string;
}

export interface KeptThoughtsRow {
  /** Of workspace, call and name of the tool. */
  id: string;
  workspace_id: string;
  sealed: string;
  bytes: number;
  expires_at: number;
}

export interface PolicyRow {
  id: string;
  organisation_id: string;
  /** Null: the whole organisation. */
  workspace_id: string | null;
  kind: 'rate' | 'usage';
  name: string | null;
  description: string | null;
  /** JSON: whom it concerns, how they are grouped, and what they may use. */
  definition: string;
  created_at: number;
  updated_at: number;
}

/** A group of callers that a usage policy has counted. */
export interface PolicyEntityRow {
  policy_id: string;
  /** Follows from the policy and `value_key`, so that nodes which meet a group at once agree. */
  id: string;
  /** `metadata.team:search,model:gpt-4o`. */
  value_key: string;
  created_at: number;
}

/** One call that changed something, or was to. Its columns are the fields of the record, `at` is its timestamp. */
export interface AuditRecordRow {
  /** The id of the request. */
  id: string;
  organisation_id: string;
  at: number;
  /** The batch of the chain that holds it; null until it is sealed. */
  batch: number | null;
  method: 'POST' | 'PUT' | 'DELETE';
  user_type: 'user' | 'api_key';
  user_id: string;
  workspace_id: string;
  response_status_code: number;
  resource_type: string;
  action: string;
  client_ip: string;
  country: string;
  uri: string;
  /** Over all columns but `batch`. */
  mac: string;
  /** JSON, masked. */
  query_params: string;
  request_headers: string;
  request_body: string;
}

/** How many sealed records of a kind a day has: nobody counts a million to show how many there are. */
export interface AuditDayRow {
  organisation_id: string;
  /** Days since the epoch. */
  day: number;
  method: string;
  user_type: string;
  workspace_id: string;
  response_status_code: number;
  resource_type: string;
  action: string;
  country: string;
  records: number;
}

/** A link of an organisation's chain of audit records. */
export interface AuditBatchRow {
  organisation_id: string;
  number: number;
  /** JSON array of the ids of its records, in their order. */
  ids: string;
  /** Over the batch before, these ids and the records' own codes. */
  seal: string;
  at: number;
}

/** The end of an organisation's chain. */
export interface AuditHeadRow {
  organisation_id: string;
  /** Of the last batch; 0 before the first. */
  number: number;
  /** In all batches together. */
  records: number;
  seal: string;
  at: number;
  signature: string;
}
