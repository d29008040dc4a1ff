import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { type Remote, remoteOf } from './remote.ts';

const USAGE = `gateway keys create <name> [--workspace <slug>] [--virtual-key <slug>] [--config <slug>] [--scopes <list>]
                    [--expires <moment>] [--url <address>]
gateway keys list [--workspace <slug>] [--url <address>]

Makes an API key, or lists those that there are. "create" prints the key and nothing else, so that a script can keep it:

  export KEY=$(gateway keys create "chat app" --virtual-key openai-main)

  --workspace <slug>     the key's workspace; the default one unless given
  --virtual-key <slug>   whom its calls go to when they choose nobody themselves
  --config <slug>        the config of its calls when they name none
  --scopes <list>        what it may do, with commas between: completions.write,logs.list
  --expires <moment>     when it ends by itself: 2027-01-31T12:00:00Z
  --url <address>        where the gateway is; where you have signed in, or this machine's, unless given
`;

const options = {
  workspace: { type: 'string' },
  'virtual-key': { type: 'string' },
  config: { type: 'string' },
  scopes: { type: 'string' },
  expires: { type: 'string' },
  url: { type: 'string' },
} as const;

interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly scopes: readonly string[];
  readonly created_at: string | number;
}

/** Speaks to a running gateway. */
export async function keys(settings: Settings, [verb, ...rest]: readonly string[]): Promise<void> {
  if (verb === 'create') return create(settings, rest);
  if (verb === 'list') return list(settings, rest);
  if (verb === '--help' || verb === '-h') return void console.log(USAGE);
  throw new UsageError(`${verb ? `"${verb}" is not one of create, list` : 'create or list is missing'}.\n\n${USAGE}`);
}

async function create(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: USAGE, what: 'a name' });
  const defaults = {
    ...(values['virtual-key'] && { virtual_key: values['virtual-key'] }),
    ...(values.config && { config: values.config }),
  };
  const made = await remoteOf(settings, values.url).call<{ id: string; key: string }>('POST', '/v1/api-keys', {
    name: positionals[0],
    ...(values.workspace && { workspace_id: values.workspace }),
    ...(values.scopes && { scopes: values.scopes.split(',').map((scope) => scope.trim()) }),
    ...(values.expires && { expires_at: values.expires }),
    ...(Object.keys(defaults).length > 0 && { defaults }),
  });
  console.error(`Made API key ${made.id}; it is shown this once:`);
  console.log(made.key);
}

async function list(settings: Settings, rest: readonly string[]): Promise<void> {
  const { workspace, url } = options;
  const { values } = readArguments(rest, { options: { workspace, url }, positionals: 0, usage: USAGE });
  const remote = remoteOf(settings, values.url);
  for await (const { id, status, name } of apiKeysOf(remote, values.workspace))
    console.log(`${id}  ${status}  ${name}`);
}

async function* apiKeysOf(remote: Remote, workspace: string | undefined): AsyncGenerator<ApiKey> {
  for (let page = 0, seen = 0; ; page++) {
    const query = new URLSearchParams({ current_page: String(page), page_size: '100' });
    if (workspace) query.set('workspace_id', workspace);
    const { data, total } = await remote.call<{ data: readonly ApiKey[]; total: number }>(
      'GET',
      `/v1/api-keys?${query}`,
    );
    yield* data;
    seen += data.length;
    if (data.length === 0 || seen >= total) return;
  }
}
