import type { SentHeaders } from '../../http/headers.ts';
import { isProtocol, normalised } from './header-names.ts';
import type { McpServer } from './server.ts';

/** The header that tells a server who calls. */
export interface IdentityHeader {
  readonly name: string;
  readonly value: string;
}

export interface OutgoingParts {
  /** The gateway's own credential, where it is not a stored header. */
  readonly authorization: string | null;
  readonly identity: IdentityHeader | null;
  /** The server's own session id. */
  readonly sessionId: string | null;
}

/** Set by the relay itself: what a client sent of it means something else there. */
const RELAYS_OWN = new Set(['mcp-session-id', 'content-length']);

/**
 * The headers of a call to a server, built from nothing: what the protocol needs, what the configuration forwards, the
 * server's credential, its fixed headers, and last who is calling. Of one name in several spellings the last one stays.
 */
export function outgoingHeaders(server: McpServer, sent: SentHeaders, parts: OutgoingParts): Headers {
  const lines = new Map<string, readonly [name: string, value: string]>();
  const put = (name: string, value: string) => lines.set(normalised(name), [name, value]);
  const own = withoutNominated(sent);
  for (const name in own) if (isProtocol(name) && !RELAYS_OWN.has(name)) put(name, own[name]!);
  server.forwarding(own, put);
  for (const name in server.headers) put(name, server.headers[name]!);
  if (parts.authorization !== null) put('authorization', parts.authorization);
  for (const name in server.passthroughHeaders) put(name, server.passthroughHeaders[name]!);
  if (parts.sessionId !== null) put('mcp-session-id', parts.sessionId);
  if (parts.identity) put(parts.identity.name, parts.identity.value);
  return new Headers([...lines.values()] as [string, string][]);
}

/** What `Connection` names speaks of one hop and goes no further. */
function withoutNominated(sent: SentHeaders): SentHeaders {
  const { connection } = sent;
  if (!connection || connection === 'keep-alive' || connection === 'close') return sent;
  const kept = { ...sent };
  for (const name of connection.split(',')) delete kept[name.trim().toLowerCase()];
  return kept;
}
