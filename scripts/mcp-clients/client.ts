import { CLIENTS, type Step, stepsOf } from '../../test/mcp/client-steps.ts';

/** `bun client.ts <client> <url> <key> <prefix>`: does the steps whose names come on its input, and tells how each went. */
const [which = '', url = '', key = '', prefix = ''] = process.argv.slice(2);
const { steps, close } = stepsOf(CLIENTS[which as keyof typeof CLIENTS], { url, key, prefix });
for await (const line of console) {
  const told = await steps[line.trim() as Step]().catch((error: Error) => `FAILED: ${error.message}`);
  console.log(`> ${told.replaceAll(/\s+/g, ' ').slice(0, 300)}`);
}
await close();
process.exit(0);
