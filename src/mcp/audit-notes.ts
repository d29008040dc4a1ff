import { NOBODY, type NoteEvent } from '../core/audit-event.ts';
import { newId } from '../core/ids.ts';
import { uuidFrom } from '../crypto/stable-id.ts';
import type { FlaggedDefinition } from './policy/stored.ts';
import type { Connected } from './upstream-oauth/connect-pages.ts';

/** What happens at MCP servers without a request that changes something, for the audit log. */

/** Records definitions of MCP tools that have changed or hide something, once each, however many nodes notice. */
export function recordFlagged(note: NoteEvent): (flagged: FlaggedDefinition) => void {
  return ({ server, capability, what, at }) =>
    note({
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
export function recordConnected(note: NoteEvent): (connected: Connected) => void {
  return ({ server, userId, at }) =>
    note({
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
