import { GatewayError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Principal } from '../core/principal.ts';
import { SseParser } from '../dialects/sse.ts';
import type { SentHeaders } from '../http/headers.ts';
import { asGatewayError } from '../http/reply.ts';
import type { AnonymousCallAt } from '../http/route.ts';
import { sessionIn } from '../http/session-id.ts';
import type { HostedCaller } from '../relay/hosted/hosted-tool.ts';
import type { RequestLog } from '../telemetry/request-log.ts';
import { META, STATELESS } from './message/versions.ts';
import { initialize, WITH_SESSIONS } from './relay/probe.ts';

export interface HostedClientDeps {
  /** A call of a server like that of any MCP client: identity, policy and limits are those of its key. */
  readonly relay: (call: AnonymousCallAt<'server'>, who: Principal) => Promise<Response>;
  readonly log: Pick<RequestLog, 'open'>;
  readonly version: string;
  readonly now: () => number;
}

type Message = Readonly<Record<string, unknown>>;

/** A conversation with one server in the name of a caller, for as long as a response is made. */
export interface ServerTalk {
  /** The result of a request. Throws a GatewayError: what the server or the gateway refused. */
  ask(method: string, params: Message): Promise<Message>;
  close(): Promise<void>;
}

/** They are about the one message that the client sent. */
const NOT_REPEATED =
  /^(?:content-.*|transfer-encoding|expect|host|accept|accept-encoding|connection|idempotency-key|mcp-.*|traceparent|tracestate|origin|cookie)$/;
const ANSWERS = 'application/json, text/event-stream';
const MOST_BYTES = 4 << 20;
const LEAVING_MS = 10_000;

export async function talkTo(slug: string, caller: HostedCaller, deps: HostedClientDeps): Promise<ServerTalk> {
  const { version } = deps;
  const send = sender(slug, caller, deps);
  let number = 1;
  const greeting = await send('POST', initialize(version), { 'mcp-protocol-version': WITH_SESSIONS });
  const session = resultOf(greeting.message) ? greeting.session : null;
  const isStateless = !resultOf(greeting.message);
  const older: Record<string, string> = {
    'mcp-protocol-version': WITH_SESSIONS,
    ...(session !== null && { 'mcp-session-id': session }),
  };
  if (!isStateless) await send('POST', { jsonrpc: '2.0', method: 'notifications/initialized' }, older);
  const own = {
    [`${META}/protocolVersion`]: STATELESS,
    [`${META}/clientInfo`]: { name: 'gateway', version },
    [`${META}/clientCapabilities`]: {},
  };
  return {
    ask: async (method, params) => {
      const newer: Record<string, string> = {
        'mcp-protocol-version': STATELESS,
        'mcp-method': method,
        ...(typeof params.name === 'string' && { 'mcp-name': params.name }),
      };
      const said = isStateless ? { ...params, _meta: own } : params;
      const message = { jsonrpc: '2.0', id: ++number, method, params: said };
      const { message: answer, status } = await send('POST', message, isStateless ? newer : older);
      const result = resultOf(answer);
      if (result) return result;
      const why = answer?.error as { message?: unknown } | undefined;
      throw new GatewayError('mcp_tool_failed', [
        slug,
        String(why?.message ?? `it answered ${status}`).slice(0, 2_000),
      ]);
    },
    close: async () => {
      if (session !== null) await send('DELETE', null, older).catch(() => {});
    },
  };
}

const resultOf = (message: Message | null): Message | null =>
  message !== null && typeof message.result === 'object' && message.result !== null
    ? (message.result as Message)
    : null;

interface Answered {
  readonly status: number;
  readonly session: string | null;
  readonly message: Message | null;
}

function sender(
  slug: string,
  { who, whoNow, headers: given, signal, traceId }: HostedCaller,
  { relay, log, now }: HostedClientDeps,
) {
  const own: Record<string, string> = {};
  for (const name in given) if (!NOT_REPEATED.test(name) && given[name] !== undefined) own[name] = given[name];
  return async (method: 'POST' | 'DELETE', message: Message | null, extra: SentHeaders): Promise<Answered> => {
    const requestId = newId<string>();
    const path = `/${slug}/mcp`;
    const body = message === null ? null : Buffer.from(JSON.stringify(message));
    // A session is left also where the client has gone, which ends everything else.
    const until = method === 'DELETE' ? AbortSignal.timeout(LEAVING_MS) : signal;
    const entry = log.open({
      ...{ id: requestId, traceId: traceId ?? requestId, method, path, route: '/:server/mcp', clientAddress: '' },
      ...{ startedAt: now(), startedMono: performance.now(), isInternal: true },
    });
    entry.sessionId = sessionIn(own);
    const headers: SentHeaders = {
      ...own,
      ...extra,
      accept: ANSWERS,
      ...(body && { 'content-type': 'application/json', 'content-length': String(body.byteLength) }),
    };
    try {
      const asks = whoNow && method !== 'DELETE' ? await whoNow() : who;
      const response = await relay(
        {
          ...{
            request: new Request(`http://gateway.invalid${path}`, { method, body, signal: until }),
            headers,
            requestId,
            path,
          },
          stamp: { 'x-gateway-request-id': requestId, 'x-request-id': requestId },
          ...{ search: '', params: { server: slug }, query: undefined, body: undefined },
          identify: (known) => {
            entry.organisationId = known.organisationId;
            entry.workspaceId = known.workspaceId;
            entry.apiKeyId = known.keyId;
            entry.userId = known.userId;
          },
          ...{ providerKey: null, clientAddress: '', log: entry, now: now() },
        },
        asks,
      );
      if (!entry.closesLater) entry.close({ status: response.status });
      const session = response.headers.get('mcp-session-id');
      const id = message?.id;
      return { status: response.status, session, message: id === undefined ? null : await messageIn(response, id) };
    } catch (error) {
      const failure = asGatewayError(error, requestId);
      entry.close({ status: failure.status, failedBy: 'gateway', errorCode: failure.code });
      throw error;
    }
  };
}

/** The answer to a request; what else a stream tells is passed over. */
async function messageIn(response: Response, id: unknown): Promise<Message | null> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
  if (!isStream) return parsed(await response.text());
  const parser = new SseParser({ mostBytes: MOST_BYTES });
  const reader = response.body!.getReader();
  try {
    for (;;) {
      const { value } = await reader.read();
      for (const { data } of value ? parser.push(value) : parser.end()) {
        const message = parsed(data);
        if (message?.id === id) return message;
      }
      if (!value) return null;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parsed(text: string): Message | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? (value as Message) : null;
  } catch {
    return null;
  }
}
