import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type ReferenceServer, startReferenceServer } from '../mcp/reference-server.ts';
import { startNode, TOLD_MS } from '../nodes.ts';
import { createDatabase } from '../postgres.ts';
import { eventually, type GatewayProcess } from '../process.ts';

/** Two gateway processes on one database, and a client that never knows which of them it talks to. */
let nodes: GatewayProcess[];
let reference: ReferenceServer;
beforeAll(async () => {
  reference = startReferenceServer();
  const databaseUrl = await createDatabase();
  // One after the other: the first brings the database up to date.
  nodes = [await startNode(databaseUrl), await startNode(databaseUrl)];
  const made = await nodes[0]!.api.post('/v1/mcp-servers', {
    name: 'Reference',
    slug: 'reference',
    url: reference.url,
  });
  if (made.status !== 200) throw new Error(made.text);
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  reference.stop();
});

/** Deals requests out in turn, as a balancer without sticky sessions does. */
function roundRobin() {
  const taken: number[] = [];
  /** The ids of the session, as answers carry them. */
  const told = new Set<string>();
  const deal = async (input: URL | string, init?: RequestInit): Promise<Response> => {
    const index = taken.length % nodes.length;
    taken.push(index);
    const { pathname } = new URL(input);
    const response = await fetch(`${nodes[index]!.url}${pathname}`, init);
    const session = response.headers.get('mcp-session-id');
    if (session !== null) told.add(session);
    return response;
  };
  return { taken, told, deal };
}

async function connect(key: string) {
  const { taken, told, deal } = roundRobin();
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'legacy' } });
  const transport = new StreamableHTTPClientTransport(new URL('http://balancer.test/reference/mcp'), {
    fetch: deal,
    requestInit: { headers: { 'x-gateway-api-key': key } },
  });
  await client.connect(transport);
  return { client, transport, taken, told };
}

const newKey = async () => (await nodes[0]!.api.post('/v1/api-keys', { name: 'test' })).json.key as string;

test('a session survives that every request goes to another process', async () => {
  const { client, transport, taken, told } = await connect(await newKey());
  for (let count = 0; count < 6; count++) {
    const { content } = await client.callTool({ name: 'test_simple_text', arguments: {} });
    expect(content).toHaveLength(1);
  }
  expect(reference.sessions).toBe(1);
  expect(new Set(taken)).toEqual(new Set([0, 1]));
  expect([...told]).toEqual([transport.sessionId!]);
  expect(transport.sessionId).not.toMatch(/^[0-9a-f-]{36}$/);
  await transport.terminateSession();
  await eventually('the server has ended the session', () => reference.sessions === 0);
  await client.close();
});

test("another user's session id is not found on any process", async () => {
  const { client, transport } = await connect(await newKey());
  const stranger = await newKey();
  for (const node of nodes) {
    const reply = await node.api.post(
      '/reference/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/list' },
      {
        key: stranger,
        headers: { 'mcp-session-id': transport.sessionId!, accept: 'application/json, text/event-stream' },
      },
    );
    expect(reply.status).toBe(404);
    expect(reply.json.error.data.code).toBe('mcp_session_not_found');
  }
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  await client.close();
});

test('a server that one process removes is gone on the other', async () => {
  const key = await newKey();
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  await nodes[0]!.api.post('/v1/mcp-servers', { name: 'Brief', slug: 'brief', url: reference.url });
  const status = async () => (await nodes[1]!.api.post('/brief/mcp', body, { key })).status;
  await eventually('the other process knows it', async () => (await status()) !== 404);
  await nodes[0]!.api.delete('/v1/mcp-servers/brief');
  await eventually('the other process has forgotten it', async () => (await status()) === 404, TOLD_MS);
});
