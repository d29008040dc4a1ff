import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { z } from 'zod';

/** A server that speaks the HTTP+SSE transport of 2024-11-05, made with the official library of that time. */
export async function startOldServer() {
  const seen: { method: string; headers: IncomingHttpHeaders }[] = [];
  const transports = new Map<string, SSEServerTransport>();
  let opened = 0;
  const http = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://server');
    seen.push({ method: request.method!, headers: request.headers });
    if (request.method === 'GET' && url.pathname === '/sse') {
      opened++;
      const transport = new SSEServerTransport('/messages', response);
      transports.set(transport.sessionId, transport);
      response.on('close', () => transports.delete(transport.sessionId));
      await tools(() => response.destroy()).connect(transport);
      return;
    }
    const transport = transports.get(url.searchParams.get('sessionId') ?? '');
    if (request.method === 'POST' && transport) return void transport.handlePostMessage(request, response);
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/sse`,
    seen,
    /** Streams that are open now, and that ever were. */
    streams: () => ({ open: transports.size, ever: opened }),
    stop: () => {
      http.closeAllConnections();
      http.close();
    },
  };
}

function tools(die: () => void): McpServer {
  const server = new McpServer({ name: 'Old', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
  server.registerTool('echo', { inputSchema: { said: z.string() } }, async ({ said }) => text(said));
  server.registerTool('steps', {}, async ({ _meta, sendNotification }) => {
    for (const progress of [1, 2])
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken: _meta!.progressToken!, progress },
      });
    return text('done');
  });
  server.registerTool('ask', {}, async () => {
    const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
    const { action, content } = await server.server.elicitInput({ message: 'Who?', requestedSchema });
    return text(`${action} ${content?.name}`);
  });
  server.registerTool('grow', {}, async () => {
    server.registerTool('grown', {}, async () => text('new'));
    return text('grown');
  });
  server.registerTool('die', {}, async () => {
    die();
    return text('never seen');
  });
  return server;
}
