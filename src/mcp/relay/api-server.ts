import { GatewayError } from '../../core/errors.ts';
import { sentHeaders } from '../../http/headers.ts';
import type { Incoming, Outgoing, Upstream } from '../../http/upstream.ts';
import { type ReadMessage, readMessages, refused } from '../message/message.ts';
import { RPC, type RpcId } from '../message/rpc-error.ts';
import { agreedVersion, isStateless, META, STATELESS, STATELESS_RESULT } from '../message/versions.ts';
import { ArgumentFault, requestOf } from '../openapi/request.ts';
import { normalised } from '../server/header-names.ts';
import type { OfferedTools } from '../server/offered-tools.ts';
import type { McpServer } from '../server/server.ts';
import { toolAnswer, toolFault } from './api-answer.ts';

type ApiServer = Pick<McpServer, 'name' | 'slug' | 'url' | 'authType'>;
interface Asked extends Outgoing {
  readonly headers: Headers;
}

const IDLE_MS = 30_000;
const TOTAL_MS = 120_000;
const MOST_MESSAGE_BYTES = 16 << 20;
/** What is between client and gateway. An API is asked in its own way. */
const OF_MCP = ['accept', 'accept-encoding', 'content-type', 'content-encoding', 'content-length', 'last-event-id'];

/** Answers for an API as an MCP server of every version would, and calls the API for its tools. It has no sessions. */
export function createApiServer({ upstream, version }: { readonly upstream: Upstream; readonly version: string }) {
  const call = async (server: ApiServer, api: OfferedTools, { params, id }: ReadMessage, asked: Asked) => {
    const tool = api.byName.get(String(params.name));
    if (!tool)
      throw refused(`there is no tool ${JSON.stringify(String(params.name).slice(0, 80))}`, RPC.invalidParams, id);
    const { arguments: given = {} } = params;
    if (given === null || typeof given !== 'object' || Array.isArray(given))
      throw refused('params.arguments is no object', RPC.invalidParams, id);
    let request: ReturnType<typeof requestOf>;
    try {
      request = requestOf(tool, given as Record<string, unknown>, server.url);
    } catch (error) {
      if (error instanceof ArgumentFault) return toolFault(error.message);
      throw error;
    }
    const incoming = await upstream.send({
      method: tool.method.toUpperCase(),
      url: request.url,
      headers: headersOf(asked.headers, request),
      body: request.body?.bytes ?? null,
      ...(asked.signal && { signal: asked.signal }),
      timeouts: { ...asked.timeouts, idleMs: IDLE_MS, totalMs: TOTAL_MS },
      resend: tool.method === 'get',
    });
    // Tokens that the gateway has got are renewed by those who know them, and users are led to connect again.
    if (isAboutToken(server, incoming)) return incoming;
    return toolAnswer(incoming);
  };

  const resultOf = async (server: ApiServer, api: OfferedTools, message: ReadMessage, asked: Asked) => {
    const isNewer = isStateless(asked.headers.get('mcp-protocol-version'));
    const serverInfo = { name: api.title ?? server.name, version: api.version ?? version };
    switch (message.method) {
      case 'initialize':
        return {
          protocolVersion: agreedVersion(message.params.protocolVersion),
          capabilities: { tools: {} },
          serverInfo,
        };
      case 'server/discover':
        if (!isNewer) return null;
        return {
          supportedVersions: [STATELESS],
          capabilities: { tools: {} },
          _meta: { [`${META}/serverInfo`]: serverInfo },
        };
      case 'ping':
        return {};
      case 'tools/call':
        return call(server, api, message, asked);
      default:
        return null;
    }
  };

  return async (server: ApiServer, api: OfferedTools, asked: Asked): Promise<Incoming> => {
    // Nothing is said but in answers, and no session is kept.
    if (asked.method !== 'POST') return answered(405, null, { allow: 'POST' });
    const { body } = asked;
    if (!(body instanceof Uint8Array) || body.byteLength > MOST_MESSAGE_BYTES)
      throw new GatewayError('mcp_message_refused', [
        `its server takes messages of at most ${MOST_MESSAGE_BYTES} bytes`,
      ]);
    const [message, another] = readMessages(body, sentHeaders(asked.headers));
    if (!message || another) throw new GatewayError('mcp_message_refused', ['its server takes one message at a time']);
    const { id, method } = message;
    if (method === null || !message.isRequest) return answered(202, null);
    const newer = isStateless(asked.headers.get('mcp-protocol-version')) ? STATELESS_RESULT : {};
    if (method === 'tools/list') {
      const told = JSON.stringify({ jsonrpc: '2.0', id, result: newer });
      const inside = `"tools":${api.list}${told.endsWith('{}}') ? '' : ','}`;
      return answered(
        200,
        told.replace('"result":{', () => `"result":{${inside}`),
      );
    }
    const result = await resultOf(server, api, message, asked);
    if (result && 'read' in result) return result;
    if (!result) return answered(200, failure(id, -32_601, 'The server does not know this method.'));
    return answered(200, JSON.stringify({ jsonrpc: '2.0', id, result: { ...newer, ...result } }));
  };
}

const failure = (id: RpcId, code: number, message: string) =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });

/** The gateway's credentials and who is calling, then what the operation says; never one in the place of the other. */
function headersOf(sent: Headers, { headers: said, body }: ReturnType<typeof requestOf>): Headers {
  const headers = new Headers(sent);
  for (const name of [...headers.keys()]) if (name.startsWith('mcp-') || OF_MCP.includes(name)) headers.delete(name);
  const names = new Map([...headers.keys()].map((name) => [normalised(name), name]));
  for (const [name, value] of said) {
    const same = names.get(normalised(name));
    if (same !== undefined) headers.delete(same);
    headers.set(name, value);
  }
  headers.set('accept', 'application/json, text/*;q=0.9, */*;q=0.5');
  headers.set('accept-encoding', 'identity');
  if (body) headers.set('content-type', body.type);
  return headers;
}

const isAboutToken = ({ authType }: ApiServer, { status, headers }: Incoming): boolean =>
  (authType === 'oauth_auto' || authType === 'oauth_client_credentials') &&
  (status === 401 || (status === 403 && /\binsufficient_scope\b/.test(headers.get('www-authenticate') ?? '')));

function answered(status: number, text: string | null, more: Record<string, string> = {}): Incoming {
  const bytes = Buffer.from(text ?? '');
  let isRead = false;
  return {
    status,
    statusText: '',
    headers: new Headers({
      ...(text !== null && { 'content-type': 'application/json' }),
      'content-length': String(bytes.byteLength),
      ...more,
    }),
    read: async () => {
      const piece = isRead || bytes.byteLength === 0 ? null : bytes;
      isRead = true;
      return piece;
    },
    bytes: async () => bytes,
    cancel: () => {},
  };
}
