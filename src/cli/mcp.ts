import { readFileSync } from 'node:fs';
import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { CLIENT_FILES, type NamedAddress } from './mcp/client-files.ts';
import { type FoundServer, readServers } from './mcp/read-servers.ts';
import { type Remote, remoteOf } from './remote.ts';

const CLIENTS = Object.keys(CLIENT_FILES);

const USAGE = `gateway mcp config --for <client> [--server <slug>]… [--one] [--key-from <variable>] [--url <address>]
gateway mcp import <file> [--workspace <slug>] [--dry-run] [--url <address>]

"config" prints the file in which a client finds the MCP servers that you may use: ${CLIENTS.join(', ')}.

  gateway mcp config --for claude-code > .mcp.json

  --server <slug>         this server, and others that are named so; all unless given
  --one                   the one address of all servers
  --key-from <variable>   calls with the key in that environment variable; people sign in with a browser unless given
  --url <address>         where the gateway is; where you have signed in, or this machine's, unless given

"import" registers the servers of a client's file, of a server.json, or of an answer of the MCP registry. Those that are there
already stay as they are; what cannot be taken over is named with the reason. Variables in headers are those of the environment.

  --workspace <slug>      their workspace; the default one unless given
  --dry-run               says what would be registered, and registers nothing
`;

/** Speaks to a running gateway. */
export async function mcp(settings: Settings, [verb, ...rest]: readonly string[]): Promise<void> {
  if (verb === 'config') return config(settings, rest);
  if (verb === 'import') return importServers(settings, rest);
  if (verb === '--help' || verb === '-h') return void console.log(USAGE);
  throw new UsageError(
    `${verb ? `"${verb}" is not one of config, import` : 'config or import is missing'}.\n\n${USAGE}`,
  );
}

async function config(settings: Settings, rest: readonly string[]): Promise<void> {
  const options = {
    for: { type: 'string' },
    server: { type: 'string', multiple: true },
    one: { type: 'boolean' },
    'key-from': { type: 'string' },
    url: { type: 'string' },
  } as const;
  const { values } = readArguments(rest, { options, positionals: 0, usage: USAGE });
  const client = Object.hasOwn(CLIENT_FILES, values.for ?? '') ? CLIENT_FILES[values.for!] : null;
  if (!client)
    throw new UsageError(
      `${values.for === undefined ? '--for is missing' : `"${values.for}" is no client that is known here`}; give one of ${CLIENTS.join(', ')}.\n\n${USAGE}`,
    );
  const variable = values['key-from'] ?? null;
  if (variable !== null && !/^[A-Za-z_]\w*$/.test(variable))
    throw new UsageError(`--key-from: give the name of an environment variable, such as GATEWAY_KEY.\n\n${USAGE}`);
  if (values.one && values.server) throw new UsageError(`Give --one or --server, not both.\n\n${USAGE}`);
  const servers = await served(remoteOf(settings, values.url));
  const missing = (values.server ?? []).find((slug) => !servers.some(({ name }) => name === slug));
  if (missing !== undefined) throw new Error(`There is no MCP server "${missing}" that you may use.`);
  const chosen = values.server ? servers.filter(({ name }) => values.server!.includes(name)) : servers;
  if (chosen.length === 0) throw new Error('There is no MCP server that you may use.');
  const common = { name: 'gateway', url: chosen[0]!.url.replace(/\/[^/]+\/mcp$/, '/mcp') };
  console.error(`For ${client.path}:`);
  console.log(client.write(values.one ? [common] : chosen, variable));
}

/** As the registry of the gateway lists them: what the caller may use. */
async function served(remote: Remote): Promise<NamedAddress[]> {
  const found: NamedAddress[] = [];
  let cursor: string | undefined;
  do {
    const query = `limit=100${cursor === undefined ? '' : `&cursor=${cursor}`}`;
    const { servers, metadata } = await remote.call<Listing>('GET', `/v0.1/servers?${query}`);
    for (const { server } of servers)
      found.push({ name: server.name.slice(server.name.lastIndexOf('/') + 1), url: server.remotes[0]!.url });
    cursor = metadata.nextCursor;
  } while (cursor !== undefined);
  return found;
}

interface Listing {
  readonly servers: readonly {
    readonly server: { readonly name: string; readonly remotes: readonly { url: string }[] };
  }[];
  readonly metadata: { readonly nextCursor?: string };
}

async function importServers(settings: Settings, rest: readonly string[]): Promise<void> {
  const options = { workspace: { type: 'string' }, 'dry-run': { type: 'boolean' }, url: { type: 'string' } } as const;
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: USAGE });
  const found = readServers(contentOf(positionals[0]!), process.env);
  const remote = remoteOf(settings, values.url);
  const there = new Set((await served(remote)).map(({ name }) => name));
  let failed = 0;
  for (const each of found) {
    if ('why' in each) {
      console.log(`left out    ${each.name}: ${each.why}`);
      continue;
    }
    if (there.has(each.slug)) {
      console.log(`stays       ${each.slug} is there already`);
      continue;
    }
    there.add(each.slug);
    if (values['dry-run']) {
      console.log(`would add   ${each.slug}`);
      continue;
    }
    try {
      await remote.call('POST', '/v1/mcp-servers', registration(each, values.workspace));
      console.log(`added       ${each.slug}`);
    } catch (error) {
      failed++;
      console.log(`failed      ${each.slug}: ${(error as Error).message}`);
    }
  }
  if (failed > 0) throw new Error(`${failed} of ${found.length} servers were refused; the others are as told.`);
}

function registration({ slug, name, description, url, transport, headers }: FoundServer, workspace?: string) {
  const hasHeaders = Object.keys(headers).length > 0;
  return {
    ...{ name, slug, url },
    ...(description !== null && { description: description.slice(0, 2_000) }),
    ...(workspace !== undefined && { workspace_id: workspace }),
    auth_type: hasHeaders ? 'headers' : 'none',
    configurations: {
      ...(hasHeaders && { headers }),
      ...(transport === 'sse' && { transport }),
    },
  };
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}
