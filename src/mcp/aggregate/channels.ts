import { BoundedMap } from '../../core/bounded-map.ts';
import { UpstreamFailure } from '../../http/upstream.ts';
import { META, STATELESS } from '../message/versions.ts';
import type { McpServer } from '../server/server.ts';
import {
  type Channel,
  type Client,
  isObject,
  type Json,
  type Relay,
  RpcRefusal,
  resultOf,
  ServerTooSlow,
  sendVia,
  UnusableReply,
  wantsUser,
} from './conversation.ts';

export interface ChannelsDeps {
  readonly relay: Relay;
  readonly version: string;
  readonly now: () => number;
}

/** How long a server may take for one answer that no client has asked for. */
const PATIENCE_MS = 5_000;
/** A server may start only when it is called. Who asks for something of it waits; who asks all of them does not. */
const START_MS = 30_000;
const METHOD_NOT_FOUND = -32_601;
const MOST_LEVELS = 10_000;
const IDLE_MS = 10 * 60_000;
const MOST_OPEN = 10_000;
/** A server that has learnt the newer version does not say so by itself, so it is asked again after this time. */
const OLDER_MS = 60_000;
const NEWER_MS = 10 * 60_000;
const AWAY_MS = 15_000;
const PERSONAL = new Set([401, 403, 407, 429]);

/** A channel, and what the server said when it was opened. */
export type GreetedChannel = Channel & { readonly instructions: string | null; readonly hasLogging: boolean };

interface OpenChannel {
  readonly channel: Promise<GreetedChannel>;
  readonly server: McpServer;
  usedAt: number;
}

/**
 * How each server is spoken to. Sessions with older servers are opened when they are first needed, for each session of a
 * client: whatever a server remembers, it remembers for that client alone. Another node opens its own.
 */
export function createChannels({ relay, version, now }: ChannelsDeps) {
  const opened = new Map<string, OpenChannel>();
  const eras = new BoundedMap<string, { readonly isNewer: boolean | null; readonly until: number }>(MOST_OPEN);
  /** Of servers of the newer version, for each caller. */
  const introductions = new BoundedMap<string, string | null>(MOST_OPEN);
  /** How much a session wants to hear of what servers log. */
  const levels = new BoundedMap<string, string>(MOST_LEVELS);
  const keyOf = (server: McpServer, { caller, session }: Client) => `${caller.id}\n${session}\n${server.version}`;
  const clientInfo = { name: 'gateway', version };

  /** Asks a server for something that no client has asked for in these words. */
  const ask = async (
    server: McpServer,
    client: Client,
    channel: Channel,
    { method, params = {}, patienceMs = PATIENCE_MS }: Question,
  ): Promise<ServerReply> => {
    const meta = channel.kind === 'stateless' && {
      _meta: {
        [`${META}/protocolVersion`]: STATELESS,
        [`${META}/clientInfo`]: clientInfo,
        [`${META}/clientCapabilities`]: {},
      },
    };
    // In the session of a client, whose own ids are numbers or texts of its choice.
    const id = `gateway-${crypto.randomUUID()}`;
    const message = { jsonrpc: '2.0', id, method, params: { ...params, ...meta } };
    const body = Buffer.from(JSON.stringify(message));
    // Not bound to one client's patience: others may wait for the same answer.
    const signal = AbortSignal.timeout(patienceMs);
    const sending = { server, client, channel, message: { method, name: null, body }, signal, isQuiet: true };
    try {
      const response = await sendVia(relay, sending);
      const reply = await resultOf(response, (question) => refuse(server, client, channel, question));
      return { ...reply, sessionId: response.headers.get('mcp-session-id') };
    } catch (error) {
      throw signal.aborted ? new ServerTooSlow(server.slug, patienceMs) : error;
    }
  };

  /** What the gateway asks by itself, no client answers for. */
  const refuse = (server: McpServer, client: Client, channel: Channel, { id, method }: Json) => {
    const outcome =
      method === 'ping'
        ? { result: {} }
        : { error: { code: METHOD_NOT_FOUND, message: 'Nobody can be asked at this point.' } };
    void say(server, client, channel, { id, ...outcome }).catch(() => {});
  };

  const greet = async (server: McpServer, client: Client): Promise<GreetedChannel> => {
    const before: Channel = { kind: 'session', id: null, version: client.version };
    const params = { protocolVersion: client.version, capabilities: client.capabilities, clientInfo };
    const patienceMs = Math.max(START_MS, server.startMs);
    try {
      const { result, sessionId } = await ask(server, client, before, { method: 'initialize', params, patienceMs });
      const { protocolVersion, instructions, capabilities } = result;
      const agreed = typeof protocolVersion === 'string' ? protocolVersion : client.version;
      const channel: GreetedChannel = {
        ...{ kind: 'session', id: sessionId, version: agreed },
        instructions: typeof instructions === 'string' ? instructions : null,
        hasLogging: isObject(capabilities) && isObject(capabilities.logging),
      };
      await tell(server, client, channel, 'notifications/initialized');
      const level = levels.get(sessionKey(client));
      if (level !== undefined) await setLevel(server, client, channel, level);
      return channel;
    } catch (error) {
      // A server of the newer version alone knows no greeting.
      const isAnswer = error instanceof RpcRefusal || error instanceof UnusableReply;
      if (isAnswer && !wantsUser(error) && (await isNewer(server, client)))
        return {
          kind: 'stateless',
          instructions: introductions.get(introductionKey(server, client)) ?? null,
          ...SILENT,
        };
      throw error;
    }
  };

  const say = async (server: McpServer, client: Client, channel: Channel, said: Json) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...said }));
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const message = { method: String(said.method ?? ''), name: null, body };
    const response = await sendVia(relay, { server, client, channel, message, signal, isQuiet: true });
    await response.body?.cancel();
  };

  const tell = (server: McpServer, client: Client, channel: Channel, method: string, params: Json = {}) =>
    say(server, client, channel, { method, params });

  const setLevel = async (server: McpServer, client: Client, channel: GreetedChannel, level: string) => {
    if (!channel.hasLogging) return;
    await ask(server, client, channel, { method: 'logging/setLevel', params: { level } }).catch(() => null);
  };

  const remember = ({ version: key }: McpServer, verdict: boolean | null, forMs: number) => {
    eras.set(key, { isNewer: verdict, until: now() + forMs });
  };

  const isNewer = async (server: McpServer, client: Client): Promise<boolean> => {
    const known = eras.get(server.version);
    if (known && known.until > now())
      return known.isNewer ?? Promise.reject(new ServerTooSlow(server.slug, PATIENCE_MS));
    return discover(server, client);
  };

  const discover = async (server: McpServer, client: Client): Promise<boolean> => {
    const found = await ask(server, client, { kind: 'stateless' }, { method: 'server/discover' }).catch((error) => {
      const isAway = error instanceof UnusableReply && error.status >= 500;
      // It refuses this caller, and may tell others more.
      if (error instanceof UnusableReply && PERSONAL.has(error.status)) throw error;
      if (!isAway && !wantsUser(error) && (error instanceof UnusableReply || error instanceof RpcRefusal)) return null;
      // A server that is away is not asked, and waited for, with every message for the others.
      if (isAway || error instanceof ServerTooSlow || error instanceof UpstreamFailure) remember(server, null, AWAY_MS);
      throw error;
    });
    const versions = found?.result.supportedVersions;
    const verdict = Array.isArray(versions) && versions.includes(STATELESS);
    remember(server, verdict, verdict ? NEWER_MS : OLDER_MS);
    const instructions = found?.result.instructions;
    introductions.set(introductionKey(server, client), typeof instructions === 'string' ? instructions : null);
    return verdict;
  };

  const sweep = () => {
    for (const [key, { usedAt }] of opened) {
      if (opened.size < MOST_OPEN && usedAt > now() - IDLE_MS) break;
      opened.delete(key);
    }
  };

  return {
    ask,
    say,

    /** What the server says of its use to a client without sessions. */
    async introduced(server: McpServer, client: Client): Promise<string | null> {
      const key = introductionKey(server, client);
      if (introductions.get(key) === undefined) await discover(server, client);
      return introductions.get(key) ?? null;
    },

    /** From now on servers log as much for this session. */
    async level(client: Client, level: string) {
      levels.set(sessionKey(client), level);
      await Promise.allSettled(
        sessionsOf(opened, client).map(async ({ server, channel }) => setLevel(server, client, await channel, level)),
      );
    },

    /** For a client with sessions. */
    open(server: McpServer, client: Client): Promise<GreetedChannel> {
      const key = keyOf(server, client);
      const known = opened.get(key);
      opened.delete(key);
      sweep();
      const entry = known ?? { channel: greet(server, client), server, usedAt: 0 };
      entry.usedAt = now();
      opened.set(key, entry);
      if (!known)
        entry.channel.catch(() => {
          if (opened.get(key) === entry) opened.delete(key);
        });
      return entry.channel;
    },

    /** After the server has said that it knows the session no longer. */
    forget: (server: McpServer, client: Client) => void opened.delete(keyOf(server, client)),

    /** Whether the server speaks the version without sessions. Throws when it cannot be told. */
    isNewer,

    /** Tells every server that the client has spoken to in this session, as far as this node knows. */
    async tellAll(client: Client, method: string, params: Json) {
      await Promise.allSettled(
        sessionsOf(opened, client).map(async ({ server, channel }) =>
          tell(server, client, await channel, method, params),
        ),
      );
    },

    /** The client is leaving. */
    async closeAll(client: Client, end: (server: McpServer, channel: Channel) => Promise<void>) {
      const open = sessionsOf(opened, client);
      for (const { server } of open) opened.delete(keyOf(server, client));
      await Promise.allSettled(open.map(async ({ server, channel }) => end(server, await channel)));
    },
  };
}

export type Channels = ReturnType<typeof createChannels>;

export interface ServerReply {
  readonly result: Json;
  /** Size of the answer. */
  readonly bytes: number;
  readonly sessionId: string | null;
}

export interface Question {
  readonly method: string;
  readonly params?: Json;
  readonly patienceMs?: number;
}

const SILENT = { hasLogging: false };
const sessionKey = ({ caller, session }: Client): string => `${caller.id}\n${session}`;
const introductionKey = (server: McpServer, { caller }: Client): string => `${caller.id}\n${server.version}`;

const sessionsOf = (opened: ReadonlyMap<string, OpenChannel>, { caller, session }: Client): OpenChannel[] => {
  const start = `${caller.id}\n${session}\n`;
  return [...opened].flatMap(([key, entry]) => (key.startsWith(start) ? [entry] : []));
};
