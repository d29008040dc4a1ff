import { UpstreamFailure } from '../../http/upstream.ts';
import { META, STATELESS } from '../message/versions.ts';
import type { McpServer } from '../server/server.ts';
import {
  type Asker,
  type Json,
  Refused,
  type Relay,
  resultOf,
  sendVia,
  TooSlow,
  Unusable,
  type Way,
  wantsUser,
} from './conversation.ts';

export interface WaysDeps {
  readonly relay: Relay;
  readonly version: string;
  readonly now: () => number;
}

/** A server that does not answer in this time does not hold the others up. */
export const PATIENCE_MS = 2_000;
const IDLE_MS = 10 * 60_000;
const MOST_OPEN = 10_000;
/** A server that has learnt the newer version says so by itself to nobody. */
const OLDER_MS = 60_000;
const NEWER_MS = 10 * 60_000;
const AWAY_MS = 15_000;
const PERSONAL = new Set([401, 403, 407, 429]);

interface Opened {
  readonly way: Promise<Way>;
  readonly server: McpServer;
  usedAt: number;
}

/**
 * How each server is spoken to. Sessions with older servers are opened when they are first needed, for each session of a
 * client: whatever a server remembers, it remembers for that client alone. Another node opens its own.
 */
export function createWays({ relay, version, now }: WaysDeps) {
  const opened = new Map<string, Opened>();
  const eras = new Map<string, { readonly isNewer: boolean | null; readonly until: number }>();
  const keyOf = (server: McpServer, { caller, session }: Asker) => `${caller.id}\n${session}\n${server.version}`;
  const clientInfo = { name: 'gateway', version };

  /** Asks a server for something that no client has asked for in these words. */
  const ask = async (server: McpServer, asker: Asker, way: Way, { method, params = {} }: Question): Promise<Said> => {
    const meta = way.kind === 'stateless' && {
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
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const sending = { server, asker, way, message: { method, name: null, body }, signal, isQuiet: true };
    try {
      const response = await sendVia(relay, sending);
      return { ...(await resultOf(response)), sessionId: response.headers.get('mcp-session-id') };
    } catch (error) {
      throw signal.aborted ? new TooSlow() : error;
    }
  };

  const greet = async (server: McpServer, asker: Asker): Promise<Way> => {
    const before: Way = { kind: 'session', id: null, version: asker.version };
    const params = { protocolVersion: asker.version, capabilities: {}, clientInfo };
    try {
      const { result, sessionId } = await ask(server, asker, before, { method: 'initialize', params });
      const { protocolVersion } = result;
      const agreed = typeof protocolVersion === 'string' ? protocolVersion : asker.version;
      const way: Way = { kind: 'session', id: sessionId, version: agreed };
      await tell(server, asker, way, 'notifications/initialized');
      return way;
    } catch (error) {
      // A server of the newer version alone knows no greeting.
      const isAnswer = error instanceof Refused || error instanceof Unusable;
      if (isAnswer && !wantsUser(error) && (await isNewer(server, asker))) return { kind: 'stateless' };
      throw error;
    }
  };

  const tell = async (server: McpServer, asker: Asker, way: Way, method: string, params: Json = {}) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method, params }));
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const message = { method, name: null, body };
    const response = await sendVia(relay, { server, asker, way, message, signal, isQuiet: true });
    await response.body?.cancel();
  };

  const remember = ({ version: key }: McpServer, verdict: boolean | null, forMs: number) => {
    if (eras.size >= MOST_OPEN) eras.delete(eras.keys().next().value!);
    eras.set(key, { isNewer: verdict, until: now() + forMs });
  };

  const isNewer = async (server: McpServer, asker: Asker): Promise<boolean> => {
    const known = eras.get(server.version);
    if (known && known.until > now()) return known.isNewer ?? Promise.reject(new TooSlow());
    const found = await ask(server, asker, { kind: 'stateless' }, { method: 'server/discover' }).catch((error) => {
      const isAway = error instanceof Unusable && error.status >= 500;
      // It refuses this caller, and may tell others more.
      if (error instanceof Unusable && PERSONAL.has(error.status)) throw error;
      if (!isAway && !wantsUser(error) && (error instanceof Unusable || error instanceof Refused)) return null;
      // A server that is away is not asked, and waited for, with every message for the others.
      if (isAway || error instanceof TooSlow || error instanceof UpstreamFailure) remember(server, null, AWAY_MS);
      throw error;
    });
    const versions = found?.result.supportedVersions;
    const verdict = Array.isArray(versions) && versions.includes(STATELESS);
    remember(server, verdict, verdict ? NEWER_MS : OLDER_MS);
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

    /** For a client with sessions. */
    open(server: McpServer, asker: Asker): Promise<Way> {
      const key = keyOf(server, asker);
      const known = opened.get(key);
      opened.delete(key);
      sweep();
      const entry = known ?? { way: greet(server, asker), server, usedAt: 0 };
      entry.usedAt = now();
      opened.set(key, entry);
      if (!known)
        entry.way.catch(() => {
          if (opened.get(key) === entry) opened.delete(key);
        });
      return entry.way;
    },

    /** After the server has said that it knows the session no longer. */
    forget: (server: McpServer, asker: Asker) => void opened.delete(keyOf(server, asker)),

    /** Whether the server speaks the version without sessions. Throws when it cannot be told. */
    isNewer,

    /** Tells every server that the client has spoken to in this session, as far as this node knows. */
    async tellAll(asker: Asker, method: string, params: Json) {
      await Promise.allSettled(
        sessionsOf(opened, asker).map(async ({ server, way }) => tell(server, asker, await way, method, params)),
      );
    },

    /** The client is leaving. */
    async closeAll(asker: Asker, end: (server: McpServer, way: Way) => Promise<void>) {
      const open = sessionsOf(opened, asker);
      for (const { server } of open) opened.delete(keyOf(server, asker));
      await Promise.allSettled(open.map(async ({ server, way }) => end(server, await way)));
    },
  };
}

export type Ways = ReturnType<typeof createWays>;

export interface Said {
  readonly result: Json;
  /** Size of the answer. */
  readonly bytes: number;
  readonly sessionId: string | null;
}

export interface Question {
  readonly method: string;
  readonly params?: Json;
}

const sessionsOf = (opened: ReadonlyMap<string, Opened>, { caller, session }: Asker): Opened[] => {
  const start = `${caller.id}\n${session}\n`;
  return [...opened].flatMap(([key, entry]) => (key.startsWith(start) ? [entry] : []));
};
