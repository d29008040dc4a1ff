import { afterAll, beforeAll, expect, test } from 'bun:test';
import { startGateway, type TestGateway } from '../../gateway.ts';
import { toolCall } from '../../mcp/recorder.ts';
import { type ShopApi, startShopApi } from '../../mcp/shop-api.ts';

/** A model that gives an API's tools hostile arguments, and an owner who registers hostile descriptions. */
let gateway: TestGateway;
let key: string;
let shop: ShopApi;
beforeAll(async () => {
  gateway = await startGateway();
  key = (await gateway.given.apiKey()).key;
  shop = startShopApi();
});
afterAll(async () => {
  await gateway.stop();
  shop.stop();
});

const register = (slug: string, description: object | string, more: Record<string, unknown> = {}) =>
  gateway.api.post('/v1/mcp-servers', {
    name: slug,
    slug,
    url: shop.url,
    configurations: {
      transport: 'openapi',
      openapi: { text: typeof description === 'string' ? description : JSON.stringify(description) },
      headers: { Authorization: 'Bearer of the gateway', 'X-Tenant': 'acme' },
      ...more,
    },
  });
const described = (paths: object, more: object = {}) => ({
  openapi: '3.1.0',
  info: { title: 'x', version: '1' },
  paths,
  ...more,
});
const parameter = (name: string, place: string, more: object = {}) => ({
  name,
  in: place,
  ...(place === 'path' && { required: true }),
  schema: { type: 'string' },
  ...more,
});
const call = async (slug: string, name: string, args: object) => {
  const { json } = await gateway.api.post(
    `/${slug}/mcp`,
    { ...toolCall(), params: { name, arguments: args } },
    { key },
  );
  return json.result ?? json.error;
};
const toolsOf = async (slug: string) =>
  (await gateway.api.post(`/${slug}/mcp`, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { key })).json.result.tools;

test('no argument leads out of the API, adds a credential or a line to the request', async () => {
  const get = {
    operationId: 'get',
    parameters: [
      parameter('a', 'path'),
      parameter('b', 'path'),
      parameter('q', 'query', { schema: { type: 'object', properties: { page: {} } } }),
      parameter('X-Shelf', 'header'),
      ...[
        'Authorization',
        'authorization',
        'x_tenant',
        'Cookie',
        'X-Api-Key',
        'X-User-Claims',
        'Host',
        'Content-Length',
        'X-Forwarded-For',
        'Mcp-Session-Id',
      ].map((name) => parameter(name, 'header')),
      parameter('session', 'cookie'),
    ],
  };
  expect((await register('narrow', described({ '/in/{a}{b}/end': { get } }))).status).toBe(200);
  const [tool] = await toolsOf('narrow');
  expect(Object.keys(tool.inputSchema.properties)).toEqual(['a', 'b', 'q', 'X-Shelf']);
  const hostile: object[] = [
    ...[
      '..',
      '.',
      '../..',
      '..\\..',
      '%2e%2e',
      '%252e%252e',
      '..%2f..',
      'x/../../y',
      '..;x',
      '',
      '\u0000',
      'a\r\nb',
      '\ud800',
    ].map((b) => ({ a: '/', b })),
    { a: '.', b: '.' },
    { a: 'x', b: ['..', ''] },
    { a: 'x', b: 'y', q: { api_key: 'stolen' } },
    { a: 'x', b: 'y', 'X-Shelf': 'top\r\nAuthorization: Bearer mine' },
    { a: 'x', b: 'y', 'X-Shelf': 'ü' },
    { a: 'x', b: 'y', Authorization: 'Bearer mine' },
    { a: 'x', b: 'y', x_tenant: 'other' },
    { a: 'x', b: 'y', url: 'http://elsewhere.example' },
    { a: 'x', b: 'y', constructor: 'z' },
  ];
  const before = shop.asked.length;
  for (const args of hostile)
    expect([args, (await call('narrow', 'get', args)).isError ?? 'refused']).toEqual([args, expect.anything()]);
  expect(shop.asked.slice(before)).toEqual([]);
  const odd = { a: '//elsewhere.example@', b: '?x=1#y&z', q: { page: '1&api_key=2' }, 'X-Shelf': 'a: b' };
  expect((await call('narrow', 'get', odd)).isError).toBeUndefined();
  expect(shop.last().target).toBe('/v1/in/%2F%2Felsewhere.example%40%3Fx%3D1%23y%26z/end?page=1%26api_key%3D2');
  expect(shop.last().headers).toMatchObject({
    authorization: 'Bearer of the gateway',
    'x-tenant': 'acme',
    'x-shelf': 'a: b',
  });
});

test('calls go to the address that was registered, whatever hosts and paths a description names', async () => {
  const servers = [{ url: 'http://elsewhere.example' }];
  const get = (operationId: string) => ({ get: { operationId, servers }, servers });
  const paths = {
    '//elsewhere.example/x': get('a'),
    '/@elsewhere.example': get('b'),
    '/\\elsewhere': get('c'),
    '/x?y#z': get('d'),
  };
  const outside = { '/../admin': get('e'), '/%2e%2e/admin': get('f') };
  expect((await register('hosts', described({ ...paths, ...outside }, { servers }))).status).toBe(200);
  for (const name of ['a', 'b', 'c', 'd']) {
    expect([name, (await call('hosts', name, {})).isError]).toEqual([name, undefined]);
    expect(shop.last().target).toStartWith('/v1/');
  }
  const before = shop.asked.length;
  for (const name of ['e', 'f']) expect((await call('hosts', name, {})).isError).toBe(true);
  expect(shop.asked.length).toBe(before);
});

test('names and descriptions with hidden and control characters become plain ones, each its own', async () => {
  const odd = ['a\u0000b', 'a\nb', 'a b', 'ä', '__proto__', 'x'.repeat(300), `${'x'.repeat(300)}y`];
  const paths = odd.map((operationId, index) => [
    `/p${index}`,
    { get: { operationId, summary: 'one\u001b[2J\u0007two' } },
  ]);
  const text = JSON.stringify(described(Object.fromEntries(paths))).replace('"/p0"', '"/p0\\u0000\\n"');
  // What no text of the store may hold is refused before it is read.
  const bare = text.replaceAll('\\u0000', '\\u0001');
  expect((await register('odd', bare)).status).toBe(200);
  const tools = (await toolsOf('odd')) as { name: string; description: string }[];
  expect(new Set(tools.map(({ name }) => name)).size).toBe(odd.length);
  for (const { name, description } of tools) {
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(description).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  }
});

test('descriptions that are huge, deep, cyclic or grow without end are refused or cut, and others are served meanwhile', async () => {
  const post = (schema: object) => ({ post: { requestBody: { content: { 'application/json': { schema } } } } });
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const growing = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `S${index}`,
      { type: 'object', properties: Object.fromEntries([...'abcd'].map((each) => [each, ref(`S${index + 1}`)])) },
    ]),
  );
  const cyclic = {
    A: { allOf: [ref('B')] },
    B: { allOf: [ref('A')], properties: { a: ref('A') } },
    C: ref('D'),
    D: ref('C'),
  };
  const of = (schema: object, schemas: object) => described({ '/x': post(schema) }, { components: { schemas } });
  const many = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`/p${index}`, { get: {} }]));
  let laughs = 'a0: &a0 [x, x]\n';
  for (let index = 1; index < 40; index++)
    laughs += `a${index}: &a${index} [*a${index - 1}, *a${index - 1}, *a${index - 1}]\n`;
  const [down, up] = ['{"a":'.repeat(5_000), '}'.repeat(5_000)];
  let answered = 0;
  let isOver = false;
  const others = (async () => {
    while (!isOver) {
      expect((await gateway.api.get('/health')).status).toBe(200);
      answered++;
    }
  })();
  for (const [slug, description, status] of [
    ['growing', of(ref('S0'), { ...growing, S30: { type: 'string' } }), 200],
    [
      'growing-often',
      described(Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`/p${index}`, post(ref('S0'))])), {
        components: { schemas: { ...growing, S30: {} } },
      }),
      400,
    ],
    ['cyclic', of({ anyOf: [ref('A'), ref('C')] }, cyclic), 200],
    ['many', described(many), 400],
    ['deep', `{"openapi":"3.1.0","paths":${down}1${up}}`, 400],
    ['deep-yaml', `openapi: 3.1.0\npaths: ${'['.repeat(50_000)}`, 400],
    ['deep-lines', Array.from({ length: 1_200 }, (_, index) => `${' '.repeat(index)}a:`).join('\n'), 400],
    ['laughs', `openapi: 3.1.0\n${laughs}`, 400],
    ['huge', `openapi: 3.1.0\nx: ${'a'.repeat(1_100_000)}`, 413],
    ['cyclic-yaml', 'openapi: 3.1.0\npaths: &p\n  /x:\n    get: *p\n  /y: *p\n', 200],
    ['path-in-circles', described({ '/x': { $ref: '#/paths/~1x' } }), 400],
    ['inherited', described({ '/x': { $ref: '#/paths/constructor' } }), 400],
  ] as const) {
    const reply = await register(slug, description);
    expect([slug, reply.status, reply.json.error?.message ?? '']).toEqual([slug, status, expect.any(String)]);
    if (status === 200) expect(JSON.stringify(await toolsOf(slug)).length).toBeLessThan(64 << 10);
  }
  isOver = true;
  await others;
  expect(answered).toBeGreaterThan(0);
});
