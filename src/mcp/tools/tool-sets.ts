import { fail } from '../../core/errors.ts';
import { isUuid, newId } from '../../core/ids.ts';
import { type Page, type PageQuery, page } from '../../core/paging.ts';
import { type McpTools, type Principal, reachesOrganisation } from '../../core/principal.ts';
import { cachedBy } from '../../storage/cached-by.ts';
import type { Changes } from '../../storage/changes.ts';
import type { McpToolSetRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { withFreeSlug, workspaceFor } from '../../storage/workspace-lookup.ts';
import { isServerSlug, SLUG_FORM } from '../server/server.ts';
import { exposedName } from './names.ts';
import type { SetTool, SetToolInput, ToolSet } from './tool-set.ts';

export interface ToolSetsDeps {
  readonly store: Store;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

export interface ToolSetInput {
  readonly name: string;
  readonly slug?: string;
  readonly description?: string | null;
  readonly workspace_id?: string;
  readonly mcp_tools?: McpTools | null;
  readonly tools: readonly SetToolInput[];
}
export type ToolSetChange = Partial<Omit<ToolSetInput, 'slug' | 'workspace_id'>>;

/** What has become of a tool of a set, as far as the gateway knows. */
type Standing = 'available' | 'switched_off' | 'not_offered' | 'server_deleted' | 'unknown';

const toolsIn = ({ tools }: McpToolSetRow): SetTool[] => JSON.parse(tools);

/** The tool sets of all workspaces: what their owners change, and what a call finds. */
export function createToolSets({ store, changes, publicUrl, now }: ToolSetsDeps) {
  const visible = (db: Db, who: Principal) => {
    const query = db.selectFrom('mcp_tool_sets').where('organisation_id', '=', who.organisationId);
    return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
  };
  const open = async (db: Db, who: Principal, idOrSlug: string): Promise<McpToolSetRow> => {
    const row = await visible(db, who)
      .selectAll()
      .where((where) => where.or([where('slug', '=', idOrSlug), where('id', '=', idOrSlug)]))
      .executeTakeFirst();
    return row ?? fail('mcp_tool_set_not_found', idOrSlug.slice(0, 80));
  };

  const load = async (slug: string): Promise<ToolSet | null> => {
    const row = await store.db.selectFrom('mcp_tool_sets').selectAll().where('slug', '=', slug).executeTakeFirst();
    if (!row) return null;
    const { id, workspace_id: workspaceId, name, description, mcp_tools: shows, updated_at } = row;
    const version = `${id} ${updated_at} ${Bun.hash(row.tools).toString(36)}`;
    return { id, workspaceId, slug, name, description, shows, tools: toolsIn(row), version };
  };
  // Sets go with their workspace, and workspaces are changed with keys.
  const cache = cachedBy(changes, ['mcp-servers', 'keys'], load, { most: 1_000, now });

  const standingsOf = async (db: Db, tools: readonly SetTool[]): Promise<Standing[]> => {
    const ids = [...new Set(tools.map(({ serverId }) => serverId))];
    const servers = await db.selectFrom('mcp_servers').select('id').where('id', 'in', ids).execute();
    const there = new Set(servers.map(({ id }) => id));
    const syncs = await db.selectFrom('mcp_syncs').select('server_id').where('server_id', 'in', ids).execute();
    const asked = new Set(syncs.map(({ server_id }) => server_id));
    const known = await db
      .selectFrom('mcp_capabilities')
      .select(['server_id', 'name', 'enabled', 'offered'])
      .where('server_id', 'in', ids)
      .where('type', '=', 'tool')
      .execute();
    const byName = new Map(known.map((row) => [`${row.server_id} ${row.name}`, row]));
    return tools.map(({ serverId, tool }) => {
      const row = byName.get(`${serverId} ${tool}`);
      if (!there.has(serverId)) return 'server_deleted';
      if (row && Number(row.enabled) === 0) return 'switched_off';
      if (row && Number(row.offered) === 1) return 'available';
      return asked.has(serverId) ? 'not_offered' : 'unknown';
    });
  };

  const shown = async (row: McpToolSetRow) => {
    const tools = toolsIn(row);
    const standings = await standingsOf(store.db, tools);
    return {
      id: row.id,
      object: 'mcp-tool-set' as const,
      slug: row.slug,
      name: row.name,
      description: row.description,
      workspace_id: row.workspace_id,
      endpoint: `${publicUrl()}/mcp/sets/${row.slug}`,
      mcp_tools: row.mcp_tools,
      tools: tools.map(({ server, tool, name, description }, index) => ({
        ...{ server, tool, name, description },
        status: standings[index]!,
      })),
      created_at: new Date(row.created_at).toISOString(),
      last_updated_at: new Date(row.updated_at).toISOString(),
    };
  };

  /**
   * Tools with the servers they belong to. Those of a server that is gone stay until an administrator takes them
   * out: its successor under the same slug is another server.
   */
  const resolved = async (db: Db, workspaceId: string, given: readonly SetToolInput[], old: readonly SetTool[]) => {
    const servers = await db
      .selectFrom('mcp_servers')
      .select(['id', 'slug'])
      .where('workspace_id', '=', workspaceId)
      .execute();
    const names = new Set<string>();
    return given.map(({ server: named, tool, name, description = null }, index): SetTool => {
      const gone = old.find((each) => each.server === named && each.tool === tool);
      const server = servers.find(({ id, slug }) => id === named || slug === named);
      const owner = server ?? (gone && { id: gone.serverId, slug: gone.server });
      if (!owner)
        return fail('invalid_request', `tools[${index}].server`, `${named} is no MCP server of this workspace`);
      const exposed = name ?? exposedName(owner.slug, tool);
      if (names.has(exposed)) fail('invalid_request', `tools[${index}].name`, `a second tool is called ${exposed}`);
      names.add(exposed);
      return { serverId: owner.id, server: owner.slug, tool, name: exposed, description };
    });
  };

  return {
    /** The set of a path, for callers in its workspace; one of another workspace is like one that does not exist. */
    async find(workspaceId: string, slug: string): Promise<ToolSet> {
      const set = isServerSlug(slug) ? await cache.get(slug) : null;
      return set && set.workspaceId === workspaceId ? set : fail('mcp_tool_set_not_found', slug.slice(0, 80));
    },

    async create(who: Principal, input: ToolSetInput) {
      if (input.slug !== undefined && (!isServerSlug(input.slug) || isUuid(input.slug)))
        fail('invalid_request', 'slug', SLUG_FORM);
      const workspaceId = await workspaceFor(store.db, who, input.workspace_id);
      const wish = { asked: input.slug, name: input.name, fallback: 'tool-set' };
      const row = await withFreeSlug(wish, (slug) =>
        changes.transaction(
          'mcp-servers',
          async (db) => {
            const made: McpToolSetRow = {
              id: newId<string>(),
              organisation_id: who.organisationId,
              workspace_id: workspaceId,
              slug,
              name: input.name,
              description: input.description ?? null,
              mcp_tools: input.mcp_tools ?? null,
              tools: JSON.stringify(await resolved(db, workspaceId, input.tools, [])),
              created_at: now(),
              updated_at: now(),
            };
            await db.insertInto('mcp_tool_sets').values(made).execute();
            return made;
          },
          who,
        ),
      );
      return shown(row);
    },

    async list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<object>> {
      const workspace = query.workspace_id === undefined ? null : await workspaceFor(store.db, who, query.workspace_id);
      const matching = () => {
        const all = visible(store.db, who);
        return workspace === null ? all : all.where('workspace_id', '=', workspace);
      };
      const { total } = await matching()
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const offset = query.current_page * query.page_size;
      const rows = await matching().selectAll().orderBy('id').limit(query.page_size).offset(offset).execute();
      return page(await Promise.all(rows.map(shown)), Number(total), query);
    },

    read: async (who: Principal, idOrSlug: string) => shown(await open(store.db, who, idOrSlug)),

    async update(who: Principal, idOrSlug: string, input: ToolSetChange) {
      const row = await changes.transaction(
        'mcp-servers',
        async (db) => {
          const current = await open(db, who, idOrSlug);
          const old = toolsIn(current);
          const next: McpToolSetRow = {
            ...current,
            name: input.name ?? current.name,
            description: input.description === undefined ? current.description : input.description,
            mcp_tools: input.mcp_tools === undefined ? current.mcp_tools : input.mcp_tools,
            tools: input.tools
              ? JSON.stringify(await resolved(db, current.workspace_id, input.tools, old))
              : current.tools,
            updated_at: now(),
          };
          await db.updateTable('mcp_tool_sets').set(next).where('id', '=', current.id).execute();
          return next;
        },
        who,
      );
      return shown(row);
    },

    /** Answers the id of what is gone. */
    delete: (who: Principal, idOrSlug: string): Promise<string> =>
      changes.transaction(
        'mcp-servers',
        async (db) => {
          const { id } = await open(db, who, idOrSlug);
          await db.deleteFrom('mcp_tool_sets').where('id', '=', id).execute();
          return id;
        },
        who,
      ),
  };
}

export type ToolSets = ReturnType<typeof createToolSets>;
