/** A server as a file tells of it, ready to be registered. */
export interface FoundServer {
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly url: string;
  readonly transport: 'streamable_http' | 'sse';
  readonly headers: Readonly<Record<string, string>>;
}

/** One that cannot be taken over, and why. */
export interface LeftOut {
  readonly name: string;
  readonly why: string;
}

type Environment = Readonly<Record<string, string | undefined>>;
type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const textIn = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

const FORMS =
  'It is neither a file of MCP servers of a client ("mcpServers", or "servers" of VS Code) nor of the format of the MCP ' +
  'registry (a server.json, or a list "servers" of such).';

/** Reads the servers of a client's `mcp.json`, a `server.json`, or an answer of the registry. */
export function readServers(text: string, environment: Environment): readonly (FoundServer | LeftOut)[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`It is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) throw new Error(FORMS);
  if (isObject(value.mcpServers)) return ofClient(value.mcpServers, environment);
  if (isObject(value.servers)) return ofClient(value.servers, environment);
  if (Array.isArray(value.servers)) return value.servers.map((each) => ofRegistry(each));
  if (textIn(value.name) !== null && (Array.isArray(value.remotes) || Array.isArray(value.packages)))
    return [ofRegistry({ server: value })];
  throw new Error(FORMS);
}

const ofClient = (servers: Members, environment: Environment): (FoundServer | LeftOut)[] =>
  Object.entries(servers).map(([name, entry]) => {
    if (!isObject(entry)) return { name, why: 'it is no object' };
    if (textIn(entry.command) !== null)
      return { name, why: `it is a program to run (${textIn(entry.command)}), and the gateway runs none` };
    const url = textIn(entry.url) ?? textIn(entry.httpUrl) ?? textIn(entry.serverUrl);
    if (url === null) return { name, why: 'it has no address' };
    const given = isObject(entry.headers) ? entry.headers : {};
    const headers: Record<string, string> = {};
    for (const [header, raw] of Object.entries(given)) {
      const filled = withVariables(String(raw), environment);
      if ('missing' in filled) return { name, why: `its header ${header} needs ${filled.missing}` };
      headers[header] = filled.text;
    }
    const address = withVariables(url, environment);
    if ('missing' in address) return { name, why: `its address needs ${address.missing}` };
    return {
      slug: slugOf(name),
      name,
      description: null,
      url: address.text,
      transport: entry.type === 'sse' ? 'sse' : 'streamable_http',
      headers,
    };
  });

/** `${NAME}`, `${env:NAME}` and `$NAME`, as clients write them; `${input:…}` is asked of a person. */
function withVariables(text: string, environment: Environment): { text: string } | { missing: string } {
  let missing: string | null = null;
  const filled = text.replace(/\$\{([^}]*)\}|\$([A-Z_][A-Z0-9_]*)/g, (whole, braced?: string, plain?: string) => {
    const name = (braced ?? plain ?? '').replace(/^env:/, '');
    const [variable, otherwise] = name.split(':-');
    const value = /^[A-Za-z_]\w*$/.test(variable!) ? (environment[variable!] ?? otherwise) : undefined;
    if (value === undefined) missing ??= `${whole}; set that variable for this command`;
    return value ?? '';
  });
  return missing === null ? { text: filled } : { missing };
}

const REGISTRY_META = 'io.modelcontextprotocol.registry/official';
const TRANSPORTS = { 'streamable-http': 'streamable_http', sse: 'sse' } as const;

function ofRegistry(value: unknown): FoundServer | LeftOut {
  const outer = isObject(value) ? value : {};
  const server = isObject(outer.server) ? outer.server : outer;
  const name = textIn(server.name) ?? 'a server without a name';
  const meta = isObject(outer._meta) && isObject(outer._meta[REGISTRY_META]) ? outer._meta[REGISTRY_META] : {};
  if (meta.status === 'deleted') return { name, why: 'the registry says that it is deleted' };
  if (meta.isLatest === false) return { name, why: 'there is a newer version of it' };
  const remotes = Array.isArray(server.remotes) ? server.remotes.filter(isObject) : [];
  const remote =
    remotes.find(({ type }) => type === 'streamable-http') ?? remotes.find(({ type }) => type === 'sse') ?? null;
  const url = remote && textIn(remote.url);
  if (!remote || url === null)
    return { name, why: 'it has no address, only a package to run, and the gateway runs none' };
  if (/[{}]/.test(url)) return { name, why: `its address has a part that you choose: ${url}` };
  const headers: Record<string, string> = {};
  for (const header of Array.isArray(remote.headers) ? remote.headers.filter(isObject) : []) {
    const fixed = textIn(header.value) ?? textIn(header.default);
    if (fixed !== null && !/[{}]/.test(fixed)) headers[String(header.name)] = fixed;
    else if (header.isRequired === true)
      return { name, why: `it needs a value of yours for the header ${String(header.name)}` };
  }
  return {
    slug: slugOf(name.slice(name.lastIndexOf('/') + 1)),
    name: textIn(server.title) ?? name,
    description: textIn(server.description),
    url,
    transport: TRANSPORTS[remote.type as keyof typeof TRANSPORTS],
    headers,
  };
}

const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
    .replace(/^[-_]+|-+$/g, '')
    .slice(0, 63) || 'mcp-server';
