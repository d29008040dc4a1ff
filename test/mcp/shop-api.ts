import { serve } from '../gateway.ts';

/** What an API was asked. */
export interface Asked {
  readonly method: string;
  /** As it came, with its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A small API behind an OpenAPI description, which remembers what it was asked. */
export function startShopApi() {
  const asked: Asked[] = [];
  let description = shopDescription();
  const { origin, stop } = serve(async (request) => {
    const { pathname, search } = new URL(request.url);
    if (pathname === '/openapi.json') return Response.json(description);
    const headers = request.headers.toJSON() as Record<string, string>;
    asked.push({ method: request.method, target: pathname + search, headers, body: await request.text() });
    if (pathname.endsWith('/missing'))
      return Response.json({ error: 'no such item', near: ['anvil'] }, { status: 404 });
    if (pathname.endsWith('/broken')) return new Response('the shelf fell down', { status: 503 });
    if (pathname.endsWith('/forbidden')) return new Response('not with this key', { status: 403 });
    if (pathname.endsWith('/moved'))
      return new Response(null, { status: 302, headers: { location: 'http://elsewhere.example/' } });
    if (pathname.endsWith('/picture'))
      return new Response(new Uint8Array([137, 80, 78, 71]), { headers: { 'content-type': 'image/png' } });
    if (pathname.endsWith('/long'))
      return new Response('ab'.repeat(1 << 20), { headers: { 'content-type': 'text/plain' } });
    if (request.method === 'DELETE') return new Response(null, { status: 204 });
    return Response.json({ method: request.method, target: pathname + search });
  });
  return {
    url: `${origin}/v1`,
    descriptionUrl: `${origin}/openapi.json`,
    asked,
    last: () => asked.at(-1)!,
    describe: (next: object) => {
      description = next as typeof description;
    },
    stop,
  };
}

export type ShopApi = ReturnType<typeof startShopApi>;

const itemId = { name: 'itemId', in: 'path', required: true, description: 'Which one.', schema: { type: 'string' } };

export const shopDescription = () => ({
  openapi: '3.0.3',
  info: { title: 'Shop', version: '7' },
  servers: [{ url: 'https://another-host.example/v9' }],
  paths: {
    '/items/{itemId}': {
      parameters: [{ $ref: '#/components/parameters/ItemId' }],
      get: {
        operationId: 'getItem',
        summary: 'One item',
        description: 'With its price.',
        tags: ['items'],
        parameters: [
          { name: 'fields', in: 'query', explode: false, schema: { type: 'array', items: { type: 'string' } } },
          { name: 'filter[name]', in: 'query', schema: { type: 'string' } },
          {
            name: 'near',
            in: 'query',
            style: 'deepObject',
            schema: { type: 'object', properties: { city: { type: 'string' } } },
          },
          { name: 'X-Shelf', in: 'header', schema: { type: 'string' } },
          { name: 'X-Api-Key', in: 'header', required: true, schema: { type: 'string' } },
          { name: 'X-Tenant', in: 'header', required: true, schema: { type: 'string' } },
        ],
      },
      delete: { operationId: 'removeItem', tags: ['items'] },
    },
    '/orders': {
      post: {
        summary: 'Order items',
        tags: ['orders'],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
        },
      },
    },
    '/pictures': { post: { operationId: 'upload', requestBody: { required: true, content: { 'image/png': {} } } } },
  },
  components: {
    parameters: { ItemId: itemId },
    schemas: {
      Order: {
        type: 'object',
        required: ['id', 'items'],
        properties: {
          id: { type: 'string', readOnly: true },
          items: { type: 'array', items: { $ref: '#/components/schemas/Line' } },
          note: { type: 'string', nullable: true },
        },
      },
      Line: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Line' } },
        },
      },
    },
  },
});
