import { sha256 } from '../../crypto/seal.ts';
import type { AnonymousCall } from '../../http/route.ts';
import { readMetadata } from '../../relay/receive.ts';
import type { Caller } from '../caller/caller.ts';
import { selected } from '../caller/identity.ts';
import { shapesIn } from '../message/argument-shapes.ts';
import type { McpServer } from '../server/server.ts';
import type { McpCall } from './call.ts';

/**
 * What the log learns of a call: which server, which tool, by which way in, the shapes of its arguments, and the names of
 * the claims that the server is told. `message` is null where it is larger than what is read at once.
 */
export function noteCall(
  { headers, log }: AnonymousCall,
  { server, caller, look }: McpCall,
  message: Uint8Array | null,
) {
  const { method, name } = look;
  log.virtualKey = server.slug;
  log.model = method === 'tools/call' ? (name ?? method) : method;
  // Nothing in an answer is a model's usage.
  log.usage = {};
  log.keepBodies = server.logsBodies;
  const identity = toldBy(server, caller);
  const claims = server.identity && identity !== 'none' ? Object.keys(selected(server.identity, caller)) : [];
  const shapes = message && (method === 'tools/call' || method === 'prompts/get') ? shapesIn(message) : null;
  log.metadata = {
    ...readMetadata(headers, caller.principal.defaults.metadata),
    ...(method !== null && { 'mcp.method': method }),
    'mcp.auth': caller.by,
    'mcp.identity': identity,
    ...(claims.length > 0 && { 'mcp.claims': claims.join(' ').slice(0, LONGEST) }),
    // A user of another identity provider has no id here, and what a token says of people stays out of logs.
    ...(caller.userId === null && caller.by !== 'api_key' && { 'mcp.user': sha256(caller.id).slice(0, 16) }),
    ...(shapes !== null && { 'mcp.arguments': shapes }),
  };
}

const LONGEST = 256;

/** How the server learns who calls; a caller without a token has none to pass on. */
function toldBy({ identity }: McpServer, { accessToken }: Caller): string {
  if (!identity || (identity.method === 'bearer' && accessToken === null)) return 'none';
  return identity.method;
}
