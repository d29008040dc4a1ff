import { describe, expect, test } from 'bun:test';
import { Malformed } from './failure.ts';
import { ResponseReader } from './response.ts';

interface Outcome {
  status?: number;
  statusText?: string;
  headers?: Record<string, unknown>;
  keepMs?: number;
  body: string;
  /** Whether the answer was whole before the connection ended, or by its end, or not at all. */
  end: 'before' | 'by' | 'never';
  hasSurplus: boolean;
  error?: string;
}

/** Reads an answer that arrives in these pieces, after which the connection ends. */
function read(pieces: readonly Buffer[], method = 'POST'): Outcome {
  const reader = new ResponseReader();
  reader.expect(method);
  let body = '';
  let error: string | undefined;
  for (const piece of pieces) {
    try {
      // A copy: the reader may write over what it is given.
      const part = reader.feed(Buffer.from(piece));
      if (part) body += Buffer.from(part).toString('latin1');
    } catch (thrown) {
      if (!(thrown instanceof Malformed)) throw thrown;
      error = thrown.message;
      break;
    }
  }
  if (error !== undefined) return { body: '', end: 'never', hasSurplus: false, error };
  const isBefore = reader.isComplete;
  const end = isBefore ? 'before' : reader.endsHere() ? 'by' : 'never';
  const { status, statusText, headers, keepMs } = reader.head ?? {};
  return { status, statusText, headers: headers && { ...headers }, keepMs, body, end, hasSurplus: reader.hasSurplus };
}

const bytes = (text: string) => Buffer.from(text, 'latin1');
const readText = (text: string, method?: string) => read([bytes(text)], method);

/** Every way to cut it once, byte by byte, and in threes. */
function* cuts(whole: Buffer): Generator<Buffer[]> {
  for (let at = 1; at < whole.length; at++) yield [whole.subarray(0, at), whole.subarray(at)];
  for (const size of [1, 3]) {
    const pieces: Buffer[] = [];
    for (let at = 0; at < whole.length; at += size) pieces.push(whole.subarray(at, at + size));
    yield pieces;
  }
}

const answers: Record<string, { text: string; method?: string; expected: Partial<Outcome> }> = {
  'with a length': {
    text: 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello',
    expected: { status: 200, statusText: 'OK', body: 'hello', end: 'before' },
  },
  'in chunks, with extensions and trailers': {
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b;c="d e"\r\nhello\r\n00001 \r\n,\r\n6\r\n world\r\nA\t\r\n0123456789\r\n0;last\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n',
    expected: { body: 'hello, world0123456789', end: 'before' },
  },
  'in chunks that hold what looks like chunks': {
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n\r\n0\r\n\r\n5\r\nab\r\n0\r\n\r\n',
    expected: { body: '\r\n0\r\n\r\n5\r\nab', end: 'before' },
  },
  'without any length': {
    text: 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end\r\n\r\n',
    expected: { body: 'until the end\r\n\r\n', end: 'by', keepMs: 0 },
  },
  'of HTTP/1.0': {
    text: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok',
    expected: { body: 'ok', end: 'before', keepMs: 0 },
  },
  'of HTTP/1.0 that keeps the connection': {
    text: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nok',
    expected: { body: 'ok', keepMs: 30_000 },
  },
  'after interim answers': {
    text: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok',
    expected: { status: 201, statusText: 'Created', headers: { 'content-length': '2' }, body: 'ok', end: 'before' },
  },
  'without a reason': {
    text: 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n',
    expected: { status: 200, statusText: '', body: '', end: 'before' },
  },
  'with every byte that a header may hold': {
    text: "HTTP/1.1 200 Tr\xe8s bien\r\nX-A: \t caf\xe9\xa0 \t\r\nx-empty:\r\nX_B~!#$%&'*+.^`|-9:a:b\r\nContent-Length: 0\r\n\r\n",
    expected: {
      statusText: 'Tr\xe8s bien',
      headers: { 'x-a': 'caf\xe9\xa0', 'x-empty': '', "x_b~!#$%&'*+.^`|-9": 'a:b', 'content-length': '0' },
    },
  },
  'with names that objects have': {
    text: 'HTTP/1.1 200 OK\r\nConstructor: a\r\n__proto__: b\r\nContent-Length: 0\r\n\r\n',
    expected: { headers: { constructor: 'a', ['__proto__']: 'b', 'content-length': '0' } },
  },
  'with headers of the same name': {
    text: 'HTTP/1.1 200 OK\r\nSet-Cookie: a=1, 2\r\nX-A: 1\r\nset-cookie: b=2\r\nx-a: 2\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok',
    expected: { headers: { 'set-cookie': ['a=1, 2', 'b=2'], 'x-a': '1, 2', 'content-length': '2' }, body: 'ok' },
  },
  'to a HEAD request': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n',
    method: 'HEAD',
    expected: { headers: { 'content-length': '12345' }, body: '', end: 'before' },
  },
  'to a HEAD request, in chunks': {
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
    method: 'HEAD',
    expected: { body: '', end: 'before', hasSurplus: false },
  },
  'without content': {
    text: 'HTTP/1.1 204 No Content\r\n\r\n',
    expected: { status: 204, end: 'before', keepMs: 30_000 },
  },
  'that is not modified': {
    text: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n',
    expected: { status: 304, body: '', end: 'before' },
  },
  'that changes the protocol': {
    text: 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\nother bytes',
    expected: { status: 101, body: '', keepMs: 0, hasSurplus: true },
  },
  'with bytes after its end': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil',
    expected: { body: 'ok', end: 'before', hasSurplus: true },
  },
  'with bytes after its last chunk': {
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nmore',
    expected: { body: 'ok', end: 'before', hasSurplus: true },
  },
  'with bytes after an empty body': {
    text: 'HTTP/1.1 204 No Content\r\n\r\nmore',
    expected: { body: '', end: 'before', hasSurplus: true },
  },
  'that is cut short': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf',
    expected: { body: 'half', end: 'never' },
  },
  'whose last chunk is missing': {
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n',
    expected: { body: 'half', end: 'never' },
  },
  'whose trailers are cut short': {
    text: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\nX-A: 1\r\n',
    expected: { body: 'half', end: 'never' },
  },
  'that says how long it keeps the connection': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: max=100, timeout=5\r\n\r\n',
    expected: { keepMs: 4_500 },
  },
  'that keeps the connection for longer than we do': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=600\r\n\r\n',
    expected: { keepMs: 30_000 },
  },
  'that keeps the connection for no time at all': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=0\r\n\r\n',
    expected: { keepMs: 0 },
  },
  'that closes the connection': {
    text: 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x-a, Close\r\n\r\n',
    expected: { keepMs: 0 },
  },
};

describe('an answer is read the same, wherever it is cut:', () => {
  for (const [name, { text, method, expected }] of Object.entries(answers)) {
    test(name, () => {
      const whole = readText(text, method);

      expect(whole).toMatchObject(expected);
      for (const pieces of cuts(bytes(text))) expect(read(pieces, method)).toEqual(whole);
    });
  }
});

const head = (...lines: string[]) => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n');
const chunked = (text: string) => head('Transfer-Encoding: chunked') + text;

const refused: Record<string, { text: string; error: string }> = {
  'both framings': {
    text: `${head('Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
    error: 'both content-length and transfer-encoding',
  },
  'two lengths': { text: `${head('Content-Length: 5', 'content-length: 6')}hello`, error: 'content-length "5, 6"' },
  'a length with a sign': { text: `${head('Content-Length: +5')}hello`, error: 'content-length "+5"' },
  'a negative length': { text: `${head('Content-Length: -5')}hello`, error: 'content-length "-5"' },
  'a length in hexadecimal': { text: `${head('Content-Length: 0x5')}hello`, error: 'content-length "0x5"' },
  'an empty length': { text: head('Content-Length:'), error: 'content-length ""' },
  'a length beyond counting': { text: head('Content-Length: 9007199254740993'), error: 'content-length' },
  'another coding': { text: head('Transfer-Encoding: gzip, chunked'), error: 'transfer-encoding "gzip, chunked"' },
  'chunked twice': { text: head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'), error: 'is not chunked' },
  'a coding that only looks like chunked': { text: head('Transfer-Encoding: xchunked'), error: 'is not chunked' },
  'chunks in HTTP/1.0': {
    text: 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    error: 'is not chunked',
  },
  'a folded line': { text: head('X-A: 1', ' b: 2', 'Content-Length: 0'), error: 'no proper name' },
  'a folded first line': { text: head(' X-A: 1', 'Content-Length: 0'), error: 'no proper name' },
  'a folded line without a colon': { text: head('X-A: 1', '\tfolded'), error: 'no colon' },
  'a space before the colon': { text: head('Content-Length : 5'), error: 'no proper name' },
  'a line without a colon': { text: head('Content-Length 5'), error: 'no colon' },
  'an empty name': { text: head(': 5'), error: 'no proper name' },
  'a bare line feed': { text: head('X-A: 1\nContent-Length: 5'), error: 'does not end in CR LF' },
  'a bare line feed after the status': { text: 'HTTP/1.1 200 OK\nX: 1\r\n\r\n', error: 'does not end in CR LF' },
  'a bare carriage return': { text: head('X-A: 1\rContent-Length: 5'), error: 'does not end in CR LF' },
  'a NUL': { text: head('X-A: 1\0'), error: 'control characters' },
  'an escape': { text: head('X-A: \x1b[0m'), error: 'control characters' },
  'a NUL in the reason': { text: 'HTTP/1.1 200 O\0K\r\n\r\n', error: 'control characters' },
  'another protocol': { text: 'SSH-2.0-OpenSSH_9.2\r\n', error: 'status line' },
  'another version': { text: 'HTTP/2.0 200 OK\r\n\r\n', error: 'status line' },
  'no status': { text: 'HTTP/1.1 OK\r\n\r\n', error: 'status line' },
  'a status of two digits': { text: 'HTTP/1.1 20 OK\r\n\r\n', error: 'status line' },
  'a status of four digits': { text: 'HTTP/1.1 2000 OK\r\n\r\n', error: 'status line' },
  'two spaces before the status': { text: 'HTTP/1.1  200 OK\r\n\r\n', error: 'status line' },
  'an empty line first': { text: '\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', error: 'status line' },
  'a chunk without a size': { text: chunked('\r\nhello'), error: 'no size' },
  'a chunk with a sign': { text: chunked('+5\r\nhello\r\n'), error: 'no size' },
  'a chunk with a prefix': { text: chunked('0x5\r\nhello\r\n'), error: 'no size' },
  'a chunk of another size than it says': { text: chunked('4\r\nhello\r\n'), error: 'longer than its size' },
  'a chunk whose end is half': { text: chunked('5\r\nhello\rX'), error: 'longer than its size' },
  'a chunk whose size ends in a line feed': { text: chunked('5\nhello\r\n'), error: 'no size' },
  'an extension that ends in a line feed': { text: chunked('5;a=b\nhello\r\n'), error: 'CR LF' },
  'an extension with a carriage return': { text: chunked('5;a\rb\r\nhello\r\n'), error: 'no extension' },
  'something after the size': { text: chunked('5 6\r\nhello\r\n'), error: 'no extension' },
  'a size beyond counting': { text: chunked('10000000000000\r\n'), error: 'too large' },
  'a trailer without a colon': { text: chunked('0\r\nnothing\r\n\r\n'), error: 'no header line' },
  'a trailer that is folded': { text: chunked('0\r\nX-A: 1\r\n b: 2\r\n\r\n'), error: 'no proper name' },
  'a trailer that ends in a line feed': { text: chunked('0\r\nX-A: 1\n\r\n'), error: 'CR LF' },
};

describe('an answer that could be read in two ways is refused, wherever it is cut:', () => {
  for (const [name, { text, error }] of Object.entries(refused)) {
    test(name, () => {
      const whole = readText(text);

      expect(whole.error).toContain(error);
      for (const pieces of cuts(bytes(text))) expect(read(pieces).error).toBe(whole.error);
    });
  }
});

/** Fed in pieces, it must give up long before all of it has come. */
function bytesUntilRefused(start: string, more: string): number {
  const reader = new ResponseReader();
  reader.expect('GET');
  reader.feed(bytes(start));
  for (let fed = start.length; fed < 1 << 20; fed += more.length) {
    try {
      reader.feed(bytes(more));
    } catch (error) {
      if (error instanceof Malformed) return fed + more.length;
      throw error;
    }
  }
  return Number.POSITIVE_INFINITY;
}

test('what never ends is refused: a head, the line of a chunk, trailers', () => {
  expect(bytesUntilRefused('HTTP/1.1 200 OK\r\n', `X-A: ${'a'.repeat(1_000)}\r\n`)).toBeLessThan(70_000);
  expect(bytesUntilRefused('HTTP/1.1 200 OK\r\nX-A: ', 'a'.repeat(1_000))).toBeLessThan(70_000);
  expect(bytesUntilRefused(chunked('5;'), 'a'.repeat(100))).toBeLessThan(6_000);
  expect(bytesUntilRefused(chunked('5'), ' ')).toBeLessThan(6_000);
  expect(bytesUntilRefused(chunked('0\r\n'), `X-A: ${'a'.repeat(1_000)}\r\n`)).toBeLessThan(70_000);
});

test('chunks that come together are one piece, and a large one that comes alone is not copied', () => {
  const reader = new ResponseReader();
  reader.expect('GET');
  reader.feed(bytes(head('Transfer-Encoding: chunked')));

  const together = reader.feed(bytes('3\r\none\r\n3\r\ntwo\r\n1003\r\nthr'));
  const large = 'e'.repeat(4_096);
  const arrived = bytes(`${large}\r\n`);
  const alone = reader.feed(arrived);

  expect(Buffer.from(together!).toString()).toBe('onetwothr');
  expect(Buffer.from(alone!).toString()).toBe(large);
  expect(alone!.buffer).toBe(arrived.buffer);
});

test('a reader reads one answer after the other', () => {
  const reader = new ResponseReader();
  for (const text of ['one', 'three']) {
    reader.expect('GET');
    expect(reader.isUntouched).toBe(true);
    const piece = reader.feed(bytes(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`));
    expect(Buffer.from(piece!).toString()).toBe(text);
    expect([reader.isComplete, reader.isUntouched, reader.hasSurplus]).toEqual([true, false, false]);
  }
});
