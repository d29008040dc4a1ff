import { createServer } from 'node:http';
import { McpServer as OlderServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { createMcpHandler, McpServer as NewerServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/**
 * A program that is an MCP server with three tools, made with an official library: `bun plain-server.ts <kind> <port>`.
 * Its kinds are those of the table of clients.
 */
const [kind = '', port = '0'] = process.argv.slice(2);
const info = { name: kind, version: '1.0.0' };
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

function older(): OlderServer {
  const server = new OlderServer(info);
  server.registerTool('echo', { inputSchema: { said: z.string() } }, async ({ said }) => text(said));
  server.registerTool('secret', {}, async () => text('GOT IT'));
  server.registerTool('limited', {}, async () => text('once'));
  return server;
}

function newer(): NewerServer {
  const server = new NewerServer(info);
  server.registerTool('echo', { inputSchema: z.object({ said: z.string() }) }, async ({ said }) => text(said));
  server.registerTool('secret', {}, async () => text('GOT IT'));
  server.registerTool('limited', {}, async () => text('once'));
  return server;
}

const listen = (fetch: (request: Request) => Response | Promise<Response>) =>
  console.log(`at ${Bun.serve({ port: Number(port), hostname: '127.0.0.1', idleTimeout: 0, fetch }).url}mcp`);

const KINDS: Readonly<Record<string, () => unknown>> = {
  /** Streamable HTTP with sessions, by the library of the first line. */
  sessions: () => {
    const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
    listen(async (request) => {
      const id = request.headers.get('mcp-session-id');
      const known = id === null ? null : sessions.get(id);
      if (known) return known.handleRequest(request);
      if (id !== null) return new Response('no such session', { status: 404 });
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: (made) => void sessions.set(made, transport),
      });
      await older().connect(transport);
      return transport.handleRequest(request);
    });
  },

  /** Without sessions, of 2026-07-28 alone. */
  stateless: () => {
    const handler = createMcpHandler(newer, { legacy: 'reject' });
    listen((request) => handler.fetch(request));
  },

  /** HTTP+SSE of 2024-11-05. */
  sse: () => {
    const transports = new Map<string, SSEServerTransport>();
    const http = createServer(async (request, response) => {
      const url = new URL(request.url!, 'http://server');
      if (request.method === 'GET') {
        const transport = new SSEServerTransport('/messages', response);
        transports.set(transport.sessionId, transport);
        response.on('close', () => transports.delete(transport.sessionId));
        return older().connect(transport);
      }
      const transport = transports.get(url.searchParams.get('sessionId') ?? '');
      if (transport) return void transport.handlePostMessage(request, response);
      response.writeHead(404).end();
    });
    http.listen(Number(port), '127.0.0.1', () =>
      console.log(`at http://127.0.0.1:${(http.address() as { port: number }).port}/sse`),
    );
  },

  stdio: () => older().connect(new StdioServerTransport()),
};

if (import.meta.main) await KINDS[kind]?.();
