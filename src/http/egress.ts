import dns from 'node:dns/promises';
import { BoundedMap } from '../core/bounded-map.ts';
import { type Clock, turnClock } from '../core/clock.ts';
import { fail } from '../core/errors.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import { canonicalAddress, specialUse } from './addresses.ts';
import type { ClientTls } from './client-tls.ts';
import { isHostname, readHostList, withoutRootDot } from './host-list.ts';
import { type EgressProxy, type ProxyServer, wayThrough } from './proxy.ts';

export { isGlobalAddress } from './addresses.ts';

/** Where a checked address may be dialled: pinned, so that a second look-up cannot lead elsewhere. */
export interface Destination {
  /** Scheme, address and port to dial, e.g. `https://104.18.6.192` or, for an operator-trusted host, the name as given. */
  readonly origin: string;
  /** The Host header, when it differs from what `origin` implies. */
  readonly host?: string;
  /** The name the TLS certificate must carry, when `origin` is an address. */
  readonly serverName?: string;
  /** The proxy that is asked to connect to `origin`; without it the gateway does so itself. */
  readonly via?: ProxyServer;
  /** What the caller of this code shows the server, and whom it trusts to vouch for it. */
  readonly tls?: ClientTls;
}

/** A certificate goes over TLS alone; a plain connection would do without it and say nothing. */
export function withTls(destination: Destination, tls: ClientTls): Destination {
  if (!destination.origin.startsWith('https:'))
    fail('egress_refused', destination.host ?? new URL(destination.origin).host, 'client certificates only over https');
  return { ...destination, tls };
}

/** The one gate of every outgoing call: providers, custom hosts, webhooks, key sets, MCP servers, OAuth metadata. */
export interface EgressPolicy {
  /**
   * Checks scheme, host and every address it resolves to. Throws `egress_refused` (400) naming the rule, or
   * `upstream_unreachable` (502) when the name does not resolve. Answers synchronously from a bounded cache when it can.
   */
  admit(url: string): NowOrLater<Destination>;
}

interface EgressSettings {
  /** The entries of TRUSTED_CUSTOM_HOSTS: `host`, `host:port` or `*.domain`. */
  readonly trustedHosts: readonly string[];
  /** The operator's proxy for outgoing connections. Null: there is none. */
  readonly proxy?: EgressProxy | null;
  /** Every address of a name. The default asks the operating system, `/etc/hosts` included. */
  readonly resolve?: (hostname: string) => Promise<string[]>;
  readonly now?: Clock;
}

interface Admission {
  readonly destination: Destination;
  readonly expiresAt: number;
}

const LIFETIME_MS = 30_000;
/** Where the proxy resolves names, they are looked up here only as a second fence, and no call waits long for that. */
const LOOK_UP_MS = 2_000;
const UNRESOLVED_LIFETIME_MS = 300_000;
const CAPACITY = 1_000;

/** Local by convention, whatever a resolver says of them (RFC 6761, 6762, 8375 and ICANN's .internal). */
const localDomains = ['localhost', 'local', 'internal', 'localdomain', 'home.arpa'];

/**
 *     const egress = createEgressPolicy({ trustedHosts: ['127.0.0.1:11434', '*.models.internal'] });
 *     const { origin, host, serverName } = await egress.admit('https://api.groq.com/openai/v1/models');
 */
export function createEgressPolicy({
  trustedHosts,
  proxy = null,
  resolve = resolveWithSystem,
  now = turnClock,
}: EgressSettings): EgressPolicy {
  const isTrusted = readHostList(trustedHosts, malformed);
  const wayTo = proxy && wayThrough(proxy);
  /** Adds the proxy, where the way to this URL leads through it. */
  const routed = (url: URL, destination: Destination): Destination => {
    const via = wayTo?.(url);
    return via ? { ...destination, via } : destination;
  };
  // Both are keyed by an origin as the URL parser writes it. A string that is not written so is never found here before
  // it has been parsed, so user names, backslashes and odd spellings cannot borrow another host's admission.
  const admissions = new BoundedMap<string, Admission>(CAPACITY);
  const resolutions = new Map<string, Promise<Destination>>();
  let youngest = '';

  function recall(origin: string): Destination | undefined {
    const admission = admissions.get(origin);
    if (admission === undefined) return undefined;
    if (admission.expiresAt <= now()) {
      admissions.delete(origin);
      return undefined;
    }
    if (origin !== youngest) {
      admissions.set(origin, admission);
      youngest = origin;
    }
    return admission.destination;
  }

  function remember(origin: string, destination: Destination, expiresAt: number): Destination {
    admissions.set(origin, { destination, expiresAt });
    youngest = origin;
    return destination;
  }

  function check(text: string): NowOrLater<Destination> {
    const url = parse(text);
    const recalled = recall(url.origin);
    if (recalled) return recalled;

    // The operator's list is the only exception to the rules on addresses, and it is whole: a listed host may be
    // private, plain http, even a metadata service, and the HTTP client looks its name up like any other program.
    if (isTrusted(url)) return remember(url.origin, routed(url, { origin: url.origin }), Number.POSITIVE_INFINITY);
    if (url.protocol === 'http:') fail('egress_refused', url.host, 'plain http only to hosts in TRUSTED_CUSTOM_HOSTS');

    const address = canonicalAddress(url.hostname);
    if (address !== null) {
      refuseSpecialUse(url.host, [address]);
      return remember(url.origin, routed(url, { origin: url.origin }), Number.POSITIVE_INFINITY);
    }
    refuseLocalName(url);

    const running = resolutions.get(url.origin);
    if (running) return running;
    const resolution = pin(url);
    const forget = () => resolutions.delete(url.origin);
    resolutions.set(url.origin, resolution);
    resolution.then(forget, forget);
    return resolution;
  }

  async function pin(url: URL): Promise<Destination> {
    const hostname = withoutRootDot(url.hostname);
    const port = url.port && `:${url.port}`;
    if (proxy?.target === 'name' && wayTo?.(url)) return hand(url, hostname, port);
    let addresses: string[];
    try {
      addresses = await resolve(hostname);
    } catch (error) {
      const way = wayTo?.(url) ? '; GATEWAY_EGRESS_PROXY_TARGET=name leaves that to the proxy' : '';
      fail('upstream_unreachable', url.host, `the name does not resolve${reasonOf(error)}${way}`);
    }
    if (addresses.length === 0) fail('upstream_unreachable', url.host, 'the name has no address');
    refuseSpecialUse(url.host, addresses);

    const address = addresses.find((candidate) => !candidate.includes(':')) ?? addresses[0]!;
    const destination = routed(url, {
      origin: `https://${address.includes(':') ? `[${canonicalAddress(address)}]` : address}${port}`,
      host: hostname + port,
      serverName: hostname,
    });
    return remember(url.origin, destination, now() + LIFETIME_MS);
  }

  /** The proxy resolves the name. One that resolves here too, to something private, does not get that far. */
  async function hand(url: URL, hostname: string, port: string): Promise<Destination> {
    // The proxy may complete such a name to one of the network it stands in.
    if (!hostname.includes('.'))
      fail('egress_refused', url.host, 'names without a dot only when in TRUSTED_CUSTOM_HOSTS');
    const addresses = await withinLookUp(resolve(hostname));
    refuseSpecialUse(url.host, addresses ?? []);
    const lifetimeMs = addresses === null ? UNRESOLVED_LIFETIME_MS : LIFETIME_MS;
    return remember(url.origin, routed(url, { origin: `https://${hostname}${port}` }), now() + lifetimeMs);
  }

  return { admit: (url) => recall(originPart(url)) ?? check(url) };
}

/** Everything before the path, by position alone: nothing is decided here, a wrong cut is a string that no key equals. */
function originPart(url: string): string {
  let end = url.startsWith('https://') ? 8 : 7;
  for (; end < url.length; end++) {
    const code = url.charCodeAt(end);
    if (code === 0x2f || code === 0x3f || code === 0x23) break; // / ? #
  }
  return url.slice(0, end);
}

/** The rules that hold for every host, trusted or not. Refusals name the host, never the rest, where secrets may be. */
function parse(text: string): URL {
  const url = URL.parse(text);
  if (url === null) fail('egress_refused', 'this URL', 'it cannot be parsed; write https://host/path');
  const host = url.host || 'this URL';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') fail('egress_refused', host, 'only http and https');

  // The parser mends what we would rather refuse: `https:host`, `https:\\host`, tabs and spaces.
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined || /[\s\\\u0000-\u001f\u007f]/.test(authority)) {
    fail('egress_refused', host, 'write https://host/path, without backslashes, spaces or control characters');
  }
  if (authority.includes('@')) fail('egress_refused', host, 'no user name or password in a URL');
  if (url.port === '0') fail('egress_refused', host, 'port 0 cannot be called');
  if (canonicalAddress(url.hostname) === null && !isHostname(withoutRootDot(url.hostname))) {
    fail('egress_refused', 'this URL', 'its host is neither a host name nor an address');
  }
  return url;
}

function refuseLocalName(url: URL): void {
  const hostname = withoutRootDot(url.hostname);
  const domain = localDomains.find((local) => hostname === local || hostname.endsWith(`.${local}`));
  if (domain) fail('egress_refused', url.host, `names under ${domain} only when in TRUSTED_CUSTOM_HOSTS`);
}

function refuseSpecialUse(host: string, addresses: readonly string[]): void {
  for (const address of addresses) {
    const use = specialUse(address);
    if (use === null) continue;
    // The address itself stays unsaid: for a name it would tell a caller how the network is built inside.
    fail(
      'egress_refused',
      host,
      `its address is not globally reachable (${use}) and it is not in TRUSTED_CUSTOM_HOSTS`,
    );
  }
}

function malformed(entry: string): never {
  throw new Error(
    `TRUSTED_CUSTOM_HOSTS: "${entry}" is not a host; write host, host:port or *.domain, without scheme and path.`,
  );
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? ` (${code})` : '';
}

/** Null: the name does not resolve here, or not in time. */
async function withinLookUp(resolution: Promise<string[]>): Promise<string[] | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), LOOK_UP_MS);
  try {
    return await Promise.race([resolution.catch(() => null), promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function resolveWithSystem(hostname: string): Promise<string[]> {
  const found = await dns.lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}
