/** Written by `npm run docs` from the description of the API. */

export type Alert = { id: string; object: 'alert'; name: string; condition: { type: 'budget'; thresholds: number[]; of?: { api_key_id?: string; virtual_key?: string; workspace_id?: string; policy_id?: string } } | { type: 'spend_rate'; above: number; window: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'error_rate'; above: number; window: number; min_calls: number; failed_by?: 'client' | 'gateway' | 'provider'; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'latency'; percentile: 50 | 90 | 99; above: number; window: number; min_calls: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'unpriced_calls'; above: number; window: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'breaker_open'; config?: string; calm: number } | { type: 'provider_down'; provider?: string; above: number; window: number; min_calls: number } | { type: 'key_expiring'; within: number; of?: { api_key_id?: string; virtual_key?: string } } | { type: 'queue'; older_than: number } | { type: 'disk'; free_below: number } | { type: 'degraded'; parts?: ('store' | 'redis' | 'log' | 'limits' | 'notify' | 'prices' | 'audit' | 'audit-seal' | 'audit-witness' | 'search' | 'tracing' | 'export' | 'backup' | 'secrets')[] }; channels: string[]; repeat_after: number | null; is_enabled: boolean; organisation_id: string; workspace_id: string | null; status: 'off' | 'waiting' | 'calm' | 'firing'; firing: ({ subject: string; summary: string; value: number | null; threshold: number | null; since: string; last_told_at: string })[]; problem: string | null; checked_at: string | null; created_at: string; last_updated_at: string };
export type AlertChannel = { id: string; object: 'alert_channel'; name: string; kind: 'webhook' | 'slack' | 'teams' | 'email'; settings: { url: string } | { host: string; port: number; security: 'tls' | 'starttls' | 'none'; username: string | null; has_password: boolean; from: string; to: string[] }; is_enabled: boolean; organisation_id: string; workspace_id: string | null; last_delivery: { event_id: string; status: 'delivered' | 'retrying' | 'failed'; at: string; attempts: number; response_status: number | null; error: string | null } | null; created_at: string; last_updated_at: string };
export type AlertChannelTest = { id: string; object: 'alert_channel.test'; channel: { id: string; name: string }; delivered: boolean; response_status: number | null; error: string | null };
export type AlertEvent = { id: string; object: 'alert.event'; type: 'alert.fired' | 'alert.repeated' | 'alert.over' | 'alert.test'; at: string; alert_id: string; subject: string; summary: string; value: number | null; threshold: number | null; since: string; reason: string | null; channels: string[]; deliveries: ({ channel_id: string; status: 'waiting' | 'delivered' | 'retrying' | 'failed'; at: string | null; attempts: number; response_status: number | null; error: string | null })[] };
export type AlertTest = { object: 'list'; data: AlertChannelTest[] };
export type ApiKey = { id: string; object: 'api-key'; type: 'organisation-service' | 'workspace-service' | 'workspace-user'; name: string; description: string | null; masked_key: string; organisation_id: string; workspace_id: string; user_id: string | null; is_own: boolean; is_login: boolean; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; defaults: Record<string, unknown>; forbidden: string[] | null; models: string[] | null; expires_at: string | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; status: 'active' | 'exhausted' | 'expired' | 'suspended'; created_at: string; last_updated_at: string };
export type ApplyPlan = { object: 'apply-plan'; name: string | null; steps: ({ action: 'create' | 'change' | 'delete'; kind: string; title: string; workspace: string | null; differences: { field: string; is_secret: boolean; from?: unknown; to?: unknown }[] })[]; unchanged: number; kept: string[]; faults: ({ path: (string | number)[]; message: string })[]; missing_scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; agreement: string | null };
export type Assistant = { id: string; object: 'assistant'; created_at: number; name: string | null; description: string | null; model: string; instructions: string | null; tools: ({ type: 'code_interpreter' } | { type: 'file_search'; file_search?: { max_num_results?: number; ranking_options?: { ranker?: 'auto' | 'default_2024_08_21'; score_threshold: number } } } | { type: 'function'; function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null } })[]; tool_resources: { code_interpreter?: { file_ids?: string[] }; file_search?: { vector_store_ids?: string[] } }; metadata: Record<string, string>; temperature: number | null; top_p: number | null; response_format: 'auto' | 'none' | { type: 'text' | 'json_object' } | { type: 'json_schema'; json_schema: { name: string; description?: string; schema?: Record<string, unknown>; strict?: boolean | null } }; reasoning_effort: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null };
export type AuditRecord = { timestamp: string; method: 'POST' | 'PUT' | 'DELETE'; uri: string; request_id: string; request_body: string; query_params: string; request_headers: string; user_id: string; user_type: 'user' | 'api_key'; organisation_id: string; workspace_id: string; response_status_code: number; resource_type: string; action: string; client_ip: string; country: string };
export type Batch = { id: string; object: 'batch'; endpoint: string; errors: { object: 'list'; data: ({ code: string; message: string; param: string | null; line: number | null })[] } | null; input_file_id: string; completion_window: string; status: 'validating' | 'failed' | 'in_progress' | 'finalizing' | 'completed' | 'expired' | 'cancelling' | 'cancelled'; output_file_id: string | null; error_file_id: string | null; created_at: number; in_progress_at: number | null; expires_at: number | null; finalizing_at: number | null; completed_at: number | null; failed_at: number | null; expired_at: number | null; cancelling_at: number | null; cancelled_at: number | null; request_counts: { total: number; completed: number; failed: number }; model: string | null; usage: { input_tokens: number; input_tokens_details: { cached_tokens: number }; output_tokens: number; output_tokens_details: { reasoning_tokens: number }; total_tokens: number }; metadata: Record<string, string> };
export type Config = { id: string; object: 'config'; slug: string; name: string; organisation_id: string; workspace_id: string; status: 'active' | 'archived'; is_default: 0; version_id: string; owner_id: string; updated_by: string; created_at: string; last_updated_at: string };
export type Container = { id: string; object: 'container'; created_at: number; name: string; status: 'active' | 'expired'; expires_after: { anchor: 'last_active_at'; minutes: number }; last_active_at: number; memory_limit?: '1g' | '4g' | '16g' | '64g'; network_policy: { type: 'disabled' } };
export type ContainerFile = { id: string; object: 'container.file'; created_at: number; bytes: number; container_id: string; path: string; source: 'user' | 'assistant' };
export type Conversation = { id: string; object: 'conversation'; created_at: number; metadata: Record<string, string> };
export type Error = { error: { message: string; type: string; param: string | null; code: 'missing_api_key' | 'invalid_api_key' | 'client_secret_used' | 'expired_api_key' | 'caller_gone' | 'too_many_connections' | 'too_many_sockets' | 'sockets_exhausted' | 'insufficient_scope' | 'invalid_user_token' | 'identity_provider_unavailable' | 'untrusted_origin' | 'forbidden_by_rule' | 'rule_not_liftable' | 'model_not_allowed' | 'models_not_widenable' | 'scope_not_grantable' | 'key_of_another_user' | 'own_keys_not_allowed' | 'too_many_own_keys' | 'sign_in_failed' | 'too_many_sign_ins' | 'sign_in_busy' | 'two_sessions' | 'csrf_token_missing' | 'session_required' | 'not_a_member' | 'own_role' | 'invalid_machine_token' | 'oidc_refused' | 'foreign_organisation' | 'invalid_access_token' | 'oauth_invalid_request' | 'oauth_invalid_client' | 'oauth_invalid_grant' | 'oauth_unsupported_grant_type' | 'oauth_invalid_target' | 'oauth_invalid_redirect_uri' | 'oauth_invalid_client_metadata' | 'oauth_registration_closed' | 'oauth_too_many_requests' | 'device_code_pending' | 'device_code_slow_down' | 'device_code_denied' | 'device_code_expired' | 'login_ended' | 'device_code_unknown' | 'no_managed_settings' | 'login_refused' | 'authorization_refused' | 'page_expired' | 'route_not_found' | 'method_not_allowed' | 'upgrade_not_served' | 'session_bound' | 'too_many_background_responses' | 'too_many_turns' | 'websocket_connection_limit_reached' | 'invalid_path' | 'invalid_header' | 'invalid_json' | 'invalid_request' | 'unsupported_media_type' | 'body_too_large' | 'body_too_slow' | 'body_incomplete' | 'invalid_multipart' | 'model_hidden' | 'range_not_satisfiable' | 'missing_required_parameter' | 'unknown_parameter' | 'invalid_type' | 'invalid_value' | 'integer_above_max_value' | 'integer_below_min_value' | 'decimal_above_max_value' | 'decimal_below_min_value' | 'string_above_max_length' | 'string_below_min_length' | 'array_above_max_length' | 'array_below_min_length' | 'object_above_max_properties' | 'cursor_not_found' | 'missing_virtual_key' | 'missing_provider' | 'unknown_model' | 'ambiguous_model' | 'conflicting_provider' | 'unknown_provider' | 'unknown_virtual_key' | 'expired_virtual_key' | 'expired_client_certificate' | 'missing_credential' | 'callers_authorization_missing' | 'missing_provider_option' | 'invalid_provider_option' | 'unknown_config' | 'unsupported_by_provider' | 'model_not_found' | 'media_unreachable' | 'not_expressible' | 'invalid_config' | 'unknown_guardrail' | 'guardrail_misplaced' | 'egress_refused' | 'not_changeable' | 'guardrail_denied' | 'rate_limited' | 'budget_exhausted' | 'prices_refused' | 'price_unknown' | 'upstream_unreachable' | 'answer_not_json' | 'upstream_failed' | 'call_not_watched' | 'call_not_joined' | 'call_not_ended' | 'upstream_timeout' | 'request_timeout' | 'secret_unavailable' | 'identity_unavailable' | 'credential_rejected' | 'deleted_meanwhile' | 'apply_refused' | 'apply_outdated' | 'workspace_not_found' | 'workspace_in_use' | 'deletion_not_found' | 'erasure_not_found' | 'call_not_found' | 'api_key_not_found' | 'user_not_found' | 'group_not_found' | 'scim_unknown' | 'scim_mapping_not_found' | 'scim_mapping_exists' | 'scim_uniqueness' | 'scim_filter' | 'scim_path' | 'email_taken' | 'last_owner' | 'member_not_found' | 'already_a_member' | 'session_not_found' | 'invite_not_found' | 'invite_not_open' | 'owner_link_ended' | 'oidc_not_configured' | 'machine_tokens_not_configured' | 'rotation_in_progress' | 'guardrail_not_found' | 'guardrail_in_use' | 'webhook_not_found' | 'too_many_webhooks' | 'alert_not_found' | 'alert_channel_not_found' | 'too_many_alerts' | 'alert_channel_in_use' | 'view_not_found' | 'too_many_views' | 'config_not_found' | 'virtual_key_not_found' | 'virtual_key_fixed' | 'secret_reference_not_found' | 'integration_not_found' | 'virtual_key_linked' | 'ambiguous_slug' | 'slug_taken' | 'policy_not_found' | 'policy_entity_not_found' | 'feedback_not_found' | 'feedback_needs_workspace_key' | 'log_session_not_found' | 'log_not_found' | 'mcp_server_not_found' | 'mcp_tool_set_not_found' | 'mcp_session_not_found' | 'mcp_access_denied' | 'mcp_message_refused' | 'mcp_header_mismatch' | 'mcp_capability_unavailable' | 'mcp_definition_unapproved' | 'mcp_identity_too_large' | 'mcp_signing_key_missing' | 'mcp_upstream_refused' | 'mcp_registry_off' | 'mcp_registry_failed' | 'mcp_code_off' | 'mcp_tool_failed' | 'mcp_tools_unavailable' | 'mcp_upstream_failed' | 'mcp_session_refused' | 'mcp_program_failed' | 'mcp_program_unavailable' | 'mcp_answer_missing' | 'mcp_transport_unsupported' | 'mcp_user_required' | 'mcp_connection_required' | 'mcp_servers_unavailable' | 'mcp_version_unsupported' | 'mcp_method_unknown' | 'mcp_app_not_found' | 'mcp_app_without_secret' | 'own_app_not_found' | 'own_connection_not_found' | 'mcp_connection_not_found' | 'mcp_upstream_oauth_failed' | 'mcp_connect_refused' | 'file_not_found' | 'file_format_unsupported' | 'file_too_large' | 'batch_not_found' | 'batch_not_cancellable' | 'native_batches_unsupported' | 'batch_output_missing' | 'hosted_tool_off' | 'invalid_beta' | 'unsupported_value' | 'thread_locked' | 'thread_has_active_run' | 'run_not_cancellable' | 'run_takes_no_outputs' | 'tool_outputs_mismatch' | 'object_not_found' | 'vector_store_expired' | 'vector_store_file_not_found' | 'vector_store_file_unread' | 'file_batch_not_cancellable' | 'vector_store_sync_busy' | 'vector_store_sync_lost' | 'upload_not_found' | 'upload_not_pending' | 'too_many_upload_parts' | 'upload_parts_too_large' | 'upload_size_mismatch' | 'upload_checksum_mismatch' | 'response_not_found' | 'previous_response_not_found' | 'response_item_not_found' | 'fine_tune_not_found' | 'fine_tuning_job_state' | 'fine_tuning_unsupported' | 'fine_tuning_refused' | 'store_unavailable' | 'analytics_too_slow' | 'audit_log_in_doubt' | 'blob_store_unavailable' | 'limits_unavailable' | 'shutting_down' | 'internal_error' | null } };
export type File = { id: string; object: 'file'; bytes: number; created_at: number; filename: string; purpose: 'assistants' | 'batch' | 'fine-tune' | 'vision' | 'user_data' | 'evals' | 'assistants_output' | 'batch_output' | 'fine-tune-results'; status: 'processed'; expires_at?: number };
export type FineTuningJob = { id: string; object: 'fine_tuning.job'; created_at: number; error: { code: string; message: string; param: string | null } | null; fine_tuned_model: string | null; finished_at: number | null; hyperparameters: Record<string, number | string>; model: string; organization_id: string; result_files: string[]; status: 'validating_files' | 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled'; trained_tokens: number | null; training_file: string; validation_file: string | null; seed: number; integrations: unknown[] | null; estimated_finish: number | null; method: { type: string }; metadata: Record<string, string> };
export type FineTuningJobCheckpoint = { id: string; object: 'fine_tuning.job.checkpoint'; created_at: number; fine_tuned_model_checkpoint: string; fine_tuning_job_id: string; step_number: number; metrics: Record<string, number> };
export type FineTuningJobEvent = { id: string; object: 'fine_tuning.job.event'; created_at: number; level: 'info' | 'warn' | 'error'; message: string; type: 'message' | 'metrics'; data: unknown };
export type Guardrail = { id: string; object: 'guardrail'; slug: string; name: string; organisation_id: string; workspace_id: string | null; status: 'active'; version_id: string; owner_id: string; updated_by: string | null; created_at: string; last_updated_at: string };
export type Integration = { id: string; object: 'integration'; slug: string; name: string; description: string | null; ai_provider_id: string; organisation_id: string; type: 'organisation' | 'workspace'; workspace_id: string | null; status: 'active' | 'archived'; masked_key: string; configurations: Record<string, unknown>; secret_mappings: unknown[]; created_at: string; last_updated_at: string };
export type Invite = { id: string; object: 'invite'; email: string; role: 'owner' | 'admin' | 'member'; workspaces: ({ id: string; role: 'admin' | 'manager' | 'member' })[]; status: 'pending' | 'accepted' | 'cancelled' | 'expired'; created_at: string; expires_at: string; last_updated_at: string };
export type MachineTokens = { object: 'machine-tokens'; jwks_uri?: string; jwks?: { keys: { kty: 'RSA'; kid: string; n: string; e: string }[] }; issuer?: string; audience?: string; clock_tolerance?: number };
export type ManagedSettings = { object: 'managed-settings'; workspace_id: string | null; settings: Record<string, unknown> | null; desktop: Record<string, unknown> | null; last_updated_at: string | null };
export type McpApp = { id: string; object: 'mcp-app'; client_id: string; name: string; redirect_uris: string[]; is_confidential: boolean; is_renewable: boolean; grant_types: string[]; secret_created_at: string | null; created_at: string; last_updated_at: string; last_used_at: string | null };
export type McpCapability = { object: 'mcp-capability'; type: 'tool' | 'prompt' | 'resource' | 'resource_template'; name: string; enabled: boolean; is_offered: boolean; hash: string | null; approved_hash: string | null; status: 'approved' | 'changed' | 'pending' | null; flags: string[]; definition: string | null; approved_definition: string | null; first_seen_at: string; changed_at: string };
export type McpIntegration = { id: string; object: 'mcp-integration'; slug: string; name: string; description: string | null; url: string; auth_type: string; transport: string; configurations: Record<string, unknown>; workspace_id: string; type: 'workspace'; status: 'active'; created_at: string; last_updated_at: string };
export type McpRegistryEntry = { name: string; title: string; description: string; version: string; url: string | null; header: string | null; problem: string | null };
export type McpServer = { id: string; object: 'mcp-server'; slug: string; name: string; description: string | null; workspace_id: string; url: string; endpoint: string; auth_type: string; configurations: Record<string, unknown>; warnings: string[]; created_at: string; last_updated_at: string };
export type McpToolSet = { id: string; object: 'mcp-tool-set'; slug: string; name: string; description: string | null; workspace_id: string; endpoint: string; mcp_tools: 'all' | 'search' | 'code' | null; tools: ({ server: string; tool: string; name: string; description: string | null; status: 'available' | 'switched_off' | 'not_offered' | 'server_deleted' | 'unknown' })[]; created_at: string; last_updated_at: string };
export type Message = { id: string; object: 'thread.message'; created_at: number; thread_id: string; status: 'in_progress' | 'incomplete' | 'completed'; incomplete_details: { reason: string } | null; completed_at: number | null; incomplete_at: number | null; role: 'user' | 'assistant'; content: ({ type: 'text'; text: { value: string; annotations: Record<string, unknown>[] } } | { type: 'image_url'; image_url: { url: string; detail: 'auto' | 'low' | 'high' } } | { type: 'image_file'; image_file: { file_id: string; detail: 'auto' | 'low' | 'high' } } | { type: 'refusal'; refusal: string })[]; assistant_id: string | null; run_id: string | null; attachments: ({ file_id: string; tools: ({ type: 'code_interpreter' } | { type: 'file_search' })[] })[]; metadata: Record<string, string> };
export type Organisation = { id: string; object: 'organisation'; name: string; forbidden: string[] | null; created_at: string };
export type OwnApp = { id: string; object: 'own-app'; client_id: string; client_name: string; client_host: string | null; resource: string; server: string | null; workspace: { id: string; slug: string; name: string }; authorizations: number; is_remembered: boolean; created_at: string; last_token_at: string | null; expires_at: string | null };
export type OwnConnection = { id: string; object: 'own-connection'; server: string; name: string; description: string | null; workspace: { id: string; slug: string; name: string }; endpoint: string; may_call: boolean; needs_account: boolean; is_connected: boolean; connect_url: string | null; issuer: string | null; scope: string | null; connected_at: string | null };
export type PassageLocator = { page?: number; last_page?: number; headings?: string[]; line?: number; last_line?: number };
export type PolicyEntity = { id: string; object: 'policy_entity'; value_key: string; current_usage: number; status: 'active' | 'exhausted'; resets_at: string | null; unpriced_calls?: number };
export type PriceList = { object: 'price_list'; source: string; sha256: string; as_of: string | null; models: number; synced_at: string };
export type RateLimitsPolicy = { id: string; name: string | null; description: string | null; organisation_id: string; workspace_id: string | null; conditions: ({ key: string; value: string | string[]; excludes?: boolean })[]; group_by: { key: string }[]; status: 'active'; created_at: string; last_updated_at: string; object: 'policy_rate_limits'; type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number; target: 'llm' | 'mcp_tools' };
export type ResponseSummary = { id: string; object: 'response'; created_at: number; status: string; model: string | null; background: boolean; previous_response_id: string | null; usage: { input_tokens: number; output_tokens: number; total_tokens: number } | null; error: { code: string | null; message: string } | null; user_id: string | null; trace_id: string | null; expires_at: number };
export type Run = { model: string; instructions: string; tools: ({ type: 'code_interpreter' } | { type: 'file_search'; file_search?: { max_num_results?: number; ranking_options?: { ranker?: 'auto' | 'default_2024_08_21'; score_threshold: number } } } | { type: 'function'; function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null } })[]; temperature: number | null; top_p: number | null; max_prompt_tokens: number | null; max_completion_tokens: number | null; truncation_strategy: { type: 'auto' | 'last_messages'; last_messages: number | null }; tool_choice: 'none' | 'auto' | 'required' | { type: 'file_search' | 'code_interpreter' } | { type: 'function'; function: { name: string } }; parallel_tool_calls: boolean; response_format: 'auto' | 'none' | { type: 'text' | 'json_object' } | { type: 'json_schema'; json_schema: { name: string; description?: string; schema?: Record<string, unknown>; strict?: boolean | null } }; id: string; object: 'thread.run'; created_at: number; thread_id: string; assistant_id: string; status: 'queued' | 'in_progress' | 'requires_action' | 'cancelling' | 'completed' | 'incomplete' | 'failed' | 'cancelled' | 'expired'; required_action: { type: 'submit_tool_outputs'; submit_tool_outputs: { tool_calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] } } | null; last_error: { code: 'server_error' | 'rate_limit_exceeded' | 'invalid_prompt'; message: string } | null; expires_at: number | null; started_at: number | null; cancelled_at: number | null; failed_at: number | null; completed_at: number | null; incomplete_details: { reason: 'max_completion_tokens' | 'max_prompt_tokens' } | null; metadata: Record<string, string>; usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null };
export type RunStep = { id: string; object: 'thread.run.step'; created_at: number; assistant_id: string; thread_id: string; run_id: string; type: 'message_creation' | 'tool_calls'; status: 'in_progress' | 'cancelled' | 'failed' | 'completed' | 'expired'; step_details: { type: 'message_creation'; message_creation: { message_id: string } } | { type: 'tool_calls'; tool_calls: ({ id: string; type: 'function'; function: { name: string; arguments: string; output: string | null } } | { id: string; type: 'file_search'; file_search: { ranking_options?: { ranker: string; score_threshold: number }; results?: { file_id: string; file_name: string; score: number; content?: { type: 'text'; text: string }[] }[] } } | { id: string; type: 'code_interpreter'; code_interpreter: { input: string; outputs: ({ type: 'logs'; logs: string } | { type: 'image'; image: { file_id: string } })[] } })[] }; last_error: { code: 'server_error' | 'rate_limit_exceeded' | 'invalid_prompt'; message: string } | null; expired_at: number | null; cancelled_at: number | null; failed_at: number | null; completed_at: number | null; metadata: Record<string, string>; usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null };
export type ScimList = { totalResults: number; startIndex: number; itemsPerPage: number; Resources: Record<string, unknown>[] };
export type ScimMapping = { id: string; object: 'scim-mapping'; group: string; workspace_id: string | null; workspace_slug: string | null; role: string; created_at: string };
export type ScimResource = { schemas: string[]; id: string };
export type ScimWorkspaceMapping = { id: string; workspace_id: string; scim_group: string; scim_group_id: string; role: string };
export type Thread = { id: string; object: 'thread'; created_at: number; tool_resources: { code_interpreter?: { file_ids?: string[] }; file_search?: { vector_store_ids?: string[] } }; metadata: Record<string, string> };
export type Upload = { id: string; object: 'upload'; bytes: number; created_at: number; filename: string; purpose: string; status: 'pending' | 'completed' | 'cancelled' | 'expired'; expires_at: number; file?: File };
export type UploadPart = { id: string; object: 'upload.part'; created_at: number; upload_id: string };
export type UsageLimitsPolicy = { id: string; name: string | null; description: string | null; organisation_id: string; workspace_id: string | null; conditions: ({ key: string; value: string | string[]; excludes?: boolean })[]; group_by: { key: string }[]; status: 'active'; created_at: string; last_updated_at: string; object: 'policy_usage_limits'; type: 'cost' | 'tokens' | 'requests'; credit_limit: number; alert_threshold: number | null; periodic_reset: 'weekly' | 'monthly' | null; periodic_reset_days: number | null; next_usage_reset_at: string | null; unpriced?: 'refuse' | 'allow'; value_key_usage_map?: Record<string, { current_usage: number; status: 'active' | 'exhausted' }> };
export type User = { id: string; object: 'user'; email: string; username: string | null; first_name: string | null; last_name: string | null; role: 'owner' | 'admin' | 'member'; status: 'active' | 'deactivated'; workspace_ids: string[]; created_at: string; last_updated_at: string };
export type UserErasure = { id: string; status: 'running' | 'completed'; removed: { area: string; rows: number }[]; kept: { area: string; why: string }[]; at_providers: ({ area: string; id: string; error: string | null })[]; created_at: string; completed_at: string | null; object: 'user.erasure'; user_id: string };
export type VectorStore = { id: string; object: 'vector_store'; created_at: number; name: string; description?: string; usage_bytes: number; file_counts: { in_progress: number; completed: number; failed: number; cancelled: number; total: number }; status: 'expired' | 'in_progress' | 'completed'; expires_after?: { anchor: 'last_active_at'; days: number }; expires_at: number | null; last_active_at: number; metadata: Record<string, string> };
export type VectorStoreFile = { id: string; object: 'vector_store.file'; usage_bytes: number; created_at: number; vector_store_id: string; status: 'in_progress' | 'completed' | 'cancelled' | 'failed'; last_error: { code: 'server_error' | 'unsupported_file' | 'invalid_file'; message: string } | null; chunking_strategy: { type: 'static'; static: { max_chunk_size_tokens: number; chunk_overlap_tokens: number } }; attributes: Record<string, string | number | boolean>; origin?: { source: string; path: string; digest: string } };
export type VectorStoreFileBatch = { id: string; object: 'vector_store.files_batch'; created_at: number; vector_store_id: string; status: 'in_progress' | 'completed' | 'cancelled' | 'failed'; file_counts: { in_progress: number; completed: number; failed: number; cancelled: number; total: number } };
export type VectorStoreSearchResults = { object: 'vector_store.search_results.page'; search_query: string[]; data: ({ file_id: string; filename: string; score: number; attributes: Record<string, string | number | boolean> | null; content: { type: 'text'; text: string }[]; locator: PassageLocator | null })[]; has_more: boolean; next_page: string | null };
export type VectorStoreSync = { id: string; object: 'vector_store.sync'; vector_store_id: string; source: string; holder: string; status: 'in_progress' | 'completed' | 'failed' | 'abandoned'; created_at: number; expires_at: number | null; ended_at: number | null; progress: { total: number; done: number; uploaded: number; removed: number; failed: number; bytes: number } };
export type View = { id: string; object: 'view'; name: string; page: 'overview' | 'explore' | 'logs'; query: Record<string, string>; is_shared: boolean; workspace_id: string; created_at: string; last_updated_at: string };
export type VirtualKey = { id: string; object: 'virtual-key'; slug: string; name: string; note: string | null; workspace_id: string; provider: string; masked_key: string; custom_host: string | null; configurations: Record<string, unknown>; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; status: 'active' | 'exhausted' | 'expired'; expires_at: string | null; source_id: string | null; created_at: string; last_updated_at: string };
export type Webhook = { id: string; object: 'webhook'; name: string; url: string; events: ('batch.completed' | 'batch.failed' | 'batch.expired' | 'batch.cancelled' | 'fine_tuning.job.succeeded' | 'fine_tuning.job.failed' | 'fine_tuning.job.cancelled')[]; is_enabled: boolean; workspace_id: string; last_delivery: { event_id: string; status: 'delivered' | 'retrying' | 'failed'; at: string; attempts: number; response_status: number | null; error: string | null } | null; created_at: string; last_updated_at: string };
export type Workspace = { id: string; object: 'workspace'; slug: string; name: string; description: string | null; defaults: Record<string, unknown>; forbidden: string[] | null; member_keys: { most: number; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke')[]; models: string[] | null; max_days: number | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null } | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; created_at: string; last_updated_at: string };
export type WorkspaceDeletion = { id: string; status: 'running' | 'completed'; removed: { area: string; rows: number }[]; kept: { area: string; why: string }[]; at_providers: ({ area: string; id: string; error: string | null })[]; created_at: string; completed_at: string | null; object: 'workspace.deletion'; workspace_id: string; slug: string };
export type WorkspaceProvider = { id: string; object: 'provider'; slug: string; name: string; note: string | null; ai_provider_name: string; integration_id: string; workspace_id: string; status: 'active' | 'exhausted' | 'expired'; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; expires_at: string | null; created_at: string; last_updated_at: string };
export type WorkspaceUser = { id: string; object: 'workspace-user'; email: string; first_name: string | null; last_name: string | null; org_role: 'owner' | 'admin' | 'member'; role: 'admin' | 'manager' | 'member'; workspace_id: string; created_at: string; last_updated_at: string };

export interface Paths {
  '/': {
    get: { response: unknown };
  };
  '/health': {
    get: { response: { status: 'ok'; degraded: { part: string; since: string; effect: string }[]; notes?: string[] } };
  };
  '/ready': {
    get: { response: { status: 'ready' | 'unavailable'; store: 'ok' | 'unavailable' } };
  };
  '/openapi.json': {
    get: { response: unknown };
  };
  '/docs': {
    get: { response: unknown };
  };
  '/v1/logs': {
    get: { query: { workspace_id?: string; start_time?: string; end_time?: string; filter?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; limit?: number; after?: string }; response: { object: 'list'; data: ({ id: string; trace_id: string; created_at: number; organisation_id: string | null; workspace_id: string | null; api_key_id: string | null; user_id: string | null; virtual_key: string | null; provider: string | null; model: string | null; method: string; path: string; status: number; failed_by: 'gateway' | 'provider' | 'client' | null; error_code: string | null; is_stream: boolean; request_bytes: number; response_bytes: number; first_byte_ms: number | null; duration_ms: number; input_tokens: number | null; output_tokens: number | null; total_tokens: number | null; cached_tokens: number | null; reasoning_tokens: number | null; cost: number | null; client_address: string; metadata: Record<string, string> | null; hook_results: { before_request_hooks: unknown[]; after_request_hooks: unknown[] } | null; session_id: string | null; attempt_count: number | null })[]; has_more: boolean; next_cursor?: string } };
    post: { response: unknown };
  };
  '/v1/logs/export': {
    get: { query: { workspace_id?: string; start_time?: string; end_time?: string; filter?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; format?: 'ndjson' | 'csv' }; response: unknown };
  };
  '/v1/guardrail-hits': {
    get: { query: { workspace_id?: string; guardrail?: string; limit?: number }; response: { object: 'list'; data: ({ id: string; trace_id: string; created_at: number; organisation_id: string | null; workspace_id: string | null; api_key_id: string | null; user_id: string | null; virtual_key: string | null; provider: string | null; model: string | null; method: string; path: string; status: number; failed_by: 'gateway' | 'provider' | 'client' | null; error_code: string | null; is_stream: boolean; request_bytes: number; response_bytes: number; first_byte_ms: number | null; duration_ms: number; input_tokens: number | null; output_tokens: number | null; total_tokens: number | null; cached_tokens: number | null; reasoning_tokens: number | null; cost: number | null; client_address: string; metadata: Record<string, string> | null; hook_results: { before_request_hooks: unknown[]; after_request_hooks: unknown[] } | null; session_id: string | null; attempt_count: number | null })[]; has_more: boolean; next_cursor?: string } };
  };
  '/v1/logs/{id}': {
    get: { params: { id: string }; response: { id: string; trace_id: string; created_at: number; organisation_id: string | null; workspace_id: string | null; api_key_id: string | null; user_id: string | null; virtual_key: string | null; provider: string | null; model: string | null; method: string; path: string; status: number; failed_by: 'gateway' | 'provider' | 'client' | null; error_code: string | null; is_stream: boolean; request_bytes: number; response_bytes: number; first_byte_ms: number | null; duration_ms: number; input_tokens: number | null; output_tokens: number | null; total_tokens: number | null; cached_tokens: number | null; reasoning_tokens: number | null; cost: number | null; client_address: string; metadata: Record<string, string> | null; hook_results: { before_request_hooks: unknown[]; after_request_hooks: unknown[] } | null; session_id: string | null; attempt_count: number | null; cost_details: { input: number; cached_input: number; output: number; reasoning: number } | null; attempts: ({ target: string; provider: string | null; model: string | null; virtual_key: string | null; host: string | null; skipped: boolean; reason: 'retry' | 'fallback' | 'stream_options_refused' | 'circuit_open' | null; started_ms: number; connect_ms: number | null; first_byte_ms: number | null; ended_ms: number; status: number | null; error_code: string | null; input_tokens: number | null; output_tokens: number | null; total_tokens: number | null; cost: number | null; cache: { status: 'HIT' | 'MISS' | 'REFRESH'; started_ms: number; duration_ms: number } | null; guardrails: ({ hook: 'input' | 'output'; id: string; verdict: boolean | null; deny: boolean; started_ms: number; duration_ms: number })[]; request: { body: string | null; encoding: 'utf8' | 'base64'; truncated: boolean } | null; response: { body: string | null; encoding: 'utf8' | 'base64'; truncated: boolean } | null })[]; cache: { status: 'HIT' | 'MISS' | 'REFRESH'; started_ms: number; duration_ms: number; target: string } | null; request: { headers: Record<string, string>; body: string | null; encoding: 'utf8' | 'base64'; truncated: boolean } | null; response: { headers: Record<string, string>; body: string | null; encoding: 'utf8' | 'base64'; truncated: boolean } | null } };
  };
  '/metrics': {
    get: { response: unknown };
  };
  '/v1/log-sessions': {
    get: { query: { workspace_id?: string; start_time?: string; end_time?: string; limit?: number; after?: string }; response: { object: 'list'; data: { object: 'log_session'; id: string; workspace_id: string; first_call_at: number; last_call_at: number; ended_at: number; duration_ms: number; calls: number; errors: number; unpriced_calls: number; input_tokens: number; output_tokens: number; total_tokens: number; cached_tokens: number; reasoning_tokens: number; cost: number; model_count: number; models: { model: string; calls: number; cost: number }[] }[]; has_more: boolean; next_cursor?: string } };
  };
  '/v1/log-sessions/{id}': {
    get: { params: { id: string }; query: { workspace_id?: string }; response: { object: 'log_session'; id: string; workspace_id: string; first_call_at: number; last_call_at: number; ended_at: number; duration_ms: number; calls: number; errors: number; unpriced_calls: number; input_tokens: number; output_tokens: number; total_tokens: number; cached_tokens: number; reasoning_tokens: number; cost: number; model_count: number; models: { model: string; calls: number; cost: number }[] } };
  };
  '/v1/analytics/graphs/all': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { requests: number; errors: number; error_rate: number | null; client_errors: number; gateway_errors: number; provider_errors: number; cost: number; requests_without_cost: number; total_tokens: number; input_tokens: number; output_tokens: number; cached_tokens: number; reasoning_tokens: number; request_bytes: number; response_bytes: number; latency_avg: number | null; latency_p50: number | null; latency_p90: number | null; latency_p99: number | null; first_byte_avg: number | null; first_byte_p50: number | null; first_byte_p90: number | null; first_byte_p99: number | null }; data_points: ({ timestamp: string; requests: number; errors: number; error_rate: number | null; client_errors: number; gateway_errors: number; provider_errors: number; cost: number; requests_without_cost: number; total_tokens: number; input_tokens: number; output_tokens: number; cached_tokens: number; reasoning_tokens: number; request_bytes: number; response_bytes: number; latency_avg: number | null; latency_p50: number | null; latency_p90: number | null; latency_p99: number | null; first_byte_avg: number | null; first_byte_p50: number | null; first_byte_p90: number | null; first_byte_p99: number | null })[] } };
  };
  '/v1/analytics/graphs/requests': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { requests: number }; data_points: { timestamp: string; requests: number }[] } };
  };
  '/v1/analytics/graphs/cost': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { requests: number; cost: number; requests_without_cost: number }; data_points: { timestamp: string; requests: number; cost: number; requests_without_cost: number }[] } };
  };
  '/v1/analytics/graphs/latency': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { requests: number; avg: number | null; p50: number | null; p90: number | null; p99: number | null }; data_points: ({ timestamp: string; requests: number; avg: number | null; p50: number | null; p90: number | null; p99: number | null })[] } };
  };
  '/v1/analytics/graphs/first-byte': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { requests: number; avg: number | null; p50: number | null; p90: number | null; p99: number | null }; data_points: ({ timestamp: string; requests: number; avg: number | null; p50: number | null; p90: number | null; p99: number | null })[] } };
  };
  '/v1/analytics/graphs/tokens': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { requests: number; input_tokens: number; output_tokens: number; total_tokens: number; cached_tokens: number; reasoning_tokens: number }; data_points: { timestamp: string; requests: number; input_tokens: number; output_tokens: number; total_tokens: number; cached_tokens: number; reasoning_tokens: number }[] } };
  };
  '/v1/analytics/graphs/bytes': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { requests: number; request_bytes: number; response_bytes: number }; data_points: { timestamp: string; requests: number; request_bytes: number; response_bytes: number }[] } };
  };
  '/v1/analytics/graphs/users': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { users: number }; data_points: { timestamp: string; users: number }[] } };
  };
  '/v1/analytics/graphs/users/requests': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { users: number; requests: number; requests_per_user: number | null }; data_points: ({ timestamp: string; users: number; requests: number; requests_per_user: number | null })[] } };
  };
  '/v1/analytics/graphs/errors': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { errors: number }; data_points: { timestamp: string; errors: number }[] } };
  };
  '/v1/analytics/graphs/errors/rate': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { requests: number; errors: number; error_rate: number | null }; data_points: ({ timestamp: string; requests: number; errors: number; error_rate: number | null })[] } };
  };
  '/v1/analytics/graphs/errors/origins': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { errors: number; client_errors: number; gateway_errors: number; provider_errors: number }; data_points: { timestamp: string; errors: number; client_errors: number; gateway_errors: number; provider_errors: number }[] } };
  };
  '/v1/analytics/graphs/errors/status-codes': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; bucket_seconds?: number }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { errors: number; status_codes: Record<string, number> }; data_points: { timestamp: string; errors: number; status_codes: Record<string, number> }[] } };
  };
  '/v1/analytics/facets': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; limit?: number }; response: { object: 'analytics-facets'; facets: Record<string, { values: ({ value: string | number | null; requests: number })[]; has_more: boolean }> } };
  };
  '/v1/analytics/series': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; metric: 'requests' | 'errors' | 'error_rate' | 'client_errors' | 'gateway_errors' | 'provider_errors' | 'cost' | 'requests_without_cost' | 'total_tokens' | 'input_tokens' | 'output_tokens' | 'cached_tokens' | 'reasoning_tokens' | 'request_bytes' | 'response_bytes' | 'latency_avg' | 'latency_p50' | 'latency_p90' | 'latency_p99' | 'first_byte_avg' | 'first_byte_p50' | 'first_byte_p90' | 'first_byte_p99'; group_by: string; subgroup_by?: string; bucket_seconds?: number; rank_by?: 'requests' | 'errors' | 'error_rate' | 'client_errors' | 'gateway_errors' | 'provider_errors' | 'cost' | 'requests_without_cost' | 'total_tokens' | 'input_tokens' | 'output_tokens' | 'cached_tokens' | 'reasoning_tokens' | 'request_bytes' | 'response_bytes' | 'latency_avg' | 'latency_p50' | 'latency_p90' | 'latency_p99' | 'first_byte_avg' | 'first_byte_p50' | 'first_byte_p90' | 'first_byte_p99'; limit?: number }; response: { object: 'analytics-series'; bucket_seconds: number; timestamps: string[]; total: { value: number | null; figures: { requests: number; errors: number; error_rate: number | null; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; cached_tokens: number; reasoning_tokens: number; latency_avg: number | null; first_byte_avg: number | null }; points: (number | null)[] }; series: ({ group: string | number | null; subgroup?: string | number | null; value: number | null; figures: { requests: number; errors: number; error_rate: number | null; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; cached_tokens: number; reasoning_tokens: number; latency_avg: number | null; first_byte_avg: number | null }; points: (number | null)[] })[]; others: { groups: number; value: number | null; figures: { requests: number; errors: number; error_rate: number | null; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; cached_tokens: number; reasoning_tokens: number; latency_avg: number | null; first_byte_avg: number | null }; points: (number | null)[] } | null } };
  };
  '/v1/analytics/questions': {
    get: { query: { 'question[]': string | string[] }; response: { object: 'list'; data: { object: string }[] } };
  };
  '/v1/analytics/groups/users': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ user_id: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/ai-models': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ model: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/providers': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ provider: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/virtual-keys': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ virtual_key: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/api-keys': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ api_key_id: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/status-codes': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ status: number | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/workspaces': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ workspace_id: string | null; workspace_slug: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/error-codes': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ error_code: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/endpoints': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ endpoint: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/verdicts': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ verdict: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/cache-statuses': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ cache_status: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/metadata/{key}': {
    get: { params: { key: string }; query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; status?: number; failed_by?: 'gateway' | 'provider' | 'client'; provider?: string; model?: string; virtual_key?: string; api_key_id?: string; user_id?: string; trace_id?: string; session_id?: string; path?: string; is_stream?: 'true' | 'false'; filter?: string; current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ value: string | null; requests: number; errors: number; cost: number; requests_without_cost: number; input_tokens: number; output_tokens: number; total_tokens: number; avg_duration_ms: number | null })[]; total: number; has_more: boolean } };
  };
  '/v1/analytics/groups/guardrails': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string }; response: { object: 'list'; counted_from: string | null; data: { guardrail: string; requests: number; passed: number; failed: number; denied: number }[] } };
  };
  '/v1/analytics/rebuild': {
    post: { response: { object: 'analytics-rebuild'; status: 'running' | 'completed'; counted_from: string | null; log_from: string | null } };
    get: { response: { object: 'analytics-rebuild'; status: 'running' | 'completed'; counted_from: string | null; log_from: string | null } };
  };
  '/v1/feedback': {
    post: { body: { trace_id: string; value: number; weight?: number; metadata?: Record<string, string> } | { trace_id: string; value: number; weight?: number; metadata?: Record<string, string> }[]; response: { status: 'success'; message: string; feedback_ids: string[] } };
  };
  '/v1/feedback/{id}': {
    put: { params: { id: string }; body: { value?: number; weight?: number; metadata?: Record<string, string> }; response: { status: 'success'; message: string; feedback_ids: string[] } };
  };
  '/v1/analytics/graphs/feedbacks': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; api_key_id?: string; trace_id?: string }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { feedbacks: number }; data_points: { timestamp: string; feedbacks: number }[] } };
  };
  '/v1/analytics/graphs/feedbacks/scores': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; api_key_id?: string; trace_id?: string }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { feedbacks: number; scores: Record<string, number> }; data_points: { timestamp: string; feedbacks: number; scores: Record<string, number> }[] } };
  };
  '/v1/analytics/graphs/feedbacks/weighted': {
    get: { query: { time_of_generation_min: string; time_of_generation_max: string; workspace_slug?: string; api_key_id?: string; trace_id?: string }; response: { object: 'analytics-graph'; bucket_seconds: number; summary: { feedbacks: number; weighted_score: number | null }; data_points: ({ timestamp: string; feedbacks: number; weighted_score: number | null })[] } };
  };
  '/v1/otel/v1/traces': {
    post: { response: unknown };
  };
  '/v1/otel/v1/logs': {
    post: { response: unknown };
  };
  '/v1/otel/v1/metrics': {
    post: { response: unknown };
  };
  '/v1/traces': {
    post: { response: unknown };
  };
  '/v1/metrics': {
    post: { response: unknown };
  };
  '/v1/log-sessions/{id}/spans': {
    get: { params: { id: string }; query: { workspace_id?: string; limit?: number; after?: string }; response: { object: 'list'; data: ({ object: 'span'; id: string; session_id: string | null; signal: 'span' | 'log' | 'metric'; trace_id: string | null; span_id: string | null; parent_span_id: string | null; name: string; kind: string; is_error: boolean; service: string | null; started_at: number; duration_ms: number; attributes: Record<string, unknown> })[]; has_more: boolean; next_cursor?: string } };
  };
  '/v1/webhooks': {
    post: { body: { name: string; url: string; events?: ('batch.completed' | 'batch.failed' | 'batch.expired' | 'batch.cancelled' | 'fine_tuning.job.succeeded' | 'fine_tuning.job.failed' | 'fine_tuning.job.cancelled')[]; is_enabled?: boolean; workspace_id?: string }; response: { id: string; object: 'webhook'; name: string; url: string; events: ('batch.completed' | 'batch.failed' | 'batch.expired' | 'batch.cancelled' | 'fine_tuning.job.succeeded' | 'fine_tuning.job.failed' | 'fine_tuning.job.cancelled')[]; is_enabled: boolean; workspace_id: string; last_delivery: { event_id: string; status: 'delivered' | 'retrying' | 'failed'; at: string; attempts: number; response_status: number | null; error: string | null } | null; created_at: string; last_updated_at: string; secret: string } };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: Webhook[]; total: number; has_more: boolean } };
  };
  '/v1/webhooks/{id}': {
    get: { params: { id: string }; response: Webhook };
    put: { params: { id: string }; body: { name?: string; url?: string; events?: ('batch.completed' | 'batch.failed' | 'batch.expired' | 'batch.cancelled' | 'fine_tuning.job.succeeded' | 'fine_tuning.job.failed' | 'fine_tuning.job.cancelled')[]; is_enabled?: boolean }; response: Webhook };
    delete: { params: { id: string }; response: { id: string; object: 'webhook'; deleted: true } };
  };
  '/v1/webhooks/{id}/rotate': {
    post: { params: { id: string }; response: { id: string; object: 'webhook'; name: string; url: string; events: ('batch.completed' | 'batch.failed' | 'batch.expired' | 'batch.cancelled' | 'fine_tuning.job.succeeded' | 'fine_tuning.job.failed' | 'fine_tuning.job.cancelled')[]; is_enabled: boolean; workspace_id: string; last_delivery: { event_id: string; status: 'delivered' | 'retrying' | 'failed'; at: string; attempts: number; response_status: number | null; error: string | null } | null; created_at: string; last_updated_at: string; secret: string } };
  };
  '/v1/alert-channels': {
    post: { body: { name: string; kind: 'webhook'; settings: { url: string }; is_enabled?: boolean; workspace_id?: string; organisation_id?: string } | { name: string; kind: 'slack'; settings: { url: string }; is_enabled?: boolean; workspace_id?: string; organisation_id?: string } | { name: string; kind: 'teams'; settings: { url: string }; is_enabled?: boolean; workspace_id?: string; organisation_id?: string } | { name: string; kind: 'email'; settings: { host: string; port: number; security: 'tls' | 'starttls' | 'none'; username?: string | null; password?: string | null; from: string; to: string[] }; is_enabled?: boolean; workspace_id?: string; organisation_id?: string }; response: { id: string; object: 'alert_channel'; name: string; kind: 'webhook' | 'slack' | 'teams' | 'email'; settings: { url: string } | { host: string; port: number; security: 'tls' | 'starttls' | 'none'; username: string | null; has_password: boolean; from: string; to: string[] }; is_enabled: boolean; organisation_id: string; workspace_id: string | null; last_delivery: { event_id: string; status: 'delivered' | 'retrying' | 'failed'; at: string; attempts: number; response_status: number | null; error: string | null } | null; created_at: string; last_updated_at: string; secret?: string } };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: AlertChannel[]; total: number; has_more: boolean } };
  };
  '/v1/alert-channels/{id}': {
    get: { params: { id: string }; response: AlertChannel };
    put: { params: { id: string }; body: { name?: string; settings?: Record<string, unknown>; is_enabled?: boolean }; response: AlertChannel };
    delete: { params: { id: string }; response: { id: string; object: 'alert_channel'; deleted: true } };
  };
  '/v1/alert-channels/{id}/rotate': {
    post: { params: { id: string }; response: { id: string; object: 'alert_channel'; name: string; kind: 'webhook' | 'slack' | 'teams' | 'email'; settings: { url: string } | { host: string; port: number; security: 'tls' | 'starttls' | 'none'; username: string | null; has_password: boolean; from: string; to: string[] }; is_enabled: boolean; organisation_id: string; workspace_id: string | null; last_delivery: { event_id: string; status: 'delivered' | 'retrying' | 'failed'; at: string; attempts: number; response_status: number | null; error: string | null } | null; created_at: string; last_updated_at: string; secret?: string } };
  };
  '/v1/alert-channels/{id}/test': {
    post: { params: { id: string }; response: AlertChannelTest };
  };
  '/v1/alerts': {
    post: { body: { name: string; condition: { type: 'budget'; thresholds: number[]; of?: { api_key_id?: string; virtual_key?: string; workspace_id?: string; policy_id?: string } } | { type: 'spend_rate'; above: number; window: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'error_rate'; above: number; window: number; min_calls?: number; failed_by?: 'client' | 'gateway' | 'provider'; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'latency'; percentile: 50 | 90 | 99; above: number; window: number; min_calls?: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'unpriced_calls'; above?: number; window: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'breaker_open'; config?: string; calm?: number } | { type: 'provider_down'; provider?: string; above?: number; window?: number; min_calls?: number } | { type: 'key_expiring'; within?: number; of?: { api_key_id?: string; virtual_key?: string } } | { type: 'queue'; older_than: number } | { type: 'disk'; free_below: number } | { type: 'degraded'; parts?: ('store' | 'redis' | 'log' | 'limits' | 'notify' | 'prices' | 'audit' | 'audit-seal' | 'audit-witness' | 'search' | 'tracing' | 'export' | 'backup' | 'secrets')[] }; channels?: string[]; repeat_after?: number | null; is_enabled?: boolean; workspace_id?: string; organisation_id?: string }; response: Alert };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: Alert[]; total: number; has_more: boolean } };
  };
  '/v1/alerts/{id}': {
    get: { params: { id: string }; response: Alert };
    put: { params: { id: string }; body: { name?: string; condition?: { type: 'budget'; thresholds: number[]; of?: { api_key_id?: string; virtual_key?: string; workspace_id?: string; policy_id?: string } } | { type: 'spend_rate'; above: number; window: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'error_rate'; above: number; window: number; min_calls?: number; failed_by?: 'client' | 'gateway' | 'provider'; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'latency'; percentile: 50 | 90 | 99; above: number; window: number; min_calls?: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'unpriced_calls'; above?: number; window: number; filter?: { api_key_id?: string; virtual_key?: string; provider?: string; model?: string } } | { type: 'breaker_open'; config?: string; calm?: number } | { type: 'provider_down'; provider?: string; above?: number; window?: number; min_calls?: number } | { type: 'key_expiring'; within?: number; of?: { api_key_id?: string; virtual_key?: string } } | { type: 'queue'; older_than: number } | { type: 'disk'; free_below: number } | { type: 'degraded'; parts?: ('store' | 'redis' | 'log' | 'limits' | 'notify' | 'prices' | 'audit' | 'audit-seal' | 'audit-witness' | 'search' | 'tracing' | 'export' | 'backup' | 'secrets')[] }; channels?: string[]; repeat_after?: number | null; is_enabled?: boolean }; response: Alert };
    delete: { params: { id: string }; response: { id: string; object: 'alert'; deleted: true } };
  };
  '/v1/alerts/{id}/events': {
    get: { params: { id: string }; query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: AlertEvent[]; total: number; has_more: boolean } };
  };
  '/v1/alerts/{id}/test': {
    post: { params: { id: string }; response: AlertTest };
  };
  '/v1/views': {
    post: { body: { name: string; query: Record<string, string>; is_shared?: boolean; page: 'overview' | 'explore' | 'logs'; workspace_id?: string }; response: View };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string; page?: 'overview' | 'explore' | 'logs' }; response: { object: 'list'; data: View[]; total: number; has_more: boolean } };
  };
  '/v1/views/{id}': {
    get: { params: { id: string }; response: View };
    put: { params: { id: string }; body: { name?: string; query?: Record<string, string>; is_shared?: boolean }; response: View };
    delete: { params: { id: string }; response: { id: string; object: 'view'; deleted: true } };
  };
  '/v1/files': {
    post: { response: File };
    get: { query: { limit?: number; order?: 'asc' | 'desc'; after?: string; purpose?: 'assistants' | 'batch' | 'fine-tune' | 'vision' | 'user_data' | 'evals' | 'assistants_output' | 'batch_output' | 'fine-tune-results' }; response: { object: 'list'; data: File[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/files/{file_id}': {
    get: { params: { file_id: string }; response: File };
    delete: { params: { file_id: string }; response: { id: string; object: 'file'; deleted: true } };
  };
  '/v1/files/{file_id}/content': {
    get: { params: { file_id: string }; response: unknown };
  };
  '/v1/uploads': {
    post: { body: { filename: string; purpose: 'assistants' | 'batch' | 'fine-tune' | 'vision' | 'user_data' | 'evals'; bytes: number; mime_type: string; expires_after?: { anchor: 'created_at'; seconds: number } }; response: Upload };
  };
  '/v1/uploads/{upload_id}/parts': {
    post: { params: { upload_id: string }; response: UploadPart };
  };
  '/v1/uploads/{upload_id}/complete': {
    post: { params: { upload_id: string }; body: { part_ids: string[]; md5?: string }; response: Upload };
  };
  '/v1/uploads/{upload_id}/cancel': {
    post: { params: { upload_id: string }; response: Upload };
  };
  '/v1/responses': {
    get: { query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string; running?: 'true' | 'false'; id?: string }; response: { object: 'list'; data: ResponseSummary[]; first_id: string; last_id: string; has_more: boolean } };
    post: { response: unknown };
  };
  '/v1/responses/{response_id}': {
    get: { params: { response_id: string }; response: unknown };
    delete: { params: { response_id: string }; response: unknown };
  };
  '/v1/responses/compact': {
    post: { response: unknown };
  };
  '/v1/responses/{response_id}/cancel': {
    post: { params: { response_id: string }; response: unknown };
  };
  '/v1/responses/{response_id}/input_items': {
    get: { params: { response_id: string }; query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string }; response: unknown };
  };
  '/v1/conversations': {
    post: { body: { items?: Record<string, unknown>[] | null; metadata?: Record<string, string> | null }; response: Conversation };
  };
  '/v1/conversations/{conversation_id}': {
    get: { params: { conversation_id: string }; response: Conversation };
    post: { params: { conversation_id: string }; body: { metadata: Record<string, string> }; response: Conversation };
    delete: { params: { conversation_id: string }; response: unknown };
  };
  '/v1/conversations/{conversation_id}/items': {
    post: { params: { conversation_id: string }; query: { include?: unknown; 'include[]'?: unknown }; body: { items: Record<string, unknown>[] }; response: unknown };
    get: { params: { conversation_id: string }; query: { limit?: number; order?: 'asc' | 'desc'; after?: string; include?: unknown; 'include[]'?: unknown }; response: unknown };
  };
  '/v1/conversations/{conversation_id}/items/{item_id}': {
    get: { params: { conversation_id: string; item_id: string }; query: { include?: unknown; 'include[]'?: unknown }; response: unknown };
    delete: { params: { conversation_id: string; item_id: string }; response: unknown };
  };
  '/v1/chat/completions': {
    post: { response: unknown };
  };
  '/v1/completions': {
    post: { response: unknown };
  };
  '/v1/embeddings': {
    post: { response: unknown };
  };
  '/v1/rerank': {
    post: { response: unknown };
  };
  '/v1/moderations': {
    post: { response: unknown };
  };
  '/v1/images/generations': {
    post: { response: unknown };
  };
  '/v1/images/edits': {
    post: { response: unknown };
  };
  '/v1/images/variations': {
    post: { response: unknown };
  };
  '/v1/audio/speech': {
    post: { response: unknown };
  };
  '/v1/audio/transcriptions': {
    post: { response: unknown };
  };
  '/v1/audio/translations': {
    post: { response: unknown };
  };
  '/v1/messages': {
    post: { response: unknown };
  };
  '/v1/messages/count_tokens': {
    post: { response: unknown };
  };
  '/v1/models': {
    get: { response: unknown };
  };
  '/v1beta/models/{model}:generateContent': {
    post: { params: { model: string }; response: unknown };
  };
  '/v1beta/models/{model}:streamGenerateContent': {
    post: { params: { model: string }; response: unknown };
  };
  '/v1beta/models/{model}:embedContent': {
    post: { params: { model: string }; response: unknown };
  };
  '/v1beta/models/{model}:batchEmbedContents': {
    post: { params: { model: string }; response: unknown };
  };
  '/v1beta/models/{model}:countTokens': {
    post: { params: { model: string }; response: unknown };
  };
  '/v1beta/models': {
    get: { response: unknown };
  };
  '/v1beta/models/{model}': {
    get: { params: { model: string }; response: unknown };
  };
  '/api/chat': {
    post: { response: unknown };
  };
  '/api/generate': {
    post: { response: unknown };
  };
  '/api/embed': {
    post: { response: unknown };
  };
  '/api/embeddings': {
    post: { response: unknown };
  };
  '/api/tags': {
    get: { response: unknown };
  };
  '/api/ps': {
    get: { response: unknown };
  };
  '/api/show': {
    post: { body: { model?: string; name?: string }; response: unknown };
  };
  '/api/version': {
    get: { response: unknown };
  };
  '/v1/realtime/client_secrets': {
    post: { body: { expires_after?: { anchor?: 'created_at'; seconds: number }; session: { type?: 'realtime' | 'transcription'; model?: string }; single_use?: boolean }; response: { value: string; expires_at: number; session: { id: string } } };
  };
  '/v1/realtime/sessions': {
    post: { body: { model?: string }; response: unknown };
  };
  '/v1/realtime/transcription_sessions': {
    post: { body: { model?: string }; response: unknown };
  };
  '/v1/realtime/calls': {
    post: { response: unknown };
    options: { response: unknown };
  };
  '/v1/realtime/calls/{call_id}/hangup': {
    post: { params: { call_id: string }; response: unknown };
    options: { params: { call_id: string }; response: unknown };
  };
  '/v1/fine_tuning/jobs': {
    post: { body: { model: string; training_file: string; validation_file?: string | null; suffix?: string | null; seed?: number | null; method?: { type: 'supervised'; supervised?: { hyperparameters?: { batch_size?: 'auto' | number | null; learning_rate_multiplier?: 'auto' | number | null; n_epochs?: 'auto' | number | null } | null } | null } | { type: 'dpo'; dpo?: { hyperparameters?: { batch_size?: 'auto' | number | null; learning_rate_multiplier?: 'auto' | number | null; n_epochs?: 'auto' | number | null; beta?: 'auto' | number | null } | null } | null } | { type: 'reinforcement'; reinforcement: { grader: { type: 'string_check' | 'text_similarity' | 'python' | 'score_model' | 'multi'; name: string }; hyperparameters?: { batch_size?: 'auto' | number | null; learning_rate_multiplier?: 'auto' | number | null; n_epochs?: 'auto' | number | null; reasoning_effort?: 'default' | 'low' | 'medium' | 'high' | null; compute_multiplier?: 'auto' | number | null; eval_interval?: 'auto' | number | null; eval_samples?: 'auto' | number | null } | null } } | null; hyperparameters?: { batch_size?: 'auto' | number | null; learning_rate_multiplier?: 'auto' | number | null; n_epochs?: 'auto' | number | null } | null; integrations?: ({ type: 'wandb'; wandb: { project: string; name?: string | null; entity?: string | null; tags?: string[] | null } })[] | null; metadata?: Record<string, string> | null; provider_options?: Record<string, string | number | boolean> | null }; response: FineTuningJob };
    get: { query: { after?: string; limit?: number; metadata?: 'null' | '' }; response: { object: 'list'; data: FineTuningJob[]; has_more: boolean } };
  };
  '/v1/fine_tuning/jobs/{fine_tuning_job_id}': {
    get: { params: { fine_tuning_job_id: string }; response: FineTuningJob };
  };
  '/v1/fine_tuning/jobs/{fine_tuning_job_id}/cancel': {
    post: { params: { fine_tuning_job_id: string }; response: FineTuningJob };
  };
  '/v1/fine_tuning/jobs/{fine_tuning_job_id}/pause': {
    post: { params: { fine_tuning_job_id: string }; response: FineTuningJob };
  };
  '/v1/fine_tuning/jobs/{fine_tuning_job_id}/resume': {
    post: { params: { fine_tuning_job_id: string }; response: FineTuningJob };
  };
  '/v1/fine_tuning/jobs/{fine_tuning_job_id}/events': {
    get: { params: { fine_tuning_job_id: string }; query: { after?: string; limit?: number }; response: { object: 'list'; data: FineTuningJobEvent[]; has_more: boolean } };
  };
  '/v1/fine_tuning/jobs/{fine_tuning_job_id}/checkpoints': {
    get: { params: { fine_tuning_job_id: string }; query: { after?: string; limit?: number }; response: { object: 'list'; data: FineTuningJobCheckpoint[]; has_more: boolean; first_id: string | null; last_id: string | null } };
  };
  '/v1/batches': {
    post: { body: { input_file_id: string; endpoint: '/v1/chat/completions' | '/v1/completions' | '/v1/embeddings' | '/v1/responses' | '/v1/messages' | '/v1/moderations' | '/v1/images/generations' | '/v1/images/edits'; completion_window: '24h' | 'immediate'; metadata?: Record<string, string> | null; output_expires_after?: { anchor: 'created_at'; seconds: number } | null }; response: Batch };
    get: { query: { limit?: number; after?: string }; response: { object: 'list'; data: Batch[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/batches/{batch_id}': {
    get: { params: { batch_id: string }; response: Batch };
  };
  '/v1/batches/{batch_id}/cancel': {
    post: { params: { batch_id: string }; response: Batch };
  };
  '/v1/batches/{batch_id}/output': {
    get: { params: { batch_id: string }; response: unknown };
  };
  '/v1/threads/runs': {
    post: { body: { assistant_id: string; model?: string | null; instructions?: string | null; tools?: ({ type: 'code_interpreter' } | { type: 'file_search'; file_search?: { max_num_results?: number; ranking_options?: { ranker?: 'auto' | 'default_2024_08_21'; score_threshold: number } } } | { type: 'function'; function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null } })[] | null; metadata?: Record<string, string> | null; temperature?: number | null; top_p?: number | null; stream?: boolean | null; max_prompt_tokens?: number | null; max_completion_tokens?: number | null; truncation_strategy?: { type: 'auto' | 'last_messages'; last_messages?: number | null } | null; tool_choice?: 'none' | 'auto' | 'required' | { type: 'file_search' | 'code_interpreter' } | { type: 'function'; function: { name: string } } | null; parallel_tool_calls?: boolean | null; response_format?: 'auto' | 'none' | { type: 'text' | 'json_object' } | { type: 'json_schema'; json_schema: { name: string; description?: string; schema?: Record<string, unknown>; strict?: boolean | null } } | null; thread?: { messages?: ({ role: 'user' | 'assistant'; content: string | ({ type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } } | { type: 'image_file'; image_file: { file_id: string; detail?: 'auto' | 'low' | 'high' } })[]; attachments?: ({ file_id: string; tools?: ({ type: 'code_interpreter' } | { type: 'file_search' })[] })[] | null; metadata?: Record<string, string> | null })[] | null; tool_resources?: { code_interpreter?: { file_ids?: string[] }; file_search?: { vector_store_ids?: string[]; vector_stores?: ({ file_ids?: string[]; chunking_strategy?: { type: 'auto' } | { type: 'static'; static: { max_chunk_size_tokens: number; chunk_overlap_tokens: number } } | null; metadata?: Record<string, string> | null })[] } } | null; metadata?: Record<string, string> | null } | null; tool_resources?: { code_interpreter?: { file_ids?: string[] }; file_search?: { vector_store_ids?: string[] } } | null }; response: Run };
  };
  '/v1/threads/{thread_id}/runs': {
    post: { params: { thread_id: string }; query: { 'include[]'?: 'step_details.tool_calls[*].file_search.results[*].content' }; body: { assistant_id: string; model?: string | null; instructions?: string | null; tools?: ({ type: 'code_interpreter' } | { type: 'file_search'; file_search?: { max_num_results?: number; ranking_options?: { ranker?: 'auto' | 'default_2024_08_21'; score_threshold: number } } } | { type: 'function'; function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null } })[] | null; metadata?: Record<string, string> | null; temperature?: number | null; top_p?: number | null; stream?: boolean | null; max_prompt_tokens?: number | null; max_completion_tokens?: number | null; truncation_strategy?: { type: 'auto' | 'last_messages'; last_messages?: number | null } | null; tool_choice?: 'none' | 'auto' | 'required' | { type: 'file_search' | 'code_interpreter' } | { type: 'function'; function: { name: string } } | null; parallel_tool_calls?: boolean | null; response_format?: 'auto' | 'none' | { type: 'text' | 'json_object' } | { type: 'json_schema'; json_schema: { name: string; description?: string; schema?: Record<string, unknown>; strict?: boolean | null } } | null; reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null; additional_instructions?: string | null; additional_messages?: ({ role: 'user' | 'assistant'; content: string | ({ type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } } | { type: 'image_file'; image_file: { file_id: string; detail?: 'auto' | 'low' | 'high' } })[]; attachments?: ({ file_id: string; tools?: ({ type: 'code_interpreter' } | { type: 'file_search' })[] })[] | null; metadata?: Record<string, string> | null })[] | null }; response: Run };
    get: { params: { thread_id: string }; query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string }; response: { object: 'list'; data: Run[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/threads/{thread_id}/runs/{run_id}': {
    get: { params: { thread_id: string; run_id: string }; response: Run };
    post: { params: { thread_id: string; run_id: string }; body: { metadata?: Record<string, string> | null }; response: Run };
  };
  '/v1/threads/{thread_id}/runs/{run_id}/cancel': {
    post: { params: { thread_id: string; run_id: string }; response: Run };
  };
  '/v1/threads/{thread_id}/runs/{run_id}/submit_tool_outputs': {
    post: { params: { thread_id: string; run_id: string }; body: { tool_outputs: ({ tool_call_id?: string; output?: string | null })[]; stream?: boolean | null }; response: Run };
  };
  '/v1/threads/{thread_id}/runs/{run_id}/events': {
    get: { params: { thread_id: string; run_id: string }; query: { 'include[]'?: 'step_details.tool_calls[*].file_search.results[*].content' }; response: unknown };
  };
  '/v1/threads/{thread_id}/runs/{run_id}/steps': {
    get: { params: { thread_id: string; run_id: string }; query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string; 'include[]'?: 'step_details.tool_calls[*].file_search.results[*].content' }; response: { object: 'list'; data: RunStep[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/threads/{thread_id}/runs/{run_id}/steps/{step_id}': {
    get: { params: { thread_id: string; run_id: string; step_id: string }; query: { 'include[]'?: 'step_details.tool_calls[*].file_search.results[*].content' }; response: RunStep };
  };
  '/v1/vector_stores': {
    post: { body: { name?: string | null; description?: string | null; file_ids?: string[] | null; expires_after?: { anchor: 'last_active_at'; days: number } | null; chunking_strategy?: { type: 'auto' } | { type: 'static'; static: { max_chunk_size_tokens: number; chunk_overlap_tokens: number } } | null; metadata?: Record<string, string> | null }; response: VectorStore };
    get: { query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string }; response: { object: 'list'; data: VectorStore[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/vector_stores/{vector_store_id}': {
    get: { params: { vector_store_id: string }; response: VectorStore };
    post: { params: { vector_store_id: string }; body: { name?: string | null; expires_after?: { anchor: 'last_active_at'; days: number } | null; metadata?: Record<string, string> | null }; response: VectorStore };
    delete: { params: { vector_store_id: string }; response: { id: string; object: 'vector_store.deleted'; deleted: true } };
  };
  '/v1/vector_stores/{vector_store_id}/search': {
    post: { params: { vector_store_id: string }; body: { query: string | string[]; rewrite_query?: boolean; max_num_results?: number; filters?: unknown; ranking_options?: { ranker?: 'none' | 'auto' | 'default-2024-11-15'; score_threshold?: number } }; response: VectorStoreSearchResults };
  };
  '/v1/vector_stores/{vector_store_id}/files': {
    post: { params: { vector_store_id: string }; body: { file_id: string; attributes?: Record<string, string | number | boolean> | null; chunking_strategy?: { type: 'auto' } | { type: 'static'; static: { max_chunk_size_tokens: number; chunk_overlap_tokens: number } } | null }; response: VectorStoreFile };
    get: { params: { vector_store_id: string }; query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string; filter?: 'in_progress' | 'completed' | 'cancelled' | 'failed' }; response: { object: 'list'; data: VectorStoreFile[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/vector_stores/{vector_store_id}/files/{file_id}': {
    get: { params: { vector_store_id: string; file_id: string }; response: VectorStoreFile };
    post: { params: { vector_store_id: string; file_id: string }; body: { attributes: Record<string, string | number | boolean> | null }; response: VectorStoreFile };
    delete: { params: { vector_store_id: string; file_id: string }; response: { id: string; object: 'vector_store.file.deleted'; deleted: true } };
  };
  '/v1/vector_stores/{vector_store_id}/files/{file_id}/content': {
    get: { params: { vector_store_id: string; file_id: string }; response: { object: 'vector_store.file_content.page'; data: { type: 'text'; text: string }[]; has_more: boolean; next_page: string | null } };
  };
  '/v1/vector_stores/{vector_store_id}/file_batches': {
    post: { params: { vector_store_id: string }; body: { file_ids?: string[] | null; files?: ({ file_id: string; attributes?: Record<string, string | number | boolean> | null; chunking_strategy?: { type: 'auto' } | { type: 'static'; static: { max_chunk_size_tokens: number; chunk_overlap_tokens: number } } | null })[] | null; attributes?: Record<string, string | number | boolean> | null; chunking_strategy?: { type: 'auto' } | { type: 'static'; static: { max_chunk_size_tokens: number; chunk_overlap_tokens: number } } | null }; response: VectorStoreFileBatch };
  };
  '/v1/vector_stores/{vector_store_id}/file_batches/{batch_id}': {
    get: { params: { vector_store_id: string; batch_id: string }; response: VectorStoreFileBatch };
  };
  '/v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/cancel': {
    post: { params: { vector_store_id: string; batch_id: string }; response: VectorStoreFileBatch };
  };
  '/v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/files': {
    get: { params: { vector_store_id: string; batch_id: string }; query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string; filter?: 'in_progress' | 'completed' | 'cancelled' | 'failed' }; response: { object: 'list'; data: VectorStoreFile[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/vector_stores/{vector_store_id}/sync': {
    post: { params: { vector_store_id: string }; body: { source: string; holder: string; takes_over?: string }; response: VectorStoreSync };
    get: { params: { vector_store_id: string }; response: VectorStoreSync };
  };
  '/v1/vector_stores/{vector_store_id}/sync/{sync_id}': {
    post: { params: { vector_store_id: string; sync_id: string }; body: { progress: { total: number; done: number; uploaded: number; removed: number; failed: number; bytes: number }; status?: 'in_progress' | 'completed' | 'failed' }; response: VectorStoreSync };
  };
  '/v1/vector_stores/{vector_store_id}/sync/{sync_id}/files': {
    post: { params: { vector_store_id: string; sync_id: string }; response: VectorStoreFile };
  };
  '/v1/vector_stores/{vector_store_id}/sync/{sync_id}/files/{file_id}': {
    delete: { params: { vector_store_id: string; sync_id: string; file_id: string }; response: { id: string; object: 'vector_store.file.deleted'; deleted: true } };
  };
  '/v1/assistants': {
    post: { body: { model: string; name?: string | null; description?: string | null; instructions?: string | null; reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null; tools?: ({ type: 'code_interpreter' } | { type: 'file_search'; file_search?: { max_num_results?: number; ranking_options?: { ranker?: 'auto' | 'default_2024_08_21'; score_threshold: number } } } | { type: 'function'; function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null } })[]; temperature?: number | null; top_p?: number | null; response_format?: 'auto' | 'none' | { type: 'text' | 'json_object' } | { type: 'json_schema'; json_schema: { name: string; description?: string; schema?: Record<string, unknown>; strict?: boolean | null } } | null; tool_resources?: { code_interpreter?: { file_ids?: string[] }; file_search?: { vector_store_ids?: string[]; vector_stores?: ({ file_ids?: string[]; chunking_strategy?: { type: 'auto' } | { type: 'static'; static: { max_chunk_size_tokens: number; chunk_overlap_tokens: number } } | null; metadata?: Record<string, string> | null })[] } } | null; metadata?: Record<string, string> | null }; response: Assistant };
    get: { query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string }; response: { object: 'list'; data: Assistant[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/assistants/{assistant_id}': {
    get: { params: { assistant_id: string }; response: Assistant };
    post: { params: { assistant_id: string }; body: { model?: string; name?: string | null; description?: string | null; instructions?: string | null; reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null; tools?: ({ type: 'code_interpreter' } | { type: 'file_search'; file_search?: { max_num_results?: number; ranking_options?: { ranker?: 'auto' | 'default_2024_08_21'; score_threshold: number } } } | { type: 'function'; function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null } })[]; temperature?: number | null; top_p?: number | null; response_format?: 'auto' | 'none' | { type: 'text' | 'json_object' } | { type: 'json_schema'; json_schema: { name: string; description?: string; schema?: Record<string, unknown>; strict?: boolean | null } } | null; tool_resources?: { code_interpreter?: { file_ids?: string[] }; file_search?: { vector_store_ids?: string[] } } | null; metadata?: Record<string, string> | null }; response: Assistant };
    delete: { params: { assistant_id: string }; response: { id: string; object: 'assistant.deleted'; deleted: true } };
  };
  '/v1/threads': {
    post: { body: { messages?: ({ role: 'user' | 'assistant'; content: string | ({ type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } } | { type: 'image_file'; image_file: { file_id: string; detail?: 'auto' | 'low' | 'high' } })[]; attachments?: ({ file_id: string; tools?: ({ type: 'code_interpreter' } | { type: 'file_search' })[] })[] | null; metadata?: Record<string, string> | null })[] | null; tool_resources?: { code_interpreter?: { file_ids?: string[] }; file_search?: { vector_store_ids?: string[]; vector_stores?: ({ file_ids?: string[]; chunking_strategy?: { type: 'auto' } | { type: 'static'; static: { max_chunk_size_tokens: number; chunk_overlap_tokens: number } } | null; metadata?: Record<string, string> | null })[] } } | null; metadata?: Record<string, string> | null }; response: Thread };
    get: { query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string }; response: { object: 'list'; data: Thread[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/threads/{thread_id}': {
    get: { params: { thread_id: string }; response: Thread };
    post: { params: { thread_id: string }; body: { tool_resources?: { code_interpreter?: { file_ids?: string[] }; file_search?: { vector_store_ids?: string[] } } | null; metadata?: Record<string, string> | null }; response: Thread };
    delete: { params: { thread_id: string }; response: { id: string; object: 'thread.deleted'; deleted: true } };
  };
  '/v1/threads/{thread_id}/messages': {
    post: { params: { thread_id: string }; body: { role: 'user' | 'assistant'; content: string | ({ type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } } | { type: 'image_file'; image_file: { file_id: string; detail?: 'auto' | 'low' | 'high' } })[]; attachments?: ({ file_id: string; tools?: ({ type: 'code_interpreter' } | { type: 'file_search' })[] })[] | null; metadata?: Record<string, string> | null }; response: Message };
    get: { params: { thread_id: string }; query: { limit?: number; order?: 'asc' | 'desc'; after?: string; before?: string; run_id?: string }; response: { object: 'list'; data: Message[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/threads/{thread_id}/messages/{message_id}': {
    get: { params: { thread_id: string; message_id: string }; response: Message };
    post: { params: { thread_id: string; message_id: string }; body: { metadata?: Record<string, string> | null }; response: Message };
    delete: { params: { thread_id: string; message_id: string }; response: { id: string; object: 'thread.message.deleted'; deleted: true } };
  };
  '/v1/containers': {
    post: { body: { name: string; expires_after?: { anchor: 'last_active_at'; minutes: number } | null; file_ids?: string[] | null; memory_limit?: '1g' | '4g' | '16g' | '64g' | null; network_policy?: { type: 'disabled' } | null }; response: Container };
    get: { query: { limit?: number; order?: 'asc' | 'desc'; after?: string; name?: string }; response: { object: 'list'; data: Container[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/containers/{container_id}': {
    get: { params: { container_id: string }; response: Container };
    delete: { params: { container_id: string }; response: { id: string; object: 'container.deleted'; deleted: true } };
  };
  '/v1/containers/{container_id}/files': {
    post: { params: { container_id: string }; response: ContainerFile };
    get: { params: { container_id: string }; query: { limit?: number; order?: 'asc' | 'desc'; after?: string }; response: { object: 'list'; data: ContainerFile[]; first_id: string; last_id: string; has_more: boolean } };
  };
  '/v1/containers/{container_id}/files/{file_id}': {
    get: { params: { container_id: string; file_id: string }; response: ContainerFile };
    delete: { params: { container_id: string; file_id: string }; response: { id: string; object: 'container.file.deleted'; deleted: true } };
  };
  '/v1/containers/{container_id}/files/{file_id}/content': {
    get: { params: { container_id: string; file_id: string }; response: unknown };
  };
  '/v1/mcp-servers/{slug}/capabilities': {
    get: { params: { slug: string }; query: { current_page?: number; page_size?: number; type?: 'tool' | 'prompt' | 'resource' | 'resource_template' }; response: { object: 'list'; data: McpCapability[]; total: number; has_more: boolean; counts: { tool: { total: number; enabled: number }; prompt: { total: number; enabled: number }; resource: { total: number; enabled: number }; resource_template: { total: number; enabled: number } } } };
    put: { params: { slug: string }; body: { capabilities: ({ name: string; type: 'tool' | 'prompt' | 'resource' | 'resource_template'; enabled: boolean })[] }; response: { object: 'list'; counts: { tool: { total: number; enabled: number }; prompt: { total: number; enabled: number }; resource: { total: number; enabled: number }; resource_template: { total: number; enabled: number } } } };
  };
  '/v1/mcp-servers/{slug}/capabilities/approve': {
    post: { params: { slug: string }; body: { capabilities: ({ name: string; type?: 'tool' | 'prompt' | 'resource' | 'resource_template'; hash: string })[] }; response: { object: 'list'; approved: number } };
  };
  '/v1/mcp-servers/{slug}/sync': {
    post: { params: { slug: string }; response: { server_name: string | null; server_version: string | null; protocol_version: string | null; capability_flags: string[]; sync_status: 'never' | 'success' | 'failed'; last_synced_at: string | null; sync_error: string | null; counts: { tool: { total: number; enabled: number }; prompt: { total: number; enabled: number }; resource: { total: number; enabled: number }; resource_template: { total: number; enabled: number } } } };
  };
  '/v1/mcp-servers/{slug}/metadata': {
    get: { params: { slug: string }; response: { server_name: string | null; server_version: string | null; protocol_version: string | null; capability_flags: string[]; sync_status: 'never' | 'success' | 'failed'; last_synced_at: string | null; sync_error: string | null } };
  };
  '/v1/mcp-servers/{slug}/user-access': {
    get: { params: { slug: string }; query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: { user_id: string; enabled: boolean; has_override: boolean }[]; total: number; has_more: boolean; default_user_access: 'allow' | 'deny' } };
    put: { params: { slug: string }; body: { default_user_access?: 'allow' | 'deny'; users?: ({ user_id: string; enabled: boolean | null })[] }; response: { object: 'list'; data: { user_id: string; enabled: boolean; has_override: boolean }[]; total: number; has_more: boolean; default_user_access: 'allow' | 'deny' } };
  };
  '/v1/mcp-servers': {
    post: { body: { name: string; slug?: string; description?: string | null; workspace_id?: string; url?: string; auth_type?: 'none' | 'headers' | 'oauth_auto' | 'oauth_client_credentials'; configurations?: Record<string, unknown> }; response: McpServer };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: McpServer[]; total: number; has_more: boolean } };
  };
  '/v1/mcp-servers/{slug}': {
    get: { params: { slug: string }; response: McpServer };
    put: { params: { slug: string }; body: { name?: string; description?: string | null; url?: string; auth_type?: 'none' | 'headers' | 'oauth_auto' | 'oauth_client_credentials'; configurations?: Record<string, unknown> }; response: McpServer };
    delete: { params: { slug: string }; response: { id: string; object: 'mcp-server'; deleted: true } };
  };
  '/v1/mcp-servers/{slug}/test': {
    post: { params: { slug: string }; response: { success: boolean; status_code: number | null; response_time_ms: number; url: string; server_name: string | null; protocol_version: string | null; error: string | null } };
  };
  '/v1/mcp-servers/{slug}/identity': {
    get: { params: { slug: string }; response: { object: 'mcp-identity'; method: 'claims_header' | 'bearer' | 'jwt_header' | null; header: string | null; claims: Record<string, unknown> | null; signed: { algorithm: 'RS256'; issuer: string; audience: string | null; seconds: number } | null; problem: string | null } };
  };
  '/v1/mcp-registry/servers': {
    get: { query: { search?: string; cursor?: string; limit?: number }; response: { object: 'list'; registry: string; data: McpRegistryEntry[]; next_cursor: string | null } };
  };
  '/v1/mcp-integrations': {
    post: { body: { name: string; slug?: string; description?: string | null; workspace_id?: string; url?: string; auth_type?: 'none' | 'headers' | 'oauth_auto' | 'oauth_client_credentials'; configurations?: Record<string, unknown>; transport?: 'http' | 'sse' }; response: McpIntegration };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: McpIntegration[]; total: number; has_more: boolean } };
  };
  '/v1/mcp-integrations/{slug}': {
    get: { params: { slug: string }; response: McpIntegration };
    put: { params: { slug: string }; body: { name?: string; description?: string | null; url?: string; auth_type?: 'none' | 'headers' | 'oauth_auto' | 'oauth_client_credentials'; configurations?: Record<string, unknown>; transport?: 'http' | 'sse' }; response: McpIntegration };
    delete: { params: { slug: string }; response: { id: string; object: 'mcp-integration'; deleted: true } };
  };
  '/v1/mcp-integrations/{slug}/workspaces': {
    get: { params: { slug: string }; response: { object: 'list'; workspaces: { id: string; enabled: true }[] } };
    put: { params: { slug: string }; body: { workspaces?: { id: string; enabled: boolean }[] }; response: { object: 'list'; workspaces: { id: string; enabled: true }[] } };
  };
  '/v1/mcp-integrations/{slug}/capabilities': {
    get: { params: { slug: string }; query: { current_page?: number; page_size?: number }; response: { data: { name: string; enabled: boolean }[] } };
    put: { params: { slug: string }; body: { capabilities: ({ name: string; type: 'tool' | 'prompt' | 'resource' | 'resource_template'; enabled: boolean })[] }; response: { object: 'list' } };
  };
  '/v1/mcp-servers/{slug}/connections': {
    get: { params: { slug: string }; query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: ({ user_id: string; email: string; issuer: string | null; scope: string | null; renews_itself: boolean; expires_at: string | null; created_at: string; last_updated_at: string })[]; total: number; has_more: boolean } };
  };
  '/v1/mcp-servers/{slug}/connections/{user}': {
    delete: { params: { slug: string; user: string }; response: { id: string; object: 'mcp-connection'; deleted: true } };
  };
  '/v1/mcp-tool-sets': {
    post: { body: { name: string; slug?: string; description?: string | null; workspace_id?: string; mcp_tools?: 'all' | 'search' | 'code' | null; tools: ({ server: string; tool: string; name?: string; description?: string | null })[] }; response: McpToolSet };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: McpToolSet[]; total: number; has_more: boolean } };
  };
  '/v1/mcp-tool-sets/{slug}': {
    get: { params: { slug: string }; response: McpToolSet };
    put: { params: { slug: string }; body: { name?: string; description?: string | null; mcp_tools?: 'all' | 'search' | 'code' | null; tools?: ({ server: string; tool: string; name?: string; description?: string | null })[] }; response: McpToolSet };
    delete: { params: { slug: string }; response: { id: string; object: 'mcp-tool-set'; deleted: true } };
  };
  '/v1/mcp-servers/{slug}/usage': {
    get: { params: { slug: string }; query: { time_of_generation_min?: string; time_of_generation_max?: string; group_by?: 'tool' | 'user' }; response: { object: 'mcp-usage'; server?: string; data: ({ server?: string | null; tool?: string | null; user_id?: string | null; calls: number; errors: number; error_rate: number; latency_ms: { avg: number; p50: number | null; p90: number | null; p99: number | null }; request_bytes: number; response_bytes: number })[]; unused_tools?: string[] | null } };
  };
  '/v1/mcp-usage': {
    get: { query: { time_of_generation_min?: string; time_of_generation_max?: string; group_by?: 'server' | 'user' }; response: { object: 'mcp-usage'; server?: string; data: ({ server?: string | null; tool?: string | null; user_id?: string | null; calls: number; errors: number; error_rate: number; latency_ms: { avg: number; p50: number | null; p90: number | null; p99: number | null }; request_bytes: number; response_bytes: number })[]; unused_tools?: string[] | null } };
  };
  '/v1/mcp-apps': {
    post: { body: { name: string; redirect_uris: string[]; is_confidential?: boolean; is_renewable?: boolean }; response: { id: string; object: 'mcp-app'; client_id: string; name: string; redirect_uris: string[]; is_confidential: boolean; is_renewable: boolean; grant_types: string[]; secret_created_at: string | null; created_at: string; last_updated_at: string; last_used_at: string | null; client_secret?: string } };
    get: { query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: McpApp[]; total: number; has_more: boolean } };
  };
  '/v1/mcp-apps/{id}': {
    get: { params: { id: string }; response: McpApp };
    put: { params: { id: string }; body: { name?: string; redirect_uris?: string[]; is_renewable?: boolean }; response: McpApp };
    delete: { params: { id: string }; response: { id: string; object: 'mcp-app'; deleted: true } };
  };
  '/v1/mcp-apps/{id}/rotate': {
    post: { params: { id: string }; body: { transition_seconds?: number }; response: { id: string; object: 'mcp-app'; client_id: string; name: string; redirect_uris: string[]; is_confidential: boolean; is_renewable: boolean; grant_types: string[]; secret_created_at: string | null; created_at: string; last_updated_at: string; last_used_at: string | null; client_secret?: string } };
  };
  '/v1/own-apps': {
    get: { response: { object: 'list'; data: OwnApp[] } };
  };
  '/v1/own-apps/{id}': {
    delete: { params: { id: string }; response: { id: string; object: 'own-app'; deleted: true } };
  };
  '/v1/own-connections': {
    get: { response: { object: 'list'; data: OwnConnection[] } };
  };
  '/v1/own-connections/{server}': {
    delete: { params: { server: string }; response: { id: string; object: 'own-connection'; deleted: true } };
  };
  '/.well-known/oauth-authorization-server': {
    get: { response: unknown };
    options: { response: unknown };
  };
  '/.well-known/openid-configuration': {
    get: { response: unknown };
    options: { response: unknown };
  };
  '/oauth/authorize': {
    get: { response: unknown };
  };
  '/oauth/consent': {
    post: { response: unknown };
  };
  '/oauth/sign-in': {
    post: { response: unknown };
  };
  '/oauth/sign-in/provider': {
    get: { response: unknown };
  };
  '/oauth/device_authorization': {
    post: { response: unknown };
    options: { response: unknown };
  };
  '/device': {
    get: { response: unknown };
  };
  '/oauth/device': {
    get: { response: unknown };
    post: { response: unknown };
  };
  '/oauth/token': {
    post: { response: unknown };
    options: { response: unknown };
  };
  '/oauth/revoke': {
    post: { response: unknown };
    options: { response: unknown };
  };
  '/oauth/register': {
    post: { response: unknown };
    options: { response: unknown };
  };
  '/.well-known/jwks.json': {
    get: { response: unknown };
  };
  '/.well-known/oauth-protected-resource': {
    get: { response: unknown };
  };
  '/.well-known/oauth-protected-resource/mcp': {
    get: { response: unknown };
  };
  '/.well-known/oauth-protected-resource/{server}/mcp': {
    get: { params: { server: string }; response: unknown };
  };
  '/v0.1/servers': {
    get: { query: { limit?: number; cursor?: string; search?: string; updated_since?: string; workspace_id?: string }; response: unknown };
  };
  '/connect': {
    get: { response: unknown };
    post: { response: unknown };
  };
  '/connect/{server}': {
    get: { params: { server: string }; response: unknown };
    post: { params: { server: string }; response: unknown };
  };
  '/connect/{server}/sign-in': {
    post: { params: { server: string }; response: unknown };
  };
  '/connect/{server}/disconnect': {
    post: { params: { server: string }; response: unknown };
  };
  '/oauth/upstream-callback': {
    get: { response: unknown };
  };
  '/.well-known/oauth-client': {
    get: { response: unknown };
  };
  '/mcp': {
    post: { response: unknown };
    get: { response: unknown };
    delete: { response: unknown };
    options: { response: unknown };
  };
  '/mcp/search': {
    post: { response: unknown };
    get: { response: unknown };
    delete: { response: unknown };
    options: { response: unknown };
  };
  '/mcp/code': {
    post: { response: unknown };
    get: { response: unknown };
    delete: { response: unknown };
    options: { response: unknown };
  };
  '/mcp/sets/{set}': {
    post: { params: { set: string }; response: unknown };
    get: { params: { set: string }; response: unknown };
    delete: { params: { set: string }; response: unknown };
    options: { params: { set: string }; response: unknown };
  };
  '/scim/v2/ServiceProviderConfig': {
    get: { response: unknown };
  };
  '/scim/v2/ResourceTypes': {
    get: { response: ScimList };
  };
  '/scim/v2/ResourceTypes/{name}': {
    get: { params: { name: string }; response: unknown };
  };
  '/scim/v2/Schemas': {
    get: { response: ScimList };
  };
  '/scim/v2/Schemas/{name}': {
    get: { params: { name: string }; response: unknown };
  };
  '/scim/v2/Users': {
    get: { query: { attributes?: string; excludedAttributes?: string; filter?: string; startIndex?: string; count?: string }; response: ScimList };
    post: { body: { userName?: unknown; externalId?: unknown; name?: unknown; displayName?: unknown; emails?: unknown; active?: unknown }; response: ScimResource };
  };
  '/scim/v2/Users/{id}': {
    get: { params: { id: string }; query: { attributes?: string; excludedAttributes?: string }; response: ScimResource };
    put: { params: { id: string }; body: { userName?: unknown; externalId?: unknown; name?: unknown; displayName?: unknown; emails?: unknown; active?: unknown }; response: ScimResource };
    patch: { params: { id: string }; body: { schemas?: string[]; Operations: ({ op: string; path?: string | null; value?: unknown })[] }; response: ScimResource };
    delete: { params: { id: string }; response: unknown };
  };
  '/scim/v2/Groups': {
    get: { query: { attributes?: string; excludedAttributes?: string; filter?: string; startIndex?: string; count?: string }; response: ScimList };
    post: { body: { displayName?: unknown; externalId?: unknown; members?: unknown }; response: ScimResource };
  };
  '/scim/v2/Groups/{id}': {
    get: { params: { id: string }; query: { attributes?: string; excludedAttributes?: string }; response: ScimResource };
    put: { params: { id: string }; body: { displayName?: unknown; externalId?: unknown; members?: unknown }; response: ScimResource };
    patch: { params: { id: string }; body: { schemas?: string[]; Operations: ({ op: string; path?: string | null; value?: unknown })[] }; response: unknown };
    delete: { params: { id: string }; response: unknown };
  };
  '/v1/admin/scim/mappings': {
    post: { body: { group: string; workspace?: string | null; role: 'admin' | 'manager' | 'member' }; response: ScimMapping };
    get: { response: { object: 'list'; total: number; data: ScimMapping[] } };
  };
  '/v1/admin/scim/mappings/{id}': {
    delete: { params: { id: string }; response: { id: string; object: 'scim-mapping'; deleted: true } };
  };
  '/v1/scim/workspaces': {
    post: { body: { workspace_id: string; role: 'admin' | 'manager' | 'member'; scim_group_id?: string; scim_group_name?: string }; response: ScimWorkspaceMapping };
    get: { query: { page?: number; page_size?: number; workspace_id?: string; scim_group_id?: string; role?: 'admin' | 'manager' | 'member' }; response: { total_count: number; mappings: ScimWorkspaceMapping[] } };
  };
  '/v1/scim/workspaces/{id}': {
    delete: { params: { id: string }; response: { id: string; object: 'scim-mapping'; deleted: true } };
  };
  '/v1/admin/organisation': {
    get: { response: Organisation };
    put: { body: { name?: string; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null }; response: Organisation };
  };
  '/v1/admin/organisation/defaults': {
    get: { response: { input_guardrails?: string[]; output_guardrails?: string[] } };
    put: { body: { input_guardrails?: string[]; output_guardrails?: string[] }; response: { input_guardrails?: string[]; output_guardrails?: string[] } };
  };
  '/v1/admin/organisation/managed-settings': {
    get: { response: ManagedSettings };
    put: { body: { settings?: Record<string, unknown> | null; desktop?: Record<string, unknown> | null }; response: ManagedSettings };
  };
  '/v1/admin/workspaces/{workspace}/managed-settings': {
    get: { params: { workspace: string }; response: ManagedSettings };
    put: { params: { workspace: string }; body: { settings?: Record<string, unknown> | null; desktop?: Record<string, unknown> | null }; response: ManagedSettings };
  };
  '/managed/settings': {
    get: { response: unknown };
  };
  '/user/bootstrap': {
    get: { response: unknown };
  };
  '/v1/admin/workspaces': {
    post: { body: { name: string; slug?: string; description?: string | null; defaults?: { metadata?: Record<string, string>; input_guardrails?: string[]; output_guardrails?: string[]; mcp_tools?: 'all' | 'search' | 'code' }; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null; member_keys?: { most?: number; scopes?: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke')[]; models?: string[] | null; max_days?: number | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null } | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null }; response: Workspace };
    get: { query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: Workspace[]; total: number; has_more: boolean } };
  };
  '/v1/admin/workspaces/{workspace}': {
    get: { params: { workspace: string }; response: Workspace };
    put: { params: { workspace: string }; body: { name?: string; description?: string | null; defaults?: { metadata?: Record<string, string>; input_guardrails?: string[]; output_guardrails?: string[]; mcp_tools?: 'all' | 'search' | 'code' }; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null; member_keys?: { most?: number; scopes?: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke')[]; models?: string[] | null; max_days?: number | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null } | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; reset_usage?: boolean }; response: Workspace };
    delete: { params: { workspace: string }; body: { name?: string; force_delete?: boolean }; response: { id: string; object: 'workspace'; deleted: true } };
  };
  '/v1/admin/workspaces/{workspace}/deletion': {
    get: { params: { workspace: string }; response: WorkspaceDeletion };
  };
  '/v1/admin/erasures': {
    post: { body: { user: string; is_deleted?: boolean }; response: UserErasure };
    get: { query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: UserErasure[]; total: number; has_more: boolean } };
  };
  '/v1/admin/erasures/{erasure}': {
    get: { params: { erasure: string }; response: UserErasure };
  };
  '/v1/api-keys': {
    post: { body: { name: string; description?: string | null; scopes?: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; workspace_id?: string; user_id?: string | null; defaults?: { virtual_key?: string; config?: string; metadata?: Record<string, string>; input_guardrails?: string[]; output_guardrails?: string[]; mcp_tools?: 'all' | 'search' | 'code'; config_id?: string; allow_config_override?: boolean }; expires_at?: string | null; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null; models?: string[] | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; alert_emails?: string[] }; response: { id: string; object: 'api-key'; type: 'organisation-service' | 'workspace-service' | 'workspace-user'; name: string; description: string | null; masked_key: string; organisation_id: string; workspace_id: string; user_id: string | null; is_own: boolean; is_login: boolean; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; defaults: Record<string, unknown>; forbidden: string[] | null; models: string[] | null; expires_at: string | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; status: 'active' | 'exhausted' | 'expired' | 'suspended'; created_at: string; last_updated_at: string; key: string } };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: ApiKey[]; total: number; has_more: boolean } };
  };
  '/v1/api-keys/{id}': {
    get: { params: { id: string }; response: ApiKey };
    put: { params: { id: string }; body: { name?: string; description?: string | null; scopes?: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; defaults?: { virtual_key?: string; config?: string; metadata?: Record<string, string>; input_guardrails?: string[]; output_guardrails?: string[]; mcp_tools?: 'all' | 'search' | 'code'; config_id?: string; allow_config_override?: boolean }; expires_at?: string | null; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null; models?: string[] | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; alert_emails?: string[]; reset_usage?: boolean }; response: ApiKey };
    delete: { params: { id: string }; response: { id: string; object: 'api-key'; deleted: true } };
  };
  '/v1/api-keys/{id}/rotate': {
    post: { params: { id: string }; body: { key_transition_period_ms?: number }; response: { id: string; key: string; object: 'api-key'; key_transition_expires_at: string } };
  };
  '/v1/api-keys/organisation/service': {
    post: { body: { name: string; description?: string | null; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; workspace_id?: string; defaults?: { virtual_key?: string; config?: string; metadata?: Record<string, string>; input_guardrails?: string[]; output_guardrails?: string[]; mcp_tools?: 'all' | 'search' | 'code'; config_id?: string; allow_config_override?: boolean }; expires_at?: string | null; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null; models?: string[] | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; alert_emails?: string[]; organisation_id?: string }; response: { id: string; object: 'api-key'; type: 'organisation-service' | 'workspace-service' | 'workspace-user'; name: string; description: string | null; masked_key: string; organisation_id: string; workspace_id: string; user_id: string | null; is_own: boolean; is_login: boolean; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; defaults: Record<string, unknown>; forbidden: string[] | null; models: string[] | null; expires_at: string | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; status: 'active' | 'exhausted' | 'expired' | 'suspended'; created_at: string; last_updated_at: string; key: string } };
  };
  '/v1/api-keys/organisation/user': {
    post: { body: { name: string; description?: string | null; scopes?: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; workspace_id?: string; user_id: string; defaults?: { virtual_key?: string; config?: string; metadata?: Record<string, string>; input_guardrails?: string[]; output_guardrails?: string[]; mcp_tools?: 'all' | 'search' | 'code'; config_id?: string; allow_config_override?: boolean }; expires_at?: string | null; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null; models?: string[] | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; alert_emails?: string[] }; response: { id: string; object: 'api-key'; type: 'organisation-service' | 'workspace-service' | 'workspace-user'; name: string; description: string | null; masked_key: string; organisation_id: string; workspace_id: string; user_id: string | null; is_own: boolean; is_login: boolean; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; defaults: Record<string, unknown>; forbidden: string[] | null; models: string[] | null; expires_at: string | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; status: 'active' | 'exhausted' | 'expired' | 'suspended'; created_at: string; last_updated_at: string; key: string } };
  };
  '/v1/api-keys/workspace/service': {
    post: { body: { name: string; description?: string | null; scopes?: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; workspace_id?: string; defaults?: { virtual_key?: string; config?: string; metadata?: Record<string, string>; input_guardrails?: string[]; output_guardrails?: string[]; mcp_tools?: 'all' | 'search' | 'code'; config_id?: string; allow_config_override?: boolean }; expires_at?: string | null; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null; models?: string[] | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; alert_emails?: string[] }; response: { id: string; object: 'api-key'; type: 'organisation-service' | 'workspace-service' | 'workspace-user'; name: string; description: string | null; masked_key: string; organisation_id: string; workspace_id: string; user_id: string | null; is_own: boolean; is_login: boolean; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; defaults: Record<string, unknown>; forbidden: string[] | null; models: string[] | null; expires_at: string | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; status: 'active' | 'exhausted' | 'expired' | 'suspended'; created_at: string; last_updated_at: string; key: string } };
  };
  '/v1/api-keys/workspace/user': {
    post: { body: { name: string; description?: string | null; scopes?: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; workspace_id?: string; user_id: string; defaults?: { virtual_key?: string; config?: string; metadata?: Record<string, string>; input_guardrails?: string[]; output_guardrails?: string[]; mcp_tools?: 'all' | 'search' | 'code'; config_id?: string; allow_config_override?: boolean }; expires_at?: string | null; forbidden?: ('inline_config' | 'config' | 'virtual_key' | 'provider' | 'api_key' | 'custom_host' | 'name' | 'strategy' | 'targets' | 'weight' | 'passthrough' | 'retry' | 'cache' | 'request_timeout' | 'default_params' | 'override_params' | 'drop_params' | 'strip_model_prefix' | 'forward_headers' | 'strict_open_ai_compliance' | 'input_guardrails' | 'output_guardrails' | 'metadata' | 'debug' | 'anthropic_version' | 'anthropic_beta' | 'azure_foundry_url' | 'azure_api_version' | 'azure_deployment_name' | 'azure_extra_params' | 'azure_auth_mode' | 'azure_ad_token' | 'azure_entra_tenant_id' | 'azure_entra_client_id' | 'azure_entra_client_secret' | 'azure_entra_scope' | 'azure_resource_name' | 'azure_deployment_id' | 'azure_deployment_config' | 'aws_region' | 'aws_auth_type' | 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token' | 'aws_role_arn' | 'aws_external_id' | 'snowflake_account' | 'openai_organization' | 'openai_project' | 'oracle_region' | 'oracle_tenancy' | 'oracle_user' | 'oracle_fingerprint' | 'oracle_private_key' | 'oracle_key_passphrase' | 'predibase_tenant_id' | 'predibase_deployment' | 'amzn_sagemaker_custom_attributes' | 'amzn_sagemaker_enable_explanations' | 'amzn_sagemaker_inference_component' | 'amzn_sagemaker_inference_id' | 'amzn_sagemaker_session_id' | 'amzn_sagemaker_target_container_hostname' | 'amzn_sagemaker_target_model' | 'amzn_sagemaker_target_variant' | 'vertex_region' | 'vertex_project_id' | 'vertex_auth_type' | 'vertex_service_account_json' | 'workers_ai_account_id')[] | null; models?: string[] | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; alert_emails?: string[] }; response: { id: string; object: 'api-key'; type: 'organisation-service' | 'workspace-service' | 'workspace-user'; name: string; description: string | null; masked_key: string; organisation_id: string; workspace_id: string; user_id: string | null; is_own: boolean; is_login: boolean; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; defaults: Record<string, unknown>; forbidden: string[] | null; models: string[] | null; expires_at: string | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; status: 'active' | 'exhausted' | 'expired' | 'suspended'; created_at: string; last_updated_at: string; key: string } };
  };
  '/v1/own-keys': {
    get: { response: { object: 'list'; data: ApiKey[]; allowed: { most: number; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke')[]; models: string[] | null; max_days: number | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null } | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[] } };
    post: { body: { name: string; description?: string | null; virtual_key?: string; expires_at?: string }; response: { id: string; object: 'api-key'; type: 'organisation-service' | 'workspace-service' | 'workspace-user'; name: string; description: string | null; masked_key: string; organisation_id: string; workspace_id: string; user_id: string | null; is_own: boolean; is_login: boolean; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[]; defaults: Record<string, unknown>; forbidden: string[] | null; models: string[] | null; expires_at: string | null; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits: { type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; usage: ({ type: 'cost' | 'tokens' | 'requests'; credit_limit: number; current_usage: number; resets_at: string | null; unpriced_calls?: number })[]; status: 'active' | 'exhausted' | 'expired' | 'suspended'; created_at: string; last_updated_at: string; key: string } };
  };
  '/v1/own-keys/{id}/rotate': {
    post: { params: { id: string }; body: { key_transition_period_ms?: number }; response: { id: string; key: string; object: 'api-key'; key_transition_expires_at: string } };
  };
  '/v1/own-keys/{id}': {
    delete: { params: { id: string }; response: { id: string; object: 'api-key'; deleted: true } };
  };
  '/v1/virtual-keys': {
    post: { body: { name: string; slug?: string; note?: string | null; workspace_id?: string; provider: string; key?: string | { secret: string }; custom_host?: string | null; configurations?: { prices?: Record<string, { input?: number; output?: number; cached?: number; cache_write?: number; cache_write_hour?: number; audio_input?: number; audio_output?: number; image_input?: number; image_output?: number; above?: { input: number; output: number; cached?: number; cache_write?: number; cache_write_hour?: number; audio_input?: number; audio_output?: number; image_input?: number; image_output?: number; tokens: number }[]; batch?: { input: number; output: number; cached?: number; cache_write?: number; cache_write_hour?: number; audio_input?: number; audio_output?: number; image_input?: number; image_output?: number }; image?: number | Record<string, number>; minute?: number; characters?: number; searches?: number }> }; expires_at?: string | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null }; response: VirtualKey };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: VirtualKey[]; total: number; has_more: boolean } };
  };
  '/v1/virtual-keys/{slug}': {
    get: { params: { slug: string }; query: { workspace_id?: string }; response: VirtualKey };
    put: { params: { slug: string }; query: { workspace_id?: string }; body: { name?: string; note?: string | null; provider?: string; key?: string | { secret: string }; custom_host?: string | null; configurations?: { prices?: Record<string, { input?: number; output?: number; cached?: number; cache_write?: number; cache_write_hour?: number; audio_input?: number; audio_output?: number; image_input?: number; image_output?: number; above?: { input: number; output: number; cached?: number; cache_write?: number; cache_write_hour?: number; audio_input?: number; audio_output?: number; image_input?: number; image_output?: number; tokens: number }[]; batch?: { input: number; output: number; cached?: number; cache_write?: number; cache_write_hour?: number; audio_input?: number; audio_output?: number; image_input?: number; image_output?: number }; image?: number | Record<string, number>; minute?: number; characters?: number; searches?: number }> }; expires_at?: string | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; reset_usage?: boolean }; response: VirtualKey };
    delete: { params: { slug: string }; query: { workspace_id?: string }; response: { id: string; object: 'virtual-key'; deleted: true } };
  };
  '/v1/virtual-keys/{slug}/prices': {
    post: { params: { slug: string }; query: { workspace_id?: string }; body: { models: string[] }; response: { object: 'list'; data: ({ model: string; input: number | null; output: number | null; cached: number | null; is_priced: boolean; context: number | null; note: string | null })[] } };
  };
  '/v1/integrations': {
    post: { body: { name: string; slug?: string; ai_provider_id: string; key?: string; description?: string | null; workspace_id?: string; configurations?: Record<string, unknown>; secret_mappings?: unknown[]; create_default_provider?: true }; response: Integration };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string; type?: 'workspace' | 'organisation' | 'all' }; response: { object: 'list'; data: Integration[]; total: number; has_more: boolean } };
  };
  '/v1/integrations/{slug}': {
    get: { params: { slug: string }; response: Integration };
    put: { params: { slug: string }; body: { name?: string; key?: string; description?: string | null; configurations?: Record<string, unknown>; secret_mappings?: unknown[] }; response: Integration };
    delete: { params: { slug: string }; response: { id: string; object: 'integration'; deleted: true } };
  };
  '/v1/integrations/{slug}/workspaces': {
    get: { params: { slug: string }; response: { object: 'list'; total: number; workspaces: ({ id: string; workspace_id: string; enabled: boolean; usage_limits: ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[]; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] })[] } };
    put: { params: { slug: string }; body: { workspaces: ({ id: string; enabled: boolean; usage_limits?: ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[]; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[]; reset_usage?: boolean })[]; global_workspace_access?: null; override_existing_workspace_access?: false; create_default_provider?: true }; response: { object: 'list'; total: number; workspaces: ({ id: string; workspace_id: string; enabled: boolean; usage_limits: ({ type: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[]; rate_limits: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] })[] } };
  };
  '/v1/integrations/{slug}/models': {
    get: { params: { slug: string }; response: { object: 'list'; allow_all_models: true; models: { slug: string; enabled: true; is_custom: boolean; is_finetune: false; pricing_config: { type: 'static'; pay_as_you_go: { request_token?: { price: number }; response_token?: { price: number } } } }[] } };
    put: { params: { slug: string }; body: { allow_all_models?: true; models: { slug: string; enabled: boolean; is_custom?: boolean; is_finetune?: false; base_model_slug?: ''; pricing_config?: { type: 'static'; pay_as_you_go?: { request_token?: { price: number }; response_token?: { price: number } } } }[] }; response: { object: 'list'; allow_all_models: true; models: { slug: string; enabled: true; is_custom: boolean; is_finetune: false; pricing_config: { type: 'static'; pay_as_you_go: { request_token?: { price: number }; response_token?: { price: number } } } }[] } };
    delete: { params: { slug: string }; query: { slugs?: string }; body: { models?: string[] }; response: { object: 'list'; allow_all_models: true; models: { slug: string; enabled: true; is_custom: boolean; is_finetune: false; pricing_config: { type: 'static'; pay_as_you_go: { request_token?: { price: number }; response_token?: { price: number } } } }[] } };
  };
  '/v1/providers': {
    post: { body: { name: string; note?: string | null; expires_at?: string | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; model_config?: Record<string, unknown>; slug?: string; workspace_id?: string; integration_id: string }; response: WorkspaceProvider };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: ({ name: string; object: 'provider'; base_url: string | null; environment_variable: string | null; configurations: string[]; options: { name: string; description: string; is_secret: boolean }[] })[] } };
  };
  '/v1/providers/{provider}': {
    get: { params: { provider: string }; query: { workspace_id?: string }; response: WorkspaceProvider };
    put: { params: { provider: string }; query: { workspace_id?: string }; body: { name?: string; note?: string | null; expires_at?: string | null; rate_limits?: ({ type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number })[] | null; usage_limits?: { type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' } | ({ type?: 'cost' | 'tokens'; credit_limit: number; alert_threshold?: number; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow' })[] | null; model_config?: Record<string, unknown>; workspace_id?: string; reset_usage?: boolean }; response: WorkspaceProvider };
    delete: { params: { provider: string }; query: { workspace_id?: string }; response: { id: string; object: 'provider'; deleted: true } };
  };
  '/v1/secret-references': {
    get: { query: { current_page?: number; page_size?: number; manager_type?: string; search?: string }; response: { object: 'list'; total: 0; data: unknown[] } };
    post: { body: Record<string, unknown>; response: unknown };
  };
  '/v1/secret-references/{id}': {
    get: { params: { id: string }; response: unknown };
  };
  '/v1/policies/rate-limits': {
    post: { body: { name?: string | null; description?: string | null; conditions: ({ key: string; value: string | string[]; excludes?: boolean })[]; group_by: { key: string }[]; type: 'requests' | 'tokens'; unit: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value: number; target?: 'llm' | 'mcp_tools'; workspace_id?: string; organisation_id?: string }; response: RateLimitsPolicy };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: RateLimitsPolicy[]; total: number; has_more: boolean } };
  };
  '/v1/policies/rate-limits/{id}': {
    get: { params: { id: string }; response: RateLimitsPolicy };
    put: { params: { id: string }; body: { name?: string | null; description?: string | null; conditions?: ({ key: string; value: string | string[]; excludes?: boolean })[]; group_by?: { key: string }[]; type?: 'requests' | 'tokens'; unit?: 'rps' | 'rpm' | 'rph' | 'rpd' | 'rpw'; value?: number; target?: 'llm' | 'mcp_tools' }; response: RateLimitsPolicy };
    delete: { params: { id: string }; response: { id: string; object: 'policy_rate_limits'; deleted: true } };
  };
  '/v1/policies/usage-limits': {
    post: { body: { name?: string | null; description?: string | null; conditions: ({ key: string; value: string | string[]; excludes?: boolean })[]; group_by: { key: string }[]; type: 'cost' | 'tokens' | 'requests'; credit_limit: number; alert_threshold?: number | null; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow'; workspace_id?: string; organisation_id?: string }; response: UsageLimitsPolicy };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: UsageLimitsPolicy[]; total: number; has_more: boolean } };
  };
  '/v1/policies/usage-limits/{id}': {
    get: { params: { id: string }; query: { include_usage?: 'true' | 'false' }; response: UsageLimitsPolicy };
    put: { params: { id: string }; body: { name?: string | null; description?: string | null; conditions?: ({ key: string; value: string | string[]; excludes?: boolean })[]; group_by?: { key: string }[]; type?: 'cost' | 'tokens' | 'requests'; credit_limit?: number; alert_threshold?: number | null; periodic_reset?: 'weekly' | 'monthly' | null; periodic_reset_days?: number | null; next_usage_reset_at?: string | null; unpriced?: 'refuse' | 'allow'; reset_usage_for_value?: string }; response: UsageLimitsPolicy };
    delete: { params: { id: string }; response: { id: string; object: 'policy_usage_limits'; deleted: true } };
  };
  '/v1/policies/usage-limits/{id}/entities': {
    get: { params: { id: string }; query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: PolicyEntity[]; total: number; has_more: boolean } };
  };
  '/v1/policies/usage-limits/{id}/entities/{entity}/reset': {
    put: { params: { id: string; entity: string }; response: PolicyEntity };
  };
  '/v1/config-schema': {
    get: { response: Record<string, unknown> };
  };
  '/v1/configs/dry-run': {
    post: { body: { config: string | Record<string, unknown>; body?: Record<string, unknown>; metadata?: Record<string, string>; path?: string }; response: { object: 'config-dry-run'; steps: ({ path: string; mode: 'target' | 'fallback' | 'loadbalance' | 'conditional'; name: string | null; when: 'first' | 'later' | 'never'; share: number; why: string; virtual_key: string | null; provider: string | null; model: string | null; attempts: number; problem: string | null })[] } };
  };
  '/v1/configs': {
    post: { body: { name: string; slug?: string; config: Record<string, unknown>; workspace_id?: string; isDefault?: 0 }; response: { id: string; object: 'config'; slug: string; name: string; organisation_id: string; workspace_id: string; status: 'active' | 'archived'; is_default: 0; version_id: string; owner_id: string; updated_by: string; created_at: string; last_updated_at: string; config: Record<string, unknown> } };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: Config[]; total: number; has_more: boolean } };
  };
  '/v1/configs/{slug}': {
    get: { params: { slug: string }; query: { workspace_id?: string }; response: { id: string; object: 'config'; slug: string; name: string; organisation_id: string; workspace_id: string; status: 'active' | 'archived'; is_default: 0; version_id: string; owner_id: string; updated_by: string; created_at: string; last_updated_at: string; config: Record<string, unknown> } };
    put: { params: { slug: string }; query: { workspace_id?: string }; body: { name?: string; config?: Record<string, unknown>; status?: 'active' | 'archived' }; response: { id: string; object: 'config'; slug: string; name: string; organisation_id: string; workspace_id: string; status: 'active' | 'archived'; is_default: 0; version_id: string; owner_id: string; updated_by: string; created_at: string; last_updated_at: string; config: Record<string, unknown> } };
    delete: { params: { slug: string }; query: { workspace_id?: string }; response: { id: string; object: 'config'; deleted: true } };
  };
  '/v1/configs/{slug}/versions': {
    get: { params: { slug: string }; query: { current_page?: number; page_size?: number; workspace_id?: string }; response: { object: 'list'; data: { id: string; object: 'config-version'; version_id: string; config: Record<string, unknown>; created_by: string; created_at: string }[]; total: number; has_more: boolean } };
  };
  '/v1/guardrail-checks': {
    get: { response: { object: 'list'; data: ({ id: string; passes: string; on: ('input' | 'output')[]; changes: boolean; judges: 'texts' | 'body' | 'call'; secrets: string[]; parameters: Record<string, unknown> })[] } };
  };
  '/v1/guardrails/try': {
    post: { body: { guardrail: string | { checks: { id: string; parameters?: Record<string, unknown>; name?: string; is_enabled?: boolean }[]; actions?: { deny?: boolean; async?: boolean; sequential?: boolean; stream?: 'buffer' | 'window'; on_success?: { feedback?: { value?: number; weight?: number; metadata?: string } }; on_fail?: { feedback?: { value?: number; weight?: number; metadata?: string } } } }; on: 'input' | 'output'; text?: string; pieces?: string[]; model?: string; metadata?: Record<string, string> }; response: { object: 'guardrail-trial'; verdict: boolean | null; denied: boolean; text: string; transformed: boolean; stream: 'nothing' | 'whole' | number; steps: { said: string; given: string; held: number }[] | null; ends: 'whole' | 'refused' | 'cut' | null; duration_ms: number; checks: ({ id: string; name: string | null; verdict: boolean; transformed: boolean; data: unknown; log: unknown; error: string | null; duration_ms: number })[] } };
  };
  '/v1/guardrails/{guardrail}/uses': {
    get: { params: { guardrail: string }; response: { object: 'list'; data: ({ kind: 'organisation' | 'workspace' | 'api_key' | 'config'; id: string; name: string; on: ('input' | 'output')[] })[] } };
  };
  '/v1/guardrails': {
    post: { body: { name: string; slug?: string; checks: { id: string; parameters?: Record<string, unknown>; name?: string; is_enabled?: boolean }[]; actions?: { deny?: boolean; async?: boolean; sequential?: boolean; stream?: 'buffer' | 'window'; on_success?: { feedback?: { value?: number; weight?: number; metadata?: string } }; on_fail?: { feedback?: { value?: number; weight?: number; metadata?: string } } }; workspace_id?: string; organisation_id?: string }; response: { id: string; object: 'guardrail'; slug: string; name: string; organisation_id: string; workspace_id: string | null; status: 'active'; version_id: string; owner_id: string; updated_by: string | null; created_at: string; last_updated_at: string; checks: Record<string, unknown>[]; actions: Record<string, unknown> } };
    get: { query: { current_page?: number; page_size?: number; workspace_id?: string; organisation_id?: string; ids?: string }; response: { object: 'list'; data: Guardrail[]; total: number; has_more: boolean } };
  };
  '/v1/guardrails/{guardrail}': {
    get: { params: { guardrail: string }; response: { id: string; object: 'guardrail'; slug: string; name: string; organisation_id: string; workspace_id: string | null; status: 'active'; version_id: string; owner_id: string; updated_by: string | null; created_at: string; last_updated_at: string; checks: Record<string, unknown>[]; actions: Record<string, unknown> } };
    put: { params: { guardrail: string }; body: { name?: string; checks?: { id: string; parameters?: Record<string, unknown>; name?: string; is_enabled?: boolean }[]; actions?: { deny?: boolean; async?: boolean; sequential?: boolean; stream?: 'buffer' | 'window'; on_success?: { feedback?: { value?: number; weight?: number; metadata?: string } }; on_fail?: { feedback?: { value?: number; weight?: number; metadata?: string } } } }; response: { id: string; slug: string; version_id: string } };
    delete: { params: { guardrail: string }; response: { id: string; object: 'guardrail'; deleted: true } };
  };
  '/v1/guardrails/{guardrail}/versions': {
    get: { params: { guardrail: string }; query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: { id: string; object: 'guardrail-version'; version_id: string; name: string; checks: Record<string, unknown>[]; actions: Record<string, unknown>; created_by: string; created_at: string }[]; total: number; has_more: boolean } };
  };
  '/v1/admin/users/invites': {
    post: { body: { email: string; role: 'owner' | 'admin' | 'member'; workspaces?: ({ id: string; role: 'admin' | 'manager' | 'member' })[]; workspace_api_key_details?: unknown }; response: { id: string; object: 'invite'; email: string; role: 'owner' | 'admin' | 'member'; workspaces: ({ id: string; role: 'admin' | 'manager' | 'member' })[]; status: 'pending' | 'accepted' | 'cancelled' | 'expired'; created_at: string; expires_at: string; last_updated_at: string; invite_link: string } };
    get: { query: { current_page?: number; page_size?: number }; response: { object: 'list'; data: Invite[]; total: number; has_more: boolean } };
  };
  '/v1/admin/users/invites/{id}': {
    get: { params: { id: string }; response: Invite };
    delete: { params: { id: string }; response: { id: string; object: 'invite'; deleted: true } };
  };
  '/v1/admin/users/invites/{id}/resend': {
    post: { params: { id: string }; response: { id: string; object: 'invite'; email: string; role: 'owner' | 'admin' | 'member'; workspaces: ({ id: string; role: 'admin' | 'manager' | 'member' })[]; status: 'pending' | 'accepted' | 'cancelled' | 'expired'; created_at: string; expires_at: string; last_updated_at: string; invite_link: string } };
  };
  '/v1/sessions/invites/accept': {
    post: { body: { token: string; password: string; username?: string | null; first_name?: string | null; last_name?: string | null }; response: User };
  };
  '/v1/admin/users': {
    post: { body: { email: string; username?: string | null; first_name?: string | null; last_name?: string | null; password?: string; role: 'owner' | 'admin' | 'member'; workspaces?: ({ id: string; role: 'admin' | 'manager' | 'member' })[] }; response: User };
    get: { query: { current_page?: number; page_size?: number; email?: string; role?: 'owner' | 'admin' | 'member' }; response: { object: 'list'; data: User[]; total: number; has_more: boolean } };
  };
  '/v1/admin/users/{id}': {
    get: { params: { id: string }; response: User };
    put: { params: { id: string }; body: { email?: string; username?: string | null; first_name?: string | null; last_name?: string | null; password?: string | null; role?: 'owner' | 'admin' | 'member' }; response: User };
    delete: { params: { id: string }; response: { id: string; object: 'user'; deleted: true } };
  };
  '/v1/admin/workspaces/{workspace}/users': {
    post: { params: { workspace: string }; body: { user_id?: string; role?: 'admin' | 'manager' | 'member'; users?: ({ id: string; role: 'admin' | 'manager' | 'member' })[] }; response: WorkspaceUser };
    get: { params: { workspace: string }; query: { current_page?: number; page_size?: number; role?: 'admin' | 'manager' | 'member' }; response: { object: 'list'; data: WorkspaceUser[]; total: number; has_more: boolean } };
  };
  '/v1/admin/workspaces/{workspace}/users/{user}': {
    get: { params: { workspace: string; user: string }; response: WorkspaceUser };
    put: { params: { workspace: string; user: string }; body: { role: 'admin' | 'manager' | 'member' }; response: WorkspaceUser };
    delete: { params: { workspace: string; user: string }; response: { id: string; object: 'workspace-user'; deleted: true } };
  };
  '/v1/sessions/ways': {
    get: { response: { object: 'sign-in-ways'; password: true; oidc: boolean } };
  };
  '/v1/sessions': {
    post: { body: { email: string; password: string }; response: { object: 'session'; user: User; csrf_token: string; expires_at: string } };
    get: { response: { object: 'list'; data: { id: string; object: 'user-session'; is_current: boolean; created_at: string; expires_at: string }[] } };
  };
  '/v1/sessions/first-owner': {
    post: { body: { token: string; email: string; password: string; first_name?: string | null; last_name?: string | null }; response: { object: 'session'; user: User; csrf_token: string; expires_at: string } };
  };
  '/v1/sessions/current': {
    get: { response: { object: 'session'; user: User; csrf_token: string; expires_at: string; workspace: { id: string; slug: string }; scopes: ('completions.write' | 'models.list' | 'files.read' | 'files.write' | 'batches.read' | 'batches.write' | 'fine_tuning.read' | 'fine_tuning.write' | 'assistants.read' | 'assistants.write' | 'feedbacks.write' | 'traces.write' | 'mcp.invoke' | 'organisation.manage' | 'organisation.read' | 'owners.manage' | 'sessions.manage' | 'workspaces.create' | 'workspaces.list' | 'workspaces.read' | 'workspaces.update' | 'workspaces.delete' | 'users.create' | 'users.list' | 'users.read' | 'users.update' | 'users.delete' | 'workspace_users.create' | 'workspace_users.list' | 'workspace_users.read' | 'workspace_users.update' | 'workspace_users.delete' | 'scim.manage' | 'api_keys.create' | 'api_keys.list' | 'api_keys.read' | 'api_keys.update' | 'api_keys.delete' | 'api_keys.rotate' | 'virtual_keys.create' | 'virtual_keys.list' | 'virtual_keys.read' | 'virtual_keys.update' | 'virtual_keys.delete' | 'configs.create' | 'configs.list' | 'configs.read' | 'configs.update' | 'configs.delete' | 'guardrails.create' | 'guardrails.list' | 'guardrails.read' | 'guardrails.update' | 'guardrails.delete' | 'policies.create' | 'policies.list' | 'policies.read' | 'policies.update' | 'policies.delete' | 'mcp_servers.create' | 'mcp_servers.list' | 'mcp_servers.read' | 'mcp_servers.update' | 'mcp_servers.delete' | 'webhooks.create' | 'webhooks.list' | 'webhooks.read' | 'webhooks.update' | 'webhooks.delete' | 'alerts.create' | 'alerts.list' | 'alerts.read' | 'alerts.update' | 'alerts.delete' | 'alert_channels.create' | 'alert_channels.list' | 'alert_channels.read' | 'alert_channels.update' | 'alert_channels.delete' | 'views.create' | 'views.list' | 'views.read' | 'views.update' | 'views.delete' | 'audit_logs.list' | 'logs.list' | 'logs.read' | 'analytics.view' | 'metrics.read')[] } };
    delete: { response: { id: string; object: 'session'; deleted: true } };
  };
  '/v1/sessions/{id}': {
    delete: { params: { id: string }; response: { id: string; object: 'user-session'; deleted: true } };
  };
  '/v1/sessions/current/password': {
    post: { body: { current_password: string; new_password: string }; response: User };
  };
  '/v1/sessions/oidc': {
    get: { query: { return_to?: string }; response: unknown };
  };
  '/v1/sessions/oidc/callback': {
    get: { response: unknown };
  };
  '/v1/admin/organisation/machine-tokens': {
    get: { response: MachineTokens };
    put: { body: { jwks_uri?: string; jwks?: { keys: { kty: 'RSA'; kid: string; n: string; e: string }[] }; issuer?: string; audience?: string; clock_tolerance?: number }; response: MachineTokens };
    delete: { response: { id: string; object: 'machine-tokens'; deleted: true } };
  };
  '/v1/audit-logs': {
    get: { query: { start_time: string; end_time: string; organisation_id: string; method?: 'POST' | 'PUT' | 'DELETE'; uri?: string; request_id?: string; user_id?: string; user_type?: 'user' | 'api_key'; workspace_id?: string; response_status_code?: number; resource_type?: string; action?: string; client_ip?: string; country?: string; current_page?: number; page_size?: number }; response: { records: AuditRecord[]; total: number; object: 'analytics-graph' } };
  };
  '/v1/audit-logs/export': {
    get: { query: { start_time: string; end_time: string; organisation_id: string; method?: 'POST' | 'PUT' | 'DELETE'; uri?: string; request_id?: string; user_id?: string; user_type?: 'user' | 'api_key'; workspace_id?: string; response_status_code?: number; resource_type?: string; action?: string; client_ip?: string; country?: string }; response: unknown };
  };
  '/v1/audit-logs/verification': {
    get: { response: unknown };
  };
  '/v1/admin/health': {
    get: { response: { status: 'ok'; degraded: unknown[] } };
  };
  '/v1/admin/status': {
    get: { response: { object: 'status'; version: string; store: 'sqlite' | 'postgres'; redis: 'used' | 'none'; started_at: string; queues: ({ kind: string; running: number; waiting: number; later: number; retried: number; oldest_ms: number | null })[]; nodes: { node: string; running: number }[] } };
  };
  '/v1/admin/prices': {
    get: { response: { synced: PriceList | null } };
    delete: { response: { synced: PriceList | null } };
  };
  '/v1/admin/prices/sync': {
    post: { body: { source: string; content?: string; sha256?: string; signature?: string }; response: PriceList };
  };
  '/v1/admin/apply/plan': {
    post: { body: { file: Record<string, unknown>; prune?: boolean }; response: ApplyPlan };
  };
  '/v1/admin/apply': {
    post: { body: { file: Record<string, unknown>; prune?: boolean; agreement?: string }; response: ApplyPlan };
  };
  '/v1/admin/export': {
    get: { response: { object: 'export'; file: Record<string, unknown>; variables: string[]; left_out: string[] } };
  };
  '/v1/fine_tuning/alpha/graders/run': {
    post: { response: unknown };
  };
  '/v1/fine_tuning/alpha/graders/validate': {
    post: { response: unknown };
  };
  '/v1/fine_tuning/checkpoints/{model}/permissions': {
    get: { params: { model: string }; response: unknown };
    post: { params: { model: string }; response: unknown };
  };
  '/v1/fine_tuning/checkpoints/{model}/permissions/{permission}': {
    delete: { params: { model: string; permission: string }; response: unknown };
  };
  '/console/{path}': {
    get: { params: { path: string }; response: unknown };
    head: { params: { path: string }; response: unknown };
  };
  '/v1/models/{path}': {
    get: { params: { path: string }; response: unknown };
  };
  '/v1/proxy/{path}': {
    get: { params: { path: string }; response: unknown };
    post: { params: { path: string }; response: unknown };
    put: { params: { path: string }; response: unknown };
    patch: { params: { path: string }; response: unknown };
    delete: { params: { path: string }; response: unknown };
    head: { params: { path: string }; response: unknown };
  };
  '/v1/{path}': {
    get: { params: { path: string }; response: unknown };
    post: { params: { path: string }; response: unknown };
    put: { params: { path: string }; response: unknown };
    patch: { params: { path: string }; response: unknown };
    delete: { params: { path: string }; response: unknown };
    head: { params: { path: string }; response: unknown };
  };
  '/{server}/mcp': {
    post: { params: { server: string }; response: unknown };
    get: { params: { server: string }; response: unknown };
    delete: { params: { server: string }; response: unknown };
    options: { params: { server: string }; response: unknown };
  };
}
