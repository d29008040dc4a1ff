import type { Changes } from '../../storage/changes.ts';
import type { RpcId } from '../message/rpc-error.ts';
import { META } from '../message/versions.ts';
import type { OpenStreams } from '../relay/open-streams.ts';
import type { McpServer } from '../server/server.ts';
import { exposedUri, plainUri } from '../tools/names.ts';
import type { Channels } from './channels.ts';
import { type Channel, type Client, isEventStream, isObject, type Json, type Relay, sendVia } from './conversation.ts';
import { within } from './failure.ts';
import { createOutlet, type Outlet } from './outlet.ts';
import { eventWith, listenTo, pause, serverEvents } from './resuming.ts';
import type { Translator } from './server-events.ts';

export interface StreamsDeps {
  readonly relay: Relay;
  readonly channels: Pick<Channels, 'open' | 'forget'>;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly openStreams: OpenStreams;
  readonly translator: Translator;
  /** With which the gateway speaks for itself to servers without sessions. */
  readonly meta: Json;
  /** Changes with what the client can reach. */
  readonly standingOf: (client: Client) => Promise<string>;
}

/** What a client wants to hear of. */
export interface Wanted {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

const LISTS = ['tools', 'prompts', 'resources'] as const;
const ALL: Wanted = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const SETTLING_MS = 200;
const SUBSCRIPTION = `${META}/subscriptionId`;

/** What servers say by themselves, of all servers in one stream. */
export function createStreams(deps: StreamsDeps) {
  const { relay, channels, translator } = deps;

  /** What a server has to say to a client, from the beginning; null: nothing, now or ever. */
  const listen = async (server: McpServer, client: Client, channel: Channel, wanted: Wanted, signal: AbortSignal) => {
    if (channel.kind === 'session') return listenTo(relay, { server, client, channel }, { lastEventId: null, signal });
    const asked = { id: `gateway-${crypto.randomUUID()}`, params: { _meta: deps.meta } };
    return subscribe(server, client, asked, wanted, signal);
  };

  const subscribe = async (
    server: McpServer,
    client: Client,
    asked: Listening,
    wanted: Wanted,
    signal: AbortSignal,
  ) => {
    const { id, params } = asked;
    const notifications = { ...wanted, ...ofServer(server, wanted) };
    const method = 'subscriptions/listen';
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, notifications } }));
    const sending = { server, client, channel: { kind: 'stateless' as const }, signal, isQuiet: true };
    const response = await sendVia(relay, { ...sending, message: { method, name: null, body } });
    if (response.status === 200 && isEventStream(response)) return response;
    await response.body?.cancel();
    return null;
  };

  /** Follows one server for as long as the client listens. */
  const follow = async (server: McpServer, client: Client, { out, open, hear }: Following) => {
    const { signal } = out;
    for (let pauseMs = SHORTEST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      const found = await open().catch(() => null);
      if (found && !found.first) return;
      if (found?.first) {
        pauseMs = SHORTEST_PAUSE_MS;
        const { channel, first } = found;
        const spoken = { server, client, channel };
        const translate = translator(spoken, (message) => message);
        const resume = async (lastEventId: string | null) => {
          if (channel.kind === 'stateless') return null;
          await client.again();
          return listenTo(relay, spoken, { lastEventId, signal });
        };
        for await (const event of serverEvents(first, { resume, isOver: () => false, signal, isEndless: true })) {
          const { bytes } = translate(event);
          if (bytes && hear(bytes)) await out.send(bytes);
        }
        channels.forget(server, client);
      }
      await pause(pauseMs, signal);
      if (!signal.aborted) await client.again();
    }
  };

  /** Tells of changes that are made to the servers here, not by them. */
  const watchServers = (client: Client, out: Outlet, wanted: Wanted, meta: Json) => {
    const standing = () => deps.standingOf(client);
    let known = standing();
    const unsubscribe = deps.changes.subscribe('mcp-servers', async () => {
      await pause(SETTLING_MS, out.signal);
      const [before, now] = await Promise.all([known, standing()]).catch(() => ['', '']);
      if (before === now || out.signal.aborted) return;
      known = Promise.resolve(now!);
      for (const list of LISTS)
        if (wanted[`${list}ListChanged`])
          await out.send(eventWith({ jsonrpc: '2.0', method: `notifications/${list}/list_changed`, params: meta }));
    });
    known.catch(() => {});
    out.signal.addEventListener('abort', unsubscribe);
  };

  return {
    /** For a client with a session. */
    open(client: Client, servers: readonly McpServer[]): Response {
      const out = createOutlet(client, deps.openStreams);
      out.begin();
      watchServers(client, out, ALL, {});
      for (const server of servers) {
        const open = async () => {
          const channel = await channels.open(server, client);
          return { channel, first: await listen(server, client, channel, ALL, out.signal) };
        };
        void follow(server, client, { out, open, hear: (bytes) => !isAcknowledgement(bytes) }).catch(() => {});
      }
      return out.response;
    },

    /** For a client without. It hears that it is listened for once every server does. */
    async subscribe(
      client: Client,
      servers: readonly McpServer[],
      asked: Listening,
      wanted: Wanted,
    ): Promise<Response> {
      const out = createOutlet(client, deps.openStreams);
      const meta = { _meta: { [SUBSCRIPTION]: asked.id } };
      const channel = { kind: 'stateless' as const };
      const heard: string[] = [];
      const ready = servers.map((server) => {
        const acknowledged = Promise.withResolvers<void>();
        const open = async () => ({ channel, first: await subscribe(server, client, asked, wanted, out.signal) });
        const hear = (bytes: Uint8Array) => {
          const honoured = acknowledgement(bytes);
          if (!honoured) return true;
          const uris = Array.isArray(honoured.resourceSubscriptions) ? honoured.resourceSubscriptions : [];
          heard.push(...uris.map((uri) => exposedUri(server.slug, String(uri))));
          acknowledged.resolve();
          return false;
        };
        const following = follow(server, client, { out, open, hear }).catch(() => {});
        return within(Promise.race([acknowledged.promise, following]), server.startMs, server.slug).catch(() => {});
      });
      await Promise.all(ready);
      watchServers(client, out, wanted, meta);
      const honoured = { ...wanted, ...(wanted.resourceSubscriptions && { resourceSubscriptions: heard }) };
      const params = { ...meta, notifications: honoured };
      out.begin(eventWith({ jsonrpc: '2.0', method: ACKNOWLEDGED, params }));
      return out.response;
    },
  };
}

export type Streams = ReturnType<typeof createStreams>;

/** A request to listen. */
export interface Listening {
  readonly id: RpcId;
  readonly params: Json;
}

interface Following {
  readonly out: Outlet;
  /** Throws while the server is away. */
  readonly open: () => Promise<{ readonly channel: Channel; readonly first: Response | null }>;
  /** Whether an event is for the client. */
  readonly hear: (bytes: Uint8Array) => boolean;
}

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** What the subscription of one server holds: its own addresses alone. */
function ofServer({ slug }: McpServer, { resourceSubscriptions }: Wanted): Wanted {
  if (!resourceSubscriptions) return {};
  const own = resourceSubscriptions.map(plainUri).filter((uri) => uri?.slug === slug);
  return { resourceSubscriptions: own.map((uri) => uri!.uri) };
}

const isAcknowledgement = (bytes: Uint8Array): boolean => acknowledgement(bytes) !== null;

/** What a server listens for; null where the event says something else. */
function acknowledgement(bytes: Uint8Array): Json | null {
  const text = Buffer.from(bytes).toString();
  if (!text.includes(ACKNOWLEDGED)) return null;
  try {
    const { method, params } = JSON.parse(/^data: ?(.*)$/m.exec(text)?.[1] ?? '') as { method?: string; params?: Json };
    return method !== ACKNOWLEDGED ? null : isObject(params?.notifications) ? params.notifications : {};
  } catch {
    return null;
  }
}
