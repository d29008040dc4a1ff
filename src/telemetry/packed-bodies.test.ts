import { expect, test } from 'bun:test';
import { packHead } from '../../test/telemetry/log-rows.ts';
import { compress, decompress, unpack } from './packed-bodies.ts';

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
