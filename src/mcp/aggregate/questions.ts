import type { Sealer } from '../../crypto/seal.ts';
import type { RpcId } from '../message/rpc-error.ts';
import type { McpServer } from '../server/server.ts';
import type { Client, SessionChannel } from './conversation.ts';

/** A question of a server, as the client's answer names it. */
export interface AskedQuestion {
  readonly serverId: string;
  /** The conversation in which the server waits for the answer. */
  readonly channel: SessionChannel;
  /** The server's own. */
  readonly id: RpcId;
}

/**
 * What servers ask clients. A client knows a question by an id that holds, sealed, which server asked it, in which
 * conversation, and whom: its answer finds the way back from any node, and no other caller can give it.
 */
export function createQuestions({ sealer }: { readonly sealer: Sealer }) {
  const contextOf = ({ caller, session }: Client) => `question ${caller.id}\n${session}`;
  return {
    expose: ({ id: serverId }: McpServer, client: Client, channel: SessionChannel, id: RpcId): string =>
      sealer.seal('mcp-session', contextOf(client), JSON.stringify([serverId, channel.id, channel.version, id])),

    /** Null for an id that is none of a question to this client. */
    open(client: Client, exposed: unknown): AskedQuestion | null {
      if (typeof exposed !== 'string') return null;
      try {
        const [serverId, channelId, version, id] = JSON.parse(
          sealer.open('mcp-session', contextOf(client), exposed),
        ) as [string, string | null, string, RpcId];
        return { serverId, channel: { kind: 'session', id: channelId, version }, id };
      } catch {
        return null;
      }
    },
  };
}

export type Questions = ReturnType<typeof createQuestions>;
