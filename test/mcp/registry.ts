import { serve } from '../gateway.ts';

export const HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>';

const remote = (url: string, more: object = {}) => ({ remotes: [{ type: 'streamable-http', url, ...more }] });
const entry = (name: string, more: object) => ({
  server: { name, description: `What ${name} does.`, version: '1.0.0', ...more },
  _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } },
});

/** A registry of MCP servers as the official one speaks, with some entries that nobody should believe. */
export function startRegistry(weatherUrl: string) {
  const asked: string[] = [];
  const state = { answer: null as null | (() => Response) };
  const servers = [
    entry('com.example/weather', { title: 'Weather', ...remote(weatherUrl) }),
    entry('com.example/keyed', {
      ...remote('https://keyed.example.com/mcp', {
        headers: [{ name: 'X-Api-Key', isRequired: true, isSecret: true }],
      }),
    }),
    entry('com.example/package', { packages: [{ registryType: 'npm', identifier: 'it' }] }),
    entry('com.example/template', remote('https://{tenant}.example.com/mcp')),
    entry('com.example/script', remote('javascript:alert(1)')),
    entry(`evil/${HOSTILE}`, {
      title: `${HOSTILE}\u202e\u0000`,
      description: HOSTILE.repeat(100),
      ...remote('https://evil.example.com/mcp', { headers: [{ name: 'Bad\r\nName', isRequired: true }] }),
    }),
    { server: null },
    'nonsense',
  ];
  const { origin, stop } = serve((request) => {
    const url = new URL(request.url);
    asked.push(`${url.pathname}${url.search}`);
    if (state.answer) return state.answer();
    const search = url.searchParams.get('search') ?? '';
    const from = Number(url.searchParams.get('cursor') ?? 0);
    const limit = Number(url.searchParams.get('limit') ?? 30);
    const fitting = servers.filter((each) => JSON.stringify(each).includes(search));
    const page = fitting.slice(from, from + limit);
    const nextCursor = from + limit < fitting.length ? String(from + limit) : undefined;
    return Response.json({ servers: page, metadata: { count: page.length, nextCursor } });
  });
  return { url: origin, asked: asked as readonly string[], state, stop };
}
