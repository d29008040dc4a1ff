import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../gateway.ts';
import { message } from '../mcp/recorder.ts';
import { startCatalogue } from '../mcp/tool-catalogue.ts';

const SESSION = { 'mcp-protocol-version': '2025-11-25' };

/** Some tools of some servers, under names of their own, at an address of their own. */
describe.each(['sqlite', 'postgres'] as const)('a tool set on %s', (engine) => {
  let gateway: TestGateway;
  let key: string;
  let workspace_id: string;
  const servers = startCatalogue();
  beforeAll(async () => {
    gateway = await startGateway({ engine });
    workspace_id = (await gateway.given.workspace({ name: 'sets' })).id;
    key = (await gateway.given.apiKey({ workspace_id })).key;
    for (const slug of ['mail', 'shop', 'payments', 'books']) await register(slug);
  });
  afterAll(async () => {
    await gateway.stop();
    servers.stop();
  });
  const register = async (slug: string) => {
    const made = await gateway.api.post('/v1/mcp-servers', {
      name: slug,
      slug,
      url: servers.urlOf(slug),
      workspace_id,
    });
    if (made.status !== 200) throw new Error(made.text);
  };
  const make = (body: object) => gateway.api.post('/v1/mcp-tool-sets', { name: 'A set', workspace_id, ...body });
  const send = (slug: string, method: string, params = {}, as = key) =>
    gateway.api.post(`/mcp/sets/${slug}`, message(method, params), { key: as, headers: SESSION });
  const listed = async (slug: string) => (await send(slug, 'tools/list')).json.result.tools as { name: string }[];
  const namesIn = async (slug: string) => (await listed(slug)).map(({ name }) => name);
  const call = async (slug: string, name: string, given = {}) => {
    const { json } = await send(slug, 'tools/call', { name, arguments: given });
    return json.error?.data.code ?? json.result.content[0].text;
  };

  const MONEY = [
    { server: 'payments', tool: 'refund_payment', name: 'give_back', description: 'Gives a customer money back.' },
    { server: 'shop', tool: 'get_order' },
    { server: 'books', tool: 'no_such_tool' },
  ];

  test('has its tools under its own names, and calls them like their servers do', async () => {
    const made = await make({ slug: 'money', description: 'For refunds.', tools: MONEY });
    expect(made.json).toMatchObject({
      object: 'mcp-tool-set',
      endpoint: `${gateway.url}/mcp/sets/money`,
      tools: [{ ...MONEY[0], status: 'unknown' }, { name: 'shop__get_order', description: null }, {}],
    });
    const greeted = await send('money', 'initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    expect(greeted.json.result).toMatchObject({ instructions: 'For refunds.' });
    expect(Object.keys(greeted.json.result.capabilities)).toEqual(['tools', 'logging']);

    const tools = await listed('money');
    expect(tools).toMatchObject([
      { name: 'give_back', description: 'Gives a customer money back.', inputSchema: { required: ['payment_id'] } },
      { name: 'shop__get_order', description: expect.stringContaining('Get an order') },
    ]);
    const reply = await send('money', 'tools/call', { name: 'give_back', arguments: { payment_id: 'p' } });
    expect(reply.json.result.content[0].text).toBe('refund_payment {"payment_id":"p"}');
    expect(await gateway.logOf(reply)).toMatchObject({ model: 'refund_payment', virtual_key: 'payments' });
    expect(await call('money', 'shop__get_order')).toBe('get_order {}');
  });

  test('has nothing else, by no name and no method', async () => {
    const before = servers.calls.length;
    for (const name of ['payments__refund_payment', 'refund_payment', 'shop__cancel_order', 'mail__send_email'])
      expect(await call('money', name)).toBe('mcp_capability_unavailable');
    expect(await call('money', 'books__no_such_tool')).not.toBe('create_bill {}');
    expect(servers.calls.slice(before).filter(({ server }) => server !== 'books')).toEqual([]);
    for (const method of ['resources/list', 'resources/read', 'prompts/list', 'completion/complete'])
      expect((await send('money', method, { uri: 'mcp://mail/x' })).json.error.code).toBe(-32601);
  });

  test('can be searched, by its own words and names', async () => {
    await make({ slug: 'found', mcp_tools: 'search', tools: MONEY });
    expect(await namesIn('found')).toEqual(['search_tools', 'describe_tools', 'call_tool']);
    const { tools } = JSON.parse(await call('found', 'search_tools', { query: 'money back' }));
    expect(tools[0]).toEqual({ name: 'give_back', description: 'Gives a customer money back.' });
    expect(await call('found', 'call_tool', { name: 'give_back', arguments: { a: 1 } })).toBe('refund_payment {"a":1}');
    const { error } = (
      await send('found', 'tools/call', { name: 'call_tool', arguments: { name: 'mail__send_email' } })
    ).json;
    expect(error.data.code).toBe('mcp_capability_unavailable');
  });

  test('loses what is switched off or deleted, says so, and takes no successor for it', async () => {
    const { api } = gateway;
    const tools = [
      { server: 'books', tool: 'pay_bill' },
      { server: 'shop', tool: 'get_order' },
      { server: 'mail', tool: 'send_email' },
    ];
    await make({ slug: 'honest', tools });
    expect(await namesIn('honest')).toEqual(['books__pay_bill', 'shop__get_order', 'mail__send_email']);

    await api.post('/v1/mcp-servers/shop/sync', {});
    await api.put('/v1/mcp-servers/mail/capabilities', {
      capabilities: [{ type: 'tool', name: 'send_email', enabled: false }],
    });
    await api.delete('/v1/mcp-servers/books');
    await register('books');

    expect(await namesIn('honest')).toEqual(['shop__get_order']);
    for (const name of ['books__pay_bill', 'mail__send_email'])
      expect(await call('honest', name)).toBe('mcp_capability_unavailable');
    const told = (await api.get('/v1/mcp-tool-sets/honest')).json.tools;
    expect(told.map(({ status }: { status: string }) => status)).toEqual([
      'server_deleted',
      'available',
      'switched_off',
    ]);

    const renewed = await api.put('/v1/mcp-tool-sets/honest', { tools: tools.slice(0, 2) });
    expect(renewed.json.tools[0].status).toBe('unknown');
    expect(await namesIn('honest')).toEqual(['books__pay_bill', 'shop__get_order']);
    expect((await api.delete('/v1/mcp-tool-sets/honest')).json).toMatchObject({
      object: 'mcp-tool-set',
      deleted: true,
    });
    const gone = await send('honest', 'tools/list');
    expect([gone.status, gone.json.error.data.code]).toEqual([404, 'mcp_tool_set_not_found']);
  });

  test('is closed to other workspaces and to keys without the scopes', async () => {
    const other = await gateway.given.apiKey({ workspace_id: (await gateway.given.workspace()).id });
    expect((await send('money', 'tools/list', {}, other.key)).status).toBe(404);
    const weak = await gateway.given.apiKey({ workspace_id, scopes: ['mcp_servers.read'] });
    expect((await send('money', 'tools/list', {}, weak.key)).status).toBe(403);
    const asked = await gateway.api.delete('/v1/mcp-tool-sets/money', { key: weak.key });
    expect(asked.status).toBe(403);
  });

  test.each([
    [{ tools: [] }, 'tools'],
    [{ tools: [{ server: 'nobody', tool: 'x' }] }, 'tools[0].server'],
    [{ tools: [{ server: 'shop', tool: 'x', name: 'a b' }] }, 'tools[0].name'],
    [{ tools: [{ server: 'shop', tool: 'x', name: 'call_tool' }] }, 'tools[0].name'],
    [
      {
        tools: [
          { server: 'shop', tool: 'x', name: 'a' },
          { server: 'mail', tool: 'y', name: 'a' },
        ],
      },
      'tools[1].name',
    ],
    [{ tools: [{ server: 'shop', tool: 'x', description: '' }] }, 'tools[0].description'],
    [{ tools: MONEY.slice(1, 2), slug: 'A B' }, 'slug'],
    [{ tools: MONEY.slice(1, 2), slug: 'money' }, 'slug'],
    [{ tools: MONEY.slice(1, 2), mcp_tools: 'some' }, 'mcp_tools'],
  ])('is refused where it makes no sense: %p', async (body, param) => {
    const { status, json } = await make(body);
    expect([status, json.error.param]).toEqual([400, param]);
  });
});
