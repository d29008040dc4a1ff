import { NOBODY } from './audit/record.ts';
import type { AuditTrail } from './audit/trail.ts';
import { newId } from './core/ids.ts';
import { sha256 } from './crypto/seal.ts';
import type { FlaggedDefinition } from './mcp/policy/stored.ts';
import type { Connected } from './mcp/upstream-oauth/connect-pages.ts';

/** What happens at MCP servers without a request that changes something, for the audit log. */

/** Records definitions of MCP tools that have changed or hide something, once each, however many nodes notice. */
export function recordFlagged(trail: Pick<AuditTrail, 'note'>): (flagged: FlaggedDefinition) => void {
  return ({ server, capability, what, at }) =>
    trail.note({
      id: uuidFrom(`${server.id} ${capability.type} ${capability.name} ${capability.hash} ${what}`),
      at,
      caller: {
        organisationId: server.organisationId,
        workspaceId: server.workspaceId,
        type: 'api_key',
        id: NOBODY,
      },
      resource: 'mcp_servers',
      action: 'flag',
      uri: '',
      status: 200,
      body: {
        mcp_server: server.slug,
        type: capability.type,
        name: capability.name,
        hash: capability.hash,
        what,
      },
    });
}

/** Records that a user has connected an account: the browser comes back with a GET, which is no change by its method. */
export function recordConnected(trail: Pick<AuditTrail, 'note'>): (connected: Connected) => void {
  return ({ server, userId, at }) =>
    trail.note({
      id: newId(),
      at,
      caller: {
        organisationId: server.organisationId,
        workspaceId: server.workspaceId,
        type: 'user',
        id: userId,
      },
      resource: 'mcp_connections',
      action: 'connect',
      uri: '/oauth/upstream-callback',
      status: 303,
      body: { mcp_server: server.slug },
    });
}

/** The same text is the same UUID (version 8: of our own making). */
function uuidFrom(text: string): string {
  const hex = sha256(text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
