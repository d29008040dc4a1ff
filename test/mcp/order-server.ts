import { serve } from '../gateway.ts';

/** A shop whose answers are as long as those of real ones. */
export interface OrderServer {
  readonly url: string;
  /** Calls of tools, as they came. */
  readonly calls: { readonly name: string; readonly given: Record<string, unknown>; readonly headers: Headers }[];
  /** Calls of `wait` that their client has given up. */
  readonly givenUp: number;
  readonly waiting: number;
  stop(): void;
}

const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const STATES = ['paid', 'sent', 'returned', 'lost'];

/** An order with everything that nobody asked for. */
const orderOf = (id: number) => ({
  id: `o-${id}`,
  state: STATES[id % STATES.length],
  total: 10 + (id % 7),
  customer: { name: `Customer ${id}`, email: `customer${id}@example.com`, phone: `+41 44 000 00 ${id % 100}` },
  address: { street: `Long Street ${id}`, city: 'Zürich', zip: '8000', country: 'CH' },
  lines: [1, 2, 3].map((line) => ({ sku: `SKU-${id}-${line}`, title: `Item ${line} of order ${id}`, quantity: line })),
});

const TOOLS = [
  {
    name: 'list_orders',
    description: 'Orders of a month.',
    inputSchema: {
      type: 'object',
      properties: { month: { type: 'string', description: 'Like 2026-10.' }, limit: { type: 'integer', default: 20 } },
      required: ['month'],
    },
    outputSchema: {
      type: 'object',
      properties: { ids: { type: 'array', items: { type: 'string' } } },
      required: ['ids'],
    },
  },
  {
    name: 'get-order',
    description: 'One order, with its lines.',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  },
  {
    name: 'delete_order',
    description: 'Deletes an order for good.',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  },
  { name: 'wait', description: 'Never ends.', inputSchema: { type: 'object' } },
  { name: 'break', description: 'Fails.', inputSchema: { type: 'object' } },
];

export function startOrderServer(): OrderServer {
  const calls: OrderServer['calls'] = [];
  const counts = { waiting: 0, givenUp: 0 };
  const called = (name: string, given: Record<string, unknown>): object => {
    if (name === 'list_orders') {
      const ids = Array.from({ length: Number(given.limit ?? 20) }, (_, index) => `o-${index}`);
      return { ...text({ ids }), structuredContent: { ids } };
    }
    if (name === 'get-order') return text(orderOf(Number(String(given.id).slice(2))));
    if (name === 'break') return { content: [{ type: 'text', text: 'the shop is closed' }], isError: true };
    return text('done');
  };
  const { origin, stop } = serve(async (request) => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const { id, method, params = {} } = JSON.parse(await request.text());
    if (id === undefined) return new Response(null, { status: 202 });
    if (method === 'tools/call') calls.push({ name: params.name, given: params.arguments, headers: request.headers });
    if (method === 'tools/call' && params.name === 'wait') {
      counts.waiting++;
      await new Promise<void>((resolve) => request.signal.addEventListener('abort', () => resolve()));
      counts.givenUp++;
    }
    const result = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'orders', version: '1' },
      },
      'tools/list': { tools: TOOLS },
      'tools/call': method === 'tools/call' && called(params.name, params.arguments ?? {}),
    }[method as string];
    return Response.json(
      result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: { code: -32_601, message: 'unknown' } },
    );
  });
  return {
    url: `${origin}/mcp`,
    calls,
    get waiting() {
      return counts.waiting;
    },
    get givenUp() {
      return counts.givenUp;
    },
    stop,
  };
}
