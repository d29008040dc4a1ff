import { BoundedMap } from '../../core/bounded-map.ts';
import { fail } from '../../core/errors.ts';
import type { Sealer } from '../../crypto/seal.ts';
import type { Caller } from '../caller/caller.ts';
import type { McpServer } from '../server/server.ts';

const MOST_KNOWN = 10_000;
/** Longer than any that was sealed here. */
const LONGEST_SEALED = 4_096;

/** A session as its client and as its server knows it. */
export interface KnownSession {
  readonly sealed: string;
  readonly id: string;
}

/**
 * The session ids of older clients. A client holds the server's id sealed together with the server and itself, so that
 * any node can serve it, nothing is stored, and no other client can use it.
 */
export interface Sessions {
  /** Throws 502 for an id that no client could send back. */
  seal(server: Pick<McpServer, 'id'>, caller: Caller, sessionId: string): string;
  /** The server's own id; throws 404 for what was not sealed for this server and this caller. */
  open(server: Pick<McpServer, 'id'>, caller: Caller, sealed: string): string;
}

export function createSessions({ sealer, now }: { sealer: Sealer; now: () => number }): Sessions {
  const known = new BoundedMap<string, string>(MOST_KNOWN);
  const contextOf = (server: Pick<McpServer, 'id'>, caller: Caller) => `${server.id}\n${caller.id}`;
  const remember = (key: string, sessionId: string): string => {
    known.set(key, sessionId);
    return sessionId;
  };
  return {
    seal: (server, caller, sessionId) => {
      const context = contextOf(server, caller);
      const sealed = sealer.seal('mcp-session', context, JSON.stringify({ sid: sessionId, iat: now() }));
      if (sealed.length > LONGEST_SEALED)
        fail('upstream_failed', 'MCP server', `its session id has ${sessionId.length} characters`);
      remember(`${context}\n${sealed}`, sessionId);
      return sealed;
    },
    open: (server, caller, sealed) => {
      if (sealed.length > LONGEST_SEALED) return fail('mcp_session_not_found');
      const context = contextOf(server, caller);
      const key = `${context}\n${sealed}`;
      const sessionId = known.get(key);
      if (sessionId !== undefined) return remember(key, sessionId);
      try {
        return remember(key, (JSON.parse(sealer.open('mcp-session', context, sealed)) as { sid: string }).sid);
      } catch {
        return fail('mcp_session_not_found');
      }
    },
  };
}
