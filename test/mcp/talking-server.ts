import { serve } from '../gateway.ts';

/** An MCP server of the version with sessions that asks, polls, breaks off and speaks by itself. */
export interface TalkingServer {
  readonly url: string;
  /** Answers that clients gave to its questions. */
  readonly answers: Record<string, unknown>[];
  /** What the client said it can be asked. */
  readonly capabilities: unknown[];
  /** How many streams are open on which it speaks by itself. */
  readonly listeners: number;
  /** Says something by itself, to everybody. */
  say(message: Record<string, unknown>): void;
  stop(): void;
}

const EVENTS = { 'content-type': 'text/event-stream' };
const event = (message: unknown, head = '') => `${head}data: ${JSON.stringify(message)}\n\n`;
const said = (id: unknown, text: string) => ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });

/** Its tools: `ask` asks the user, `poll` ends its stream and answers on the next, `break` ends it for good. */
export function startTalkingServer({ instructions }: { readonly instructions?: string } = {}): TalkingServer {
  const answers: Record<string, unknown>[] = [];
  const capabilities: unknown[] = [];
  const listeners = new Set<ReadableStreamDefaultController<string>>();
  const waiting = new Map<unknown, (answer: Record<string, unknown>) => void>();
  const polled = new Map<string, unknown>();
  let questions = 100;

  const asking = (id: unknown) =>
    new ReadableStream<string>({
      async start(controller) {
        const question = questions++;
        const params = { message: 'Who is it?', requestedSchema: { type: 'object', properties: {} } };
        const answer = new Promise<Record<string, unknown>>((resolve) => waiting.set(question, resolve));
        controller.enqueue(event({ jsonrpc: '2.0', id: question, method: 'elicitation/create', params }));
        const { result, error } = await answer;
        controller.enqueue(event(said(id, JSON.stringify(result ?? error))));
        controller.close();
      },
    });

  const called = (id: unknown, name: string): Response => {
    if (name === 'ask') return new Response(asking(id) as unknown as ReadableStream, { headers: EVENTS });
    if (name === 'poll') {
      const place = `place-${polled.size}`;
      polled.set(place, id);
      return new Response(`id: ${place}\nretry: 10\ndata:\n\n`, { headers: EVENTS });
    }
    if (name === 'break') return new Response(': working\n\n', { headers: EVENTS });
    return Response.json(said(id, name));
  };

  const { origin, stop } = serve(async (request) => {
    if (request.method === 'GET') {
      const last = request.headers.get('last-event-id');
      if (last !== null) return new Response(event(said(polled.get(last), 'polled')), { headers: EVENTS });
      const stream = new ReadableStream<string>({
        start: (controller) => {
          listeners.add(controller);
          request.signal.addEventListener('abort', () => listeners.delete(controller));
        },
      });
      return new Response(stream as unknown as ReadableStream, { headers: EVENTS });
    }
    if (request.method !== 'POST') return new Response(null, { status: 204 });
    const message = (await request.json()) as Record<string, unknown> & { params?: Record<string, unknown> };
    const { id, method, params = {} } = message;
    if (method === undefined) {
      answers.push(message);
      waiting.get(id)?.(message);
      return new Response(null, { status: 202 });
    }
    if (id === undefined) return new Response(null, { status: 202 });
    if (method === 'initialize') {
      capabilities.push(params.capabilities);
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
        serverInfo: { name: 'talking', version: '1' },
        instructions,
      };
      return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': crypto.randomUUID() } });
    }
    if (method === 'tools/call') return called(id, String(params.name));
    const tools = ['ask', 'poll', 'break', 'odd.name/ü'].map((name) => ({ name, inputSchema: { type: 'object' } }));
    if (method === 'tools/list') return Response.json({ jsonrpc: '2.0', id, result: { tools } });
    if (method === 'resources/subscribe') return Response.json({ jsonrpc: '2.0', id, result: {} });
    const error = { code: -32_601, message: 'no such method' };
    return Response.json({ jsonrpc: '2.0', id, error }, { status: method === 'server/discover' ? 400 : 200 });
  });
  return {
    url: `${origin}/mcp`,
    answers,
    capabilities,
    get listeners() {
      return listeners.size;
    },
    say: (message) => {
      for (const controller of listeners) controller.enqueue(event({ jsonrpc: '2.0', ...message }));
    },
    stop,
  };
}
