import ipaddr from 'ipaddr.js';

type Range = readonly [network: string, use: string];

/**
 * IANA's special-purpose registries (IPv4 and IPv6), less the few blocks they mark globally reachable that may really be
 * called, plus multicast, plus addresses with which clouds hand out credentials. The first match names the use.
 */
const ipv4Ranges: readonly Range[] = [
  ['169.254.169.254/32', 'cloud metadata'],
  ['169.254.170.2/32', 'cloud metadata'],
  ['100.100.100.200/32', 'cloud metadata'],
  // Azure's host channel: public by number, but each virtual machine finds its own host behind it.
  ['168.63.129.16/32', 'cloud metadata'],
  ['0.0.0.0/8', 'this network'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-grade NAT'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['240.0.0.0/4', 'reserved'],
];

const ipv6Ranges: readonly Range[] = [
  ['fd00:ec2::254/128', 'cloud metadata'],
  ['fd20:ce::254/128', 'cloud metadata'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::/96', 'IPv4-compatible'],
  ['64:ff9b:1::/48', 'local NAT64'],
  ['100::/64', 'discard'],
  ['2001::/32', 'Teredo'],
  ['2001:10::/28', 'ORCHID'],
  ['2001:20::/28', 'ORCHID'],
  // Holds a few reachable anycast addresses (port control, TURN, AS112), none of which answers HTTP.
  ['2001::/23', 'protocol assignments'],
  ['2001:db8::/32', 'documentation'],
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'unique local'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
];

/** An IPv6 address that leads to an IPv4 address is as reachable as that one. The number is the 16-bit part it starts at. */
const embeddings: readonly (readonly [network: string, part: number])[] = [
  ['::ffff:0:0/96', 6],
  // NAT64: networks without IPv4 see every IPv4 host of the world under this prefix.
  ['64:ff9b::/96', 6],
  ['2002::/16', 1],
];

const networks4 = ipv4Ranges.map(([network, use]) => ({ network: ipaddr.IPv4.parseCIDR(network), use }));
const networks6 = ipv6Ranges.map(([network, use]) => ({ network: ipaddr.IPv6.parseCIDR(network), use }));
const networksOf4 = embeddings.map(([network, part]) => ({ network: ipaddr.IPv6.parseCIDR(network), part }));
/** The only space from which global unicast addresses are given out (RFC 4291, IANA). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * The address in its one canonical spelling, or null. IPv4 in four decimal parts only: short, octal and hexadecimal forms
 * mean different things to different readers. IPv6 with or without brackets, never with a zone, which is local by nature.
 */
export function canonicalAddress(text: string): string | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return text;
  const inner = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  // ipaddr.js reads ::1.2.3.4 as ::ffff:1.2.3.4 and 010 as octal, so the URL parser, which refuses those, reads IPv6.
  if (!inner.includes(':') || !/^[0-9a-f:.]+$/i.test(inner)) return null;
  return URL.parse(`http://[${inner}]`)?.hostname.slice(1, -1) ?? null;
}

/** Why an address is not globally reachable, in a word or two; null when it is. */
export function specialUse(text: string): string | null {
  const address = canonicalAddress(text);
  if (address === null) return 'not an address';
  return address.includes(':') ? specialUse6(ipaddr.IPv6.parse(address)) : specialUse4(ipaddr.IPv4.parse(address));
}

/** Whether the address is reachable from everywhere: false for every special use and for everything but a plain address. */
export function isGlobalAddress(text: string): boolean {
  return specialUse(text) === null;
}

/** Whether an address lies in one of these networks, each written `10.0.0.0/8` or `2001:db8::/32`. */
export function isInNetworks(
  networks: readonly string[],
  malformed: (network: string) => never,
): (address: string) => boolean {
  const read = networks.map((network) => {
    const [start = '', bits = ''] = network.split('/');
    const address = canonicalAddress(start);
    const isWhole = network.split('/').length === 2 && /^\d{1,3}$/.test(bits);
    if (address === null || !isWhole || Number(bits) > (address.includes(':') ? 128 : 32)) return malformed(network);
    return { first: ipaddr.parse(address), bits: Number(bits) };
  });
  return (text) => {
    const address = ipaddr.parse(text);
    return read.some(({ first, bits }) => first.kind() === address.kind() && address.match(first, bits));
  };
}

function specialUse4(address: ipaddr.IPv4): string | null {
  return networks4.find(({ network }) => address.match(network))?.use ?? null;
}

function specialUse6(address: ipaddr.IPv6): string | null {
  const embedding = networksOf4.find(({ network }) => address.match(network));
  if (embedding) {
    const [high = 0, low = 0] = address.parts.slice(embedding.part);
    return specialUse4(new ipaddr.IPv4([high >> 8, high & 255, low >> 8, low & 255]));
  }
  const special = networks6.find(({ network }) => address.match(network));
  if (special) return special.use;
  return address.match(globalUnicast) ? null : 'reserved';
}
