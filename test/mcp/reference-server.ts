import {
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serve } from '../gateway.ts';
import { registerContent } from './reference-content.ts';
import { registerQuestions, type State } from './reference-questions.ts';
import { type Runs, registerTools } from './reference-tools.ts';

export interface ReferenceServer {
  /** The MCP endpoint. */
  readonly url: string;
  readonly runs: Runs;
  /** Sessions of older clients that are open. */
  readonly sessions: number;
  stop(): void;
}

const states = createRequestStateCodec<State>({ key: 'a key of at least thirty-two bytes for tests only' });

/** An MCP server with everything the official conformance suite asks for, for clients of both eras. */
export function startReferenceServer(): ReferenceServer {
  const runs: Runs = new Map();
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const create = (changed: { tools(): void; prompts(): void }): McpServer => {
    const server = new McpServer(
      { name: 'reference', version: '1.0.0' },
      {
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          completions: {},
          logging: {},
        },
        requestState: { verify: (state, context) => states.verify(state, context) },
      },
    );
    registerTools(server, { runs, changed });
    registerQuestions(server, states);
    registerContent(server);
    return server;
  };

  const modern = createMcpHandler(
    () => create({ tools: () => modern.notify.toolsChanged(), prompts: () => modern.notify.promptsChanged() }),
    { legacy: 'reject' },
  );

  const openSession = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = create({ tools: () => server.sendToolListChanged(), prompts: () => server.sendPromptListChanged() });
    // The SDK leaves subscriptions to the server.
    server.server.setRequestHandler('resources/subscribe', () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', () => ({}));
    await server.connect(transport);
    return transport;
  };

  const legacy = async (request: Request): Promise<Response> => {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? await openSession() : sessions.get(id);
    return known ? known.handleRequest(request) : new Response('no such session', { status: 404 });
  };

  const { origin, stop } = serve(async (request) => {
    if (new URL(request.url).pathname !== '/mcp') return new Response(null, { status: 404 });
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins());
    if (refused) return refused;
    return (await isLegacyRequest(request)) ? legacy(request) : modern.fetch(request);
  });
  return {
    url: `${origin}/mcp`,
    runs,
    get sessions() {
      return sessions.size;
    },
    stop: () => {
      void modern.close();
      stop();
    },
  };
}

if (import.meta.main) console.log(`MCP reference server at ${startReferenceServer().url}`);
