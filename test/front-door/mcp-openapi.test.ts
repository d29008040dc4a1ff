import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as newer from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { stringify } from 'yaml';
import { startGateway, type TestGateway } from '../gateway.ts';
import { type ShopApi, shopDescription, startShopApi } from '../mcp/shop-api.ts';

/** APIs with an OpenAPI description as MCP servers, with the official client. */
describe.each(['sqlite', 'postgres'] as const)('an API as an MCP server on %s', (engine) => {
  let gateway: TestGateway;
  let key: string;
  let shop: ShopApi;
  beforeAll(async () => {
    gateway = await startGateway({ engine });
    key = (await gateway.given.apiKey()).key;
    shop = startShopApi();
    const made = await register('shop', {
      openapi: { text: stringify(shopDescription()) },
      headers: { 'X-Tenant': 'acme', Authorization: 'Bearer of the gateway' },
      user_identity_forwarding: { method: 'claims_header', include_claims: ['sub'] },
    });
    if (made.status !== 200) throw new Error(made.text);
  });
  afterAll(async () => {
    await gateway.stop();
    shop.stop();
  });

  const register = (slug: string, configurations: Record<string, unknown>) =>
    gateway.api.post('/v1/mcp-servers', {
      name: slug,
      slug,
      url: shop.url,
      configurations: { transport: 'openapi', ...configurations },
    });
  async function connected(path = '/shop/mcp') {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { 'x-gateway-api-key': key } };
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url + path), { requestInit }));
    const call = async (name: string, args: Record<string, unknown> = {}) => {
      const { content, isError = false } = await client.callTool({ name, arguments: args });
      return { isError, text: (content as { text: string }[]).map(({ text }) => text).join('\n') };
    };
    return { client, call };
  }

  test('each operation is a tool with a schema of its own, and no credential is an argument', async () => {
    const { client } = await connected();
    expect(client.getServerVersion()).toMatchObject({ name: 'Shop', version: '7' });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['getItem', 'removeItem', 'post_orders']);
    const [getItem, removeItem, order] = tools;
    expect(getItem).toMatchObject({
      description: 'One item\n\nWith its price.',
      annotations: { title: 'One item', readOnlyHint: true },
      _meta: { 'gateway/operation': 'GET /items/{itemId}' },
    });
    expect(Object.keys(getItem!.inputSchema.properties!)).toEqual([
      'itemId',
      'fields',
      'filter_name_',
      'near',
      'X-Shelf',
    ]);
    expect(getItem!.inputSchema).toMatchObject({ required: ['itemId'], additionalProperties: false });
    expect(removeItem!.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true, idempotentHint: true });
    expect(order!.inputSchema.properties!.body).toEqual({
      type: 'object',
      required: ['items'],
      properties: {
        items: {
          type: 'array',
          items: { type: 'object', properties: { name: { type: 'string' }, parts: { type: 'array', items: {} } } },
        },
        note: { type: ['string', 'null'] },
      },
    });
    const shown = (await gateway.api.get('/v1/mcp-servers/shop')).json;
    expect(shown.warnings).toEqual(['openapi: no tool: POST /pictures needs a body that is neither JSON nor a form']);
    expect(shown.configurations).toMatchObject({ transport: 'openapi', openapi: {} });
    expect(JSON.stringify(shown)).not.toContain('inputSchema');
    await client.close();
  });

  test('a call puts arguments where they belong, with the credentials and the identity of every server', async () => {
    const { client, call } = await connected();
    const args = {
      itemId: 'a/b ?#ü',
      fields: ['price', 'a,b'],
      filter_name_: 'x&y=z',
      near: { city: 'Köln' },
      'X-Shelf': 'top',
    };
    const { text, isError } = await call('getItem', args);
    const target =
      '/v1/items/a%2Fb%20%3F%23%C3%BC?fields=price,a%2Cb&filter%5Bname%5D=x%26y%3Dz&near%5Bcity%5D=K%C3%B6ln';
    expect([isError, JSON.parse(text)]).toEqual([false, { method: 'GET', target }]);
    const { headers } = shop.last();
    expect(headers).toMatchObject({ 'x-shelf': 'top', 'x-tenant': 'acme', authorization: 'Bearer of the gateway' });
    expect(headers['x-user-claims']).toContain('apikey:');
    for (const name of Object.keys(headers)) expect(name).not.toMatch(/^mcp-|gateway|content-type/);

    const body = { items: [{ name: 'anvil' }], note: null };
    await call('post_orders', { body });
    expect(shop.last()).toMatchObject({ method: 'POST', target: '/v1/orders', body: JSON.stringify(body) });
    expect(shop.last().headers['content-type']).toBe('application/json');
    expect(await call('removeItem', { itemId: 'x' })).toEqual({
      isError: false,
      text: 'The API answered 204 No Content without content.',
    });
    await client.close();
  });

  test('what the API refuses, and what is no text, is an error of the tool that a model can use', async () => {
    const { client, call } = await connected();
    for (const [itemId, said] of [
      ['missing', /^The API answered 404 Not Found:\n\{"error":"no such item"/],
      ['broken', /^The API answered 503 Service Unavailable:\nthe shelf fell down$/],
      ['forbidden', /^The API answered 403 Forbidden:\nnot with this key$/],
      ['moved', /302 Found: it leads to another address/],
      ['picture', /no text \(image\/png\)/],
    ] as const)
      expect(await call('getItem', { itemId })).toEqual({ isError: true, text: expect.stringMatching(said) });
    const before = shop.asked.length;
    for (const [args, said] of [
      [{}, 'The argument "itemId" is missing.'],
      [{ itemId: 'x', color: 'red' }, 'There is no argument "color"'],
      [{ itemId: { deep: { er: 1 } } }, 'takes texts, numbers'],
    ] as const)
      expect(await call('getItem', args)).toEqual({ isError: true, text: expect.stringContaining(said) });
    expect(shop.asked.length).toBe(before);
    const long = await call('getItem', { itemId: 'long' });
    expect([long.isError, long.text.length < (1 << 20) + 200]).toEqual([false, true]);
    expect(long.text).toEndWith('these are its first 1048576 bytes.)');
    await expect(call('nothing')).rejects.toThrow(/there is no tool/);
    await client.close();
  });

  test('it is behind the address of all servers and in tool search, and what is switched off is off', async () => {
    expect((await gateway.api.post('/v1/mcp-servers/shop/test')).json).toMatchObject({
      success: true,
      server_name: 'Shop',
    });
    const all = await connected('/mcp');
    expect((await all.client.listTools()).tools.map(({ name }) => name)).toContain('shop__getItem');
    expect((await all.call('shop__getItem', { itemId: '7' })).text).toContain('/v1/items/7');
    const search = await connected('/mcp/search');
    expect((await search.call('search_tools', { query: 'one item with its price' })).text).toContain('shop__getItem');
    expect((await search.call('call_tool', { name: 'shop__getItem', arguments: { itemId: '8' } })).text).toContain(
      'items/8',
    );
    await gateway.api.put('/v1/mcp-servers/shop/capabilities', {
      capabilities: [{ type: 'tool', name: 'removeItem', enabled: false }],
    });
    const before = shop.asked.length;
    const one = await connected();
    expect((await one.client.listTools()).tools.map(({ name }) => name)).toEqual(['getItem', 'post_orders']);
    await expect(one.call('removeItem', { itemId: 'x' })).rejects.toThrow();
    expect(shop.asked.length).toBe(before);
    for (const { client } of [all, search, one]) await client.close();
  });

  test('a description at an address is read once, and anew when it is asked for; a pin sees what has changed', async () => {
    const openapi = { url: shop.descriptionUrl, include: { methods: ['get'] } };
    const pinned = { openapi, tool_pinning: { mode: 'block' }, headers: { 'X-Tenant': 'acme' } };
    expect((await register('read', pinned)).status).toBe(200);
    const sync = () => gateway.api.post('/v1/mcp-servers/read/sync');
    expect((await sync()).json).toMatchObject({ sync_status: 'success', counts: { tool: { total: 1 } } });
    const { '/orders': orders, '/items/{itemId}': items } = shopDescription().paths;
    shop.describe({ ...shopDescription(), paths: { '/things/{itemId}': items, '/orders': orders } });
    const { client, call } = await connected('/read/mcp');
    expect((await call('getItem', { itemId: '1' })).text).toContain('/v1/items/1');
    expect((await sync()).json).toMatchObject({ sync_status: 'success' });
    expect((await gateway.api.get('/v1/mcp-servers/read/capabilities')).json.data[0]).toMatchObject({
      status: 'changed',
    });
    await expect(call('getItem', { itemId: '1' })).rejects.toThrow();
    shop.describe({ openapi: '2.0' });
    expect((await sync()).json).toMatchObject({
      sync_status: 'failed',
      sync_error: expect.stringContaining('#/openapi is to be a version of OpenAPI 3.0 or 3.1'),
    });
    expect((await client.listTools()).tools).toHaveLength(0);
    shop.describe(shopDescription());
    const kept = (await gateway.api.get('/v1/mcp-servers/read')).json.configurations;
    expect((await gateway.api.put('/v1/mcp-servers/read', { configurations: { openapi: kept.openapi } })).status).toBe(
      200,
    );
    const wider = { ...openapi, include: { methods: ['get', 'post'] }, exclude: { tags: ['items'] } };
    expect((await gateway.api.put('/v1/mcp-servers/read', { configurations: { openapi: wider } })).status).toBe(200);
    expect((await sync()).json).toMatchObject({ sync_status: 'success' });
    const names = (await gateway.api.get('/v1/mcp-servers/read/capabilities')).json.data as {
      name: string;
      is_offered: boolean;
    }[];
    expect(names.filter((each) => each.is_offered).map(({ name }) => name)).toEqual(['post_orders']);
    await client.close();
  });

  test('clients without sessions use it, and guardrails judge arguments and answers', async () => {
    const checks = [{ id: 'default.contains', parameters: { operator: 'none', words: ['anvil'] } }];
    const guardrail = await gateway.api.post('/v1/guardrails', { name: 'no anvil', checks, actions: { deny: true } });
    const guardrails = [guardrail.json.slug];
    await register('guarded', {
      openapi: { text: JSON.stringify(shopDescription()) },
      headers: { 'X-Tenant': 'acme' },
      input_guardrails: guardrails,
      output_guardrails: guardrails,
    });
    const client = new newer.Client(
      { name: 'test', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const requestInit = { headers: { 'x-gateway-api-key': key } };
    await client.connect(
      new newer.StreamableHTTPClientTransport(new URL(`${gateway.url}/guarded/mcp`), { requestInit }),
    );
    const call = (itemId: string) => client.callTool({ name: 'getItem', arguments: { itemId } });
    expect((await call('4')).content).toEqual([{ type: 'text', text: '{"method":"GET","target":"/v1/items/4"}' }]);
    const before = shop.asked.length;
    await expect(call('anvil')).rejects.toThrow('The request was denied by guardrail');
    expect(shop.asked.length).toBe(before);
    // The API names it in its refusal.
    await expect(call('missing')).rejects.toThrow('The answer was denied by guardrail');
    await client.close();
  });

  test('limits count its calls', async () => {
    const rate_limits = [{ type: 'requests', unit: 'rpd', value: 1, tool: 'getItem' }];
    const headers = { 'X-Tenant': 'acme' };
    await register('few', { openapi: { text: JSON.stringify(shopDescription()) }, rate_limits, headers });
    const { client, call } = await connected('/few/mcp');
    expect((await call('getItem', { itemId: 'missing' })).isError).toBe(true);
    await expect(call('getItem', { itemId: '1' })).rejects.toThrow(/limit/i);
    await client.close();
  });

  test('a description that cannot be used is refused with the place in it', async () => {
    const shopWith = (paths: object) => JSON.stringify({ ...shopDescription(), paths });
    const get = (more: object) => shopWith({ '/a/{b}': { get: { operationId: 'x', ...more } } });
    const b = { name: 'b', in: 'path', required: true, schema: {} };
    for (const [openapi, param, said] of [
      [{ text: '{' }, 'text', '# is not valid JSON'],
      [{ text: 'a: [' }, 'text', '# is not valid YAML'],
      [{ text: 'swagger: "2.0"' }, 'text', 'Swagger 2'],
      [{ text: shopWith({}) }, 'text', '#/paths has no operation'],
      [{ text: get({}) }, 'text', '#/paths/~1a~1{b}/get has no parameter for {b}'],
      [{ text: get({ parameters: [b, { name: 'c', in: 'nowhere' }] }) }, 'text', '/get/parameters/1/in is to be'],
      [
        { text: get({ parameters: [{ ...b, schema: { $ref: '#/components/none' } }] }) },
        'text',
        '/schema/$ref leads to nothing',
      ],
      [
        { text: get({ parameters: [{ ...b, schema: { $ref: 'http://x.example/y' } }] }) },
        'text',
        'leads out of the description',
      ],
      [
        { text: shopWith({ '/a': { get: { operationId: 'x' } }, '/b': { get: { operationId: 'x' } } }) },
        'text',
        '#/paths/~1b/get/operationId is that of GET /a',
      ],
      [{ url: `${shop.url}/missing` }, 'url', 'it answered 404'],
      [{ url: 'http://10.0.0.1/openapi.json' }, 'url', ''],
      [{}, 'text', 'is missing'],
      [{ text: 'x', include: {} }, 'include', 'says nothing'],
    ] as const) {
      const { status, json } = await register('bad', { openapi });
      expect([status < 500 && status >= 400, json.error.param]).toEqual([true, `configurations.openapi.${param}`]);
      expect(json.error.message).toContain(said);
    }
    const other = await gateway.api.post('/v1/mcp-servers', {
      name: 'x',
      url: shop.url,
      configurations: { openapi: { text: 'x' } },
    });
    expect([other.status, other.json.error.param]).toEqual([400, 'configurations.openapi']);
  });
});
