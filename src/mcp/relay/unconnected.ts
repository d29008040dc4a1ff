import { GatewayError } from '../../core/errors.ts';
import { json } from '../../http/reply.ts';
import { LIST_METHODS } from '../message/capability.ts';
import { envelopeOf } from '../message/look.ts';
import { agreedVersion, META, STATELESS, STATELESS_RESULT } from '../message/versions.ts';
import type { McpCall } from './call.ts';
import type { Sessions } from './sessions.ts';

/** The session of a user without an account at the server: of the gateway's own, and over when there is one. */
export const UNCONNECTED = 'gateway: not connected';

/** What a client without an account finds in the place of the server's tools. */
const TOOL = 'connect_account';

export interface UnconnectedDeps {
  readonly sessions: Sessions;
  readonly version: string;
}

/**
 * What the gateway answers in the place of a server that a user has no account at yet: a client can start, finds one
 * tool, and whatever it calls leads its user to connect. Null for any other failure, and what is not of that kind.
 */
export function unconnectedAnswer(
  error: unknown,
  { server, caller, isStateless }: McpCall,
  message: { readonly method: string; readonly body: Uint8Array | null },
  { sessions, version }: UnconnectedDeps,
): Response | null {
  if (!(error instanceof GatewayError) || error.code !== 'mcp_connection_required') return null;
  if (message.method === 'DELETE') return new Response(null, { status: 204 });
  // There is no stream to listen to yet, which clients take as such.
  if (message.method === 'GET') return new Response(null, { status: 405, headers: { allow: 'POST, DELETE' } });
  const envelope = message.body && envelopeOf(message.body);
  if (!envelope) return null;
  const { id, method } = envelope;
  if (id === null) return new Response(null, { status: 202 });
  const serverInfo = { name: server.name, version };
  const about = { capabilities: { tools: {} }, instructions: error.message };
  const told = (result: object) =>
    json({ jsonrpc: '2.0', id, result: { ...(isStateless && STATELESS_RESULT), ...result } });
  if (method === 'initialize' && !isStateless) {
    const answer = told({ protocolVersion: agreedVersion(versionIn(message.body!)), serverInfo, ...about });
    answer.headers.set('mcp-session-id', sessions.seal(server, caller, UNCONNECTED));
    return answer;
  }
  if (method === 'server/discover' && isStateless)
    return told({ supportedVersions: [STATELESS], _meta: { [`${META}/serverInfo`]: serverInfo }, ...about });
  if (method === 'ping') return told({});
  const list = LIST_METHODS[method ?? ''];
  if (list === undefined) return null;
  return told({ [list]: list === 'tools' ? [connectTool(server.name, error.message)] : [] });
}

function versionIn(body: Uint8Array): unknown {
  const { params } = JSON.parse(new TextDecoder().decode(body)) as { params?: { protocolVersion?: unknown } };
  return params?.protocolVersion;
}

const connectTool = (server: string, why: string) => ({
  name: TOOL,
  title: `Connect ${server}`,
  description: `Shows the user how to connect their account at ${server}. Its tools are there afterwards. ${why}`,
  inputSchema: { type: 'object', properties: {} },
});
