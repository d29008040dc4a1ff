import { serve } from '../gateway.ts';

/** A request as an MCP server sees it. */
export interface Recorded {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Recorder {
  readonly url: string;
  readonly requests: readonly Recorded[];
  /** The last one. */
  readonly last: Recorded;
  stop(): void;
}

const RESULT = { jsonrpc: '2.0', id: 1, result: {} };

/** An MCP server that does nothing but remember what it was sent. */
export function startRecorder(
  answer: (request: Recorded) => Response | Promise<Response> = () => Response.json(RESULT),
): Recorder {
  const requests: Recorded[] = [];
  const { origin, stop } = serve(async (request) => {
    const recorded = {
      method: request.method,
      headers: request.headers.toJSON() as Record<string, string>,
      body: await request.text(),
    };
    requests.push(recorded);
    return answer(recorded);
  });
  return {
    url: `${origin}/mcp`,
    requests,
    get last() {
      const last = requests.at(-1);
      if (!last) throw new Error('nothing was recorded');
      return last;
    },
    stop,
  };
}

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: object;
}

/** A server with a few tools that do nothing and become others when a test says so; it answers in JSON or in events. */
export function startMcpServer(first: readonly OfferedTool[], { isStream = false } = {}) {
  let tools = first;
  const { url, requests, stop } = startRecorder(({ body }) => {
    const { id, method } = JSON.parse(body || '{}');
    if (id === undefined) return new Response(null, { status: 202 });
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: results(tools)[method] ?? { content: [] } });
    return new Response(isStream ? `data: ${text}\n\n` : text, {
      headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
    });
  });
  return {
    url,
    requests,
    stop,
    becomes: (next: readonly OfferedTool[]) => {
      tools = next;
    },
  };
}

const results = (tools: readonly OfferedTool[]): Readonly<Record<string, object>> => ({
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'changing', version: '3' },
  },
  'tools/list': { tools },
});

export const message = (method: string, params: Record<string, unknown> = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
});
export const toolCall = (name = 'echo') => message('tools/call', { name, arguments: {} });
