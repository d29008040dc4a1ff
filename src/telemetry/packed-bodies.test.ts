import { expect, test } from 'bun:test';
import { packHead } from '../../test/telemetry/log-rows.ts';
import { compress, decompress, headText, PlainSides, unpack, writeHead } from './packed-bodies.ts';

const head = {
  request_headers: { accept: '*/*', 'x-name': 'Zoë' },
  response_headers: {},
  request_kept: 3,
  response_kept: 2,
  request_truncated: true,
  response_truncated: false,
};
const block = Buffer.concat([packHead(head), Buffer.from('abcde')]);

test('what was packed is unpacked', () => {
  const bodies = unpack(block);
  expect(bodies).toMatchObject({
    request_headers: { accept: '*/*', 'x-name': 'Zoë' },
    response_headers: {},
    request_truncated: true,
  });
  expect(Buffer.from(bodies.request_body!).toString()).toBe('abc');
  expect(Buffer.from(bodies.response_body!).toString()).toBe('de');
});

test('compressed and plain blocks are both read', () => {
  for (const stored of [block, compress(block)]) expect(Buffer.from(decompress(stored)).equals(block)).toBe(true);
});

test('the sides of a block are read without its head, unless something in it is compressed', () => {
  const blockOf = (
    request: Record<string, string>,
    facts: { request_truncated: boolean; response_truncated: boolean },
  ) => {
    const sizes = { request_kept: 5, response_kept: 3, ...facts };
    const head = headText(sizes, JSON.stringify(request), '{"x":"y"}');
    const block = Buffer.alloc(head.bytes + 8);
    block.write('HELLObye', writeHead(head, block, 0));
    return new PlainSides(block);
  };
  const whole = { request_truncated: false, response_truncated: false };
  // A header that says what the head says has a backslash before its quotes.
  const plain = blockOf({ note: ',"request_kept":9,"response_kept":9,"request_truncated":false' }, whole);
  expect([plain.requestText(), plain.responseText(), plain.isResponseCut]).toEqual(['HELLO', 'bye', false]);
  expect(Buffer.from(plain.request()!).toString()).toBe('HELLO');
  const encoded = blockOf({ 'content-encoding': 'gzip' }, whole);
  expect([encoded.requestText(), encoded.responseText()]).toEqual([null, 'bye']);
  const cut = blockOf({}, { request_truncated: true, response_truncated: true });
  expect([cut.request(), cut.responseText(), cut.isResponseCut]).toEqual([null, 'bye', true]);
});
