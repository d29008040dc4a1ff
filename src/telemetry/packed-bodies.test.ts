import { expect, test } from 'bun:test';
import { decompress, packHead, thriftyCompressor, unpack } from './packed-bodies.ts';

const head = {
  request_headers: { accept: '*/*' },
  response_headers: {},
  request_kept: 3,
  response_kept: 2,
  request_truncated: true,
  response_truncated: false,
};
const block = Buffer.concat([packHead(head), Buffer.from('abcde')]);

test('what was packed is unpacked', () => {
  const bodies = unpack(block);
  expect(bodies).toMatchObject({ request_headers: { accept: '*/*' }, response_headers: {}, request_truncated: true });
  expect(Buffer.from(bodies.request_body!).toString()).toBe('abc');
  expect(Buffer.from(bodies.response_body!).toString()).toBe('de');
});

test('beyond its share of the processor the compressor passes blocks on as they are, and both kinds are read', () => {
  let time = 0;
  // Each look at the clock takes 30 ms, so each block seems to take as long.
  const compress = thriftyCompressor(() => (time += 30));
  const stored = Array.from({ length: 10 }, () => compress(block));
  expect(stored.slice(0, 4).every((content) => content !== block)).toBe(true);
  expect(stored.slice(4).every((content) => content === block)).toBe(true);
  time += 1_000;
  expect(compress(block)).not.toBe(block);
  for (const content of stored) expect(Buffer.from(decompress(content)).equals(block)).toBe(true);
});
