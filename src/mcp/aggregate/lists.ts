import { BoundedMap } from '../../core/bounded-map.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Changes } from '../../storage/changes.ts';
import type { McpServer } from '../server/server.ts';
import { exposedName, exposedUri } from '../tools/names.ts';
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
import { isAway, within } from './failure.ts';

/** How a server did when it was asked for a list. */
export type ServerStatus = 'ok' | 'truncated' | 'stale' | 'auth_required' | 'timeout' | 'limited' | 'failed';

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
/** For each page, from a server that the others have stopped waiting for. */
const PAGE_MS = 30_000;
const MOST_KEPT_BYTES = 32 << 20;
const MOST_PAGES = 20;
const MOST_ITEMS = 1_000;
/** Of one server. No client can use a list of this size, and many of them would fill the memory. */
const MOST_LIST_BYTES = 4 << 20;
const METHOD_NOT_FOUND = -32_601;

/** What all servers of a caller offer. One that is away, slow or not connected is named, and the others are there. */
export function createLists({ channels, changes, publicUrl, now }: ListsDeps) {
  const kept = new BoundedMap<string, KeptList>(MOST_KEPT_BYTES, ({ bytes }) => bytes);
  const asking = new Map<string, Promise<ServerList>>();
  /** Grows when what callers may see has changed: a list that was asked for before is not kept. */
  let generation = 0;
  for (const topic of ['mcp-servers', 'users', 'keys'] as const)
    changes.subscribe(topic, () => {
      generation++;
      kept.clear();
      asking.clear();
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
      const patienceMs = Math.max(PAGE_MS, server.startMs);
      const { result, bytes } = await channels.ask(server, client, channel, { method, params, patienceMs });
      size += bytes;
      const found = result[LISTS[method].member];
      if (Array.isArray(found)) items.push(...found.filter(isObject));
      cursor = result.nextCursor;
      if (typeof cursor !== 'string') return { items: items.slice(0, MOST_ITEMS), isWhole: items.length <= MOST_ITEMS };
    }
    return { items: items.slice(0, MOST_ITEMS), isWhole: false };
  };

  const asked = async (server: McpServer, client: Client, find: FindChannel, method: ListMethod, key: string) => {
    const began = generation;
    const listed = await pagesOf(server, client, await find(server, client), method).catch((error) => {
      // It has no such thing at all.
      if (error instanceof RpcRefusal && error.code === METHOD_NOT_FOUND) return { items: [], isWhole: true };
      throw error;
    });
    if (began === generation) keep(key, listed);
    return listed;
  };

  /** One server's list, as this caller may see it, under the server's own names. Who asks meanwhile waits for the same. */
  const listOf = (server: McpServer, client: Client, find: FindChannel, method: ListMethod): Promise<ServerList> => {
    const key = keyOf(server, client, method);
    const known = kept.get(key);
    if (known && known.until > now()) return Promise.resolve(known.listed);
    const under = asking.get(key);
    if (under) return under;
    const asks = asked(server, client, find, method, key);
    asking.set(key, asks);
    const end = () => asking.get(key) === asks && asking.delete(key);
    asks.then(end, end);
    return asks;
  };

  /** What it offered when it was last heard, where it does not answer in time. */
  const listInTime = async (server: McpServer, client: Client, find: FindChannel, method: ListMethod) => {
    try {
      const listed = await within(listOf(server, client, find, method), server.startMs, server.slug);
      return { items: listed.items, status: listed.isWhole ? ('ok' as const) : ('truncated' as const) };
    } catch (error) {
      const last = isAway(error) ? kept.get(keyOf(server, client, method)) : undefined;
      if (!last) throw error;
      return { items: last.listed.items, status: 'stale' as const };
    }
  };

  return {
    listOf,

    /** The server has said that it offers something else now; the lists before serve while it does not answer. */
    changed({ version }: McpServer) {
      const isIts = (key: string) => key.includes(`\n${version}\n`);
      generation++;
      for (const key of [...asking.keys()].filter(isIts)) asking.delete(key);
      for (const [key, list] of kept.entries()) if (isIts(key)) kept.set(key, { ...list, until: 0 });
    },

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
      const outcomes = await Promise.allSettled(servers.map((server) => listInTime(server, client, find, method)));
      for (const [index, { slug }] of servers.entries()) {
        const outcome = outcomes[index]!;
        if (outcome.status === 'rejected') {
          const status = statusOf(outcome.reason);
          if (status === null) continue;
          statuses[slug] = status;
          if (status === 'auth_required') connect[slug] = connectUrl(publicUrl(), slug);
          continue;
        }
        statuses[slug] = outcome.value.status;
        for (const exposed of exposedItems(slug, outcome.value.items, method)) {
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

const keyOf = ({ version }: McpServer, { caller }: Client, method: ListMethod): string =>
  `${caller.id}\n${version}\n${method}`;

export type Lists = ReturnType<typeof createLists>;

interface ExposedItem {
  readonly key: string;
  readonly item: Json;
}

/** Of each list that is kept, once: the same list gives the same objects, and what is known of them stays known. */
const exposedLists = new WeakMap<readonly Json[], readonly ExposedItem[]>();

function exposedItems(slug: string, items: readonly Json[], method: ListMethod): readonly ExposedItem[] {
  const known = exposedLists.get(items);
  if (known) return known;
  const exposed = items.flatMap((item) => exposedItem(slug, item, method) ?? []);
  exposedLists.set(items, exposed);
  return exposed;
}

function exposedItem(slug: string, item: Json, method: ListMethod): ExposedItem | null {
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
