import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message, type Recorded, startRecorder } from '../mcp/recorder.ts';

/** Servers and callers that try to harm others behind the address that they share. */
let gateway: TestGateway;
const servers: { stop(): void }[] = [];
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(async () => {
  await gateway.stop();
  for (const server of servers) server.stop();
});

function server(answer: (message: Asked, request: Recorded) => unknown) {
  const recorder = startRecorder((request) => {
    const asked: Asked = JSON.parse(request.body || '{}');
    if (asked.id === undefined) return new Response(null, { status: 202 });
    const said = asked.method === 'initialize' ? { result: GREETING } : answer(asked, request);
    if (said instanceof Response) return said;
    const headers = { 'mcp-session-id': 'of-the-server' };
    return Response.json({ jsonrpc: '2.0', id: asked.id, ...(said as object) }, { headers });
  });
  servers.push(recorder);
  return recorder;
}

interface Asked {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const GREETING = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 's', version: '1' },
};
const UNKNOWN = { error: { code: -32_601, message: 'no such method' } };
const listing =
  (...tools: unknown[]) =>
  ({ method }: Asked) =>
    method === 'tools/list' ? { result: { tools } } : method === 'tools/call' ? { result: { content: [] } } : UNKNOWN;

let count = 0;
async function given(urls: Record<string, string>, configurations: Record<string, unknown> = {}) {
  const number = ++count;
  const { id } = await gateway.given.workspace({ name: `attacked ${number}` });
  const { key } = await gateway.given.apiKey({ workspace_id: id });
  for (const [name, url] of Object.entries(urls)) {
    const body = { name, slug: `${name}-${number}`, workspace_id: id, url, configurations };
    const reply = await gateway.api.post('/v1/mcp-servers', body);
    if (reply.status !== 200) throw new Error(reply.text);
  }
  const ask = (asked: unknown, headers: Record<string, string> = {}, given = key) =>
    gateway.api.post('/mcp', asked, { key: given, headers: { 'mcp-protocol-version': '2025-11-25', ...headers } });
  return { id, key, number, ask, slugOf: (name: string) => `${name}-${number}` };
}
// biome-ignore lint/suspicious/noExplicitAny: whatever was answered
const names = (json: any): string[] => json.result.tools.map(({ name }: { name: string }) => name);

test('the session of a server is not given to the client, whose own it would take the place of', async () => {
  const { ask, slugOf } = await given({ one: server(listing({ name: 'echo' })).url });
  const greeted = await ask(message('initialize', { protocolVersion: '2025-11-25' }));
  const session = greeted.headers.get('mcp-session-id')!;
  const called = await ask(message('tools/call', { name: `${slugOf('one')}__echo` }), { 'mcp-session-id': session });
  expect(called.json.result).toEqual({ content: [] });
  expect(called.headers.get('mcp-session-id')).toBeNull();
});

test('what is switched off, or shut to a caller, is gone from the next list', async () => {
  const { ask, slugOf } = await given({ one: server(listing({ name: 'a' }, { name: 'b' })).url });
  const slug = slugOf('one');
  expect(names((await ask(message('tools/list'))).json)).toEqual([`${slug}__a`, `${slug}__b`]);
  const capabilities = [{ type: 'tool', name: 'b', enabled: false }];
  await gateway.api.put(`/v1/mcp-servers/${slug}/capabilities`, { capabilities });
  expect(names((await ask(message('tools/list'))).json)).toEqual([`${slug}__a`]);
});

test('a caller whom a server refuses does not make it look old to everybody', async () => {
  const newer = ({ method }: Asked, { headers }: Recorded) => {
    if (headers['x-user-claims']?.includes('refused@')) return new Response('no', { status: 403 });
    if (method === 'server/discover') return { result: { supportedVersions: ['2026-07-28'], capabilities: {} } };
    return method === 'tools/list' ? { result: { resultType: 'complete', tools: [] } } : UNKNOWN;
  };
  const { ask, id } = await given(
    { one: server(newer).url },
    { user_identity_forwarding: { method: 'claims_header' } },
  );
  const user = (await gateway.api.post('/v1/admin/users', { email: 'refused@example.com', role: 'member' })).json;
  await gateway.api.post(`/v1/admin/workspaces/${id}/users`, { user_id: user.id, role: 'member' });
  const theirs = await gateway.given.apiKey({ workspace_id: id, user_id: user.id });
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  await ask(message('tools/list', { _meta }), modern, theirs.key);
  const reply = await ask(message('tools/list', { _meta }), modern);
  expect([reply.status, reply.json.result?.tools]).toEqual([200, []]);
});

test('what the gateway asks by itself cannot be taken for what the client asks', async () => {
  const recorder = server(listing({ name: 'echo' }));
  const { ask, slugOf } = await given({ one: recorder.url });
  await Promise.all([ask(message('tools/list')), ask(message('tools/call', { name: `${slugOf('one')}__echo` }))]);
  const ids = recorder.requests.map(({ body }) => JSON.parse(body)).filter(({ id }) => id !== undefined);
  const byMethod = (method: string) => ids.filter((each) => each.method === method).map(({ id }) => id);
  expect(byMethod('tools/call')).toEqual([1]);
  for (const method of ['initialize', 'tools/list']) for (const id of byMethod(method)) expect(id).not.toBe(1);
});

test('a server with an endless list does not fill the memory, and the others are there', async () => {
  const page = Array.from({ length: 40 }, (_, index) => ({ name: `tool-${index}`, description: 'x'.repeat(50_000) }));
  let pages = 0;
  const endless = server(({ method }) => {
    if (method !== 'tools/list') return UNKNOWN;
    pages++;
    return { result: { tools: page, nextCursor: String(pages) } };
  });
  const { ask, slugOf } = await given({ big: endless.url, small: server(listing({ name: 'echo' })).url });
  const reply = await ask(message('tools/list'));
  expect(reply.json.result._meta['gateway/upstreams']).toEqual({
    [slugOf('big')]: expect.stringMatching(/^(truncated|timeout)$/),
    [slugOf('small')]: 'ok',
  });
  expect(names(reply.json)).toContain(`${slugOf('small')}__echo`);
  expect(pages).toBeLessThan(6);
  expect(reply.text.length).toBeLessThan(10 << 20);
});

describe('the log', () => {
  test('holds no more of a method than its beginning', async () => {
    const { ask } = await given({ one: server(listing()).url });
    const reply = await ask(message('x'.repeat(1_000_000)));
    const entry = await gateway.logOf(reply);
    expect(JSON.stringify(entry).length).toBeLessThan(10_000);
  });
});
