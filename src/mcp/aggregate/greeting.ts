import type { McpTools } from '../../core/principal.ts';
import { json } from '../../http/reply.ts';
import { META, STATELESS } from '../message/versions.ts';
import type { McpServer } from '../server/server.ts';
import type { ToolSet } from '../tools/tool-set.ts';
import type { Channels } from './channels.ts';
import type { Client, Json } from './conversation.ts';
import { within } from './failure.ts';

export interface GreetingDeps {
  readonly channels: Pick<Channels, 'open' | 'introduced'>;
  readonly version: string;
}

/** The newest first. */
export const OLDER_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'];

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
};
/** Of one server, and of all together. */
const LONGEST = 4_096;
const LONGEST_OF_ALL = 32_768;
const INTRODUCTION =
  'Several servers stand behind this address. The names of their tools begin with the name of the server.';

/** What servers say of their use would fill what the definitions of their tools have left free. */
const searchable = (servers: readonly McpServer[], shows: McpTools): Json => ({
  instructions: [
    shows === 'code'
      ? 'Many tools stand behind this address. Find them with search_tools, read their signatures with describe_tools, and call them in programs with run_code.'
      : 'Many tools stand behind this address. Find them with search_tools, read their definitions with describe_tools, and use them with call_tool.',
    `They belong to these servers:\n${servers.map(({ slug, name }) => `- ${slug}: ${name}`).join('\n')}`.slice(
      0,
      LONGEST,
    ),
  ].join(' '),
});

/** Servers speak of all their tools, of which the set has some. */
const ofSet = ({ description }: ToolSet): Json => (description ? { instructions: description } : {});
const capabilitiesOf = ({ set }: Client): Json => (set ? { tools: CAPABILITIES.tools } : CAPABILITIES);

/** What this address says of itself: that of all servers together. */
export function createGreeting({ channels, version }: GreetingDeps) {
  const serverInfo = { name: 'gateway', version };

  /** Servers that do not answer in time have said nothing. */
  const instructionsOf = async (
    servers: readonly McpServer[],
    introduce: (server: McpServer) => Promise<string | null>,
  ): Promise<Json> => {
    const said = await Promise.all(
      servers.map((server) => within(introduce(server), server.startMs, server.slug).catch(() => null)),
    );
    const parts = servers.flatMap(({ slug }, index) => {
      const text = said[index]?.trim().slice(0, LONGEST);
      return text ? [`## ${slug}\n\n${text}`] : [];
    });
    return parts.length === 0 ? {} : { instructions: [INTRODUCTION, ...parts].join('\n\n').slice(0, LONGEST_OF_ALL) };
  };

  return {
    /** To a client whose session begins. */
    async initialized(client: Client, servers: readonly McpServer[], shows: McpTools): Promise<Json> {
      const instructions =
        shows !== 'all'
          ? searchable(servers, shows)
          : client.set
            ? ofSet(client.set)
            : await instructionsOf(servers, async (server) => (await channels.open(server, client)).instructions);
      const capabilities = { ...capabilitiesOf(client), logging: {} };
      return { protocolVersion: client.version, capabilities, serverInfo, ...instructions };
    },

    /** To a client without sessions. */
    discovered: async (client: Client, servers: readonly McpServer[], shows: McpTools): Promise<Json> => ({
      ...NEWER_RESULT,
      supportedVersions: [STATELESS],
      capabilities: capabilitiesOf(client),
      ...(shows !== 'all'
        ? searchable(servers, shows)
        : client.set
          ? ofSet(client.set)
          : await instructionsOf(servers, (server) => channels.introduced(server, client))),
      _meta: { [`${META}/serverInfo`]: serverInfo },
    }),
  };
}

/** Lists are the caller's own, and put together anew. */
export const NEWER_RESULT = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };

export const resultFor = (id: unknown, result: Json): Response => json({ jsonrpc: '2.0', id, result });
