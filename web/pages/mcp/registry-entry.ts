/** What an entry of a registry of MCP servers says of how to reach one. */
export interface Reached {
  readonly name: string;
  readonly url: string;
  /** The header that it wants a secret in; null: none. */
  readonly header: string | null;
}

interface Entry {
  readonly name?: unknown;
  readonly title?: unknown;
  readonly remotes?: readonly {
    readonly type?: unknown;
    readonly url?: unknown;
    readonly headers?: readonly {
      readonly name?: unknown;
      readonly isRequired?: unknown;
      readonly isSecret?: unknown;
    }[];
  }[];
}

/** Reads a `server.json`, also as a registry's API wraps it; a text says why it cannot be used. */
export function readEntry(text: string): Reached | string {
  let entry: Entry;
  try {
    const value = JSON.parse(text);
    entry = value?.server ?? value;
  } catch {
    return 'This is no JSON. Copy the whole entry, from its first brace to its last.';
  }
  const remotes: NonNullable<Entry['remotes']> = Array.isArray(entry?.remotes) ? entry.remotes : [];
  const remote = remotes.find(({ type, url }) => type === 'streamable-http' && typeof url === 'string');
  if (!remote)
    return 'It names no remote of the type streamable-http. A server that comes as a package has to run somewhere first: give the address where it runs.';
  const header = remote.headers?.find(({ isRequired, isSecret }) => isRequired || isSecret)?.name;
  const name =
    typeof entry.title === 'string'
      ? entry.title
      : String(entry.name ?? '')
          .split('/')
          .at(-1)!;
  return { name, url: String(remote.url), header: typeof header === 'string' ? header : null };
}
