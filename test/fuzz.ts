import { ADMIN_KEY, startProvider } from './gateway.ts';
import { eventually, forTests, megabytes, startProcess } from './process.ts';
import { openSocket } from './socket.ts';

/** One malformed request, as bytes, and how its client behaves afterwards. */
export interface FuzzCase {
  readonly name: string;
  readonly bytes: Buffer;
  /** What the client does when everything is written. */
  readonly afterwards: 'wait' | 'end' | 'leave';
  /** A whole request: silence would be a fault. */
  readonly isWhole: boolean;
  readonly method: string;
}

/** The same numbers for the same seed, on every machine (mulberry32). */
export function seeded(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    pick: <Item>(items: readonly Item[]): Item => items[below(items.length)]!,
    chance: (share: number) => next() < share,
    text: (length: number, alphabet: string) => Array.from({ length }, () => alphabet[below(alphabet.length)]).join(''),
    bytes: (length: number) => Buffer.from(Array.from({ length }, () => below(256))),
  };
}
type Random = ReturnType<typeof seeded>;

const ANY_BYTE = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join('');
const PRINTABLE = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index)).join('');
const ID_LETTERS = 'abcdef0123456789-_';
const CHAT = '{"model":"any","messages":[{"role":"user","content":"Hello"}]}';
const REQUEST_LINE = 'GET /v1/models HTTP/1.1';

/** Values that are wrong for nearly every field, and some that are right for the wrong one. */
const oddJson = [
  'null',
  'true',
  '0',
  '-1',
  '1.5',
  '1e999',
  '-0',
  '123456789012345678901234567890',
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\u202e\u0301\u{1f600}"',
  '"../../etc/passwd"',
  '"\' or 1=1 --"',
  '"2020-01-01T00:00:00Z"',
  '"9999-12-31T23:59:59Z"',
  '"00000000-0000-4000-8000-000000000000"',
  '"__proto__"',
  `"${'x'.repeat(5_000)}"`,
  '[]',
  '[null]',
  '[[[[[]]]]]',
  '[1,"2",{"3":4}]',
  '["completions.write","completions.write"]',
  '{}',
  '{"__proto__":{"scopes":["organisation.manage"]}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"toString":1,"hasOwnProperty":2}',
  '{"a":{"b":{"c":{}}}}',
  '{"":""}',
];

const brokenJson = [
  '{',
  '}',
  '[',
  '"',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  "{'a':1}",
  '{a:1}',
  'nul',
  'NaN',
  '01',
  '+1',
  '1 2',
  '{}{}',
  '{"a":"\\x"}',
  '{"a":"\n"}',
  '\ufeff{}',
  '// comment\n{}',
  '['.repeat(100_000),
  '{"a":'.repeat(20_000),
  `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  `{"model":"@`,
  `{"model":"@sim/`,
  `{"model":"@sim/x","model":"@other/y"}`,
  `{"mod\\u0065l":"@/","messages":[]}`,
  '{"model":"@@@@/////"}',
  '{"model":["@sim/x"],"stream":"maybe"}',
];

const oddPaths = [
  '//',
  '///v1//models',
  '/v1',
  '/v1/',
  '/v1//',
  '/v1/../admin',
  '/v1/./models',
  '/v1/%2e%2e/admin',
  '/v1/%2E%2E%2Fadmin',
  '/v1/..%5c..',
  '/v1/a%00b',
  '/v1/%',
  '/v1/%zz',
  '/v1/%c0%ae%c0%ae/',
  '/v1/%ff%fe',
  '/v1/api-keys/%',
  '/v1/api-keys/%00',
  '/v1/api-keys/%ff',
  '/v1/virtual-keys/%2e%2e',
  '/v1/logs/%ed%a0%80',
  '/v1/logs/..',
  '/v1/admin/workspaces/%',
  '/v1/caf\u00e9',
  '/v1/\u65e5\u672c',
  '/v1/models#fragment',
  '/v1/models?#',
  '/v1/models\\..\\x',
  '/v1/{models}|^`',
  '/v1/models;a=b',
  '/v1/models:generate',
  '/v1/proxy',
  '/v1/proxy/',
  '/v1/proxy//',
  '/v1/proxy/../../x',
  '/V1/models',
  '/health/',
  '/HEALTH',
  '/openapi.json/x',
  '/metrics?x',
  '/.well-known/x',
  '/v1/models?',
  '/v1/models??',
  '/v1/models?&&&=',
  '/v1/models?a=%',
  '/v1/logs?limit=0',
  '/v1/logs?limit=99999999999999999999',
  '/v1/logs?limit=1&limit=2',
  '/v1/logs?after=%00',
  '/v1/logs?status=abc',
  '/v1/logs?start_time=now',
  '/v1/logs?start_time=9999999999999999',
  '/v1/logs?metadata.=x',
  '/v1/logs?metadata.a%22b=%27',
  '/v1/logs?__proto__=1',
  '/v1/logs?path=%25_%5c',
  '/v1/api-keys?current_page=-1',
  '/v1/api-keys?current_page=9007199254740993',
  '/v1/api-keys?page_size=1e9',
  '/v1/api-keys?workspace_id=%00',
  '/v1/virtual-keys?workspace_id=%ed%a0%80',
  '*',
  'v1/models',
  'http://other.example/v1/models',
  'http://127.0.0.1/v1/models',
  'https://user:password@other.example:99999/v1/models',
  'http:///v1/models',
  'http://[::1/v1/models',
  'other.example:443',
  '?',
  '',
];

const oddHeaders = [
  'x-gateway-api-key:',
  'x-gateway-api-key: ',
  `x-gateway-api-key: ${'k'.repeat(9_000)}`,
  'x-gateway-api-key: \u00e9\u00ff',
  'authorization: Bearer',
  'authorization: Bearer ',
  'authorization: Basic dTpw',
  'authorization: bearer a b c',
  'x-gateway-virtual-key: no such key',
  'x-gateway-virtual-key: ../sim',
  'x-gateway-virtual-key: sim, sim',
  'x-gateway-virtual-key: \u00ff',
  'x-gateway-provider: nobody',
  'x-gateway-provider: @',
  'x-gateway-provider: @sim',
  'x-gateway-provider: __proto__',
  'x-gateway-custom-host: http://10.0.0.1',
  'x-gateway-custom-host: ::::',
  'x-gateway-custom-host: file:///etc/passwd',
  'x-gateway-config: {}',
  'x-gateway-config: pc-x',
  'x-gateway-metadata: {',
  'x-gateway-metadata: []',
  'x-gateway-metadata: {"a":1}',
  'x-gateway-metadata: {"__proto__":"x"}',
  `x-gateway-metadata: {"a":"${'x'.repeat(129)}"}`,
  'x-gateway-metadata: {"\\u0000":"\\u0000\\ud800"}',
  'x-gateway-metadata: {"a":"\u00e9"}',
  'x-gateway-session-id: \u0001',
  'x-gateway-session-id: \u00e9',
  `x-gateway-session-id: ${'s'.repeat(257)}`,
  'x-claude-code-session-id: two words',
  'x-gateway-trace-id: \u0001',
  `x-gateway-trace-id: ${'t'.repeat(400)}`,
  'traceparent: 00-xyz',
  'x-gateway-request-timeout: 0',
  'x-gateway-request-timeout: -1',
  'x-gateway-request-timeout: 99999999999999',
  'x-gateway-request-timeout: soon',
  'x-gateway-debug: maybe',
  'x-gateway-unknown: 1',
  'x-gateway-: 1',
  'content-encoding: gzip',
  'content-encoding: nonsense',
  'content-type:',
  'content-type: application/json; charset=klingon',
  'content-type: multipart/form-data',
  'content-type: text/event-stream',
  'accept-encoding: *;q=0',
  'connection: x-gateway-api-key',
  'connection: content-type, host, authorization',
  'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13',
  'connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__',
  'expect: 100-continue',
  'expect: the unexpected',
  'te: trailers, gzip',
  'trailer: x-late',
  'keep-alive: timeout=0',
  'proxy-authorization: Basic x',
  'range: bytes=9-1',
  'cookie: a=b; c',
  'host: two.example',
  'host: a b',
  'host:',
  'host: ../../x',
  'host: [::1',
  ' leading: space',
  'trailing : space',
  'no colon here',
  ': no name',
  'b@d: name',
  'nul: a\u0000b',
  'control: \u0001\u0002\u007f',
  'folded: a\r\n  b\r\n\tc',
  'high: \u0080\u00ff',
  `long: ${'v'.repeat(20_000)}`,
  `${'n'.repeat(3_000)}: long name`,
  Array.from({ length: 300 }, (_, index) => `many-${index}: x`).join('\r\n'),
  'accept: */*\r\naccept: text/html\r\nACCEPT: x',
  'content-length: 0\r\ncontent-length: 5',
  'content-length: 5, 5',
  'content-length: -1',
  'content-length: +1',
  'content-length: 0x10',
  'content-length: 1e3',
  'content-length: 99999999999999999999999',
  'transfer-encoding: gzip',
  'transfer-encoding: chunked, chunked',
  'transfer-encoding: xchunked',
  'transfer-encoding: chunked\r\ncontent-length: 3',
];

const brokenLines = [
  'GET',
  'GET ',
  'GET /v1/models',
  'GET /v1/models HTTP',
  'GET /v1/models HTTP/',
  'GET /v1/models HTTP/1',
  'GET /v1/models HTTP/1.2',
  'GET /v1/models HTTP/0.9',
  'GET /v1/models HTTP/2.0',
  'GET /v1/models HTTP/9.9',
  'GET /v1/models http/1.1',
  'GET  /v1/models  HTTP/1.1',
  'GET\t/v1/models\tHTTP/1.1',
  'GET /v1/mo dels HTTP/1.1',
  'GET /v1/models HTTP/1.1 x',
  ' GET /v1/models HTTP/1.1',
  '\r\n\r\nGET /v1/models HTTP/1.1',
  'get /v1/models HTTP/1.1',
  'G\u0000T /v1/models HTTP/1.1',
  '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  'PRI * HTTP/2.0',
  '{"model":"x"}',
  '\u0000\u0000\u0000\u0000',
];

const METHODS = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'FOO',
  'PROPFIND',
  'M-SEARCH',
];

const chunkings = [
  'zz\r\nabc\r\n0\r\n\r\n',
  '-1\r\nabc\r\n0\r\n\r\n',
  '3\r\nabcdef\r\n0\r\n\r\n',
  '3 \r\nabc\r\n0\r\n\r\n',
  '3;ext=1\r\nabc\r\n0\r\n\r\n',
  '3\nabc\n0\n\n',
  '\r\n\r\n',
  'ffffffffffffffffff\r\nabc',
  '7fffffffffffffff\r\nabc',
  '3\r\nabc\r\n',
  '3\r\nab',
  '0\r\nx-late: 1\r\n\r\n',
  '0\r\n\r\nGET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n',
  '1\r\n{\r\n1\r\n}\r\n0\r\n\r\n',
];

export interface FuzzTarget {
  readonly url: string;
  /** Bodies of our own routes: method, path with its parameters filled in, and the fields it knows. */
  readonly bodies: readonly { readonly method: string; readonly path: string; readonly fields: readonly string[] }[];
  /** Keys that are not the admin's. */
  readonly otherKeys: readonly string[];
}

const template: Record<string, string> = {
  name: '"fuzz"',
  provider: '"simulator"',
  key: '"sk-fuzz"',
};

function headersFor(random: Random, { otherKeys }: FuzzTarget): string[] {
  const keyed = random.chance(0.75)
    ? [`x-gateway-api-key: ${ADMIN_KEY}`]
    : random.pick([
        [],
        [`authorization: Bearer ${random.text(20, PRINTABLE)}`],
        [`x-api-key: ${random.pick(otherKeys)}`],
      ]);
  return ['host: gateway.test', ...keyed, ...(random.chance(0.8) ? ['x-gateway-virtual-key: sim'] : [])];
}

const textOf = (line: string, headers: readonly string[], body = '') =>
  `${[line, ...headers].join('\r\n')}\r\n\r\n${body}`;

/** Latin-1 for what stands before the body, so that one character is one byte; the body in UTF-8. */
function assemble(line: string, headers: readonly string[], body: string | Buffer): Buffer {
  const isText = typeof body === 'string';
  const head = textOf(line, headers);
  // A path beyond Latin-1 is sent as the UTF-8 that a careless client sends.
  const isNarrow = [...head].every((character) => character.charCodeAt(0) < 256);
  return Buffer.concat([Buffer.from(head, isNarrow ? 'latin1' : 'utf8'), isText ? Buffer.from(body) : body]);
}

type Maker = (random: Random, target: FuzzTarget) => FuzzCase;

function whole(name: string, line: string, headers: readonly string[], body: string | Buffer = ''): FuzzCase {
  const length = Buffer.byteLength(body);
  const framed = length > 0 ? [...headers, `content-length: ${length}`] : headers;
  return {
    name,
    bytes: assemble(line, [...framed, 'connection: close'], body),
    afterwards: 'wait',
    isWhole: true,
    method: line.slice(0, line.indexOf(' ')),
  };
}

const torn = (name: string, bytes: Buffer, afterwards: FuzzCase['afterwards'] = 'wait'): FuzzCase => ({
  name,
  bytes,
  afterwards,
  isWhole: false,
  method: 'GET',
});

const randomSegment = (random: Random) => {
  const length = 1 + random.below(40);
  if (random.chance(0.4)) return random.text(length, ID_LETTERS);
  return Array.from(random.bytes(length), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
};

const makers: Record<string, Maker> = {
  'request line': (random, target) =>
    torn(
      'request line',
      assemble(random.pick(brokenLines), headersFor(random, target), ''),
      random.pick(['wait', 'end']),
    ),

  header: (random, target) => {
    const line = random.chance(0.5) ? REQUEST_LINE : 'POST /v1/echo HTTP/1.1';
    const odd = Array.from({ length: 1 + random.below(3) }, () => random.pick(oddHeaders));
    const body = line.startsWith('POST') && !/content-length|transfer-encoding/.test(odd.join()) ? CHAT : '';
    const headers = [...headersFor(random, target), 'content-type: application/json', ...odd];
    const framed = body ? [...headers, `content-length: ${body.length}`] : headers;
    return torn(`header ${odd.join(' | ').slice(0, 100)}`, assemble(line, framed, body));
  },

  path: (random, target) => {
    const path = random.chance(0.6)
      ? random.pick(oddPaths)
      : `${random.pick(['/v1/api-keys/', '/v1/virtual-keys/', '/v1/logs/', '/v1/admin/workspaces/', '/v1/', '/'])}${randomSegment(random)}`;
    const isOrdinary = path.startsWith('/') && /^[\x21-\x7e]+$/.test(path);
    const made = whole(
      `path ${path}`,
      `${random.pick(['GET', 'DELETE'])} ${path} HTTP/1.1`,
      headersFor(random, target),
    );
    return { ...made, isWhole: isOrdinary };
  },

  query: (random, target) => {
    const route = random.pick([
      '/v1/logs',
      '/v1/api-keys',
      '/v1/virtual-keys',
      '/v1/admin/workspaces',
      '/v1/echo',
      '/v1/providers',
    ]);
    const pair = () => `${randomSegment(random)}=${randomSegment(random)}`;
    const query = Array.from({ length: 1 + random.below(6) }, pair).join('&');
    return whole(`query of ${route}`, `GET ${route}?${query} HTTP/1.1`, headersFor(random, target));
  },

  'long path': (random, target) =>
    torn(
      'long path',
      assemble(`GET /v1/${random.text(random.below(40_000), ID_LETTERS)} HTTP/1.1`, headersFor(random, target), ''),
    ),

  method: (random, target) => {
    const method = random.chance(0.8) ? random.pick(METHODS) : random.text(1 + random.below(12), 'ABCDEFGHIJ-_!');
    const path = random.pick([
      '/health',
      '/v1/models',
      '/v1/echo',
      '/v1/api-keys',
      '/v1/virtual-keys/sim',
      '/',
      '/v1/logs',
    ]);
    const mayDelete = method === 'DELETE' && path.endsWith('/sim') ? '/v1/virtual-keys/none' : path;
    return {
      ...whole(`method ${method}`, `${method} ${mayDelete} HTTP/1.1`, headersFor(random, target)),
      isWhole: METHODS.slice(0, 6).includes(method),
    };
  },

  chunking: (random, target) => {
    const line = `POST ${random.pick(['/v1/echo', '/v1/api-keys', '/v1/chat/completions', '/v1/sink'])} HTTP/1.1`;
    const headers = [...headersFor(random, target), 'content-type: application/json', 'transfer-encoding: chunked'];
    return torn('chunking', assemble(line, headers, random.pick(chunkings)), random.pick(['wait', 'end', 'leave']));
  },

  'wrong length': (random, target) => {
    const line = `POST ${random.pick(['/v1/echo', '/v1/api-keys', '/v1/chat/completions'])} HTTP/1.1`;
    const length = random.pick(['10', '63', '100000', '2000000', '99999999']);
    const headers = [...headersFor(random, target), 'content-type: application/json', `content-length: ${length}`];
    return torn(
      `content-length ${length}`,
      assemble(line, headers, CHAT.slice(0, random.below(CHAT.length))),
      random.pick(['end', 'leave']),
    );
  },

  'half a request': (random, target) => {
    const all = assemble(
      'POST /v1/chat/completions HTTP/1.1',
      [...headersFor(random, target), `content-length: ${CHAT.length}`],
      CHAT,
    );
    return torn('half a request', all.subarray(0, random.below(all.length)), random.pick(['end', 'leave']));
  },

  pipeline: (random, target) => {
    const one = assemble(REQUEST_LINE, headersFor(random, target), '');
    return torn(
      'pipeline',
      Buffer.concat(Array.from({ length: 2 + random.below(20) }, () => one)),
      random.pick(['wait', 'leave']),
    );
  },

  'broken JSON': (random, target) => {
    const { method, path } = random.chance(0.5)
      ? random.pick(target.bodies)
      : { method: 'POST', path: '/v1/chat/completions' };
    const headers = [...headersFor(random, target), 'content-type: application/json'];
    const body = random.chance(0.8) ? random.pick(brokenJson) : random.bytes(random.below(300));
    return whole(`broken JSON to ${path}`, `${method} ${path} HTTP/1.1`, headers, body);
  },

  'wrong field': (random, target) => {
    const { method, path, fields } = random.pick(target.bodies);
    const members: Record<string, string> = {};
    for (const field of fields) if (template[field]) members[field] = template[field];
    const wrong = random.chance(0.9) && fields.length > 0 ? random.pick(fields) : random.text(8, PRINTABLE);
    // A nested field gets the odd value one or two levels down.
    const odd = random.pick(oddJson);
    members[wrong] = random.chance(0.7)
      ? odd
      : `{${JSON.stringify(random.pick(['metadata', 'virtual_key', 'custom_headers', 'x']))}:${odd}}`;
    const body = `{${Object.entries(members)
      .map(([name, value]) => `${JSON.stringify(name)}:${value}`)
      .join(',')}}`;
    const twice = random.chance(0.1) ? body.replace('{', `{"${wrong.replace(/\W/g, '')}":1,`) : body;
    return whole(
      `${method} ${path} with ${wrong}`,
      `${method} ${path} HTTP/1.1`,
      [...headersFor(random, target), 'content-type: application/json'],
      twice,
    );
  },

  'content type': (random, target) => {
    const { method, path } = random.pick(target.bodies);
    const type = random.pick([
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/xml',
      'application/jsonp',
      'json',
      '*/*',
      ';',
    ]);
    return whole(
      `content type ${type}`,
      `${method} ${path} HTTP/1.1`,
      [...headersFor(random, target), `content-type: ${type}`],
      '{"name":"x"}',
    );
  },

  'too large': (random, target) => {
    const { method, path } = random.pick([...target.bodies, { method: 'POST', path: '/v1/echo' }]);
    const headers = [...headersFor(random, target), 'content-type: application/json'];
    const size = random.pick([199_990, 200_001, 1_048_577]);
    // The answer may come, and the connection end, before all of it is written.
    return {
      ...whole(
        `${size} bytes to ${path}`,
        `${method} ${path} HTTP/1.1`,
        headers,
        `{"name":"${'x'.repeat(size - 11)}"}`,
      ),
      isWhole: false,
    };
  },

  mutation: (random, target) => {
    const valid = assemble(
      'POST /v1/chat/completions HTTP/1.1',
      [...headersFor(random, target), 'content-type: application/json', `content-length: ${CHAT.length}`],
      CHAT,
    );
    const bytes = Buffer.from(valid);
    let made: Buffer = bytes;
    for (let change = 0; change <= random.below(6); change++) {
      const at = random.below(made.length);
      const insert = random.chance(0.5)
        ? random.bytes(random.below(4))
        : Buffer.from(random.text(random.below(6), ANY_BYTE), 'latin1');
      made = Buffer.concat([made.subarray(0, at), insert, made.subarray(at + random.below(3))]);
    }
    return torn('mutation', made, random.pick(['wait', 'end', 'leave']));
  },

  noise: (random) => torn('noise', random.bytes(1 + random.below(2_000)), random.pick(['wait', 'end', 'leave'])),
};

const names = Object.keys(makers);

/** The case of that number: the same for the same seed, whatever came before it. */
export function fuzzCase(seed: number, number: number, target: FuzzTarget): FuzzCase {
  const random = seeded(seed * 1_000_003 + number);
  return makers[names[number % names.length]!]!(random, target);
}

/** What is wrong with the answers to one case; null when nothing is. */
export async function tryCase(fuzzed: FuzzCase, { url }: FuzzTarget): Promise<string | null> {
  const exchange = openSocket(url);
  const { socket } = exchange;
  try {
    await new Promise<void>((resolve) => {
      socket.once('connect', resolve);
      exchange.over.then(resolve);
    });
    if (exchange.isOver) return 'the connection was refused';
    socket.write(fuzzed.bytes);
    if (fuzzed.afterwards === 'end') socket.end();
    if (fuzzed.afterwards === 'leave') {
      await Bun.sleep(5);
      return faultIn(exchange.received, fuzzed);
    }
    // Whole requests ask for the connection to be closed, so its end is the answer's end.
    const patienceMs = fuzzed.isWhole ? 15_000 : 100;
    const isOver = await Promise.race([exchange.over.then(() => true), Bun.sleep(patienceMs).then(() => false)]);
    if (fuzzed.isWhole && !isOver) return 'no answer within 15 s';
    if (fuzzed.isWhole && exchange.received === '') return 'the connection was closed without an answer';
    return faultIn(exchange.received, fuzzed);
  } finally {
    socket.destroy();
  }
}

/** A server that does not speak the version says so itself (RFC 9110 section 15.6.6). */
const VERSION_NOT_SUPPORTED = 505;

/** Looks at every answer on the connection: a confused client may have earned several. */
function faultIn(received: string, { method }: FuzzCase): string | null {
  for (let left = received; left !== ''; ) {
    const found = /^HTTP\/1\.[01] (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(left);
    if (!found) return /^HTTP\/1/.test(left) ? null : `no HTTP: ${left.slice(0, 80)}`;
    const [{ length }, code, head = ''] = found;
    const header = (name: string) => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim();
    const size = method === 'HEAD' ? 0 : Number(header('content-length') ?? 0);
    const body = left.slice(length, length + size);
    const isCut = body.length < size;
    const isChunked = header('transfer-encoding') !== undefined;
    const isOurs = header('x-gateway-request-id') !== undefined;
    const isProviders = header('x-gateway-error-origin') === 'provider';
    const status = Number(code);
    if (status >= 500 && !isProviders && (isOurs || status !== VERSION_NOT_SUPPORTED)) {
      return `${status} ${body.slice(0, 200)}`;
    }
    if (status >= 400 && isOurs && !isProviders && method !== 'HEAD' && !isCut) {
      const fault = isChunked ? 'an error of ours in chunks' : shapeFault(body);
      if (fault) return fault;
    }
    if (isCut || isChunked) return null;
    left = left.slice(length + size);
  }
  return null;
}

/** What directories are told, on their own paths. */
function isScim(parsed: Record<string, unknown>): boolean {
  const { schemas, status, detail, code } = parsed;
  const isOfThem = Array.isArray(schemas) && schemas[0] === 'urn:ietf:params:scim:api:messages:2.0:Error';
  return isOfThem && [status, detail, code].every((text) => typeof text === 'string' && text !== '');
}

function shapeFault(body: string): string | null {
  let parsed: { error?: Record<string, unknown> };
  try {
    parsed = JSON.parse(Buffer.from(body, 'latin1').toString('utf8'));
  } catch {
    return `an error of ours that is not JSON: ${body.slice(0, 100)}`;
  }
  if (isScim(parsed)) return null;
  const { error, ...rest } = parsed;
  const isRight =
    Object.keys(rest).length === 0 &&
    error !== undefined &&
    Object.keys(error).sort().join() === 'code,message,param,type' &&
    typeof error.message === 'string' &&
    error.message !== '' &&
    typeof error.type === 'string' &&
    (error.param === null || typeof error.param === 'string') &&
    // OpenAI has no code for some of the faults that are told in its words.
    (typeof error.code === 'string' || (error.code === null && error.type === 'invalid_request_error'));
  return isRight ? null : `an error of another shape: ${body.slice(0, 200)}`;
}

/** Runs the cases some at a time and answers every fault with the number that repeats it. */
export async function runFuzz(
  target: FuzzTarget,
  {
    seed,
    cases,
    atOnce = 24,
    progress,
  }: { seed: number; cases: number; atOnce?: number; progress?: (done: number) => void },
): Promise<string[]> {
  const faults: string[] = [];
  let next = 0;
  const worker = async () => {
    while (next < cases && faults.length < 20) {
      const number = next++;
      const fuzzed = fuzzCase(seed, number, target);
      const fault = await tryCase(fuzzed, target);
      if (fault) faults.push(`seed ${seed}, case ${number} (${fuzzed.name}): ${fault}`);
      if (number % 1_000 === 999) progress?.(number + 1);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return faults;
}

interface OpenApi {
  readonly paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema?: unknown }> } }>>;
  readonly components?: { schemas?: Record<string, unknown> };
}

/** The bodies our own routes take, from their description: a new route is fuzzed without a word here. */
export function bodiesIn(description: unknown, identifier: (parameter: string) => string): FuzzTarget['bodies'] {
  const { paths } = description as OpenApi;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const schema = requestBody?.content['application/json']?.schema as
        | { properties?: Record<string, unknown> }
        | undefined;
      if (!schema?.properties) return [];
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => identifier(`${path}#${name}`));
      return [{ method: method.toUpperCase(), path: filled, fields: Object.keys(schema.properties) }];
    }),
  );
}

/** Fuzzes a gateway in a process of its own, with a provider that is well, and looks at it afterwards. */
export async function fuzzGateway({
  environment = {},
  ...options
}: {
  seed: number;
  cases: number;
  environment?: Record<string, string>;
  progress?: (done: number) => void;
}) {
  const provider = startProvider();
  const gateway = await startProcess({
    environment: { ...forTests, GATEWAY_MAX_BODY_BYTES: '200000', ...environment },
  });
  try {
    const made = async (path: string, body: Record<string, unknown>) => (await gateway.api.post(path, body)).json;
    await gateway.given.virtualKey(provider.url);
    await made('/v1/virtual-keys', { name: 'fuzz', slug: 'fuzz', provider: 'simulator' });
    await made('/v1/admin/workspaces', { name: 'fuzz', slug: 'fuzz' });
    const plain = await made('/v1/api-keys', { name: 'plain', defaults: { virtual_key: 'sim' } });
    // Changed and rotated at will.
    const victim = await made('/v1/api-keys', { name: 'victim' });
    const bodies = bodiesIn((await gateway.api.get('/openapi.json')).json, (place) =>
      place.includes('api-keys') ? victim.id : 'fuzz',
    );
    const target = { url: gateway.url, bodies, otherKeys: [plain.key, victim.key, 'gw-nobody'] };

    await runFuzz(target, { seed: options.seed + 1, cases: 300 });
    const before = gateway.memory();
    const faults = await runFuzz(target, options);
    const growth = megabytes(gateway.memory() - before);

    if (!gateway.isAlive) return { faults, growth, errors: gateway.errors, isWell: false, bodies: bodies.length };
    await eventually('no request is left open', async () => {
      const metrics = await gateway.api.get('/metrics');
      return /^gateway_open_requests 0$/m.test(metrics.text) && provider.simulator.open === 0;
    });
    const [health, chat, keys] = [
      await gateway.api.get('/health'),
      await gateway.api.post('/v1/chat/completions', JSON.parse(CHAT), { headers: { 'x-gateway-virtual-key': 'sim' } }),
      await gateway.api.get('/v1/api-keys'),
    ];
    const isWell = [health, chat, keys].every(({ status }) => status === 200);
    return { faults, growth, errors: gateway.errors, isWell, bodies: bodies.length };
  } finally {
    await gateway.stop();
    provider.stop();
  }
}
