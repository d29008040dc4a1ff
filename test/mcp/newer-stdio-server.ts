import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

/** A program of the newer version of the protocol, which knows the older ones as well. */
serveStdio(() => {
  const server = new McpServer({ name: 'Newer', version: '2.0.0' }, { capabilities: { tools: { listChanged: true } } });
  const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
  server.registerTool('echo', { inputSchema: z.object({ said: z.string() }) }, async ({ said }) => text(said));
  server.registerTool('who', {}, async (context) =>
    text(String(context.mcpReq._meta?.['ai.gateway/user-token'] ?? 'nobody')),
  );
  return server;
});
