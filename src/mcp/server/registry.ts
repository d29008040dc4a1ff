import { fail } from '../../core/errors.ts';
import { isUuid, newId, type OrganisationId, slugFrom, type WorkspaceId } from '../../core/ids.ts';
import { changedAddress, refuseMaskedAddress } from '../../core/masked-address.ts';
import { type Page, type PageQuery, page } from '../../core/paging.ts';
import { type Principal, reachesOrganisation } from '../../core/principal.ts';
import type { NowOrLater } from '../../core/runtime/now-or-later.ts';
import { type Sealer, sha256 } from '../../crypto/seal.ts';
import { createAddressSealer } from '../../crypto/sealed-address.ts';
import { cachedBy } from '../../storage/cached-by.ts';
import type { Changes } from '../../storage/changes.ts';
import type { McpServerRow } from '../../storage/schema.ts';
import type { Db, Store } from '../../storage/store.ts';
import { withFreeSlug, workspaceFor } from '../../storage/workspace-lookup.ts';
import { checkGuardrails, type ResolveGuardrail } from './check-guardrails.ts';
import { type CheckDeps, checkServer, type ServerDraft } from './check-server.ts';
import { type AuthType, type Configurations, readConfigurations, type StoredConfigurations } from './configuration.ts';
import { isSameIssuing } from './oauth-metadata.ts';
import { type OpenApiDeps, readAnew, withDescription, withStoredAddress } from './openapi.ts';
import { isReservedSlug, isServerSlug, type McpServer, SLUG_FORM, serverOf } from './server.ts';
import { refuseMasked, type ShownServer, shownServer } from './shown.ts';
import { isStdioAddress, stdioAddress } from './stdio.ts';

export interface McpServerInput {
  readonly name: string;
  readonly slug?: string;
  readonly description?: string | null;
  readonly workspace_id?: string;
  /** Absent: the server is a program. */
  readonly url?: string;
  readonly auth_type?: AuthType;
  readonly configurations?: Readonly<Record<string, unknown>>;
}
export type McpServerChange = Partial<Omit<McpServerInput, 'slug' | 'workspace_id'>>;

export interface RegistryDeps extends CheckDeps, OpenApiDeps {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly changes: Pick<Changes, 'subscribe' | 'transaction'>;
  readonly resolveGuardrail: ResolveGuardrail;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

const ASSUMED_NAME = 'mcp-server';

/** The MCP servers of all workspaces: what their owners change, and what a call finds. */
export function createMcpServers(deps: RegistryDeps) {
  const { store, sealer, changes, now } = deps;
  const addresses = createAddressSealer(sealer, 'mcp-server');
  const withAddress = (row: McpServerRow): McpServerRow => ({ ...row, url: addresses.open(row) });
  const withoutAddress = (row: McpServerRow): McpServerRow => ({ ...row, url: addresses.seal(row.id, row.url) });
  const opened = ({ id, sealed }: McpServerRow): StoredConfigurations =>
    JSON.parse(sealer.open('mcp-server', id, sealed));
  const seal = (id: string, value: StoredConfigurations) => sealer.seal('mcp-server', id, JSON.stringify(value));
  const shown = (row: McpServerRow) => shownServer(row, opened(row), deps.publicUrl());

  const visible = (db: Db, who: Principal) => {
    const query = db.selectFrom('mcp_servers').where('organisation_id', '=', who.organisationId);
    return reachesOrganisation(who) ? query : query.where('workspace_id', '=', who.workspaceId);
  };
  const find = async (db: Db, who: Principal, idOrSlug: string): Promise<McpServerRow> => {
    const row = await visible(db, who)
      .selectAll()
      .where((where) => where.or([where('slug', '=', idOrSlug), where('id', '=', idOrSlug)]))
      .executeTakeFirst();
    return row ? withAddress(row) : fail('mcp_server_not_found', idOrSlug.slice(0, 80));
  };

  const callable = (row: McpServerRow): McpServer => serverOf(factsOf(withAddress(row)), opened(row));
  const load = async (slug: string): Promise<McpServer | null> => {
    const row = await store.db.selectFrom('mcp_servers').selectAll().where('slug', '=', slug).executeTakeFirst();
    return row ? callable(row) : null;
  };
  const loadAll = async (workspaceId: string): Promise<readonly McpServer[]> => {
    const query = store.db.selectFrom('mcp_servers').selectAll().where('workspace_id', '=', workspaceId);
    return (await query.orderBy('slug').execute()).map(callable);
  };
  // Servers go with their workspace, and workspaces are changed with keys.
  const topics = ['mcp-servers', 'keys'] as const;
  const cache = cachedBy(changes, topics, load, { most: 5_000, now });
  const together = cachedBy(changes, topics, loadAll, { most: 500, now });

  return {
    /** The server of a path, in any workspace; at once when it is in the cache. */
    find(slug: string): NowOrLater<McpServer | null> {
      const known = cache.peek(slug);
      if (known) return known;
      return isServerSlug(slug) && !isReservedSlug(slug) ? cache.get(slug) : null;
    },

    /** All servers of a workspace, by slug. */
    async inWorkspace(id: WorkspaceId): Promise<readonly McpServer[]> {
      return (await together.get(id)) ?? [];
    },

    async byId(id: string): Promise<McpServer | null> {
      const row = await store.db.selectFrom('mcp_servers').selectAll().where('id', '=', id).executeTakeFirst();
      return row ? callable(row) : null;
    },

    /** The server as it is called, for its owners. */
    async open(who: Principal, idOrSlug: string): Promise<McpServer> {
      const row = await find(store.db, who, idOrSlug);
      return serverOf(factsOf(row), opened(row));
    },

    async create(who: Principal, input: McpServerInput): Promise<ShownServer> {
      if (input.slug !== undefined) checkSlug(input.slug);
      const configurations = readConfigurations(input.configurations ?? {});
      refuseMasked(configurations);
      refuseMaskedAddress(input.url, 'url');
      const url = addressOf(input.url, configurations);
      const authType = input.auth_type ?? (configurations.headers ? 'headers' : 'none');
      await checkServer({ url, authType, configurations }, deps);
      withStoredAddress(input.configurations?.openapi, undefined);
      const stored = await withDescription(configurations, null, deps);
      const workspaceId = await workspaceFor(store.db, who, input.workspace_id);
      const { organisationId } = who;
      await checkGuardrails({ organisationId, workspaceId }, configurations, deps.resolveGuardrail);
      const wish = { asked: input.slug, name: freeName(input.name), fallback: ASSUMED_NAME };
      const row = await withFreeSlug(wish, (slug) =>
        changes.transaction(
          'mcp-servers',
          async (db) => {
            const id = newId<string>();
            const made: McpServerRow = {
              id,
              organisation_id: who.organisationId,
              workspace_id: workspaceId,
              slug,
              name: input.name,
              description: input.description ?? null,
              url,
              auth_type: authType,
              sealed: seal(id, stored),
              default_user_access: 'allow',
              owner_id: who.keyId,
              updated_by: who.keyId,
              created_at: now(),
              updated_at: now(),
            };
            await db.insertInto('mcp_servers').values(withoutAddress(made)).execute();
            return made;
          },
          who,
        ),
      );
      return shown(row);
    },

    async list(who: Principal, query: PageQuery & { workspace_id?: string }): Promise<Page<ShownServer>> {
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
      return page(
        rows.map((row) => shown(withAddress(row))),
        Number(total),
        query,
      );
    },

    async read(who: Principal, idOrSlug: string): Promise<ShownServer> {
      return shown(await find(store.db, who, idOrSlug));
    },

    async update(who: Principal, idOrSlug: string, input: McpServerChange): Promise<ShownServer> {
      // Names are looked up on the way, which no transaction waits for.
      const before = await find(store.db, who, idOrSlug);
      const wanted = changed(before, opened(before), input);
      await checkServer(wanted, deps);
      const stored = await withDescription(wanted.configurations, opened(before), deps);
      if (input.configurations) await checkGuardrails(factsOf(before), wanted.configurations, deps.resolveGuardrail);
      const row = await changes.transaction(
        'mcp-servers',
        async (db) => {
          const current = await find(db, who, idOrSlug);
          if (current.updated_at !== before.updated_at || current.sealed !== before.sealed)
            fail('invalid_request', 'slug', 'the server was changed at the same time; read it and try again');
          const draft = changed(current, opened(current), input);
          const next: McpServerRow = {
            ...current,
            name: input.name ?? current.name,
            description: input.description === undefined ? current.description : input.description,
            url: draft.url,
            auth_type: draft.authType,
            sealed: seal(current.id, stored),
            updated_by: who.keyId,
            updated_at: now(),
          };
          await db.updateTable('mcp_servers').set(withoutAddress(next)).where('id', '=', current.id).execute();
          if (!keepsGrants(current, opened(current), draft)) await forgetGrants(db, current.id);
          return next;
        },
        who,
      );
      return shown(row);
    },

    /** Reads the description of an API again, where it has an address. Throws where it cannot be used. */
    async readAnew(who: Principal, idOrSlug: string): Promise<void> {
      const before = await find(store.db, who, idOrSlug);
      const next = await readAnew(opened(before), deps);
      if (!next) return;
      await changes.transaction(
        'mcp-servers',
        async (db) => {
          const sealed = seal(before.id, next);
          // What was changed in the meantime was read with the change.
          const same = db.updateTable('mcp_servers').where('id', '=', before.id).where('sealed', '=', before.sealed);
          await same.set({ sealed, updated_by: who.keyId, updated_at: now() }).execute();
        },
        who,
      );
    },

    /** Answers the id of what is gone. */
    delete(who: Principal, idOrSlug: string): Promise<string> {
      return changes.transaction(
        'mcp-servers',
        async (db) => {
          const { id } = await find(db, who, idOrSlug);
          await db.deleteFrom('mcp_servers').where('id', '=', id).execute();
          return id;
        },
        who,
      );
    },
  };
}

export type McpServers = ReturnType<typeof createMcpServers>;

const factsOf = (row: McpServerRow) => ({
  id: row.id,
  organisationId: row.organisation_id as OrganisationId,
  workspaceId: row.workspace_id as WorkspaceId,
  slug: row.slug,
  name: row.name,
  url: row.url,
  authType: row.auth_type,
  version: sha256(row.sealed),
});

function checkSlug(slug: string) {
  if (!isServerSlug(slug)) fail('invalid_request', 'slug', SLUG_FORM);
  // Servers are found by slug or id, and one must not be taken for the other.
  if (isUuid(slug)) fail('invalid_request', 'slug', 'cannot look like an id');
  if (isReservedSlug(slug)) fail('invalid_request', 'slug', `"${slug}" is a path of the gateway itself; give another`);
}

/** A name whose slug is the gateway's own gets another. */
const freeName = (name: string): string =>
  isReservedSlug(slugFrom(name, ASSUMED_NAME)) ? `${name} ${ASSUMED_NAME}` : name;

/** A program has a path in the place of an address. */
function addressOf(given: string | undefined, { transport, stdio }: Configurations): string {
  if (transport === 'stdio') {
    if (!stdio) return fail('invalid_request', 'configurations.stdio', 'is missing; give {"command", "args", "env"}');
    const address = stdioAddress(stdio);
    if (given !== undefined && given !== address)
      fail('invalid_request', 'url', 'has no effect on a program; leave it out');
    return address;
  }
  return given === undefined || isStdioAddress(given)
    ? fail('invalid_request', 'url', 'give the http(s) address of the MCP endpoint')
    : given;
}

/** Whether tokens that users have got for the server are still for the same server, from the same issuer. */
const keepsGrants = (row: McpServerRow, old: Configurations, draft: ServerDraft): boolean =>
  row.url === draft.url &&
  row.auth_type === draft.authType &&
  isSameIssuing(old.oauth_metadata, draft.configurations.oauth_metadata);

/** A given member of the configurations replaces the old one, null removes it, the others stay. */
function changed(row: McpServerRow, { openapi_tools: _, ...old }: StoredConfigurations, input: McpServerChange) {
  const given = { ...input.configurations };
  if (given.openapi) given.openapi = withStoredAddress(given.openapi, old.openapi);
  const merged = Object.entries({ ...old, ...given }).filter(([, value]) => value !== null);
  const configurations = readConfigurations(Object.fromEntries(merged));
  refuseMasked(configurations);
  const isProgram = configurations.transport === 'stdio';
  const url = addressOf(isProgram ? input.url : changedAddress(input.url, row.url, 'url'), configurations);
  if (new URL(url).origin !== new URL(row.url).origin) {
    // A stored credential goes only to the host it was stored with.
    for (const member of ['headers', 'oauth_metadata'] as const) {
      if (old[member] && given[member] === undefined)
        fail('invalid_request', `configurations.${member}`, 'send it again when the host of url changes');
    }
  }
  return { url, authType: input.auth_type ?? row.auth_type, configurations };
}

/** In the transaction that changes a server's address: tokens for the old one must not go to the new one. */
async function forgetGrants(db: Db, serverId: string): Promise<void> {
  for (const table of ['mcp_user_tokens', 'mcp_oauth_clients', 'mcp_connect_flows'] as const)
    await db.deleteFrom(table).where('server_id', '=', serverId).execute();
}
