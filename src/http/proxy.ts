import { Secret } from '../core/secret.ts';
import { canonicalAddress, isInNetworks, specialUse } from './addresses.ts';
import { isHostname, readHostList, withoutRootDot } from './host-list.ts';

/** The operator's proxy for outgoing connections. */
export interface EgressProxy {
  /** Scheme, host and port, with user and password where it wants them. */
  readonly url: Secret;
  /** Who is called without it: `host`, `host:port`, `*.domain`, an address or a network. */
  readonly except: readonly string[];
  /** What it is asked to connect to: the address that the egress policy has checked, or the name, which it resolves itself. */
  readonly target: 'address' | 'name';
}

/** The same as plain data, for a thread: secrets do not pass between threads. */
export type PostedProxy = Omit<EgressProxy, 'url'> & { readonly url: string };

export const postedProxy = (proxy: EgressProxy | null): PostedProxy | null =>
  proxy && { ...proxy, url: proxy.url.reveal() };

export const receivedProxy = (posted: PostedProxy | null | undefined): EgressProxy | null =>
  posted ? { ...posted, url: new Secret(posted.url) } : null;

/** A proxy as it is dialled. */
export interface ProxyServer {
  readonly hostname: string;
  readonly port: number;
  readonly isSecure: boolean;
  /** What errors call it: host and port, never the credentials. */
  readonly host: string;
  /** The header `Proxy-Authorization`. */
  readonly authorization: Secret | null;
}

export const PROXY_URL_FORM = 'http://user:password@proxy.example.com:3128';

/** A proxy by its URL, or what is wrong with it. Nothing of the URL is repeated: it may hold a password. */
export function readProxyUrl(text: string): ProxyServer | string {
  const url = URL.parse(text);
  // The parser mends what we would rather refuse: a third slash, and line breaks in the middle of a name.
  if (url === null || !/^https?:\/\/[^/\\\s][^\s\u0000-\u001f\u007f]*$/i.test(text)) return 'is not a usable address';
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'is neither http nor https';
  const hostname = withoutRootDot(url.hostname);
  if (canonicalAddress(hostname) === null && !isHostname(hostname)) return 'has no usable host';
  if (url.port === '0') return 'has port 0';
  if (url.pathname !== '/' || url.search || url.hash) return 'has more than a host and a port';
  const user = decoded(url.username);
  const password = decoded(url.password);
  if (user === null || password === null) return 'has a user or password that is not percent-encoded properly';
  if (user.includes(':')) return 'has a user with a colon, which a proxy would take for the end of the name';
  if (user === '' && password !== '') return 'has a password without a user';
  const isSecure = url.protocol === 'https:';
  const port = Number(url.port) || (isSecure ? 443 : 80);
  const credentials = Buffer.from(`${user}:${password}`).toString('base64');
  return {
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port,
    isSecure,
    host: `${hostname}:${port}`,
    authorization: user === '' ? null : new Secret(`Basic ${credentials}`),
  };
}

/** Host and port, for people to read. */
export const proxyHost = ({ url }: EgressProxy): string => {
  const proxy = readProxyUrl(url.reveal());
  return typeof proxy === 'string' ? 'unknown' : proxy.host;
};

function decoded(text: string): string | null {
  try {
    const plain = decodeURIComponent(text);
    return /[\u0000-\u001f\u007f]/.test(plain) ? null : plain;
  } catch {
    return null;
  }
}

/** The exceptions as one question. Throws what `malformed` throws for an entry that means nothing. */
export function readExceptions(entries: readonly string[], malformed: (entry: string) => never): (url: URL) => boolean {
  const networks = entries.filter((entry) => entry.includes('/'));
  const isInNetwork = isInNetworks(networks, malformed);
  const isListed = readHostList(
    entries.filter((entry) => !entry.includes('/')),
    malformed,
  );
  return (url) => {
    const address = canonicalAddress(url.hostname);
    return (address !== null && isInNetwork(address)) || isListed(url);
  };
}

/** This machine itself, which no proxy reaches. */
export function isThisMachine(hostname: string): boolean {
  const name = withoutRootDot(hostname);
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  return canonicalAddress(name) !== null && specialUse(name) === 'loopback';
}

/** Which way leads to a URL: through the proxy, or straight (null). */
export type Way = (url: URL) => ProxyServer | null;

export function wayThrough({ url, except }: EgressProxy): Way {
  const proxy = readProxyUrl(url.reveal());
  if (typeof proxy === 'string') throw new Error(`GATEWAY_EGRESS_PROXY ${proxy}; give one such as ${PROXY_URL_FORM}.`);
  const isExcepted = readExceptions(except, malformedException);
  return (target) => (isThisMachine(target.hostname) || isExcepted(target) ? null : proxy);
}

export function malformedException(entry: string): never {
  throw new Error(
    `GATEWAY_EGRESS_PROXY_EXCEPT: "${entry}" is not a host; write host, host:port, *.domain or a network such as 10.0.0.0/8.`,
  );
}
