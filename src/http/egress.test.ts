import { describe, expect, type Mock, spyOn, test } from 'bun:test';
import dns from 'node:dns/promises';
import ipaddr from 'ipaddr.js';
import { GatewayError } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { isGlobalAddress } from './addresses.ts';
import { createEgressPolicy, type Destination, type EgressPolicy } from './egress.ts';

const names: Record<string, string[]> = {
  'api.example.com': ['93.184.215.14'],
  'both.example.com': ['2606:4700::6810:1', '104.16.0.1'],
  'six.example.com': ['2606:4700:0:0::6810:2'],
  'two.example.com': ['104.16.0.1', '104.16.0.2'],
  'inside.example.com': ['10.0.0.5'],
  'mixed.example.com': ['104.16.0.1', '104.16.0.2', '192.168.1.1'],
  'mixed-six.example.com': ['104.16.0.1', 'fd12::1'],
  'loop.example.com': ['127.0.0.1'],
  'metadata.example.com': ['169.254.169.254'],
  'mapped.example.com': ['::ffff:10.0.0.1'],
  'nat64.example.com': ['64:ff9b::10.0.0.1'],
  'zoned.example.com': ['2606:4700::1%eth0'],
  'short.example.com': ['127.1'],
  'empty.example.com': [],
  'xn--bcher-kva.example': ['104.16.0.3'],
  'under_score.example.com': ['104.16.0.4'],
  'metadata.goog': ['169.254.169.254'],
  '1e3.example.com': ['104.16.0.5'],
};

async function resolve(hostname: string): Promise<string[]> {
  const addresses = names[hostname];
  if (addresses) return addresses;
  throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
}

const trustedHosts = [
  'Ollama.Lan',
  'localhost:11434',
  '*.models.internal',
  '*.INTERNAL.',
  '10.1.2.3',
  '127.0.0.1:9000',
  '[::1]:9000',
  'fd12::7',
  '[FD12:0::8]',
  'bücher.test',
  'secure.test:443',
  'plain.test:80',
];

/** What the policy makes of a URL, as one line: a pin, a trusted origin, or the refusal's words. */
async function outcome(policy: EgressPolicy, url: string): Promise<string> {
  try {
    const { origin, host, serverName } = await policy.admit(url);
    return host ? `${origin} host ${host} name ${serverName}` : origin;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const [, called, why] =
      /^(?:The gateway does not call|No connection to) (\S+|this URL): (.*)$/.exec(error.message) ?? [];
    return `${error.code === 'egress_refused' ? 'refused' : 'unreachable'} ${called}: ${why}`;
  }
}

const refused = (host: string, rule: string) => `refused ${host}: ${rule}`;
const special = (host: string, use: string) =>
  refused(host, `its address is not globally reachable (${use}) and it is not in TRUSTED_CUSTOM_HOSTS`);
const plain = (host: string) => refused(host, 'plain http only to hosts in TRUSTED_CUSTOM_HOSTS');
const local = (host: string, domain: string) =>
  refused(host, `names under ${domain} only when in TRUSTED_CUSTOM_HOSTS`);
const scheme = (host: string) => refused(host, 'only http and https');
const credentials = (host: string) => refused(host, 'no user name or password in a URL');
const form = (host: string) =>
  refused(host, 'write https://host/path, without backslashes, spaces or control characters');
const unparsable = refused('this URL', 'it cannot be parsed; write https://host/path');
const noName = refused('this URL', 'its host is neither a host name nor an address');
const unresolved = (host: string) => `unreachable ${host}: the name does not resolve (ENOTFOUND). Nothing was sent.`;
const apiPin = 'https://93.184.215.14 host api.example.com name api.example.com';

const cases: [url: string, outcome: string][] = [
  // Public names are pinned to an address that was checked
  ['https://api.example.com', apiPin],
  ['https://api.example.com/v1/chat/completions?stream=1#x', apiPin],
  ['https://api.example.com?x=https://127.0.0.1/', apiPin],
  ['https://api.example.com#@127.0.0.1', apiPin],
  ['https://api.example.com/@127.0.0.1', apiPin],
  ['https://API.Example.COM/', apiPin],
  ['HTTPS://api.example.com/', apiPin],
  ['https://api.example.com./', apiPin],
  ['https://api.example.com:443/', apiPin],
  ['https://api.example.com:/', apiPin],
  ['https://api%2Eexample.com/', apiPin],
  ['https://api。example．com/', apiPin],
  ['https://ａｐｉ.example.com/', apiPin],
  ['https://api.example.com:8443/', 'https://93.184.215.14:8443 host api.example.com:8443 name api.example.com'],
  ['https://two.example.com/', 'https://104.16.0.1 host two.example.com name two.example.com'],
  ['https://both.example.com/', 'https://104.16.0.1 host both.example.com name both.example.com'],
  ['https://six.example.com/', 'https://[2606:4700::6810:2] host six.example.com name six.example.com'],
  ['https://six.example.com:444/', 'https://[2606:4700::6810:2]:444 host six.example.com:444 name six.example.com'],
  ['https://bücher.example/', 'https://104.16.0.3 host xn--bcher-kva.example name xn--bcher-kva.example'],
  ['https://BÜCHER。example/', 'https://104.16.0.3 host xn--bcher-kva.example name xn--bcher-kva.example'],
  ['https://xn--bcher-kva.example/', 'https://104.16.0.3 host xn--bcher-kva.example name xn--bcher-kva.example'],
  ['https://under_score.example.com/', 'https://104.16.0.4 host under_score.example.com name under_score.example.com'],
  ['https://1e3.example.com/', 'https://104.16.0.5 host 1e3.example.com name 1e3.example.com'],

  // Public literal addresses stand for themselves, in the one spelling that is dialled
  ['https://8.8.8.8/', 'https://8.8.8.8'],
  ['https://8.8.8.8:8443/', 'https://8.8.8.8:8443'],
  ['https://8.8.8.8./', 'https://8.8.8.8'],
  ['https://134744072/', 'https://8.8.8.8'],
  ['https://0x8.010.2056/', 'https://8.8.8.8'],
  ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]'],
  ['https://[2606:4700:0:0:0:0:0:1111]:8443/', 'https://[2606:4700::1111]:8443'],
  ['https://[::ffff:8.8.8.8]/', 'https://[::ffff:808:808]'],
  ['https://[64:ff9b::8.8.8.8]/', 'https://[64:ff9b::808:808]'],

  // Schemes
  ['ftp://api.example.com/', scheme('api.example.com')],
  ['ws://api.example.com/', scheme('api.example.com')],
  ['gopher://127.0.0.1:6379/_INFO', scheme('127.0.0.1:6379')],
  ['file:///etc/passwd', scheme('this URL')],
  ['data:text/plain,hello', scheme('this URL')],
  ['blob:https://api.example.com/1', scheme('this URL')],
  ['http://api.example.com/', plain('api.example.com')],
  ['http://8.8.8.8:8080/', plain('8.8.8.8:8080')],
  ['http://127.0.0.1/', plain('127.0.0.1')],

  // Not quite URLs
  ['', unparsable],
  ['api.example.com', unparsable],
  ['//api.example.com/', unparsable],
  ['https://', unparsable],
  ['https://api.example.com:99999/', unparsable],
  ['https://api.example.com:port/', unparsable],
  ['https://api example.com/', unparsable],
  ['https://api%00.example.com/', unparsable],
  ['https://api%2f.example.com/', unparsable],
  ['https://1.2.3.4.5/', unparsable],
  ['https://256.1.1.1/', unparsable],
  ['https://4294967296/', unparsable],
  ['https://08.8.8.8/', unparsable],
  ['https://[::1', unparsable],
  ['https://[127.0.0.1]/', unparsable],
  ['https://[fe80::1%eth0]/', unparsable],
  ['https://[fe80::1%25eth0]/', unparsable],
  ['https://[2606:4700::1111%25eth0]/', unparsable],
  ['https://api.example.com:0/', refused('api.example.com:0', 'port 0 cannot be called')],
  ['http://localhost:0/', refused('localhost:0', 'port 0 cannot be called')],
  ['https:api.example.com', form('api.example.com')],
  ['https:/api.example.com', form('api.example.com')],
  ['https:///api.example.com', form('api.example.com')],
  ['https:\\\\api.example.com', form('api.example.com')],
  ['https://api.example.com\\@127.0.0.1/', form('api.example.com')],
  ['https://api.example.com\\/', form('api.example.com')],
  [' https://api.example.com/', form('api.example.com')],
  ['https://api.example.com /', unparsable],
  ['https://api.exam\tple.com/', form('api.example.com')],
  ['https://api.example.com\n/', form('api.example.com')],
  ['ht\ntps://api.example.com/', form('api.example.com')],
  ['https://api.example.com\r', form('api.example.com')],
  ['https://./', noName],
  ['https://api..example.com/', noName],
  ['https://api.example.com../', noName],
  ['https://localhost../', noName],
  ['https://127.0.0.1../', noName],
  ['https://*.example.com/', noName],
  [`https://${'a'.repeat(64)}.com/`, noName],
  [`https://${'a.'.repeat(126)}example/`, noName],

  // Credentials
  ['https://user:pass@api.example.com/', credentials('api.example.com')],
  ['https://user@api.example.com/', credentials('api.example.com')],
  ['https://:pass@api.example.com/', credentials('api.example.com')],
  ['https://@api.example.com/', credentials('api.example.com')],
  ['https://api.example.com@127.0.0.1/', credentials('127.0.0.1')],
  ['https://api.example.com:443@127.0.0.1/', credentials('127.0.0.1')],
  ['http://user:pass@ollama.lan/', credentials('ollama.lan')],

  // Loopback, in every spelling
  ['https://127.0.0.1/', special('127.0.0.1', 'loopback')],
  ['https://127.0.0.1./', special('127.0.0.1', 'loopback')],
  ['https://127.255.255.254/', special('127.255.255.254', 'loopback')],
  ['https://127.1/', special('127.0.0.1', 'loopback')],
  ['https://127.0.1/', special('127.0.0.1', 'loopback')],
  ['https://2130706433/', special('127.0.0.1', 'loopback')],
  ['https://0x7f000001/', special('127.0.0.1', 'loopback')],
  ['https://0X7F.1/', special('127.0.0.1', 'loopback')],
  ['https://0x7f.0.0.0x1/', special('127.0.0.1', 'loopback')],
  ['https://0177.0.0.01/', special('127.0.0.1', 'loopback')],
  ['https://017700000001/', special('127.0.0.1', 'loopback')],
  ['https://0177.0x0.1/', special('127.0.0.1', 'loopback')],
  ['https://１２７.0.0.1/', special('127.0.0.1', 'loopback')],
  ['https://①②⑦.⓪.⓪.①/', special('127.0.0.1', 'loopback')],
  ['https://127。0．0｡1/', special('127.0.0.1', 'loopback')],
  ['https://%31%32%37.0.0.1/', special('127.0.0.1', 'loopback')],
  ['https://127%2e0%2e0%2e1/', special('127.0.0.1', 'loopback')],
  ['https://[::1]/', special('[::1]', 'loopback')],
  ['https://[0:0:0:0:0:0:0:1]:8443/', special('[::1]:8443', 'loopback')],
  ['https://[::ffff:127.0.0.1]/', special('[::ffff:7f00:1]', 'loopback')],
  ['https://[::FFFF:7F00:0001]/', special('[::ffff:7f00:1]', 'loopback')],
  ['https://[0:0:0:0:0:ffff:7f00:1]/', special('[::ffff:7f00:1]', 'loopback')],

  // Everything else that is not the open internet, IPv4
  ['https://0/', special('0.0.0.0', 'this network')],
  ['https://0.1.2.3/', special('0.1.2.3', 'this network')],
  ['https://10.0.0.1/', special('10.0.0.1', 'private')],
  ['https://172.16.0.1/', special('172.16.0.1', 'private')],
  ['https://172.31.255.255/', special('172.31.255.255', 'private')],
  ['https://192.168.1.1/', special('192.168.1.1', 'private')],
  ['https://0300.0250.1.1/', special('192.168.1.1', 'private')],
  ['https://100.64.0.1/', special('100.64.0.1', 'carrier-grade NAT')],
  ['https://169.254.1.1/', special('169.254.1.1', 'link-local')],
  ['https://192.0.0.8/', special('192.0.0.8', 'protocol assignments')],
  ['https://192.0.2.1/', special('192.0.2.1', 'documentation')],
  ['https://198.51.100.1/', special('198.51.100.1', 'documentation')],
  ['https://203.0.113.1/', special('203.0.113.1', 'documentation')],
  ['https://192.88.99.1/', special('192.88.99.1', '6to4 relay')],
  ['https://198.19.255.255/', special('198.19.255.255', 'benchmarking')],
  ['https://224.0.0.1/', special('224.0.0.1', 'multicast')],
  ['https://240.0.0.1/', special('240.0.0.1', 'reserved')],
  ['https://255.255.255.255/', special('255.255.255.255', 'broadcast')],
  ['https://0xffffffff/', special('255.255.255.255', 'broadcast')],

  // The same, IPv6
  ['https://[::]/', special('[::]', 'unspecified')],
  ['https://[::8.8.8.8]/', special('[::808:808]', 'IPv4-compatible')],
  ['https://[::127.0.0.1]/', special('[::7f00:1]', 'IPv4-compatible')],
  ['https://[::ffff:10.0.0.1]/', special('[::ffff:a00:1]', 'private')],
  ['https://[::ffff:0:10.0.0.1]/', special('[::ffff:0:a00:1]', 'reserved')],
  ['https://[64:ff9b::10.0.0.1]/', special('[64:ff9b::a00:1]', 'private')],
  ['https://[64:ff9b::7f00:1]/', special('[64:ff9b::7f00:1]', 'loopback')],
  ['https://[64:ff9b:1::8.8.8.8]/', special('[64:ff9b:1::808:808]', 'local NAT64')],
  ['https://[100::1]/', special('[100::1]', 'discard')],
  ['https://[100:0:0:1::1]/', special('[100:0:0:1::1]', 'reserved')],
  ['https://[2001::1]/', special('[2001::1]', 'Teredo')],
  ['https://[2001:2::1]/', special('[2001:2::1]', 'protocol assignments')],
  ['https://[2001:10::1]/', special('[2001:10::1]', 'ORCHID')],
  ['https://[2001:2f::1]/', special('[2001:2f::1]', 'ORCHID')],
  ['https://[2001:db8::1]/', special('[2001:db8::1]', 'documentation')],
  ['https://[3fff:fff::1]/', special('[3fff:fff::1]', 'documentation')],
  ['https://[2002:7f00:1::]/', special('[2002:7f00:1::]', 'loopback')],
  ['https://[2002:c0a8:101::1]/', special('[2002:c0a8:101::1]', 'private')],
  ['https://[5f00::1]/', special('[5f00::1]', 'reserved')],
  ['https://[4000::1]/', special('[4000::1]', 'reserved')],
  ['https://[fc00::1]/', special('[fc00::1]', 'unique local')],
  ['https://[fdff::1]/', special('[fdff::1]', 'unique local')],
  ['https://[fe80::1]/', special('[fe80::1]', 'link-local')],
  ['https://[febf::1]/', special('[febf::1]', 'link-local')],
  ['https://[fec0::1]/', special('[fec0::1]', 'site-local')],
  ['https://[ff02::1]/', special('[ff02::1]', 'multicast')],

  // Where clouds keep credentials
  ['https://169.254.169.254/latest/meta-data/', special('169.254.169.254', 'cloud metadata')],
  ['https://2852039166/', special('169.254.169.254', 'cloud metadata')],
  ['https://0xa9fea9fe/', special('169.254.169.254', 'cloud metadata')],
  ['https://[::ffff:a9fe:a9fe]/', special('[::ffff:a9fe:a9fe]', 'cloud metadata')],
  ['https://[64:ff9b::a9fe:a9fe]/', special('[64:ff9b::a9fe:a9fe]', 'cloud metadata')],
  ['https://169.254.170.2/', special('169.254.170.2', 'cloud metadata')],
  ['https://100.100.100.200/', special('100.100.100.200', 'cloud metadata')],
  ['https://168.63.129.16/', special('168.63.129.16', 'cloud metadata')],
  ['https://[fd00:ec2::254]/', special('[fd00:ec2::254]', 'cloud metadata')],
  ['https://[fd20:ce::254]/', special('[fd20:ce::254]', 'cloud metadata')],
  ['https://metadata.goog/', special('metadata.goog', 'cloud metadata')],
  ['https://metadata.google.internal/', local('metadata.google.internal', 'internal')],
  ['http://metadata.google.internal/', plain('metadata.google.internal')],

  // Names that are local by convention
  ['https://localhost/', local('localhost', 'localhost')],
  ['https://LOCALHOST./', local('localhost.', 'localhost')],
  ['https://ⓛocalhost/', local('localhost', 'localhost')],
  ['https://loc%61lhost/', local('localhost', 'localhost')],
  ['https://loc\u00adalhost/', local('localhost', 'localhost')],
  ['https://a.b.localhost/', local('a.b.localhost', 'localhost')],
  ['https://localhost.localdomain/', local('localhost.localdomain', 'localdomain')],
  ['https://printer.local/', local('printer.local', 'local')],
  ['https://nas.home.arpa./', local('nas.home.arpa.', 'home.arpa')],
  ['https://internal/', local('internal', 'internal')],

  // Names that lead inside
  ['https://inside.example.com/', special('inside.example.com', 'private')],
  ['https://inside.example.com:8443/', special('inside.example.com:8443', 'private')],
  ['https://mixed.example.com/', special('mixed.example.com', 'private')],
  ['https://mixed-six.example.com/', special('mixed-six.example.com', 'unique local')],
  ['https://loop.example.com/', special('loop.example.com', 'loopback')],
  ['https://metadata.example.com/', special('metadata.example.com', 'cloud metadata')],
  ['https://mapped.example.com/', special('mapped.example.com', 'private')],
  ['https://nat64.example.com/', special('nat64.example.com', 'private')],
  ['https://zoned.example.com/', special('zoned.example.com', 'not an address')],
  ['https://short.example.com/', special('short.example.com', 'not an address')],

  // Names that lead nowhere
  ['https://gone.example.com/', unresolved('gone.example.com')],
  ['https://localhost.example.com/', unresolved('localhost.example.com')],
  ['https://notlocal/', unresolved('notlocal')],
  ['https://empty.example.com/', 'unreachable empty.example.com: the name has no address. Nothing was sent.'],

  // Hosts the operator trusts: every port, one port, a domain, addresses
  ['http://ollama.lan/', 'http://ollama.lan'],
  ['http://ollama.lan:11434/api', 'http://ollama.lan:11434'],
  ['https://OLLAMA.lan./', 'https://ollama.lan.'],
  ['http://evil.ollama.lan/', plain('evil.ollama.lan')],
  ['http://ollama.lan.evil.example.com/', plain('ollama.lan.evil.example.com')],
  ['http://localhost:11434/', 'http://localhost:11434'],
  ['http://localhost:11435/', plain('localhost:11435')],
  ['https://localhost:11435/', local('localhost:11435', 'localhost')],
  ['http://localhost/', plain('localhost')],
  ['https://a.models.internal/', 'https://a.models.internal'],
  ['http://a.b.c.models.internal:8000/', 'http://a.b.c.models.internal:8000'],
  ['http://vm-1.zone.c.project.internal/', 'http://vm-1.zone.c.project.internal'],
  ['http://internal/', plain('internal')],
  ['http://notinternal/', plain('notinternal')],
  ['http://10.1.2.3:8000/', 'http://10.1.2.3:8000'],
  ['http://10.1.515/', 'http://10.1.2.3'],
  ['https://10.1.2.4/', special('10.1.2.4', 'private')],
  ['http://127.0.0.1:9000/v1', 'http://127.0.0.1:9000'],
  ['https://127.0.0.1:9000/', 'https://127.0.0.1:9000'],
  ['http://127.0.0.1:9001/', plain('127.0.0.1:9001')],
  ['http://[::1]:9000/', 'http://[::1]:9000'],
  ['http://[::1]:9001/', plain('[::1]:9001')],
  ['http://[fd12:0:0::7]/', 'http://[fd12::7]'],
  ['http://[fd12::8]:81/', 'http://[fd12::8]:81'],
  ['http://bücher.test/', 'http://xn--bcher-kva.test'],
  ['https://secure.test/', 'https://secure.test'],
  ['http://secure.test/', plain('secure.test')],
  ['http://plain.test/', 'http://plain.test'],
  ['https://plain.test/', unresolved('plain.test')],
];

describe('the egress policy', () => {
  for (const [url, expected] of cases) {
    test(`${JSON.stringify(url)} → ${expected}`, async () => {
      const policy = createEgressPolicy({ trustedHosts, resolve });
      expect(await outcome(policy, url)).toBe(expected);
    });
  }

  test('answers every case the same from one policy whose cache has seen them all', async () => {
    const policy = createEgressPolicy({ trustedHosts, resolve });
    for (const [url] of cases) await outcome(policy, url);
    for (const [url, expected] of cases.toReversed()) expect(await outcome(policy, url)).toBe(expected);
  });

  test('refusals are 400, names that do not resolve 502', async () => {
    const policy = createEgressPolicy({ trustedHosts: [], resolve });
    expect(() => policy.admit('https://127.0.0.1/')).toThrow(expect.objectContaining({ status: 400 }));
    await expect(policy.admit('https://gone.example.com/') as Promise<Destination>).rejects.toMatchObject({
      status: 502,
    });
  });

  test('no message carries a user name, a password, a path, a query or a resolved address', async () => {
    const policy = createEgressPolicy({ trustedHosts: [], resolve });
    const secretive = [
      'https://alice:sesame@api.example.com/vault?token=hush',
      'https://alice:sesame@inside.example.com:bad/vault?token=hush',
      'http://api.example.com/vault?token=hush#alice',
      'https://inside.example.com/vault?token=hush',
      'https://gone.example.com/vault?token=hush',
      'ftp://alice:sesame@api.example.com/vault',
      'https:alice:sesame@api.example.com/vault',
    ];
    for (const url of secretive) expect(await outcome(policy, url)).not.toMatch(/alice|sesame|vault|hush|10\.0\.0/);
  });

  test('an operator who lists a metadata host by its full name is taken at their word', async () => {
    const policy = createEgressPolicy({ trustedHosts: ['169.254.169.254', 'metadata.google.internal'], resolve });
    expect(await outcome(policy, 'http://169.254.169.254/latest/')).toBe('http://169.254.169.254');
    expect(await outcome(policy, 'http://metadata.google.internal/')).toBe('http://metadata.google.internal');
  });

  test('without a resolver of its own it asks the operating system for every address of the name', async () => {
    const lookup = spyOn(dns, 'lookup') as unknown as Mock<() => Promise<{ address: string; family: number }[]>>;
    try {
      lookup.mockResolvedValueOnce([
        { address: '104.16.0.1', family: 4 },
        { address: '10.0.0.1', family: 4 },
      ]);
      const policy = createEgressPolicy({ trustedHosts: [] });
      expect(await outcome(policy, 'https://api.example.com/')).toBe(special('api.example.com', 'private'));
      expect(lookup.mock.calls as unknown[][]).toEqual([['api.example.com', { all: true, verbatim: true }]]);
    } finally {
      lookup.mockRestore();
    }
  });
});

describe('the pin', () => {
  /** A resolver that gives one answer after the other and counts how often it was asked. */
  function scripted(...answers: (string[] | Error)[]) {
    const asked: string[] = [];
    const clock = { time: 1_000_000 };
    const policy = createEgressPolicy({
      trustedHosts: ['ollama.lan'],
      now: () => clock.time,
      resolve: async (hostname) => {
        asked.push(hostname);
        const answer = answers[Math.min(asked.length, answers.length) - 1]!;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    });
    return { policy, asked, clock };
  }

  test('holds while it lives, whatever the name resolves to by then', async () => {
    const { policy, asked, clock } = scripted(['104.16.0.1'], ['127.0.0.1']);
    expect((await policy.admit('https://rebind.example.com/')).origin).toBe('https://104.16.0.1');
    clock.time += 29_999;
    expect((await policy.admit('https://rebind.example.com/')).origin).toBe('https://104.16.0.1');
    expect(asked).toHaveLength(1);
  });

  test('is checked again after its lifetime, and a name that has turned inward is refused', async () => {
    const { policy, asked, clock } = scripted(['104.16.0.1'], ['127.0.0.1'], ['104.16.0.9']);
    await policy.admit('https://rebind.example.com/');
    clock.time += 30_000;
    expect(await outcome(policy, 'https://rebind.example.com/')).toBe(special('rebind.example.com', 'loopback'));
    expect(await outcome(policy, 'https://rebind.example.com/')).toStartWith('https://104.16.0.9 ');
    expect(asked).toHaveLength(3);
  });

  test('is not renewed by being used', async () => {
    const { policy, asked, clock } = scripted(['104.16.0.1'], ['104.16.0.2']);
    await policy.admit('https://api.example.com/');
    for (let second = 0; second < 30; second++) {
      clock.time += 1_000;
      await policy.admit('https://api.example.com/');
    }
    expect(asked).toHaveLength(2);
  });

  test('is handed out synchronously once it is known, for odd spellings too', async () => {
    const { policy, asked } = scripted(['104.16.0.1']);
    const first = policy.admit('https://api.example.com/v1/models');
    expect(first).toBeInstanceOf(Promise);
    const destination = await first;
    expect(policy.admit('https://api.example.com/v1/chat/completions?x#y')).toBe(destination);
    expect(policy.admit('https://api.example.com')).toBe(destination);
    expect(policy.admit('HTTPS://API.example.com:443/')).toBe(destination);
    expect(asked).toEqual(['api.example.com']);
  });

  test('of a trusted host or a literal address needs no resolver and is synchronous from the start', () => {
    const { policy, asked } = scripted(['104.16.0.1']);
    expect(policy.admit('http://ollama.lan:11434/api')).toEqual({ origin: 'http://ollama.lan:11434' });
    expect(policy.admit('https://8.8.8.8/')).toEqual({ origin: 'https://8.8.8.8' });
    expect(asked).toEqual([]);
  });

  test('is not shared with what only begins like the admitted origin', async () => {
    const { policy } = scripted(['104.16.0.1'], ['127.0.0.1']);
    await policy.admit('https://api.example.com/');
    for (const [url, expected] of [
      ['https://api.example.com@127.0.0.1/', credentials('127.0.0.1')],
      ['https://api.example.com\\@127.0.0.1/', form('api.example.com')],
      ['https://api.example.com\t.evil.example/', form('api.example.com.evil.example')],
      ['https://api.example.com.evil.example/', special('api.example.com.evil.example', 'loopback')],
      ['https://api.example.com:444/', special('api.example.com:444', 'loopback')],
      ['http://api.example.com/', plain('api.example.com')],
    ] as const) {
      expect(await outcome(policy, url)).toBe(expected);
    }
  });

  test('is resolved once however many calls wait for it', async () => {
    const asked: ((addresses: string[]) => void)[] = [];
    const policy = createEgressPolicy({
      trustedHosts: [],
      resolve: () => new Promise((answer) => asked.push(answer)),
    });
    const waiting = Array.from({ length: 50 }, (_, index) => policy.admit(`https://api.example.com/${index}`));
    expect(asked).toHaveLength(1);
    asked[0]!(['104.16.0.1']);
    const destinations = await Promise.all(waiting);
    expect(new Set<Destination>(destinations).size).toBe(1);
  });

  test('is looked for again after a failure, which every waiting call is told', async () => {
    const { policy, asked } = scripted(Object.assign(new Error('no'), { code: 'EAI_AGAIN' }), ['104.16.0.1']);
    const waiting = ['https://api.example.com/a', 'https://api.example.com/b'].map((url) => outcome(policy, url));
    const failure = 'unreachable api.example.com: the name does not resolve (EAI_AGAIN). Nothing was sent.';
    expect(await Promise.all(waiting)).toEqual([failure, failure]);
    expect(await outcome(policy, 'https://api.example.com/')).toStartWith('https://104.16.0.1 ');
    expect(asked).toHaveLength(2);
  });

  test('is looked for again after a resolver that throws instead of rejecting', async () => {
    let broken = true;
    const policy = createEgressPolicy({
      trustedHosts: [],
      resolve: () => {
        if (broken) throw new Error('broken');
        return Promise.resolve(['104.16.0.1']);
      },
    });
    expect(await outcome(policy, 'https://api.example.com/')).toStartWith('unreachable api.example.com');
    broken = false;
    expect(await outcome(policy, 'https://api.example.com/')).toStartWith('https://104.16.0.1 ');
  });

  test('of the least recently used of a thousand origins makes room for the next', async () => {
    const { policy, asked } = scripted(['104.16.0.1']);
    for (let index = 0; index < 1_000; index++) await policy.admit(`https://h${index}.example.com/`);
    await policy.admit('https://h0.example.com/');
    await policy.admit('https://one-more.example.com/');
    expect(asked).toHaveLength(1_001);

    expect(policy.admit('https://h0.example.com/')).not.toBeInstanceOf(Promise);
    expect(policy.admit('https://h2.example.com/')).not.toBeInstanceOf(Promise);
    expect(policy.admit('https://h1.example.com/')).toBeInstanceOf(Promise);
  });
});

describe('TRUSTED_CUSTOM_HOSTS', () => {
  const malformed = [
    '',
    '*',
    '*.',
    '*.*.lan',
    'a.*.lan',
    '*.10.0.0.1',
    '*.lan:80',
    'http://ollama.lan',
    'ollama.lan/v1',
    'user@ollama.lan',
    'ollama.lan:',
    'ollama.lan:0',
    'ollama.lan:65536',
    'ollama.lan:http',
    'two hosts',
    '10.0.0.0/8',
    '[::1',
    '[::1]:0',
    'fe80::1%eth0',
    'a..lan',
    '256.0.0.1',
  ];
  for (const entry of malformed) {
    test(`an entry ${JSON.stringify(entry)} stops the start and says how to write it`, () => {
      expect(() => createEgressPolicy({ trustedHosts: ['ollama.lan', entry] })).toThrow(
        `TRUSTED_CUSTOM_HOSTS: "${entry}" is not a host; write host, host:port or *.domain, without scheme and path.`,
      );
    });
  }
});

describe('isGlobalAddress', () => {
  test('agrees with ipaddr.js on IPv4 but for blocks that are reachable though special, and Azure’s host channel', () => {
    const reachable = new Set(['unicast', 'as112', 'amt']);
    // A step that is prime and under 2^16 visits every /16 at shifting places; the edges of small blocks follow below.
    for (let number = 0; number < 2 ** 32; number += 49_999) {
      const address = new ipaddr.IPv4([number >>> 24, (number >>> 16) & 255, (number >>> 8) & 255, number & 255]);
      if (isGlobalAddress(address.toString()) !== reachable.has(address.range())) {
        throw new Error(`${address} is ${address.range()}`);
      }
    }
    expect(isGlobalAddress('168.63.129.16')).toBe(false);
  });

  test('knows the first address past each block, on both sides', () => {
    const justOutside = [
      ['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
      ['169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '191.255.255.255', '192.0.1.0', '192.0.3.0'],
      ['192.88.98.255', '192.88.100.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0'],
      ['198.51.99.255', '198.51.101.0', '203.0.112.255', '203.0.114.0', '223.255.255.255'],
      ['2000::', '2001:200::', '2001:db7:ffff::', '2001:db9::', '2002:808:808::', '2003::', '2620:4f:8000::1'],
      ['3ffe:ffff::', '3fff:1000::', '::ffff:8.8.8.8', '[2606:4700::1]'],
    ].flat();
    expect(justOutside.filter((address) => !isGlobalAddress(address))).toEqual([]);
  });

  test('is false for whatever is not one plain address', () => {
    const others = [
      '',
      'localhost',
      '8.8.8',
      '8.8.8.8.',
      '08.8.8.8',
      '0x8.8.8.8',
      '134744072',
      ' 8.8.8.8',
      '8.8.8.8/32',
    ];
    const others6 = [
      '2606:4700::1%eth0',
      '2606:4700::1%0',
      '2606:4700::1/64',
      '[2606:4700::1',
      '::ffff:010.8.8.8',
      '1::2::3',
    ];
    expect([...others, ...others6].filter(isGlobalAddress)).toEqual([]);
  });
});

describe('with a proxy', () => {
  const proxied = (target: 'address' | 'name', addresses: Record<string, string[]>, except: string[] = []) =>
    createEgressPolicy({
      trustedHosts: ['models.intern', '10.0.0.5'],
      proxy: { url: new Secret('http://user:hunter2@proxy.example.com:3128'), except, target },
      resolve: async (name) => addresses[name] ?? Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' })),
    });
  const via = { host: 'proxy.example.com:3128' };
  const refusalOf = async (policy: EgressPolicy, url: string) => {
    try {
      await policy.admit(url);
    } catch (error) {
      return [(error as GatewayError).code, ...(error as GatewayError).facts];
    }
    return null;
  };

  test('it is asked for the address that was checked', async () => {
    const policy = proxied('address', {
      'api.example.com': ['93.184.215.14'],
      'trap.example.com': ['8.8.8.8', '10.0.0.1'],
    });

    expect(await policy.admit('https://api.example.com/v1')).toMatchObject({
      origin: 'https://93.184.215.14',
      host: 'api.example.com',
      serverName: 'api.example.com',
      via,
    });
    expect(await refusalOf(policy, 'https://trap.example.com/')).toContain('egress_refused');
    expect((await refusalOf(policy, 'https://unknown.example.com/'))?.join()).toContain(
      'GATEWAY_EGRESS_PROXY_TARGET=name',
    );
  });

  test('it is asked for the name where the operator wants that, and names that are private here stay refused', async () => {
    const policy = proxied('name', {
      'api.example.com': ['93.184.215.14'],
      'trap.example.com': ['8.8.8.8', '10.0.0.1'],
    });

    for (const name of ['api.example.com', 'unknown.example.com:8443'])
      expect(await policy.admit(`https://${name}/v1`)).toEqual({
        origin: `https://${name}`,
        via: expect.objectContaining(via),
      });
    for (const host of [
      'https://trap.example.com',
      'https://intranet',
      'https://10.0.0.6',
      'http://api.example.com',
      'https://a.internal',
    ])
      expect([host, (await refusalOf(policy, `${host}/`))?.[0]]).toEqual([host, 'egress_refused']);
  });

  test('hosts that the operator trusts go through it, too, unless they are excepted or this machine', async () => {
    const policy = proxied('address', {}, ['10.0.0.0/8', 'models.intern:9000']);

    expect(await policy.admit('http://models.intern:8000/')).toMatchObject({
      origin: 'http://models.intern:8000',
      via,
    });
    expect(await policy.admit('http://models.intern:9000/')).toEqual({ origin: 'http://models.intern:9000' });
    expect(await policy.admit('http://10.0.0.5:9000/')).toEqual({ origin: 'http://10.0.0.5:9000' });
    const local = createEgressPolicy({
      trustedHosts: ['localhost', '127.0.0.1', '[::1]'],
      proxy: { url: new Secret('http://proxy.example.com:3128'), except: [], target: 'name' },
    });
    for (const origin of ['http://localhost:1', 'http://127.0.0.1:1', 'http://[::1]:1'])
      expect(await local.admit(`${origin}/`)).toEqual({ origin });
  });
});
