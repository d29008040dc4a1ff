import { fail, GatewayError } from '../../core/errors.ts';
import { fetchSmall, type Upstream } from '../../http/upstream.ts';

/** A server as a registry tells of it. All of it came from outside: texts are cut, and addresses are looked at. */
export interface FoundServer {
  /** Its name in the registry, such as `com.example/weather`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  /** Its Streamable HTTP endpoint; null: it has none that can be called. */
  readonly url: string | null;
  /** The header that it wants a secret in; null: none. */
  readonly header: string | null;
  /** Why it cannot be added as it is; null: it can. */
  readonly problem: string | null;
}

export interface FoundServers {
  readonly object: 'list';
  /** The host that was asked. */
  readonly registry: string;
  readonly data: readonly FoundServer[];
  readonly next_cursor: string | null;
}

export interface RegistrySearch {
  readonly search?: string;
  readonly cursor?: string;
  readonly limit: number;
}

const PATH = '/v0.1/servers';
const MOST_BYTES = 2 << 20;
const TIMEOUT_MS = 15_000;
export const LONGEST_CURSOR = 1_000;
const LONGEST_URL = 2_048;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

type Json = Readonly<Record<string, unknown>>;
const objectIn = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
const listIn = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.map(objectIn) : []);
/** A text for people: without what hides or turns letters round, and no longer than a page has room for. */
const textIn = (value: unknown, most: number): string =>
  typeof value === 'string'
    ? value
        .slice(0, most * 2)
        .replace(CONTROL, ' ')
        .trim()
        .slice(0, most)
    : '';

/** Searches the registry of MCP servers that the operator has named. Null: none is named. */
export function createPublicRegistry({ address, upstream }: { address: string | null; upstream: Upstream }) {
  return {
    async search({ search, cursor, limit }: RegistrySearch): Promise<FoundServers> {
      if (address === null) return fail('mcp_registry_off');
      const url = addressOf(address);
      url.search = new URLSearchParams({
        ...{ version: 'latest', limit: String(limit) },
        ...(search && { search }),
        ...(cursor && { cursor }),
      }).toString();
      const answer = await answerOf(url, upstream);
      const next = objectIn(answer.metadata).nextCursor;
      return {
        object: 'list',
        registry: url.host,
        data: listIn(answer.servers).slice(0, limit).flatMap(found),
        next_cursor: typeof next === 'string' && next !== '' && next.length <= LONGEST_CURSOR ? next : null,
      };
    },
  };
}

export type PublicRegistry = ReturnType<typeof createPublicRegistry>;

/** Operators give the address of the registry, or that of its list. */
function addressOf(address: string): URL {
  const url = new URL(address);
  url.pathname = `${url.pathname.replace(/\/+$/, '').replace(/\/v0\.1(?:\/servers)?$/, '')}${PATH}`;
  url.hash = '';
  return url;
}

async function answerOf(url: URL, upstream: Upstream): Promise<Json> {
  const refuse = (why: string): never => fail('mcp_registry_failed', url.host, why);
  const bounds = { maxBytes: MOST_BYTES, timeoutMs: TIMEOUT_MS };
  const answer = await fetchSmall(upstream, url.href, { ...bounds, headers: { accept: 'application/json' } }).catch(
    (error: unknown) => {
      // Where the egress policy or the network says no, its own words tell it.
      if (!(error instanceof GatewayError) || error.code !== 'upstream_failed') throw error;
      return refuse(`it broke off, or is larger than ${MOST_BYTES} bytes`);
    },
  );
  // A redirect could lead where the operator has not looked; it is not followed.
  if (answer.status >= 300 && answer.status < 400)
    return refuse(`it answered ${answer.status}, a redirect, which is not followed; name the address that it leads to`);
  if (answer.status !== 200) return refuse(`it answered ${answer.status}`);
  try {
    const value: unknown = await answer.json();
    if (Array.isArray(objectIn(value).servers)) return objectIn(value);
  } catch {
    return refuse('its answer is no JSON');
  }
  return refuse('its answer has no list "servers"');
}

function found(entry: Json): FoundServer[] {
  const server = objectIn(entry.server);
  const name = textIn(server.name, 200);
  if (name === '') return [];
  const remotes = listIn(server.remotes);
  const remote = remotes.find(({ type, url }) => type === 'streamable-http' && typeof url === 'string');
  const url = typeof remote?.url === 'string' ? remote.url.trim() : '';
  const header = listIn(remote?.headers).find(
    ({ isRequired, isSecret }) => isRequired === true || isSecret === true,
  )?.name;
  const problem = problemOf(server, remote !== undefined, url);
  return [
    {
      ...{ name, title: textIn(server.title, 100), description: textIn(server.description, 300) },
      version: textIn(server.version, 100),
      url: problem === null ? url : null,
      header: typeof header === 'string' && HEADER_NAME.test(header) ? header : null,
      problem,
    },
  ];
}

function problemOf({ remotes, packages }: Json, hasRemote: boolean, url: string): string | null {
  if (!hasRemote)
    return listIn(packages).length > 0
      ? 'It comes as a package: it has to run somewhere first.'
      : listIn(remotes).length > 0
        ? 'It speaks the older transport alone.'
        : 'It names no address.';
  if (/[{}]/.test(url)) return 'Its address has places that only you can fill in: add it by its address.';
  const parsed = URL.parse(url);
  // One that is cut, or that hides letters, would be another address than the one that is shown.
  if (
    !parsed ||
    url !== textIn(url, LONGEST_URL) ||
    !/^https?:$/.test(parsed.protocol) ||
    parsed.username ||
    parsed.password
  )
    return 'Its address is not one that can be called.';
  return null;
}
