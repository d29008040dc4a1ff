import { BoundedMap } from '../../core/bounded-map.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Changes } from '../../storage/changes.ts';
import type { McpServer } from '../server/server.ts';
import { connectUrl } from '../upstream-oauth/user-tokens.ts';
import type { Channels } from './channels.ts';
import {
  type Channel,
  type Client,
  isObject,
  type Json,
  RpcRefusal,
  ServerTooSlow,
  wantsUser,
} from './conversation.ts';
import { exposedName, exposedUri } from './names.ts';

/** How a server did when it was asked for a list. */
export type ServerStatus = 'ok' | 'truncated' | 'auth_required' | 'timeout' | 'limited' | 'failed';

export interface MergedList {
  readonly items: readonly Json[];
  readonly statuses: Readonly<Record<string, ServerStatus>>;
  /** Where users connect accounts that are missing. */
  readonly connect: Readonly<Record<string, string>>;
}

/** Each list: the member of the result that holds it, and how an entry is called from outside. */
export const LISTS = {
  'tools/list': { member: 'tools', key: 'name', expose: exposedName },
  'prompts/list': { member: 'prompts', key: 'name', expose: exposedName },
  'resources/list': { member: 'resources', key: 'uri', expose: exposedUri },
  'resources/templates/list': { member: 'resourceTemplates', key: 'uriTemplate', expose: exposedUri },
} as const;
export type ListMethod = keyof typeof LISTS;

export interface ListsDeps {
  readonly channels: Pick<Channels, 'ask'>;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly publicUrl: () => string;
  readonly now: () => number;
}

/** The channel to a server, found before it is asked. */
export type FindChannel = (server: McpServer, client: Client) => Promise<Channel>;

interface ServerList {
  readonly items: readonly Json[];
  readonly isWhole: boolean;
}

interface KeptList {
  readonly listed: ServerList;
  readonly until: number;
  readonly bytes: number;
}

const KEPT_MS = 10_000;
const MOST_KEPT_BYTES = 32 << 20;
const MOST_PAGES = 20;
const MOST_ITEMS = 1_000;
/** Of one server. No client can use a list of this size, and many of them would fill the memory. */
const MOST_LIST_BYTES = 4 << 20;
const METHOD_NOT_FOUND = -32_601;

/** What all servers of a caller offer. One that is away, slow or not connected is named, and the others are there. */
export function createLists({ channels, changes, publicUrl, now }: ListsDeps) {
  const kept = new BoundedMap<string, KeptList>(MOST_KEPT_BYTES, ({ bytes }) => bytes);
  /** Grows when what callers may see has changed: a list that was asked for before is not kept. */
  let generation = 0;
  for (const topic of ['mcp-servers', 'users', 'keys'] as const)
    changes.subscribe(topic, () => {
      generation++;
      kept.clear();
    });

  const keep = (key: string, listed: ServerList) =>
    kept.set(key, { listed, until: now() + KEPT_MS, bytes: JSON.stringify(listed.items).length });

  const pagesOf = async (
    server: McpServer,
    client: Client,
    channel: Channel,
    method: ListMethod,
  ): Promise<ServerList> => {
    const items: Json[] = [];
    let cursor: unknown;
    let size = 0;
    for (let page = 0; page < MOST_PAGES && items.length < MOST_ITEMS && size < MOST_LIST_BYTES; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const { result, bytes } = await channels.ask(server, client, channel, { method, params });
      size += bytes;
      const found = result[LISTS[method].member];
      if (Array.isArray(found)) items.push(...found.filter(isObject));
      cursor = result.nextCursor;
      if (typeof cursor !== 'string') return { items: items.slice(0, MOST_ITEMS), isWhole: items.length <= MOST_ITEMS };
    }
    return { items: items.slice(0, MOST_ITEMS), isWhole: false };
  };

  /** One server's list, as this caller may see it, under the server's own names. */
  const listOf = async (
    server: McpServer,
    client: Client,
    find: FindChannel,
    method: ListMethod,
  ): Promise<ServerList> => {
    const key = `${client.caller.id}\n${server.version}\n${method}`;
    const known = kept.get(key);
    if (known && known.until > now()) return known.listed;
    const began = generation;
    const listed = await pagesOf(server, client, await find(server, client), method).catch((error) => {
      // It has no such thing at all.
      if (error instanceof RpcRefusal && error.code === METHOD_NOT_FOUND) return { items: [], isWhole: true };
      throw error;
    });
    if (began === generation) keep(key, listed);
    return listed;
  };

  return {
    listOf,

    async merge(
      servers: readonly McpServer[],
      client: Client,
      find: FindChannel,
      method: ListMethod,
    ): Promise<MergedList> {
      const items = new Map<string, { readonly slug: string; readonly item: Json }>();
      const contested = new Set<string>();
      const statuses: Record<string, ServerStatus> = {};
      const connect: Record<string, string> = {};
      const outcomes = await Promise.allSettled(servers.map((server) => listOf(server, client, find, method)));
      for (const [index, { slug }] of servers.entries()) {
        const outcome = outcomes[index]!;
        if (outcome.status === 'rejected') {
          const status = statusOf(outcome.reason);
          if (status === null) continue;
          statuses[slug] = status;
          if (status === 'auth_required') connect[slug] = connectUrl(publicUrl(), slug);
          continue;
        }
        statuses[slug] = outcome.value.isWhole ? 'ok' : 'truncated';
        for (const item of outcome.value.items) {
          const exposed = exposedItem(slug, item, method);
          if (!exposed) continue;
          // A server that takes another's name gets it as little as the other.
          if ((items.get(exposed.key)?.slug ?? slug) !== slug) contested.add(exposed.key);
          items.set(exposed.key, { slug, item: exposed.item });
        }
      }
      const shown = [...items].filter(([key]) => !contested.has(key)).map(([, { item }]) => item);
      return { items: shown, statuses, connect };
    },
  };
}

export type Lists = ReturnType<typeof createLists>;

function exposedItem(slug: string, item: Json, method: ListMethod): { key: string; item: Json } | null {
  const { key, expose } = LISTS[method];
  const own = item[key];
  if (typeof own !== 'string' || own === '') return null;
  const exposed = expose(slug, own);
  return { key: exposed, item: { ...item, [key]: exposed } };
}

/** Null: the caller may not know that the server is there. */
export function statusOf(error: unknown): ServerStatus | null {
  if (wantsUser(error)) return 'auth_required';
  if (error instanceof GatewayError) {
    if (error.code === 'mcp_access_denied' || error.code === 'mcp_server_not_found') return null;
    if (error.status === 429 || error.status === 412) return 'limited';
  }
  return error instanceof ServerTooSlow ? 'timeout' : 'failed';
}
