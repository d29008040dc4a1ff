import type { Principal } from '../../core/principal.ts';
import { reachesOrganisation } from '../../core/principal.ts';
import type { Store } from '../../storage/store.ts';
import type { Summed } from '../../telemetry/analytics/sums.ts';
import type { RequestLog } from '../../telemetry/request-log.ts';
import type { McpServer } from '../server/server.ts';

export interface UsageDeps {
  readonly store: Store;
  readonly log: Pick<RequestLog, 'sums'>;
  readonly find: (who: Principal, idOrSlug: string) => Promise<McpServer>;
}

type Range = Parameters<RequestLog['sums']>[0]['range'];

/** What calls of one thing amount to. */
const figuresOf = ({ sums, latency }: Summed) => ({
  calls: sums.calls,
  errors: sums.errors,
  error_rate: Number((sums.errors / sums.calls).toPrecision(4)),
  latency_ms: {
    avg: Number((sums.duration / sums.calls / 1_000).toPrecision(4)),
    p50: latency.p50,
    p90: latency.p90,
    p99: latency.p99,
  },
  request_bytes: sums.request_bytes,
  response_bytes: sums.response_bytes,
});

const inOrder = (rows: readonly Summed[]): Summed[] =>
  rows.toSorted((one, other) => other.sums.calls - one.sums.calls || (String(one.name) < String(other.name) ? -1 : 1));
const textOf = ({ name }: Summed): string | null => (name === null ? null : String(name));

/** The log names a call by its tool, and one that is of no tool by its method. */
const METHODS = new Set([
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/read',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'completion/complete',
  'logging/setLevel',
  'subscriptions/listen',
]);
const isTool = (name: string | null): name is string =>
  name !== null && !METHODS.has(name) && !name.startsWith('notifications/');

/** How MCP servers and their tools are used, as far as the figures of the log reach. */
export function createUsage({ store, log, find }: UsageDeps) {
  const neverCalled = async (serverId: string, called: ReadonlySet<string>): Promise<string[] | null> => {
    const sync = await store.db
      .selectFrom('mcp_syncs')
      .select('server_id')
      .where('server_id', '=', serverId)
      .executeTakeFirst();
    if (!sync) return null;
    const rows = await store.db
      .selectFrom('mcp_capabilities')
      .select('name')
      .where('server_id', '=', serverId)
      .where('type', '=', 'tool')
      .where('offered', '=', 1)
      .where('enabled', '=', 1)
      .orderBy('name')
      .execute();
    return rows.map(({ name }) => name).filter((name) => !called.has(name));
  };
  const filterOf = ({ organisationId, workspaceId, slug }: McpServer) =>
    ({ organisationId, workspaceId, provider: 'mcp', virtualKey: slug }) as const;

  return {
    /** Of one server: its tools, and those that were not called. */
    async byTool(who: Principal, idOrSlug: string, range: Range) {
      const server = await find(who, idOrSlug);
      const rows = inOrder(await log.sums({ by: 'model', filter: filterOf(server), range }));
      const tools = rows.filter((row) => isTool(textOf(row)));
      return {
        object: 'mcp-usage' as const,
        server: server.slug,
        data: tools.map((row) => ({ tool: textOf(row), ...figuresOf(row) })),
        unused_tools: await neverCalled(server.id, new Set(tools.map((row) => textOf(row)!))),
      };
    },

    /** Of one server: who calls it. */
    async byUser(who: Principal, idOrSlug: string, range: Range) {
      const server = await find(who, idOrSlug);
      const rows = inOrder(await log.sums({ by: 'user_id', filter: filterOf(server), range }));
      return {
        object: 'mcp-usage' as const,
        server: server.slug,
        data: rows.map((row) => ({ user_id: textOf(row), ...figuresOf(row) })),
      };
    },

    /** Of all servers that the caller may see. */
    async ofAll(who: Principal, range: Range, by: 'server' | 'user') {
      const workspaceId = reachesOrganisation(who) ? null : who.workspaceId;
      const filter = { organisationId: who.organisationId, workspaceId, provider: 'mcp' };
      const rows = inOrder(await log.sums({ by: by === 'server' ? 'virtual_key' : 'user_id', filter, range }));
      return {
        object: 'mcp-usage' as const,
        data: rows.map((row) =>
          by === 'server' ? { server: textOf(row), ...figuresOf(row) } : { user_id: textOf(row), ...figuresOf(row) },
        ),
      };
    },
  };
}

export type Usage = ReturnType<typeof createUsage>;
