import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { startGateway, type TestGateway } from '../gateway.ts';
import { openSocket, type RawUpstream, responseText, startRawUpstream } from '../socket.ts';

/**
 * What a client writes on the wire against what a server reads off it, byte by byte: no spelling of a protected name,
 * with any method, way of forwarding or setting, reaches the server with the client's value.
 */
const PEM = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
const CUSTOM = 'X-Acme-Identity';
const EVIL = 'evil-value-of-the-client';
const METHODS = ['POST', 'GET', 'DELETE'] as const;
/** How a caller's own token travels: only `bearer` passes it on. */
const TOKEN = 'the.users.token';

const PROTECTED = [
  'X-User-Claims',
  'X-User-JWT',
  CUSTOM,
  'X-Gateway-Trace-Id',
  'X-Gateway-Anything',
  'Cookie',
  'Set-Cookie',
  'Proxy-Authorization',
  'X-Api-Key',
  'X-Goog-Api-Key',
  'Api-Key',
  'ApiKey',
  'X-Auth-Token',
  'X-Access-Token',
  'Forwarded',
  'X-Forwarded-For',
  'X-Forwarded-User',
  'Remote-User',
  'X-Auth-Request-Email',
  'X-Real-Ip',
];

const alternating = (name: string) =>
  [...name].map((letter, index) => (index % 2 ? letter.toUpperCase() : letter.toLowerCase())).join('');
const spellings = (name: string) => [
  ...new Set([
    name,
    name.toLowerCase(),
    name.toUpperCase(),
    alternating(name),
    name.replaceAll('-', '_'),
    name.replace('-', '_'),
    name.toUpperCase().replaceAll('-', '_'),
    alternating(name).replace(/-(?!.*-)/, '_'),
    name.replaceAll('-', '.'),
  ]),
];

const IDENTITIES = {
  none: undefined,
  claims_header: { method: 'claims_header' },
  bearer: { method: 'bearer' },
  jwt_header: { method: 'jwt_header' },
  'claims_header under a name of its own': { method: 'claims_header', header_name: CUSTOM },
  'bearer under a name of its own': { method: 'bearer', header_name: CUSTOM },
  'jwt_header under a name of its own': { method: 'jwt_header', header_name: CUSTOM },
} as const;
const FORWARDINGS = {
  'nothing is forwarded': undefined,
  'an empty list is forwarded': [],
  'a list is forwarded': ['X-Harmless', { from: 'X-Old', to: 'X-New' }],
  'a list is forwarded by its mode': { mode: 'allowlist', headers: ['x_harmless', { from: 'x-old', to: 'X-New' }] },
  'all is forwarded': { mode: 'all-except', headers: [] },
  'all but one is forwarded': { mode: 'all-except', headers: ['X-Unwanted', { from: 'X-Old', to: 'X-New' }] },
} as const;

let gateway: TestGateway;
let upstream: RawUpstream;
let key: string;
beforeAll(async () => {
  upstream = await startRawUpstream((socket) =>
    socket.write(responseText('{}', { 'content-type': 'application/json' })),
  );
  gateway = await startGateway({ environment: { JWT_PRIVATE_KEY: String(PEM) } });
  ({ key } = await gateway.given.apiKey());
});
afterAll(async () => {
  await gateway.stop();
  upstream.stop();
});

let servers = 0;
async function register(configurations: Record<string, unknown>): Promise<string> {
  const slug = `spoof-${++servers}`;
  const body = { name: slug, slug, url: `${upstream.url}/mcp`, configurations };
  const reply = await gateway.api.post('/v1/mcp-servers', body);
  if (reply.status !== 200) throw new Error(reply.text);
  return slug;
}

/** The header lines that arrived at the server, as they were written. */
async function arrived(slug: string, method: string, lines: readonly string[]): Promise<string[]> {
  const body = method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' : '';
  const framing = method === 'POST' ? [`Content-Length: ${body.length}`] : [];
  const exchange = openSocket(gateway.url);
  const before = upstream.requests.length;
  const head = [
    `${method} /${slug}/mcp HTTP/1.1`,
    `Host: ${new URL(gateway.url).host}`,
    `x-gateway-api-key: ${key}`,
    'Content-Type: application/json',
    ...lines,
    ...framing,
  ];
  exchange.socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const received = await exchange.until((text) => text.includes('\r\n\r\n'));
  exchange.socket.destroy();
  if (!received.startsWith('HTTP/1.1 200')) throw new Error(received);
  expect(upstream.requests.length).toBe(before + 1);
  return upstream.requests.at(-1)!.head.split('\r\n').slice(1);
}

const nameOf = (line: string) => line.slice(0, line.indexOf(':')).toLowerCase();
const textOf = (line: string) => line.slice(line.indexOf(':') + 1).trim();
const folded = (line: string) => nameOf(line).replaceAll('_', '-');

for (const [identityName, identity] of Object.entries(IDENTITIES)) {
  describe(`identity: ${identityName}`, () => {
    for (const [forwardingName, forwarding] of Object.entries(FORWARDINGS)) {
      test(forwardingName, async () => {
        const slug = await register({
          ...(identity && { user_identity_forwarding: identity }),
          ...(forwarding && { forward_headers: forwarding }),
        });
        // The custom name is protected where the configuration says so; elsewhere it is a header like any other.
        const isCustom = identity !== undefined && 'header_name' in identity;
        const protectedNames = PROTECTED.filter((name) => name !== CUSTOM || isCustom);
        const own = identity
          ? isCustom
            ? CUSTOM
            : { claims_header: 'X-User-Claims', bearer: 'Authorization', jwt_header: 'X-User-JWT' }[identity.method]
          : null;
        for (const method of METHODS) {
          const spoofed = protectedNames.flatMap(spellings).map((name) => `${name}: ${EVIL}`);
          const lines = await arrived(slug, method, [
            ...spoofed,
            `Authorization: Bearer ${TOKEN}`,
            'X-Harmless: yes',
            'X-Old: renamed',
            'X-Unwanted: no',
          ]);

          expect(lines.filter((line) => line.includes(EVIL))).toEqual([]);
          const carrying = own === null ? [] : lines.filter((line) => folded(line) === own.toLowerCase());
          expect(carrying).toHaveLength(own === null ? 0 : 1);
          if (identity?.method === 'claims_header') expect(JSON.parse(textOf(carrying[0]!)).sub).toStartWith('apikey:');
          if (identity?.method === 'jwt_header') expect(textOf(carrying[0]!)).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
          if (identity?.method === 'bearer') expect(textOf(carrying[0]!)).toBe(`Bearer ${TOKEN}`);
          else expect(lines.filter((line) => line.includes(TOKEN))).toEqual([]);
          expect(lines.some((line) => line.includes(key))).toBe(false);

          const names = lines.map(nameOf);
          const isListed = forwardingName.startsWith('a list');
          const isAll = forwardingName.startsWith('all');
          expect(names.includes('x-harmless')).toBe(isListed || isAll);
          expect(names.includes('x-new')).toBe(isListed || forwardingName === 'all but one is forwarded');
          expect(names.includes('x-unwanted')).toBe(forwardingName === 'all is forwarded');
        }
      });
    }
  });
}

describe('a client cannot take the identity away', () => {
  for (const [header, identity] of [
    ['X-User-JWT', { method: 'jwt_header' }],
    ['X-User-Claims', { method: 'claims_header' }],
    [CUSTOM, { method: 'claims_header', header_name: CUSTOM }],
  ] as const) {
    test(`by naming ${header} in Connection`, async () => {
      const slug = await register({
        user_identity_forwarding: identity,
        forward_headers: { mode: 'all-except', headers: [] },
      });
      for (const method of METHODS) {
        const lines = await arrived(slug, method, [
          `Connection: keep-alive, ${header}, X-Hop`,
          'X-Hop: 1',
          'X-Kept: 2',
        ]);
        expect(lines.filter((line) => folded(line) === header.toLowerCase())).toHaveLength(1);
        expect(lines.map(nameOf)).not.toContain('x-hop');
        expect(lines.map(nameOf)).toContain('x-kept');
      }
    });
  }
});

test('a trailer is no header', async () => {
  const slug = await register({
    user_identity_forwarding: { method: 'claims_header' },
    forward_headers: { mode: 'all-except', headers: [] },
  });
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const trailers = `X-User-Claims: ${EVIL}\r\nX-User-JWT: ${EVIL}`;
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailers}\r\n\r\n`;
  const exchange = openSocket(gateway.url);
  const before = upstream.requests.length;
  const lines = ['Content-Type: application/json', 'Transfer-Encoding: chunked', 'Trailer: X-User-Claims'];
  const host = `Host: ${new URL(gateway.url).host}`;
  const head = [`POST /${slug}/mcp HTTP/1.1`, host, `x-gateway-api-key: ${key}`, ...lines].join('\r\n');
  exchange.socket.write(`${head}\r\n\r\n${chunked}`);
  // Refused as a whole, or passed on without them.
  expect(await exchange.until((text) => text.includes('\r\n\r\n'))).toMatch(/^HTTP\/1\.1 (200|400) /);
  exchange.socket.destroy();
  for (const request of upstream.requests.slice(before)) expect(request.head + request.body).not.toContain(EVIL);
});

test('identity wins over everything the configuration sets, and each source over the ones before it', async () => {
  const slug = await register({
    headers: { 'X-User-Claims': 'static', 'X-B': 'auth', 'X-C': 'auth' },
    passthrough_headers: { x_user_claims: 'passthrough', 'X-C': 'passthrough' },
    forward_headers: ['X-A', 'X-B', 'X-C'],
    user_identity_forwarding: { method: 'claims_header', include_claims: ['sub'] },
  });
  for (const method of METHODS) {
    const lines = await arrived(slug, method, ['X-A: client', 'X-B: client', 'x_b: client', 'X-C: client']);
    const claims = lines.filter((line) => folded(line) === 'x-user-claims');
    expect(claims).toHaveLength(1);
    expect(textOf(claims[0]!)).toStartWith('{"sub":"apikey:');
    const found = ['x-a', 'x-b', 'x-c'].map((name) => lines.filter((line) => folded(line) === name).map(textOf));
    expect(found).toEqual([['client'], ['auth'], ['passthrough']]);
  }
});

test("the header that a user's token comes in goes no further", async () => {
  const slug = await register({
    forward_headers: { mode: 'all-except', headers: [] },
    jwt_validation: { jwksUri: 'http://127.0.0.1:9/jwks', headerKey: 'X-User-Token' },
  });
  const lines = await arrived(slug, 'POST', ['X_User_Token: other', 'X-Kept: yes']);
  expect(lines.map(folded)).not.toContain('x-user-token');
  expect(lines.map(folded)).toContain('x-kept');
});

test('a header that goes on as it came carries neither an identity nor a token', async () => {
  for (const name of ['User-Agent', 'baggage', 'Traceparent', 'tracestate', 'Cookie', 'Mcp-User']) {
    for (const configurations of [
      { user_identity_forwarding: { method: 'bearer', header_name: name } },
      { jwt_validation: { jwksUri: 'http://127.0.0.1:9/jwks', headerKey: name } },
    ]) {
      const reply = await gateway.api.post('/v1/mcp-servers', {
        name: 'x',
        url: 'http://127.0.0.1:9/',
        configurations,
      });
      expect([name, reply.status, reply.json.error?.param]).toEqual([name, 400, expect.stringContaining('header')]);
    }
  }
});

test('what MCP needs arrives without being asked for, spelt as MCP spells it', async () => {
  const slug = await register({ forward_headers: { mode: 'all-except', headers: [] } });
  const lines = await arrived(slug, 'POST', [
    'Mcp-Method: tools/call',
    'Mcp-Name: safe',
    'Mcp_Name: dangerous',
    'Mcp-Param-Region: eu',
    'MCP-Protocol-Version: 2026-07-28',
    'Accept: application/json, text/event-stream',
    'traceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01',
  ]);
  const headers = Object.fromEntries(lines.map((line) => [nameOf(line), textOf(line)]));
  expect(headers).toMatchObject({
    'mcp-method': 'tools/call',
    'mcp-name': 'safe',
    'mcp-param-region': 'eu',
    'mcp-protocol-version': '2026-07-28',
    accept: 'application/json, text/event-stream',
    traceparent: '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01',
  });
  expect(lines.join()).not.toContain('dangerous');
});
