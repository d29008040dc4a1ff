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

export const message = (method: string, params: Record<string, unknown> = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
});
export const toolCall = (name = 'echo') => message('tools/call', { name, arguments: {} });
