import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

/** A server that is a program, made with the official library. */
const server = new McpServer({ name: 'Program', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
let calls = 0;

server.registerTool('echo', { inputSchema: { said: z.string() } }, async ({ said }) => text(said));
server.registerTool('counted', {}, async () => text(String(++calls)));
server.registerTool('process', {}, async ({ _meta }) =>
  text(
    JSON.stringify({
      ...{ pid: process.pid, user: process.getuid!(), group: process.getgroups!(), folder: process.cwd() },
      ...{ env: process.env, args: process.argv.slice(2), token: _meta?.['ai.gateway/user-token'] ?? null },
    }),
  ),
);
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
server.registerTool('sample', {}, async () => {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi' } }];
  const { content } = await server.server.createMessage({ messages, maxTokens: 10 });
  return text(JSON.stringify(content));
});
server.registerTool('grow', {}, async () => {
  server.registerTool(`grown${++calls}`, {}, async () => text('new'));
  return text('grown');
});
server.registerTool('die', {}, async () => {
  process.stderr.write('I was told to die\n');
  process.exit(3);
});
server.registerTool('garbage', {}, async () => {
  process.stdout.write('not a message\n\n{"jsonrpc":"1.0"}\n[]\n');
  return text('after garbage');
});
await server.connect(new StdioServerTransport());
