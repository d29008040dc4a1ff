import { GatewayError } from '../../core/errors.ts';
import { maskedAddress } from '../../core/masked-address.ts';
import type { Principal } from '../../core/principal.ts';
import { type Incoming, UpstreamFailure } from '../../http/upstream.ts';
import { type CallerDeps, callerOfKey } from '../caller/caller.ts';
import { identityHeader } from '../caller/identity.ts';
import type { IdentityTokens } from '../caller/identity-tokens.ts';
import { META, STATELESS } from '../message/versions.ts';
import { outgoingHeaders } from '../server/outgoing-headers.ts';
import type { McpServer } from '../server/server.ts';
import { toldToOwners } from './program-conversation.ts';
import type { ServerTransport } from './server-transport.ts';
import type { UpstreamAuth } from './upstream-auth.ts';

/** How one call to a server went. */
export interface Probe {
  readonly success: boolean;
  readonly status_code: number | null;
  readonly response_time_ms: number;
  readonly url: string;
  readonly server_name: string | null;
  readonly protocol_version: string | null;
  readonly error: string | null;
}

export interface ProbeDeps extends Pick<CallerDeps, 'findUser'> {
  readonly identityTokens: IdentityTokens | null;
  readonly upstreamAuth: UpstreamAuth;
  readonly transport: Pick<ServerTransport, 'send'>;
  readonly version: string;
}

const TIMEOUT_MS = 10_000;
const TIMEOUTS = { connectMs: TIMEOUT_MS, firstByteMs: TIMEOUT_MS, idleMs: TIMEOUT_MS, totalMs: TIMEOUT_MS };
const MOST_BYTES = 256 << 10;
export const WITH_SESSIONS = '2025-11-25';

export interface ServerReply {
  readonly status: number;
  readonly sessionId: string | null;
  readonly result: Record<string, unknown> | null;
}

/** Greets a server as a client of this key would, first in the older way, which most still understand. */
export async function probe(server: McpServer, principal: Principal, deps: ProbeDeps): Promise<Probe> {
  const started = performance.now();
  const outcome = (facts: Partial<Probe>): Probe => ({
    success: false,
    status_code: null,
    response_time_ms: Math.round(performance.now() - started),
    url: maskedAddress(server.url),
    server_name: null,
    protocol_version: null,
    error: null,
    ...facts,
  });
  try {
    const greet = await greeter(server, principal, deps);
    const older = await greet('POST', initialize(deps.version), { 'mcp-protocol-version': WITH_SESSIONS });
    if (older.sessionId !== null) await greet('DELETE', null, { 'mcp-session-id': older.sessionId });
    const newer = older.result ? null : await greet('POST', discover(deps.version), STATELESS_HEADERS);
    const said = newer?.result ? newer : older;
    if (!said.result)
      return outcome({ status_code: said.status, error: `It answered ${said.status} without a result.` });
    return outcome({
      success: true,
      status_code: said.status,
      server_name: nameIn(said.result),
      protocol_version: said === newer ? STATELESS : textIn(said.result, 'protocolVersion'),
    });
  } catch (error) {
    if (error instanceof UpstreamFailure) return outcome({ error: toldToOwners(error) });
    if (error instanceof GatewayError) return outcome({ error: error.message });
    throw error;
  }
}

/** A way to ask a server something as this key would. */
export async function greeter(server: McpServer, principal: Principal, deps: ProbeDeps, mostBytes = MOST_BYTES) {
  const caller = await callerOfKey(principal, null, deps);
  const identity = await identityHeader(server, caller, deps.identityTokens);
  const authorization = await deps.upstreamAuth.authorizationFor(server, caller);
  return async (method: 'POST' | 'DELETE', message: unknown, extra: Record<string, string>): Promise<ServerReply> => {
    const { 'mcp-session-id': sessionId = null, ...protocol } = extra;
    const sent = { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...protocol };
    const incoming = await deps.transport.send(server, {
      method,
      caller: caller.id,
      url: server.url,
      headers: outgoingHeaders(server, sent, { authorization, identity, sessionId }),
      body: message === null ? null : Buffer.from(JSON.stringify(message)),
      timeouts: TIMEOUTS,
    });
    const { status } = incoming;
    return {
      status,
      sessionId: incoming.headers.get('mcp-session-id'),
      result: await firstResult(incoming, mostBytes),
    };
  };
}

/** The result of the first answer, as JSON or as an event; the stream is not waited for any longer. */
async function firstResult(incoming: Incoming, mostBytes: number): Promise<Record<string, unknown> | null> {
  const isStream = (incoming.headers.get('content-type') ?? '').startsWith('text/event-stream');
  let text = '';
  const decoder = new TextDecoder();
  for (let piece = await incoming.read(); piece && text.length < mostBytes; piece = await incoming.read()) {
    text += decoder.decode(piece, { stream: true });
    const found = isStream ? resultIn(eventData(text)) : null;
    if (found) {
      incoming.cancel();
      return found;
    }
  }
  incoming.cancel();
  return isStream ? null : resultIn([text]);
}

/** The data of every event that has arrived whole. */
const eventData = (text: string): string[] =>
  text
    .split(/\r?\n\r?\n/)
    .slice(0, -1)
    .map((event) =>
      event
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
        .join('\n'),
    );

function resultIn(texts: readonly string[]): Record<string, unknown> | null {
  for (const text of texts) {
    try {
      const { result } = JSON.parse(text) as { result?: unknown };
      if (result !== null && typeof result === 'object') return result as Record<string, unknown>;
    } catch {
      // A comment, or no JSON at all: not an answer.
    }
  }
  return null;
}

export const initialize = (version: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: WITH_SESSIONS, capabilities: {}, clientInfo: { name: 'gateway', version } },
});

export const STATELESS_HEADERS = { 'mcp-protocol-version': STATELESS, 'mcp-method': 'server/discover' };
export const discover = (version: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'server/discover',
  params: {
    _meta: {
      [`${META}/protocolVersion`]: STATELESS,
      [`${META}/clientInfo`]: { name: 'gateway', version },
      [`${META}/clientCapabilities`]: {},
    },
  },
});

export const textIn = (value: unknown, name: string): string | null => {
  const found = value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[name] : null;
  return typeof found === 'string' ? found.slice(0, 256) : null;
};
/** Stateless servers name themselves in `_meta`. */
export const nameIn = (result: Record<string, unknown>): string | null =>
  textIn(result.serverInfo, 'name') ??
  textIn((result._meta as Record<string, unknown> | undefined)?.[`${META}/serverInfo`], 'name');
