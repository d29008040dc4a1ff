import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message } from '../mcp/recorder.ts';
import { catalogue, startCatalogue, type Task, tasksIn } from '../mcp/tool-catalogue.ts';

/** Five hundred tools of twenty servers, of which a model reads three. */
let gateway: TestGateway;
let servers: ReturnType<typeof startCatalogue>;
let key: string;
let workspace: string;
beforeAll(async () => {
  gateway = await startGateway();
  servers = startCatalogue();
  workspace = (await gateway.given.workspace({ name: 'many tools' })).id;
  key = (await gateway.given.apiKey({ workspace_id: workspace })).key;
  for (const slug of catalogue.keys()) await register(slug, workspace);
});
afterAll(async () => {
  await gateway.stop();
  servers.stop();
});

async function register(slug: string, workspace_id: string, configurations = {}, name = slug) {
  const reply = await gateway.api.post('/v1/mcp-servers', {
    ...{ name, slug, url: servers.urlOf(name), workspace_id, configurations },
  });
  if (reply.status !== 200) throw new Error(reply.text);
}

const SESSION = { 'mcp-protocol-version': '2025-11-25' };
const send = (body: unknown, { path = '/mcp/search', as = key, headers = {} } = {}) =>
  gateway.api.post(path, body, { key: as, headers: { ...SESSION, ...headers } });
const use = async (name: string, given: unknown, as = key) => {
  const { json } = await send(message('tools/call', { name, arguments: given }), { as });
  return json.error ? { error: json.error } : { ...json.result, said: json.result.content[0].text };
};
const search = async (query: string, more = {}, as = key) => {
  const { said } = await use('search_tools', { query, ...more }, as);
  return JSON.parse(said) as { tools: { name: string }[]; unavailable_servers?: Record<string, string> };
};

describe('measured', () => {
  const foundOf = async (tasks: readonly Task[]) => {
    const missed: string[] = [];
    for (const { said, tool } of tasks)
      if (!(await search(said, { limit: 3 })).tools.some(({ name }) => name === tool)) missed.push(`${said} → ${tool}`);
    return { share: 1 - missed.length / tasks.length, missed };
  };

  test('the right tool of 500 is among the first three for nine tasks in ten', async () => {
    const tasks = tasksIn('tasks.tsv');
    const unseen = tasksIn('unseen-tasks.tsv');
    expect([...catalogue.values()].flat()).toHaveLength(500);
    expect([catalogue.size, tasks.length, unseen.length]).toEqual([20, 60, 40]);

    const known = await foundOf(tasks);
    const others = await foundOf(unseen);

    const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
    console.log(`found within three: ${percent(known.share)} of 60 tasks, ${percent(others.share)} of 40 unseen ones`);
    if (known.share < 0.9) console.log(known.missed.join('\n'));
    expect(known.share).toBeGreaterThanOrEqual(0.9);
    // Written before the words that the search knows were chosen, though by the same hand.
    expect(others.share).toBeGreaterThanOrEqual(0.8);
  });

  test('what a model reads of definitions goes down by more than 95 percent, search and description included', async () => {
    const { result } = (await send(message('tools/list'), { path: '/mcp' })).json;
    const three = (await send(message('tools/list'))).json.result;
    const asked = (await use('search_tools', { query: 'refund a payment' })).said;
    const told = (await use('describe_tools', { names: ['payments__refund_payment'] })).said;

    // Tokens by the rule of thumb that four bytes are one; the share is the same by any count.
    const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / 4);
    const [before, after] = [tokens(result.tools), tokens(three.tools)];
    const used = after + tokens(asked) + tokens(told);
    const saved = (count: number) => `${(100 * (1 - count / before)).toFixed(1)} % less`;
    console.log(
      `definitions: ${before} tokens before, ${after} after (${saved(after)}), ${used} used (${saved(used)})`,
    );
    expect(result.tools).toHaveLength(500);
    expect(used / before).toBeLessThan(0.05);
  });
});

describe('a client that searches', () => {
  test('is one at its own address, by header, by key or by workspace, and no other', async () => {
    const searching = ['search_tools', 'describe_tools', 'call_tool'];
    const listed = async (options = {}) =>
      (await send(message('tools/list'), options)).json.result.tools.map(({ name }: { name: string }) => name);
    const path = '/mcp';
    expect(await listed()).toEqual(searching);
    expect(await listed({ path })).toHaveLength(500);
    expect(await listed({ path, headers: { 'x-gateway-mcp-tools': 'search' } })).toEqual(searching);
    const set = (defaults: object) => gateway.given.apiKey({ workspace_id: workspace, defaults });
    const ofKey = await set({ mcp_tools: 'search' });
    expect(await listed({ path, as: ofKey.key })).toEqual(searching);
    expect(await listed({ path, as: ofKey.key, headers: { 'x-gateway-mcp-tools': 'all' } })).toHaveLength(500);

    const wrong = await send(message('tools/list'), { path, headers: { 'x-gateway-mcp-tools': 'some' } });
    expect(wrong.status).toBe(400);
    expect(wrong.text).toContain('give all, search or code');
    const refused = await gateway.api.post('/v1/api-keys', { name: 'x', defaults: { mcp_tools: 'some' } });
    expect([refused.status, refused.json.error.param]).toEqual([400, 'defaults.mcp_tools']);

    const other = await gateway.given.workspace({ name: 'searching', defaults: { mcp_tools: 'search' } });
    const its = await gateway.given.apiKey({ workspace_id: other.id });
    expect(await listed({ path, as: its.key })).toEqual(searching);
    const own = await gateway.given.apiKey({ workspace_id: other.id, defaults: { mcp_tools: 'all' } });
    expect(await listed({ path, as: own.key })).toEqual([]);
  });

  test('finds, reads and calls with the official client, and the call is logged as that of the tool', async () => {
    const client = new Client({ name: 'test', version: '1.0.0' });
    const requestInit = { headers: { 'x-gateway-api-key': key } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp/search`), { requestInit }));
    expect(client.getInstructions()).toContain('search_tools');
    expect(client.getInstructions()).toContain('- payments: payments');
    const text = async (name: string, given: Record<string, unknown>) =>
      ((await client.callTool({ name, arguments: given })).content as { text: string }[])[0]!.text;

    const { tools } = JSON.parse(await text('search_tools', { query: 'refund a charge', server: 'payments' }));
    expect(tools[0]).toEqual({ name: 'payments__refund_payment', description: 'Refund a charge in full or in part.' });
    const told = JSON.parse(await text('describe_tools', { names: ['payments__refund_payment', 'nobody__x'] }));
    expect(told.tools[0].inputSchema.required).toEqual(['payment_id']);
    expect(told.not_available).toEqual(['nobody__x']);
    const given = { name: 'payments__refund_payment', arguments: { payment_id: 'p1' } };
    expect(await text('call_tool', given)).toBe('refund_payment {"payment_id":"p1"}');
    await client.close();
  });

  test('is logged as the caller of the tool, and of the search', async () => {
    const given = { name: 'payments__refund_payment', arguments: { payment_id: 'p1' } };
    const called = await gateway.logOf(await send(message('tools/call', { name: 'call_tool', arguments: given })));
    expect(called).toMatchObject({
      model: 'refund_payment',
      virtual_key: 'payments',
      metadata: { 'mcp.method': 'tools/call', 'mcp.arguments': '{payment_id:text(2)}' },
    });
    const query = { name: 'search_tools', arguments: { query: 'refund', limit: 2 } };
    const searched = await gateway.logOf(await send(message('tools/call', query)));
    expect(searched).toMatchObject({ model: 'search_tools', status: 200, metadata: { 'mcp.found': '2' } });
  });

  test('calls a tool with the bytes of its arguments, once, and by its own name too', async () => {
    const inner = '{ "amount":12345678901234567890.10 }';
    const body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":3},"arguments":{"arguments":${inner},"name":"payments__create_payout"},"name":"call_tool"}}`;
    const before = servers.calls.length;
    await gateway.api.call('POST', '/mcp/search', {
      key,
      headers: { ...SESSION, 'content-type': 'application/json' },
      body,
    });
    await use('payments__create_payout', {});
    expect(servers.calls.slice(before).map((call) => call.body)).toEqual([
      `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":3},"arguments":${inner},"name":"create_payout"}}`,
      expect.stringContaining('"name":"create_payout"'),
    ]);
  });

  test.each([
    ['search_tools', {}, 'query must be a text'],
    ['search_tools', { query: ' ' }, 'query must be a text'],
    ['search_tools', { query: 'x'.repeat(1_001) }, 'at most 1000'],
    ['search_tools', { query: 'x', limit: 21 }, 'from 1 to 20'],
    ['search_tools', { query: 'x', most: 3 }, '"most" is not known; give query, server, limit'],
    ['describe_tools', { names: [] }, '1 to 20 names'],
    ['describe_tools', { names: Array(21).fill('a') }, '1 to 20 names'],
    ['call_tool', { arguments: {} }, 'name must be the name of a tool'],
    ['call_tool', { name: 'mail__send_email', arguments: [] }, 'arguments must be an object'],
    ['call_tool', 'x', 'arguments must be an object'],
  ])('is told what is wrong with %s %p', async (name, given, why) => {
    const { isError, said } = await use(name, given);
    expect(isError).toBe(true);
    expect(said).toContain(why);
  });

  test('cannot reach the three by themselves, nor a name that is none', async () => {
    for (const name of ['call_tool', 'search_tools', 'nobody__x', 'mail'])
      expect((await use('call_tool', { name, arguments: {} })).error.data.code).toBe('mcp_capability_unavailable');
    const elsewhere = await send(message('tools/call', { name: 'search_tools', arguments: {} }), { path: '/mcp' });
    expect(elsewhere.json.error.data.code).toBe('mcp_capability_unavailable');
  });
});

describe('what a caller may not use', () => {
  let limited: string;
  const hidden = [
    'mail-off__send_email',
    'chat-pinned__post_message',
    'home-ruled__turn_on',
    'books-shut__pay_bill',
    'crm-watched__log_call',
  ];
  beforeAll(async () => {
    const { id } = await gateway.given.workspace({ name: 'few tools' });
    limited = (await gateway.given.apiKey({ workspace_id: id })).key;
    const checks = [{ id: 'default.contains', parameters: { words: ['phone'], operator: 'none' } }];
    const { api } = gateway;
    await api.post('/v1/guardrails', {
      name: 'g',
      slug: 'no-phone',
      workspace_id: id,
      checks,
      actions: { deny: true },
    });
    await register('mail-off', id, {}, 'mail');
    await register('chat-pinned', id, { tool_pinning: { mode: 'block', first_seen: 'pending' } }, 'chat');
    await register('home-ruled', id, { tool_authorization: { 'turn_*': { required_claims: ['badge'] } } }, 'home');
    await register('books-shut', id, {}, 'books');
    await register('crm-watched', id, { output_guardrails: ['no-phone'] }, 'crm');
    const off = { capabilities: [{ type: 'tool', name: 'send_email', enabled: false }] };
    const shut = { default_user_access: 'deny' };
    expect((await api.put('/v1/mcp-servers/mail-off/capabilities', off)).status).toBe(200);
    expect((await api.put('/v1/mcp-servers/books-shut/user-access', shut)).status).toBe(200);
  });

  test.each(hidden)('%s is not found, not described and not called', async (name) => {
    const plain = name.slice(name.indexOf('__') + 2);
    const found = await search(`${plain.replaceAll('_', ' ')} email`, { limit: 20 }, limited);
    expect(found.tools.length).toBeGreaterThan(0);
    expect(found.tools.map((tool) => tool.name)).not.toContain(name);
    expect(JSON.stringify(found)).not.toContain('books-shut');
    const { said } = await use('describe_tools', { names: [name] }, limited);
    expect(JSON.parse(said)).toEqual({ tools: [], not_available: [name] });
    const before = servers.calls.length;
    const given = { number: 'phone' };
    const called = await use('call_tool', { name, arguments: given }, limited);
    const direct = (await send(message('tools/call', { name, arguments: given }), { path: '/mcp', as: limited })).json;
    expect(called.error.code).toBeOneOf([-32602, 446]);
    expect([called.error.code, called.error.message]).toEqual([direct.error.code, direct.error.message]);
    // Guardrails look at answers: the server is called, and what it says is kept back.
    if (name !== 'crm-watched__log_call') expect(servers.calls.length).toBe(before);
  });
});
