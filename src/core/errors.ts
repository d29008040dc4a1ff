/**
 * The whole vocabulary of failure. Every error the gateway answers itself is one entry here: its status, and a message
 * that says what was wrong, with the value, and what would be right. `docs/errors.md` is held equal to this list by a
 * test. Throw with `fail(code, …facts)` anywhere; only `http/reply.ts` answers.
 */

interface Entry<Facts extends unknown[]> {
  readonly status: number;
  readonly message: (...facts: Facts) => string;
  /** The field, header or query parameter at fault, when the facts name one. */
  readonly param?: (...facts: Facts) => string | null;
  /** What stands in the body where OpenAI's API says something else than the entry's name and the status's type. */
  readonly answered?: { readonly code?: null; readonly type: string };
  /** The name under which OAuth's clients know it. */
  readonly oauth?: string;
}

const error = <Facts extends unknown[]>(
  status: number,
  message: (...facts: Facts) => string,
  param?: (...facts: Facts) => string | null,
): Entry<Facts> => ({ status, message, param });

/**
 * As OpenAI's API answers it: clients of that API know its texts and codes. Where it has no code, `code: null` leaves
 * ours out of the body; logs and this catalogue still call it by its name.
 */
const openai = <Facts extends unknown[]>(
  status: number,
  message: (...facts: Facts) => string,
  param?: (...facts: Facts) => string | null,
  { code }: { code?: null } = {},
): Entry<Facts> => ({ status, message, param, answered: { code, type: 'invalid_request_error' } });

/** In the form that clients of an authorization server read (RFC 6749 section 5.2). */
const oauth = <Facts extends unknown[]>(
  status: number,
  name: string,
  message: (...facts: Facts) => string,
): Entry<Facts> => ({ status, message, oauth: name });

const named = (field: string) => field;

function outside(what: string, sign: string) {
  return (param: string, bound: number, got: number) =>
    `Invalid '${param}': ${what} value. Expected a value ${sign} ${bound}, but got ${got} instead.`;
}

function ofLength(what: string, how: string, bound: string) {
  const one = what === 'array' ? 'an array' : `a ${what}`;
  return (param: string, length: number, got: number) =>
    `Invalid '${param}': ${what} too ${how}. Expected ${one} with ${bound} length ${length}, but got ${one} with length ${got} instead.`;
}

export const catalogue = {
  // Who is calling
  invalid_api_key: error(
    401,
    () =>
      'The gateway key is missing or unknown. Send it as x-gateway-api-key, or as Authorization: Bearer, x-api-key or x-goog-api-key when x-gateway-api-key is absent.',
  ),
  expired_api_key: error(401, (when: string) => `This gateway key expired at ${when}. Ask for a new one or rotate it.`),
  caller_gone: error(
    401,
    () =>
      'The API key, user or machine that began this was removed, has expired, or no longer belongs to the workspace.',
  ),
  insufficient_scope: error(
    403,
    (needed: string) => `This key lacks the scope ${needed}. Create a key with that scope, or use another key.`,
  ),
  invalid_user_token: error(
    401,
    (why: string) => `The user's token was refused: ${why}. Get a new one from the identity provider of this server.`,
  ),
  invalid_access_token: error(
    401,
    () =>
      'The access token is unknown, expired or revoked, or it was issued for another server. Get a new one; www-authenticate says where.',
  ),
  oauth_invalid_request: oauth(400, 'invalid_request', (param: string, why: string) => `${param}: ${why}`),
  oauth_invalid_client: oauth(401, 'invalid_client', (why: string) => `This client is not accepted: ${why}.`),
  oauth_invalid_grant: oauth(400, 'invalid_grant', (why: string) => `No token is issued: ${why}.`),
  oauth_unsupported_grant_type: oauth(
    400,
    'unsupported_grant_type',
    (got: string) => `grant_type: ${got} is not possible here; give authorization_code or refresh_token`,
  ),
  oauth_invalid_target: oauth(400, 'invalid_target', (why: string) => `resource: ${why}`),
  oauth_invalid_redirect_uri: oauth(400, 'invalid_redirect_uri', (why: string) => `redirect_uris: ${why}`),
  oauth_invalid_client_metadata: oauth(
    400,
    'invalid_client_metadata',
    (param: string, why: string) => `${param}: ${why}`,
  ),
  oauth_registration_closed: oauth(
    403,
    'access_denied',
    () =>
      'Clients cannot register themselves here. Use the address of a client metadata document as client_id; the operator may set GATEWAY_OAUTH_REGISTRATION.',
  ),
  oauth_too_many_requests: oauth(
    429,
    'temporarily_unavailable',
    (seconds: number) => `Too many requests from this address. Try again in ${seconds} seconds.`,
  ),
  authorization_refused: error(
    400,
    (why: string) => `The application's request cannot be answered: ${why}. Nothing was sent to it.`,
  ),
  page_expired: error(
    403,
    () =>
      'This page is too old, or it was opened in another browser or for somebody else. Go back to the application and begin again.',
  ),
  identity_provider_unavailable: error(
    503,
    (host: string, why: string) =>
      `The user's token cannot be checked at the moment: ${host} gave no usable answer (${why}). Try again shortly.`,
  ),
  untrusted_origin: error(
    403,
    (header: string, allowed: string) =>
      `${header} is not one that this gateway answers MCP calls for: ${allowed}. See GATEWAY_PUBLIC_URL and GATEWAY_ALLOWED_ORIGINS.`,
    (header) => header,
  ),
  scope_not_grantable: error(
    403,
    (scope: string) => `This key cannot grant the scope ${scope}, because it does not hold it itself.`,
    () => 'scopes',
  ),

  sign_in_failed: error(
    401,
    () => 'Email and password do not belong together, or this user has no password. Ask an administrator for help.',
  ),
  too_many_sign_ins: error(429, (until: string) => `Signing in has failed too often. Try again at ${until}.`),
  sign_in_busy: error(503, () => 'Too many people are signing in at this moment. Try again in a few seconds.'),
  csrf_token_missing: error(
    403,
    () => 'A change by a signed-in user needs the header x-gateway-csrf; GET /v1/sessions/current shows its value.',
    () => 'x-gateway-csrf',
  ),
  session_required: error(
    403,
    () => 'This is about a signed-in user, and the request was made with a key. Sign in with POST /v1/sessions.',
  ),
  not_a_member: error(
    403,
    (workspace: string | null) =>
      workspace === null
        ? 'This user is a member of no workspace. Ask an administrator to add them to one.'
        : `This user is not a member of workspace ${workspace}. Name another one in x-gateway-workspace.`,
    () => 'x-gateway-workspace',
  ),
  own_role: error(
    403,
    () => 'Nobody raises their own role. Ask somebody else with the right to do it.',
    () => 'role',
  ),
  invalid_machine_token: error(
    401,
    (why: string) => `The token in place of a gateway key was refused: ${why}. See docs/users.md for what it must say.`,
  ),
  oidc_refused: error(403, (why: string) => `Signing in through the identity provider did not work: ${why}.`),
  foreign_organisation: error(
    403,
    (asked: string, own: string) => `organisation_id: ${asked} is not the organisation of this key, which is ${own}.`,
    () => 'organisation_id',
  ),

  // What was asked
  route_not_found: error(
    404,
    (method: string, path: string) => `There is no ${method} ${path}. The API lives under /v1; see /docs.`,
  ),
  method_not_allowed: error(
    405,
    (method: string, path: string, allowed: string) => `${method} is not possible on ${path}. Use ${allowed}.`,
  ),
  invalid_path: error(400, (why: string) => `The request path cannot be used: ${why}.`),
  invalid_header: error(400, (header: string, why: string) => `${header}: ${why}`, named),
  invalid_json: error(400, (why: string) => `The body is not valid JSON: ${why}.`),
  invalid_request: error(400, (param: string, why: string) => `${param}: ${why}`, named),
  unsupported_media_type: error(
    415,
    (got: string, wanted?: string) =>
      `This route takes ${wanted ?? 'application/json'}, not ${got || 'a body without a content type'}.`,
    () => 'content-type',
  ),
  body_too_large: error(413, (limit: number) => `The body is larger than ${limit} bytes, the limit of this route.`),
  body_incomplete: error(400, () => 'The connection ended before the whole body had arrived.'),
  invalid_multipart: error(400, (why: string) => `The multipart body cannot be read: ${why}.`),
  range_not_satisfiable: error(
    416,
    (range: string, size: number) => `range: ${range} asks for nothing that is there: there are ${size} bytes.`,
    () => 'range',
  ),

  // Faults on routes of OpenAI's objects, in its words
  missing_required_parameter: openai(400, (param: string) => `Missing required parameter: '${param}'.`, named),
  unknown_parameter: openai(400, (param: string) => `Unknown parameter: '${param}'.`, named),
  invalid_type: openai(
    400,
    (param: string, expected: string, got: string) =>
      `Invalid type for '${param}': expected ${expected}, but got ${got} instead.`,
    named,
  ),
  invalid_value: openai(400, (_param: string, message: string) => message, named),
  integer_above_max_value: openai(400, outside('integer above maximum', '<='), named),
  integer_below_min_value: openai(400, outside('integer below minimum', '>='), named),
  decimal_above_max_value: openai(400, outside('decimal above maximum', '<='), named),
  decimal_below_min_value: openai(400, outside('decimal below minimum', '>='), named),
  string_above_max_length: openai(400, ofLength('string', 'long', 'maximum'), named),
  string_below_min_length: openai(400, ofLength('string', 'short', 'minimum'), named),
  array_above_max_length: openai(400, ofLength('array', 'long', 'maximum'), named),
  array_below_min_length: openai(400, ofLength('array', 'short', 'minimum'), named),
  object_above_max_properties: openai(
    400,
    (param: string, most: number, got: number) =>
      `Invalid '${param}': too many properties. Expected an object with at most ${most} properties, but got an object with ${got} properties instead.`,
    named,
  ),
  cursor_not_found: openai(404, (_param: string) => 'Resource not found.', named, { code: null }),

  // Which provider
  missing_virtual_key: error(
    400,
    () => 'This route needs a virtual key: send x-gateway-virtual-key, or use a key that has a default virtual key.',
    () => 'x-gateway-virtual-key',
  ),
  missing_provider: error(
    400,
    () =>
      'No provider was chosen. Send x-gateway-virtual-key, or x-gateway-provider with Authorization, or model "@slug/name" in a JSON body, or use a key that has a default virtual key.',
  ),
  conflicting_provider: error(
    400,
    (header: string) =>
      `${header} cannot be combined with x-gateway-virtual-key: a stored credential goes only to its own host.`,
    named,
  ),
  unknown_provider: error(
    400,
    (name: string) => `There is no provider "${name}". GET /v1/providers lists the known ones.`,
    () => 'x-gateway-provider',
  ),
  unknown_virtual_key: error(
    400,
    (slug: string) => `There is no virtual key "${slug}" in this workspace.`,
    () => 'x-gateway-virtual-key',
  ),
  expired_virtual_key: error(
    400,
    (slug: string, when: string) => `The virtual key "${slug}" expired at ${when}.`,
    () => 'x-gateway-virtual-key',
  ),
  missing_credential: error(
    400,
    (provider: string) =>
      `Provider ${provider} needs a credential: send Authorization: Bearer <provider key> beside x-gateway-api-key, or use a virtual key.`,
    () => 'authorization',
  ),
  missing_provider_option: error(
    400,
    (provider: string, option: string) =>
      `Provider ${provider} needs ${option}: set configurations.${option} on the virtual key, or send x-gateway-${option.replaceAll('_', '-')}.`,
    (_provider, option) => option,
  ),
  invalid_provider_option: error(400, (option: string, why: string) => `${option}: ${why}`, named),
  unknown_config: error(
    400,
    (slug: string) => `There is no config "${slug}" in this workspace.`,
    () => 'x-gateway-config',
  ),
  unsupported_by_provider: error(
    400,
    (provider: string, what: string) => `Provider ${provider} has no ${what}. Choose another provider for it.`,
  ),
  model_not_found: error(
    404,
    (id: string, provider: string) =>
      `Provider ${provider} lists no model "${id.slice(0, 200)}". GET /v1/models lists them.`,
  ),
  media_unreachable: error(
    400,
    (path: string, why: string) => `${path}: the file cannot be fetched for the provider: ${why}.`,
    named,
  ),
  not_expressible: error(
    400,
    (path: string, provider: string, why: string) => `${path}: cannot be sent to ${provider}: ${why}.`,
    named,
  ),
  invalid_config: error(400, (path: string, why: string) => `${path}: ${why}`, named),
  unknown_guardrail: error(
    400,
    (reference: string) => `There is no guardrail "${reference}" in this workspace or its organisation.`,
    () => 'guardrails',
  ),
  guardrail_misplaced: error(
    400,
    (id: string, side: 'input' | 'output') =>
      `Guardrail "${id}" has no check that looks at ${side === 'input' ? 'requests' : 'answers'}, so it cannot be one of the ${side}_guardrails.`,
    (_id, side) => `${side}_guardrails`,
  ),
  egress_refused: error(400, (host: string, rule: string) => `The gateway does not call ${host}: ${rule}`),

  // What is judged
  guardrail_denied: {
    ...error(
      446,
      (what: 'request' | 'answer', guardrails: string, checks: string) =>
        `The ${what} was denied by ${guardrails}: ${checks}. hook_results says more.`,
    ),
    answered: { type: 'hooks_failed' },
  },

  // What is left
  rate_limited: error(
    429,
    (whose: string, limit: string, why: string, resets: string) =>
      `The rate limit of ${whose} is ${limit}: ${why}. It starts again at ${resets}.`,
  ),
  budget_exhausted: error(
    412,
    (whose: string, limit: string, why: string, resets: string | null) =>
      `The budget of ${whose} is ${limit}: ${why}. ${resets ? `It starts again at ${resets}.` : 'It does not start again by itself; its owner can raise it or reset its usage.'}`,
  ),

  // What the provider did
  upstream_unreachable: error(
    502,
    (host: string, why: string) => `No connection to ${host}: ${why}. Nothing was sent.`,
  ),
  upstream_failed: error(
    502,
    (host: string, why: string) =>
      `${host} broke off before it answered: ${why}. The request may have been carried out.`,
  ),
  upstream_timeout: error(
    504,
    (host: string, phase: string, ms: number) => `${host} did not answer in time: ${phase} took more than ${ms} ms.`,
  ),
  request_timeout: error(
    408,
    (ms: number) => `The request took longer than the ${ms} ms that x-gateway-request-timeout allows.`,
  ),
  credential_rejected: error(
    502,
    (provider: string, why: string) => `Provider ${provider} issued no access token for the stored credential: ${why}.`,
  ),

  // Resources
  workspace_not_found: error(404, (id: string) => `No workspace ${id} in this organisation.`),
  workspace_in_use: error(400, (slug: string, what: string) => `Workspace ${slug} cannot be deleted: ${what}.`),
  api_key_not_found: error(404, (id: string) => `No API key ${id} in this workspace.`),
  user_not_found: error(404, (id: string) => `No user ${id} in this organisation.`),
  email_taken: error(
    400,
    (email: string) => `There is already a user ${email} in this organisation.`,
    () => 'email',
  ),
  last_owner: error(
    400,
    (id: string) => `User ${id} is the last owner of the organisation. Make somebody else an owner first.`,
  ),
  member_not_found: error(
    404,
    (user: string, workspace: string) => `User ${user} is not a member of workspace ${workspace}.`,
  ),
  already_a_member: error(
    400,
    (user: string, workspace: string) =>
      `User ${user} is a member of workspace ${workspace} already; PUT changes the role.`,
    () => 'user_id',
  ),
  invite_not_found: error(404, (id: string) => `No invite ${id} in this organisation.`),
  invite_not_open: error(
    400,
    (status: string) => `This invite is ${status}; only a pending one can be accepted, sent again or cancelled.`,
  ),
  oidc_not_configured: error(
    404,
    () => 'No identity provider is set up here. The operator sets GATEWAY_OIDC_ISSUER and GATEWAY_OIDC_CLIENT_ID.',
  ),
  machine_tokens_not_configured: error(
    404,
    () => 'No tokens of machines are accepted here yet. PUT sets up whose are.',
  ),
  rotation_in_progress: error(
    400,
    (id: string, until: string) =>
      `API key ${id} is being rotated; the old secret is valid until ${until}. Rotate again after that.`,
  ),
  guardrail_not_found: error(404, (id: string) => `No guardrail ${id} in this workspace or its organisation.`),
  guardrail_in_use: error(
    400,
    (slug: string, where: string) =>
      `Guardrail ${slug} cannot be deleted: it is named by ${where}. Take it out there first.`,
  ),
  webhook_not_found: error(404, (id: string) => `No webhook ${id} in this workspace.`),
  too_many_webhooks: error(
    400,
    (most: number) => `This workspace has ${most} webhooks, and may have no more. Delete one that is not needed.`,
  ),
  config_not_found: error(404, (slug: string) => `No config ${slug} in this workspace.`),
  virtual_key_not_found: error(404, (slug: string) => `No virtual key ${slug} in this workspace.`),
  virtual_key_fixed: error(
    400,
    (slug: string, variable: string) =>
      `Virtual key ${slug} comes from the environment variable ${variable} and is changed there.`,
  ),
  slug_taken: error(
    400,
    (slug: string) => `The slug "${slug}" is taken. Choose another, or leave slug out to have one made.`,
    () => 'slug',
  ),
  mcp_server_not_found: error(404, (slug: string) => `No MCP server ${slug} in this workspace.`),
  mcp_session_not_found: error(
    404,
    () => 'This session is unknown here: it ended, or it belongs to another server or caller. Initialize a new one.',
  ),
  mcp_access_denied: error(
    403,
    (slug: string) => `MCP server ${slug} is not open to this caller. Ask whoever administers it for access.`,
  ),
  mcp_message_refused: error(
    400,
    (why: string) => `This message was not sent to the MCP server: ${why}.`,
    () => 'body',
  ),
  mcp_header_mismatch: error(
    400,
    (header: string, why: string) => `${header} ${why}. Send it as the body says, or leave it out where it may be.`,
    named,
  ),
  mcp_capability_unavailable: error(200, (kind: string, name: string) => `${kind} ${name} is not available here.`),
  mcp_definition_unapproved: error(
    200,
    (tool: string) =>
      `Tool ${tool} is blocked until an administrator approves its definition, which is new, has changed or holds hidden characters.`,
  ),
  mcp_identity_too_large: error(
    500,
    (header: string, size: number, most: number) =>
      `The claims for ${header} take ${size} bytes, more than the ${most} that servers accept. Name fewer of them in user_identity_forwarding.include_claims.`,
  ),
  mcp_signing_key_missing: error(
    503,
    (slug: string) =>
      `MCP server ${slug} is to be told who calls by a signed token, and the gateway has no key to sign with. Its operator sets JWT_PRIVATE_KEY.`,
  ),
  mcp_upstream_refused: error(
    502,
    (slug: string, status: number) =>
      `MCP server ${slug} answered ${status} to the credential that the gateway holds for it. Whoever registered the server must renew it.`,
  ),
  mcp_user_required: error(
    403,
    (slug: string) =>
      `MCP server ${slug} is used with each user's own account, and this caller is no user of the gateway. Use a key that belongs to a user, or sign in.`,
  ),
  mcp_connection_required: error(
    403,
    (slug: string, link: string, why: string) =>
      `MCP server ${slug} needs your own account there: ${why}. Open ${link} in a browser, connect, and try again.`,
  ),
  mcp_servers_unavailable: error(
    502,
    (servers: string) => `None of the MCP servers answered: ${servers}. Each has an address of its own that says more.`,
  ),
  mcp_version_unsupported: error(
    400,
    (version: string, supported: string) =>
      `Version ${version} of MCP is not spoken at this address, as not every server behind it speaks it. Use ${supported}.`,
  ),
  mcp_method_unknown: error(
    404,
    (method: string) => `${method} is not possible at the address of all servers. Use the address of one server.`,
  ),
  mcp_connection_not_found: error(
    404,
    (user: string, slug: string) => `User ${user} has connected no account at MCP server ${slug}.`,
  ),
  mcp_upstream_oauth_failed: error(
    502,
    (slug: string, why: string) =>
      `No token for MCP server ${slug} could be got from its authorization server: ${why}.`,
  ),
  mcp_connect_refused: error(400, (why: string) => `The account was not connected: ${why}.`),
  policy_not_found: error(404, (id: string) => `No policy ${id} of this kind in this workspace.`),
  policy_entity_not_found: error(
    404,
    (id: string, policy: string) => `Policy ${policy} has counted no entity ${id}. GET its entities lists them.`,
  ),
  file_not_found: openai(
    404,
    (id: string) => `No such File object: ${id}`,
    () => 'id',
    { code: null },
  ),
  file_format_unsupported: openai(
    400,
    (api: string) => `Invalid file format for ${api}. Must be .jsonl`,
    () => null,
    { code: null },
  ),
  file_too_large: openai(
    413,
    (param: string, limit: number, what: string) =>
      `${param}: ${what} may have at most ${limit} bytes (${limit / 2 ** 20} MiB).`,
    named,
  ),
  batch_not_found: openai(
    404,
    (id: string) => `No batch found with id '${id}'.`,
    () => 'batch_id',
  ),
  batch_not_cancellable: openai(
    400,
    (status: string) => `Cannot cancel a batch with status '${status}'.`,
    () => 'batch_id',
  ),
  native_batches_unsupported: openai(
    400,
    (provider: string, endpoint: string, known: readonly string[]) =>
      `The virtual key wants batches to be carried out by its provider, and ${provider} has no batch API for ${endpoint} that the gateway knows; those with one are ${known.join(', ')}. Set its configurations.batches to auto or managed.`,
    () => 'endpoint',
  ),
  batch_output_missing: openai(
    400,
    (id: string, status: string, errorFile: string | null) =>
      `Batch ${id} has the status '${status}' and no output file.${errorFile ? ` What became of its requests is in ${errorFile}.` : ''}`,
    () => 'batch_id',
  ),
  invalid_beta: openai(
    400,
    (header: string, got: string) =>
      `Header ${header} is '${got}'. This API takes 'assistants=v2', or no such header at all.`,
    named,
  ),
  unsupported_value: openai(400, (_param: string, message: string) => message, named),
  thread_locked: openai(
    400,
    (thread: string, run: string) => `Can't add messages to ${thread} while a run ${run} is active.`,
    () => null,
    { code: null },
  ),
  thread_has_active_run: openai(
    400,
    (thread: string, run: string) => `Thread ${thread} already has an active run ${run}.`,
    () => null,
    { code: null },
  ),
  run_not_cancellable: openai(
    400,
    (status: string) => `Cannot cancel run with status '${status}'.`,
    () => null,
    { code: null },
  ),
  run_takes_no_outputs: openai(
    400,
    (status: string) => `Runs in status "${status}" do not accept tool outputs.`,
    () => null,
    { code: null },
  ),
  tool_outputs_mismatch: openai(
    400,
    (expected: string, got: string) => `Expected tool outputs for call_ids ${expected}, got ${got}`,
    () => null,
    { code: null },
  ),
  object_not_found: openai(
    404,
    (kind: string, id: string) => `No ${kind} found with id '${id}'.`,
    () => null,
    { code: null },
  ),
  vector_store_expired: openai(
    400,
    (id: string) => `Vector store '${id}' has expired`,
    () => null,
    { code: null },
  ),
  vector_store_file_not_found: openai(
    404,
    (fileId: string, storeId: string) => `No file found with id '${fileId}' in vector store '${storeId}'.`,
    () => null,
    { code: null },
  ),
  vector_store_file_unread: openai(
    400,
    (fileId: string, status: string) =>
      `File '${fileId}' is ${status}; its text can be read once it is completed in the vector store.`,
  ),
  file_batch_not_cancellable: openai(
    400,
    (id: string, status: string) =>
      `File batch '${id}' is ${status}; only a batch that is still in progress can be cancelled.`,
  ),
  upload_not_found: openai(
    404,
    (id: string) => `No such Upload object: ${id}`,
    () => 'id',
    { code: null },
  ),
  upload_not_pending: openai(
    400,
    (id: string, status: string) => `Upload ${id} is ${status}; only a pending upload takes parts or can be ended.`,
  ),
  too_many_upload_parts: openai(
    400,
    (most: number) =>
      `The uploads of this workspace that are not completed may have at most ${most} parts together. Complete or cancel some first, or send larger parts.`,
    () => 'data',
  ),
  upload_parts_too_large: openai(
    413,
    (most: number) =>
      `The parts of this workspace's uploads that are not completed may have at most ${most} bytes (${most / 2 ** 30} GiB) together. Complete or cancel some first.`,
    () => 'data',
  ),
  upload_size_mismatch: openai(
    400,
    (declared: number, got: number) =>
      `The parts have ${got} bytes together, but the upload was created for ${declared} bytes.`,
    () => 'part_ids',
  ),
  upload_checksum_mismatch: openai(
    400,
    (declared: string, got: string) => `The MD5 of the parts in this order is ${got}, not ${declared}.`,
    () => 'md5',
  ),
  response_not_found: openai(
    404,
    (id: string) => `Response with id '${id}' not found.`,
    () => null,
    { code: null },
  ),
  previous_response_not_found: openai(
    400,
    (id: string) => `Previous response with id '${id}' not found.`,
    () => 'previous_response_id',
  ),
  response_item_not_found: openai(
    404,
    (_param: string, id: string) =>
      `Item with id '${id}' not found. Only items of responses that were stored can be referred to: send the item itself.`,
    named,
    { code: null },
  ),
  fine_tune_not_found: openai(
    404,
    (id: string) => `Could not find fine tune: ${id}`,
    () => 'fine_tune_id',
  ),
  fine_tuning_job_state: openai(
    400,
    (id: string, status: string, wanted: string) => `Fine-tuning job ${id} is ${status}; ${wanted}.`,
    () => 'fine_tuning_job_id',
  ),
  fine_tuning_unsupported: error(
    400,
    (provider: string, supported: string) =>
      `Provider ${provider} has no fine-tuning that the gateway knows. Use a virtual key of ${supported}.`,
    () => 'x-gateway-virtual-key',
  ),
  fine_tuning_refused: error(
    502,
    (provider: string, why: string) =>
      `Provider ${provider} did not do it: ${why}. Read the job again to see how it stands.`,
  ),
  log_not_found: error(404, (id: string) => `No log entry ${id} in this workspace.`),

  // The gateway itself
  store_unavailable: error(
    503,
    () => 'The store does not answer at the moment. Nothing was changed; try again shortly.',
  ),
  blob_store_unavailable: error(
    503,
    (why: string) => `Files cannot be read or written at the moment: ${why}. Nothing was changed; try again shortly.`,
  ),
  limits_unavailable: error(
    503,
    () => 'Limits cannot be checked at the moment. Nothing was sent; try again in a second.',
  ),
  shutting_down: error(503, () => 'This process is shutting down. Try again; another one will answer.'),
  internal_error: error(
    500,
    (requestId: string) => `Something failed inside the gateway. Quote request ${requestId} to its operator.`,
  ),
};

type Catalogue = typeof catalogue;
export type ErrorCode = keyof Catalogue;
type Facts<Code extends ErrorCode> = Parameters<Catalogue[Code]['message']>;

/** An answer that is not the one hoped for: thrown anywhere, answered once. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly param: string | null;
  /** Extra response headers, such as Allow or Retry-After. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #facts: unknown[];

  constructor(code: ErrorCode, facts: unknown[], headers: Record<string, string> = {}) {
    const entry = catalogue[code] as Entry<unknown[]>;
    super(entry.message(...facts));
    this.name = 'GatewayError';
    this.code = code;
    this.status = entry.status;
    this.param = entry.param?.(...facts) ?? null;
    this.headers = headers;
    this.#facts = facts;
  }

  /** The same with further response headers. */
  with(headers: Record<string, string>): GatewayError {
    return new GatewayError(this.code, this.#facts, { ...this.headers, ...headers });
  }

  /** What its message was made of. */
  get facts(): readonly unknown[] {
    return this.#facts;
  }

  body(): { readonly error: Readonly<Record<string, unknown>> } {
    const { answered } = catalogue[this.code] as Entry<unknown[]>;
    const type = answered?.type ?? errorType(this.status);
    const code = answered?.code === null ? null : this.code;
    return { error: { message: this.message, type, param: this.param, code } };
  }

  /** The body for clients of an authorization server; null where the error is none of theirs. */
  oauthBody() {
    const { oauth } = catalogue[this.code] as Entry<unknown[]>;
    // RFC 6749 allows no other characters in a description.
    return oauth ? { error: oauth, error_description: this.message.replace(/[^\x20-\x7e]|["\\]/g, "'") } : null;
  }
}

/** Throws the catalogue's error; the facts are type-checked. */
export function fail<Code extends ErrorCode>(code: Code, ...facts: Facts<Code>): never {
  throw new GatewayError(code, facts);
}

/** The `type` of an error body, as OpenAI's SDKs know it. */
export function errorType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 429) return 'rate_limit_error';
  if (status === 408 || status === 504) return 'timeout_error';
  if (status >= 500) return 'api_error';
  return 'invalid_request_error';
}
