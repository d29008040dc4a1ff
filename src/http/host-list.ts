import { canonicalAddress } from './addresses.ts';

/** These give out the machine's own credentials, so `*.internal` does not cover them; only an entry of the full name does. */
const metadataNames = new Set(['metadata.google.internal', 'metadata.goog', 'instance-data.ec2.internal']);

/** Checks an operator's entries, each `host`, `host:port` or `*.domain`, and answers who is meant by them. */
export function readHostList(entries: readonly string[], malformed: (entry: string) => never): (url: URL) => boolean {
  const hosts = new Set<string>();
  const domains: string[] = [];

  for (const given of entries) {
    const entry = given.trim();
    const wildcard = entry.startsWith('*.');
    const { hostname, port } = readHost(wildcard ? entry.slice(2) : entry) ?? malformed(entry);
    if (!wildcard) hosts.add(port ? `${hostname}:${port}` : hostname);
    else if (port || canonicalAddress(hostname) !== null) malformed(entry);
    else domains.push(`.${hostname}`);
  }

  return (url) => {
    const hostname = withoutRootDot(url.hostname);
    if (hosts.has(hostname) || hosts.has(`${hostname}:${portOf(url)}`)) return true;
    return !metadataNames.has(hostname) && domains.some((domain) => hostname.endsWith(domain));
  };
}

function readHost(text: string): { hostname: string; port: string } | null {
  const bare = text.includes(':') ? canonicalAddress(text) : null;
  if (bare !== null) return { hostname: `[${bare}]`, port: '' };

  const [, host, port = ''] = /^([^\s/\\?#@:]+|\[[^\]]+\])(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === undefined || (port && (Number(port) < 1 || Number(port) > 65_535))) return null;
  const parsed = URL.parse(`http://${host}/`)?.hostname;
  if (parsed === undefined) return null;
  const hostname = withoutRootDot(parsed);
  if (canonicalAddress(hostname) === null && !isHostname(hostname)) return null;
  return { hostname, port: port && String(Number(port)) };
}

export const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

export const withoutRootDot = (hostname: string): string => (hostname.endsWith('.') ? hostname.slice(0, -1) : hostname);

export const isHostname = (text: string): boolean =>
  text.length <= 253 && text.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label));
