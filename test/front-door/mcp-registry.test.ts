import { afterAll, beforeAll, expect, test } from 'bun:test';
import { serve, startGateway, type TestGateway } from '../gateway.ts';
import { HOSTILE, startRegistry } from '../mcp/registry.ts';

const PATH = '/v1/mcp-registry/servers';
let gateway: TestGateway;
const registry = startRegistry('https://weather.example.com/mcp');
beforeAll(async () => {
  gateway = await startGateway({ environment: { GATEWAY_MCP_REGISTRY_URL: `${registry.url}/` } });
});
afterAll(async () => {
  await gateway.stop();
  registry.stop();
});
const search = (query = '') => gateway.api.get(`${PATH}${query}`);

test('the registry is asked in its own words, and what it says is told in a form that can be added', async () => {
  const { status, json } = await search('?search=weather&limit=5');
  expect(status).toBe(200);
  expect(registry.asked.at(-1)).toBe('/v0.1/servers?version=latest&limit=5&search=weather');
  expect(json).toEqual({
    ...{ object: 'list', registry: new URL(registry.url).host, next_cursor: null },
    data: [
      {
        ...{ name: 'com.example/weather', title: 'Weather', description: 'What com.example/weather does.' },
        ...{ version: '1.0.0', url: 'https://weather.example.com/mcp', header: null, problem: null },
      },
    ],
  });
  const keyed = (await search('?search=keyed')).json.data[0];
  expect(keyed).toMatchObject({ url: 'https://keyed.example.com/mcp', header: 'X-Api-Key' });
});

test('pages are walked by the cursor of the registry', async () => {
  const names: string[] = [];
  for (let cursor = ''; ; ) {
    const { json } = await search(`?limit=2${cursor && `&cursor=${cursor}`}`);
    names.push(...json.data.map(({ name }: { name: string }) => name));
    if (!json.next_cursor) break;
    cursor = json.next_cursor;
  }
  expect(names).toHaveLength(6);
});

test('what cannot be added as it is says why; what is hostile is cut, and is no address', async () => {
  const all = Object.fromEntries((await search()).json.data.map((each: { name: string }) => [each.name, each]));
  expect(all['com.example/package']).toMatchObject({ url: null, problem: expect.stringContaining('package') });
  expect(all['com.example/template']).toMatchObject({ url: null, problem: expect.stringContaining('fill in') });
  expect(all['com.example/script']).toMatchObject({ url: null, problem: expect.stringContaining('can be called') });
  const evil = all[`evil/${HOSTILE}`];
  expect(evil.description).toHaveLength(300);
  expect(evil.title).toBe(HOSTILE);
  expect(evil.header).toBeNull();
});

test('an address that would be cut, or that hides letters, is not offered as another one', async () => {
  for (const url of [`https://long.example.com/${'a'.repeat(2_048)}`, 'https://hid\u200bden.example.com/mcp']) {
    const server = { name: 'com.example/odd', remotes: [{ type: 'streamable-http', url }] };
    registry.state.answer = () => Response.json({ servers: [{ server }] });
    expect((await search()).json.data[0]).toMatchObject({
      url: null,
      problem: expect.stringContaining('can be called'),
    });
  }
  registry.state.answer = null;
});

test('an answer that is too large, no list, an error or a redirect is told in words, and leads nowhere', async () => {
  const visited: string[] = [];
  const inside = serve((request) => {
    visited.push(request.url);
    return Response.json({ servers: [] });
  });
  const large = () => {
    const piece = new Uint8Array(1 << 20).fill(32);
    let left = 50;
    return new Response(
      new ReadableStream({
        pull: (controller) => (left-- > 0 ? controller.enqueue(piece) : controller.close()),
      }),
    );
  };
  const cases: [() => Response, string][] = [
    [large, 'larger than 2097152 bytes'],
    [() => new Response('<html>'), 'no JSON'],
    [() => new Response('['.repeat(1_000_000)), 'no JSON'],
    [() => Response.json({ data: [] }), '"servers"'],
    [() => new Response('no', { status: 500 }), 'answered 500'],
    [() => Response.redirect(`${inside.origin}/v0.1/servers`, 302), 'redirect'],
    [() => Response.redirect('http://169.254.169.254/latest', 307), 'redirect'],
  ];
  try {
    for (const [answer, words] of cases) {
      registry.state.answer = answer;
      const { status, json } = await search();
      expect([words, status, json.error?.code]).toEqual([words, 502, 'mcp_registry_failed']);
      expect(json.error.message).toContain(words);
    }
    expect(visited).toEqual([]);
  } finally {
    registry.state.answer = null;
    inside.stop();
  }
});

test('the policy for addresses holds for it, and it is off until the operator names one', async () => {
  const off = await startGateway();
  const strict = await startGateway({
    // Of this machine, only another name is trusted.
    environment: { GATEWAY_MCP_REGISTRY_URL: registry.url.replace('127.0.0.1', 'localhost') },
  });
  const before = registry.asked.length;
  try {
    const { status, json } = await off.api.get(PATH);
    expect([status, json.error.code]).toEqual([400, 'mcp_registry_off']);
    const refused = await strict.api.get(PATH);
    expect(refused.json.error).toMatchObject({ code: 'egress_refused' });
    expect(refused.json.error.message).toContain('TRUSTED_CUSTOM_HOSTS');
    expect(registry.asked.length).toBe(before);
  } finally {
    await off.stop();
    await strict.stop();
  }
});

test('only who may add servers may search, and what is asked wrongly is named', async () => {
  const { key } = await gateway.given.apiKey({ scopes: ['mcp_servers.list', 'mcp_servers.read'] });
  const before = registry.asked.length;
  expect((await gateway.api.get(PATH, { key })).status).toBe(403);
  for (const [query, param] of [
    ['limit=0', 'limit'],
    [`search=${'x'.repeat(201)}`, 'search'],
    [`cursor=${'x'.repeat(1_001)}`, 'cursor'],
    ['url=http://127.0.0.1', 'url'],
  ]) {
    const { status, text } = await search(`?${query}`);
    expect([query!.slice(0, 20), status]).toEqual([query!.slice(0, 20), 400]);
    expect(text).toContain(param!);
  }
  expect(registry.asked.length).toBe(before);
});
