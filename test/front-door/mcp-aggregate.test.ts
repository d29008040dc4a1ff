import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGateway, type TestGateway } from '../gateway.ts';
import { givenPerson } from '../mcp/connecting.ts';
import { connectAccount, startProtectedServer } from '../mcp/protected-server.ts';
import { message, startRecorder } from '../mcp/recorder.ts';
import { type ReferenceServer, startReferenceServer } from '../mcp/reference-server.ts';
import { type SmallServer, startSmallServer } from '../mcp/small-server.ts';

/** All MCP servers of a workspace behind one address. */
let gateway: TestGateway;
let reference: ReferenceServer;
let older: SmallServer;
let newer: SmallServer;
const LONG = `tool_${'with_a_long_name_'.repeat(6)}`;
beforeAll(async () => {
  gateway = await startGateway();
  reference = startReferenceServer();
  older = startSmallServer({ era: 'older', tools: ['echo', 'other', LONG], pageSize: 2 });
  newer = startSmallServer({ era: 'newer', tools: ['echo'] });
});
afterAll(async () => {
  await gateway.stop();
  for (const server of [reference, older, newer]) server.stop();
});

let count = 0;
/** A workspace with these servers, and a key for it. */
async function given(servers: Record<string, string | Record<string, unknown>>) {
  const number = ++count;
  const { id } = await gateway.given.workspace({ name: `many ${number}` });
  const { key } = await gateway.given.apiKey({ workspace_id: id });
  const slugs: Record<string, string> = {};
  for (const [name, about] of Object.entries(servers)) {
    const slug = `${name}-${number}`;
    slugs[name] = slug;
    const body = typeof about === 'string' ? { url: about } : about;
    const reply = await gateway.api.post('/v1/mcp-servers', { name, slug, workspace_id: id, ...body });
    if (reply.status !== 200) throw new Error(reply.text);
  }
  const ask = (method: string, params: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
    gateway.api.post('/mcp', message(method, params), {
      key,
      headers: { 'mcp-protocol-version': '2025-11-25', ...headers },
    });
  return { id, key, slugs, ask };
}

async function connected(key: string, mode: 'legacy' | 'auto' | { pin: string }) {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
    requestInit: { headers: { 'x-gateway-api-key': key } },
  });
  await client.connect(transport);
  return { client, transport };
}

describe('the official client', () => {
  for (const mode of ['legacy', { pin: '2026-07-28' }] as const)
    test(`finds and uses what two servers offer (${typeof mode === 'string' ? mode : mode.pin})`, async () => {
      const { key, slugs } = await given({ one: reference.url, two: reference.url });
      const { client } = await connected(key, mode);
      const runs = reference.runs.get('test_simple_text') ?? 0;

      const { tools, _meta } = await client.listTools();
      const { prompts } = await client.listPrompts();
      const { resources } = await client.listResources();
      const { resourceTemplates } = await client.listResourceTemplates();

      const names = tools.map(({ name }) => name);
      expect(names).toContain(`${slugs.one}__test_simple_text`);
      expect(names).toContain(`${slugs.two}__test_simple_text`);
      expect(names.every((name) => name.length <= 64)).toBe(true);
      expect(new Set(names).size).toBe(names.length);
      expect(_meta?.['gateway/upstreams']).toEqual({ [slugs.one!]: 'ok', [slugs.two!]: 'ok' });
      expect(prompts.map(({ name }) => name)).toContain(`${slugs.two}__test_simple_prompt`);
      expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(
        `mcp://${slugs.one}/test://template/{id}/data`,
      );
      const uri = `mcp://${slugs.two}/test://static-text`;
      expect(resources.map((each) => each.uri)).toContain(uri);

      const called = await client.callTool({ name: `${slugs.two}__test_simple_text`, arguments: {} });
      expect(called.content).toEqual([{ type: 'text', text: 'This is a simple text response for testing.' }]);
      expect(reference.runs.get('test_simple_text')).toBe(runs + 1);
      const read = await client.readResource({ uri });
      expect(read.contents).toMatchObject([{ uri, text: 'This is the content of the static text resource.' }]);
      const prompt = await client.getPrompt({ name: `${slugs.one}__test_simple_prompt` });
      expect(prompt.messages).toMatchObject([{ content: { text: 'This is a simple prompt for testing.' } }]);
      const completed = await client.complete({
        ref: { type: 'ref/prompt', name: `${slugs.one}__test_prompt_with_arguments` },
        argument: { name: 'arg1', value: 'par' },
      });
      expect(completed.completion.values).toContain('paris');
      await client.close();
    });

  test('gets streams with progress as the server sends them, and addresses it can ask for', async () => {
    const { key, slugs } = await given({ one: reference.url });
    const { client } = await connected(key, 'legacy');
    const seen: number[] = [];
    await client.callTool(
      { name: `${slugs.one}__test_tool_with_progress`, arguments: {} },
      { onprogress: ({ progress }) => seen.push(progress) },
    );
    expect(seen.length).toBeGreaterThan(1);
    const held = await client.callTool({ name: `${slugs.one}__test_embedded_resource`, arguments: {} });
    expect(held.content).toMatchObject([{ resource: { uri: `mcp://${slugs.one}/test://embedded-resource` } }]);
    await client.close();
  });

  test('falls back to sessions where one of the servers speaks only the older version', async () => {
    const { key, slugs } = await given({ one: reference.url, old: older.url });
    const { client } = await connected(key, 'auto');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain(`${slugs.old}__echo`);
    const called = await client.callTool({ name: `${slugs.old}__echo`, arguments: { a: 1 } });
    expect(called.content).toEqual([{ type: 'text', text: 'echo {"a":1}' }]);
    await client.close();
  });
});

describe('servers of different versions', () => {
  test('are all reached by a client with sessions', async () => {
    const { ask, slugs } = await given({ old: older.url, new: newer.url });
    const listed = await ask('tools/list');
    const names = listed.json.result.tools.map(({ name }: { name: string }) => name);
    expect(names).toContain(`${slugs.new}__echo`);
    expect(names).toHaveLength(4);
    for (const slug of [slugs.old, slugs.new]) {
      const called = await ask('tools/call', { name: `${slug}__echo`, arguments: { big: 1 } });
      expect(called.json.result.content[0].text).toBe('echo {"big":1}');
    }
  });

  test('make a client without sessions use the older version', async () => {
    const { ask } = await given({ old: older.url, new: newer.url });
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const reply = await ask(
      'tools/list',
      { _meta: meta },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' },
    );
    expect(reply.status).toBe(400);
    expect(reply.json.error).toMatchObject({
      code: -32022,
      data: { supported: ['2025-11-25', '2025-06-18', '2025-03-26'], requested: '2026-07-28' },
    });
  });
});

describe('names', () => {
  test('that are too long are cut, stay the same, and still reach their tool', async () => {
    const { ask, slugs } = await given({ old: older.url });
    const names = async () => (await ask('tools/list')).json.result.tools.map(({ name }: { name: string }) => name);
    const [, , long] = await names();
    expect(long).toHaveLength(64);
    expect((await names())[2]).toBe(long);
    const called = await ask('tools/call', { name: long, arguments: {} });
    expect(called.json.result.content[0].text).toBe(`${LONG} {}`);
    expect(slugs.old).toBeTruthy();
  });

  test('that nobody has are told so without a call', async () => {
    const { ask, slugs } = await given({ old: older.url });
    const before = older.heard.length;
    for (const name of ['echo', 'nobody__echo', `${slugs.old}_echo`]) {
      const reply = await ask('tools/call', { name, arguments: {} });
      expect(reply.json.error).toMatchObject({ code: -32602, message: expect.stringContaining(name) });
    }
    expect(older.heard.slice(before).filter((each) => each.includes('tools/call'))).toEqual([]);
    const read = await ask('resources/read', { uri: 'mcp://nobody/x' });
    expect(read.json.error).toMatchObject({ code: -32602, data: { uri: 'mcp://nobody/x' } });
  });

  test('arguments reach the server byte for byte', async () => {
    const { key, slugs } = await given({ old: older.url });
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"n":12345678901234567890},"name":"${slugs.old}__echo"}}`;
    const headers = { 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' };
    const reply = await gateway.api.call('POST', '/mcp', { key, headers, body });
    expect(reply.status).toBe(200);
    expect(older.last).toBe(body.replace(`${slugs.old}__echo`, 'echo'));
  });
});

describe('a server that does not answer', () => {
  test('is named, and the others are there', async () => {
    const slow = startSmallServer({ era: 'older', tools: ['x'] });
    slow.slowness = 10_000;
    const { ask, slugs } = await given({
      old: older.url,
      slow: { url: slow.url, configurations: { start_seconds: 1 } },
      gone: 'http://127.0.0.1:9/mcp',
    });
    const { result } = (await ask('tools/list')).json;
    expect(result._meta['gateway/upstreams']).toEqual({
      [slugs.old!]: 'ok',
      [slugs.slow!]: 'timeout',
      [slugs.gone!]: 'failed',
    });
    expect(result.tools).toHaveLength(3);
    slow.stop();
  });

  test('fails the list when no other does', async () => {
    const { ask, slugs } = await given({ gone: 'http://127.0.0.1:9/mcp' });
    const reply = await ask('tools/list');
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({
      jsonrpc: '2.0',
      id: 1,
      error: { code: 502, data: { upstreams: { [slugs.gone!]: 'failed' } } },
    });
  });

  test('a workspace without servers has nothing to offer', async () => {
    const { ask } = await given({});
    expect((await ask('tools/list')).json.result.tools).toEqual([]);
  });

  test('one that forgot the session gets a new one, and the tool runs once', async () => {
    const { ask, slugs } = await given({ old: older.url });
    await ask('tools/call', { name: `${slugs.old}__echo`, arguments: {} });
    older.sessions.clear();
    const before = older.heard.length;
    const reply = await ask('tools/call', { name: `${slugs.old}__echo`, arguments: {} });
    expect(reply.json.result.content[0].text).toBe('echo {}');
    const methods = older.heard.slice(before).map((each) => each.split(' ')[1]);
    expect(methods).toEqual(['tools/call', 'initialize', 'notifications/initialized', 'tools/call']);
    expect(await gateway.logOf(reply)).toMatchObject({ status: 200, virtual_key: slugs.old, model: 'echo' });
  });
});

describe('sessions', () => {
  test('of two clients of one key are two at the server, and end with their client', async () => {
    const { ask, key, slugs } = await given({ old: older.url });
    const open = async () =>
      (await ask('initialize', { protocolVersion: '2025-11-25' })).headers.get('mcp-session-id')!;
    const before = older.sessions.size;
    const [one, other] = [await open(), await open()];
    const call = (session: string) =>
      ask('tools/call', { name: `${slugs.old}__echo`, arguments: {} }, { 'mcp-session-id': session });
    for (const session of [one, other, one]) expect((await call(session)).status).toBe(200);
    expect(older.sessions.size).toBe(before + 2);

    const ended = await gateway.api.delete('/mcp', { key, headers: { 'mcp-session-id': one } });

    expect(ended.status).toBe(204);
    expect(older.sessions.size).toBe(before + 1);
  });

  test('of another caller are unknown', async () => {
    const { ask, id } = await given({ old: older.url });
    const session = (await ask('initialize')).headers.get('mcp-session-id')!;
    const { key } = await gateway.given.apiKey({ workspace_id: id });
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
    const reply = await gateway.api.post('/mcp', message('tools/list'), { key, headers });
    expect(reply.status).toBe(404);
  });
});

test('a list is kept for a moment, for its caller alone', async () => {
  const { ask, id } = await given({ old: older.url });
  const lists = () => older.heard.filter((each) => each.includes('tools/list')).length;
  const before = lists();
  await ask('tools/list');
  const once = lists() - before;
  await ask('tools/list');
  expect(lists() - before).toBe(once);
  const { key } = await gateway.given.apiKey({ workspace_id: id });
  await gateway.api.post('/mcp', message('tools/list'), { key });
  expect(lists() - before).toBe(2 * once);
});

test('a request that is no longer wanted is called off where it may be under way', async () => {
  const { ask, key, slugs } = await given({ old: older.url });
  await ask('tools/call', { name: `${slugs.old}__echo`, arguments: {} });
  const body = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  const headers = { 'mcp-protocol-version': '2025-11-25' };
  const reply = await gateway.api.post('/mcp', body, { key, headers });
  expect(reply.status).toBe(202);
  expect(older.heard.at(-1)).toContain('notifications/cancelled');
});

describe('what holds for a server alone holds here', () => {
  test('a tool that is switched off is neither shown nor called', async () => {
    const { ask, slugs } = await given({ old: older.url });
    await gateway.api.post(`/v1/mcp-servers/${slugs.old}/sync`);
    const switched = await gateway.api.put(`/v1/mcp-servers/${slugs.old}/capabilities`, {
      capabilities: [{ name: 'echo', type: 'tool', enabled: false }],
    });
    expect(switched.status).toBe(200);
    const names = (await ask('tools/list')).json.result.tools.map(({ name }: { name: string }) => name);
    expect(names).toContain(`${slugs.old}__other`);
    expect(names).not.toContain(`${slugs.old}__echo`);
    const before = older.heard.length;
    const reply = await ask('tools/call', { name: `${slugs.old}__echo`, arguments: {} });
    expect(reply.json.error).toMatchObject({ code: -32602, message: expect.stringContaining('echo') });
    expect(older.heard.slice(before).filter((each) => each.includes('tools/call'))).toEqual([]);
  });

  test('a server learns who calls', async () => {
    const recorder = startRecorder(({ body }) => {
      const { id, method } = JSON.parse(body || '{}');
      const greeting = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'r', version: '1' } };
      const result = method === 'initialize' ? greeting : { content: [] };
      return id === undefined ? new Response(null, { status: 202 }) : Response.json({ jsonrpc: '2.0', id, result });
    });
    const configurations = { user_identity_forwarding: { method: 'claims_header' } };
    const { ask, slugs, id } = await given({ told: { url: recorder.url, configurations } });
    const spoofed = { 'x-user-claims': '{"sub":"somebody else"}', authorization: 'Bearer other' };
    await ask('tools/call', { name: `${slugs.told}__x`, arguments: {} }, spoofed);
    expect(recorder.requests.length).toBe(3);
    for (const { headers } of recorder.requests) {
      expect(JSON.parse(headers['x-user-claims']!)).toMatchObject({
        workspace_id: id,
        sub: expect.stringMatching(/^apikey:/),
      });
      expect(headers.authorization).toBeUndefined();
      expect(headers['x-gateway-api-key']).toBeUndefined();
    }
    recorder.stop();
  });

  test('another workspace has other servers', async () => {
    const { slugs } = await given({ old: older.url });
    const { ask } = await given({ new: newer.url });
    const { tools } = (await ask('tools/list')).json.result;
    expect(JSON.stringify(tools)).not.toContain(slugs.old!);
    const reply = await ask('tools/call', { name: `${slugs.old}__echo`, arguments: {} });
    expect(reply.json.error.code).toBe(-32602);
  });

  test('a server that wants a token of its identity provider is not entered without', async () => {
    const jwt_validation = { jwksUri: 'http://127.0.0.1:9/jwks', required: true };
    const { ask, slugs } = await given({
      old: older.url,
      closed: { url: older.url, configurations: { jwt_validation } },
    });
    const { result } = (await ask('tools/list')).json;
    expect(result._meta['gateway/upstreams'][slugs.closed!]).toBe('auth_required');
    expect(JSON.stringify(result.tools)).not.toContain(slugs.closed!);
    const reply = await ask('tools/call', { name: `${slugs.closed}__echo`, arguments: {} });
    expect(reply.json.error.code).toBe(-32602);
  });

  test('nobody gets in without a key, and learns where to get a token', async () => {
    const reply = await gateway.api.post('/mcp', message('tools/list'), { key: null });
    expect(reply.status).toBe(401);
    const about = `${gateway.url}/.well-known/oauth-protected-resource/mcp`;
    expect(reply.headers.get('www-authenticate')).toContain(about);
    const metadata = await gateway.api.get('/.well-known/oauth-protected-resource/mcp', { key: null });
    expect(metadata.json).toMatchObject({ resource: `${gateway.url}/mcp`, authorization_servers: [gateway.url] });
  });

  test('a page elsewhere is refused', async () => {
    const { key } = await given({});
    const headers = { origin: 'https://evil.example' };
    expect((await gateway.api.post('/mcp', message('tools/list'), { key, headers })).status).toBe(403);
  });

  test('limits of a key count calls of tools', async () => {
    const { id, slugs } = await given({ old: older.url });
    const rate_limits = [{ type: 'requests', unit: 'rpm', value: 4 }];
    const { key } = await gateway.given.apiKey({ workspace_id: id, rate_limits });
    const call = () =>
      gateway.api.post('/mcp', message('tools/call', { name: `${slugs.old}__echo`, arguments: {} }), { key });
    const codes: unknown[] = [];
    for (let index = 0; index < 6; index++) codes.push((await call()).json.error?.code);
    expect(codes[0]).toBeUndefined();
    expect(codes.at(-1)).toBe(429);
  });
});

test('a user who has not connected sees what is missing, and connects', async () => {
  const server = await startProtectedServer({
    answer: async (request) => {
      const { id, method } = (await request.json()) as { id?: number; method: string };
      const result =
        method === 'tools/list'
          ? { tools: [{ name: 'mine', inputSchema: { type: 'object' } }] }
          : method === 'initialize'
            ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'n', version: '1' } }
            : { content: [{ type: 'text', text: 'yours' }] };
      return id === undefined ? new Response(null, { status: 202 }) : Response.json({ jsonrpc: '2.0', id, result });
    },
  });
  const slug = 'own-notes';
  await gateway.api.post('/v1/mcp-servers', { name: 'n', slug, url: server.url, auth_type: 'oauth_auto' });
  await gateway.api.post('/v1/mcp-servers', { name: 'o', slug: 'own-other', url: older.url });
  const { key, visitor } = await givenPerson(gateway);
  const ask = (method: string, params = {}) =>
    gateway.api.post('/mcp', message(method, params), { key, headers: { 'mcp-protocol-version': '2025-11-25' } });
  const link = `${gateway.url}/connect/${slug}`;

  const before = (await ask('tools/list')).json.result;
  expect(before._meta['gateway/upstreams']).toEqual({ [slug]: 'auth_required', 'own-other': 'ok' });
  expect(before._meta['gateway/connect']).toEqual({ [slug]: link });
  const refused = await ask('tools/call', { name: `${slug}__mine`, arguments: {} });
  expect(refused.json.error).toMatchObject({ code: -32042, data: { elicitations: [{ url: link }] } });
  await connectAccount(visitor, link);

  expect((await ask('tools/list')).json.result._meta['gateway/upstreams'][slug]).toBe('ok');
  const called = await ask('tools/call', { name: `${slug}__mine`, arguments: {} });
  expect(called.json.result.content[0].text).toBe('yours');
  await server.stop();
});

describe('a question that a server asks back', () => {
  const META = 'io.modelcontextprotocol';
  const _meta = {
    [`${META}/protocolVersion`]: '2026-07-28',
    [`${META}/clientInfo`]: { name: 'test', version: '1' },
    [`${META}/clientCapabilities`]: { elicitation: { form: {} } },
  };
  const callOf = (key: string, name: string, more: Record<string, unknown> = {}) =>
    gateway.api.post('/mcp', message('tools/call', { name, arguments: {}, _meta, ...more }), {
      key,
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name },
    });
  const inputResponses = { confirm: { action: 'accept', content: { ok: true } } };

  test('comes back to that server, from the same caller, and to no other', async () => {
    const { key, id, slugs } = await given({ one: reference.url, two: reference.url });
    const other = await gateway.given.apiKey({ workspace_id: id });
    const tool = (slug: string | undefined) => `${slug}__test_input_required_result_request_state`;
    const asked = (await callOf(key, tool(slugs.one))).json.result;
    expect(asked.resultType).toBe('input_required');
    const again = { inputResponses, requestState: asked.requestState };

    expect((await callOf(key, tool(slugs.two), again)).json.error.code).toBe(-32602);
    expect((await callOf(other.key, tool(slugs.one), again)).json.error.code).toBe(-32602);
    const answered = await callOf(key, tool(slugs.one), again);

    expect(answered.json.result.content).toEqual([{ type: 'text', text: 'state-ok' }]);
  });

  test('a header that names another tool than the body is refused', async () => {
    const { key, slugs } = await given({ one: reference.url });
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'safe' };
    const params = { name: `${slugs.one}__test_simple_text`, arguments: {}, _meta };
    const reply = await gateway.api.post('/mcp', message('tools/call', params), { key, headers });
    expect(reply.status).toBe(400);
    expect(reply.json.error.code).toBe(-32020);
  });
});

describe('a message that is none of this address', () => {
  test('is refused with a reason', async () => {
    const { ask, key } = await given({ old: older.url });
    expect((await ask('resources/subscribe', { uri: 'x' })).json.error.code).toBe(-32602);
    expect((await ask('tasks/list')).json.error.code).toBe(-32601);
    expect((await ask('tools/list', { cursor: 'x' })).json.error.code).toBe(-32602);
    const version = await ask('tools/list', {}, { 'mcp-protocol-version': '2030-01-01' });
    expect(version.status).toBe(400);
    expect(version.json.error.code).toBe(-32022);
    const headers = { 'content-type': 'application/json' };
    for (const body of ['[]', 'nope', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}', '3']) {
      const reply = await gateway.api.call('POST', '/mcp', { key, headers, body });
      expect(reply.status).toBe(400);
      expect(reply.json.error.code).toBeLessThan(-32_000);
    }
    expect((await gateway.api.get('/mcp', { key })).status).toBe(400);
    const newer = { 'mcp-protocol-version': '2026-07-28' };
    expect((await gateway.api.get('/mcp', { key, headers: newer })).status).toBe(405);
  });
});
