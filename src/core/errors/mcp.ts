import { error, named } from './entry.ts';

/** MCP servers and what is called through them. */
export const mcpErrors = {
  mcp_server_not_found: error(404, (slug: string) => `No MCP server ${slug} in this workspace.`),
  mcp_tool_set_not_found: error(404, (slug: string) => `No tool set ${slug} in this workspace.`),
  mcp_session_not_found: error(
    404,
    () => 'This session is unknown here: it ended, or it belongs to another server or caller. Initialize a new one.',
  ),
  mcp_access_denied: error(
    403,
    (slug: string) => `MCP server ${slug} is not open to this caller. Ask an administrator for access.`,
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
      `MCP server ${slug} answered ${status} to the credential that the gateway holds for it. An administrator must renew the credential.`,
  ),
  mcp_registry_off: error(
    400,
    () => 'No registry of MCP servers is named here. The operator names one by GATEWAY_MCP_REGISTRY_URL.',
  ),
  mcp_registry_failed: error(
    502,
    (host: string, why: string) => `The registry ${host} gave no list of MCP servers: ${why}.`,
  ),
  mcp_code_off: error(
    501,
    () =>
      'This gateway runs no programs of models: its code interpreter is switched off, or cannot be run here. Use /mcp or /mcp/search.',
  ),
  mcp_tool_failed: error(424, (slug: string, why: string) => `MCP server ${slug} did not do what it was asked: ${why}`),
  mcp_tools_unavailable: error(
    424,
    (label: string, why: string) => `Error retrieving tool list from MCP server: '${label}'. ${why}`,
  ),
  mcp_upstream_failed: error(
    502,
    (slug: string, status: number) => `MCP server ${slug} answered ${status}, and no message of MCP with it.`,
  ),
  mcp_session_refused: error(502, (slug: string, why: string) => `MCP server ${slug} opens no session: ${why}`),
  mcp_program_failed: error(
    502,
    (slug: string, why: string) => `MCP server ${slug} is a program, and it failed: ${why}.`,
  ),
  mcp_program_unavailable: error(
    503,
    (slug: string, why: string) => `MCP server ${slug} is a program that cannot be started now: ${why}.`,
  ),
  mcp_answer_missing: error(
    502,
    (slug: string) => `MCP server ${slug} ended its answer before it was there. The request may have been carried out.`,
  ),
  mcp_transport_unsupported: error(
    405,
    () =>
      'This asks for the HTTP+SSE transport of 2024-11-05, which is not spoken here. Use Streamable HTTP: send initialize by POST to this address.',
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
  mcp_app_not_found: error(404, (id: string) => `There is no registered application ${id}.`),
  mcp_app_without_secret: error(
    400,
    (id: string) =>
      `Application ${id} was registered without a secret; register another one with is_confidential: true.`,
  ),
  own_app_not_found: error(404, (id: string) => `You let no application ${id} call MCP servers.`),
  own_connection_not_found: error(404, (slug: string) => `You have connected no account at an MCP server ${slug}.`),
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
};
