import { serve } from '../gateway.ts';

export interface SmallOptions {
  readonly era: 'older' | 'newer';
  readonly tools: readonly string[];
  readonly pageSize?: number;
}

/** An MCP server that speaks one version, and tells of every message it gets. */
export interface SmallServer {
  readonly url: string;
  /** `session method name`, as they came. */
  readonly heard: string[];
  /** The last message, as it came. */
  last: string;
  readonly sessions: Set<string>;
  /** Milliseconds before each answer. */
  slowness: number;
  /** Calls of tools are answered when it has come to pass. */
  gate: Promise<void> | null;
  stop(): void;
}

const VERSIONS = { older: '2025-11-25', newer: '2026-07-28' } as const;

export function startSmallServer({ era, tools, pageSize = 100 }: SmallOptions): SmallServer {
  const heard: string[] = [];
  const sessions = new Set<string>();
  const wrong = (id: unknown) =>
    Response.json({ jsonrpc: '2.0', id, error: { code: -32_022, message: 'not my version' } }, { status: 400 });

  const resultOf = (method: string, params: Record<string, unknown>): unknown => {
    const extra = era === 'newer' && { resultType: 'complete' };
    switch (method) {
      case 'server/discover':
        return { ...extra, supportedVersions: [VERSIONS.newer], capabilities: { tools: {} } };
      case 'tools/list': {
        const from = Number(params.cursor ?? 0);
        const page = tools.slice(from, from + pageSize).map((name) => ({
          ...{ name, inputSchema: { type: 'object' } },
          ...(name.startsWith('read') && { annotations: { readOnlyHint: true } }),
        }));
        return {
          ...extra,
          tools: page,
          ...(from + pageSize < tools.length && { nextCursor: String(from + pageSize) }),
        };
      }
      case 'tools/call':
        return { ...extra, content: [{ type: 'text', text: `${params.name} ${JSON.stringify(params.arguments)}` }] };
      default:
        return null;
    }
  };

  const server = { slowness: 0, last: '', gate: null as Promise<void> | null };
  const { origin, stop } = serve(async (request) => {
    await Bun.sleep(server.slowness);
    const session = request.headers.get('mcp-session-id');
    if (request.method === 'DELETE') {
      heard.push(`${session} DELETE`);
      sessions.delete(session ?? '');
      return new Response(null, { status: 204 });
    }
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    server.last = await request.text();
    const {
      id,
      method,
      params = {},
    } = (JSON.parse(server.last) ?? {}) as {
      id?: unknown;
      method: string;
      params?: Record<string, unknown>;
    };
    heard.push([session ?? '-', method, params.name].filter(Boolean).join(' '));
    const spoken = request.headers.get('mcp-protocol-version');
    if (era === 'newer') {
      const name = request.headers.get('mcp-name') ?? undefined;
      if (spoken !== VERSIONS.newer || request.headers.get('mcp-method') !== method || name !== params.name)
        return wrong(id);
    } else if (method === 'initialize') {
      const opened = crypto.randomUUID();
      sessions.add(opened);
      const result = {
        protocolVersion: VERSIONS.older,
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      };
      return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': opened } });
    } else if (spoken === VERSIONS.newer) return wrong(id);
    else if (!session || !sessions.has(session)) return new Response('no such session', { status: 404 });
    if (id === undefined) return new Response(null, { status: 202 });
    if (method === 'tools/call') await server.gate;
    const result = resultOf(method, params);
    return Response.json(
      result === null
        ? { jsonrpc: '2.0', id, error: { code: -32_601, message: 'no such method' } }
        : { jsonrpc: '2.0', id, result },
    );
  });
  return Object.assign(server, { url: `${origin}/mcp`, heard, sessions, stop });
}
