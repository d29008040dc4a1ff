import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { allowing, PROGRAM_USER, processesIn, processesWith, programAt } from '../mcp/programs.ts';
import { toolCall } from '../mcp/recorder.ts';
import { startNode } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, type GatewayProcess } from '../process.ts';

/** Programs start slowly on a slow machine. */
setDefaultTimeout(180_000);

/** Programs on two nodes, of both versions of the protocol. */
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const NEWER = programAt('newer-stdio-server');
const OLDER = programAt('stdio-server');
let nodes: GatewayProcess[];
let key: string;
beforeAll(async () => {
  const databaseUrl = await createDatabase();
  const environment = {
    ...allowing(
      { command: process.execPath, args: [NEWER] },
      { command: process.execPath, args: [OLDER, 'of-two-nodes'] },
    ),
    // A user of its own for each.
    ...(PROGRAM_USER !== null && { GATEWAY_MCP_USER: '61000-61007:61000' }),
    JWT_PRIVATE_KEY: PEM.replaceAll('\n', '\\n'),
  };
  nodes = [await startNode(databaseUrl, { environment }), await startNode(databaseUrl, { environment })];
  key = (await nodes[0]!.api.post('/v1/api-keys', { name: 'test' })).json.key;
  await register('newer', [NEWER], { user_identity_forwarding: { method: 'jwt_header' } });
  await register('older', [OLDER, 'of-two-nodes']);
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
});

async function register(slug: string, args: string[], more: Record<string, unknown> = {}) {
  const configurations = { transport: 'stdio', stdio: { command: process.execPath, args }, ...more };
  const made = await nodes[0]!.api.post('/v1/mcp-servers', { name: slug, slug, configurations });
  if (made.status !== 200) throw new Error(made.text);
}
/** Each request goes to another node than the one before. */
async function connect(slug: string, versionNegotiation: { mode: 'auto' | 'legacy' }) {
  let count = 0;
  const deal = (input: URL | string, init?: RequestInit) =>
    fetch(`${nodes[count++ % nodes.length]!.url}${new URL(input).pathname}`, init);
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation });
  const requestInit = { headers: { 'x-gateway-api-key': key } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`http://balancer.test/${slug}/mcp`), { fetch: deal, requestInit }),
  );
  const said = async (name: string, args: Record<string, unknown> = {}) => {
    const { content } = await client.callTool({ name, arguments: args });
    return (content as { text: string }[])[0]!.text;
  };
  return { client, said };
}

for (const mode of ['auto', 'legacy'] as const)
  for (const slug of ['newer', 'older'])
    test(`a client in the mode ${mode} uses the ${slug} program on two nodes`, async () => {
      const { client, said } = await connect(slug, { mode });
      const isNewer = mode === 'auto' && slug === 'newer';
      expect(client.getNegotiatedProtocolVersion()).toBe(isNewer ? '2026-07-28' : '2025-11-25');
      for (const word of ['one', 'two', 'three', 'four']) expect(await said('echo', { said: word })).toBe(word);
      if (slug === 'newer') {
        const [, claims = ''] = (await said('who')).split('.');
        expect(JSON.parse(Buffer.from(claims, 'base64url').toString()).sub).toContain('apikey:');
      }
      await client.close();
    });

test('programs run as users of their own, and end on every node with their server', async () => {
  const seen = await Promise.all(
    nodes.map(async (node) => {
      const reply = await node.api.post('/older/mcp', { ...toolCall(), params: { name: 'process' } }, { key });
      return JSON.parse(reply.json.result.content[0].text) as { user: number; folder: string };
    }),
  );
  if (PROGRAM_USER !== null) for (const { user } of seen) expect(user >= 61_000 && user <= 61_007).toBe(true);
  expect(seen[0]!.folder).not.toBe(seen[1]!.folder);
  expect((await nodes[0]!.api.delete('/v1/mcp-servers/older')).status).toBe(200);
  await eventually('they have ended on both', () => seen.every(({ folder }) => processesIn(folder).length === 0));
  await eventually('nothing of it runs', () => processesWith('of-two-nodes').filter(isProgram).length === 0);
});

/** Nodes have the text in their environment alone, the guard and the program in their arguments. */
const isProgram = (pid: number) => !nodes.some((node) => node.pid === pid) && pid !== process.pid;
