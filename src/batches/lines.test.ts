import { expect, test } from 'bun:test';
import { linesOf } from './lines.ts';
import { bodyOf, readLine } from './request-line.ts';

async function* cut(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function read(text: string, size: number, longest = 1_000) {
  const bytes = Buffer.from(text);
  const lines = [];
  for await (const line of linesOf(cut(bytes, size), longest)) {
    const { bytes: found, position } = line;
    // What is noted of a line finds it again.
    if (found) expect(bytes.subarray(position, position + found.length).equals(Buffer.from(found))).toBe(true);
    lines.push([line.number, found === null ? null : Buffer.from(found).toString()]);
  }
  return lines;
}

test('lines are the same wherever the pieces of a file are cut', async () => {
  const text = '\uFEFFone\r\nzwei ü\n\n  \nfive\r\n\nlast';
  for (let size = 1; size <= 40; size++)
    expect(await read(text, size)).toEqual([
      [1, 'one'],
      [2, 'zwei ü'],
      [3, ''],
      [4, '  '],
      [5, 'five'],
      [6, ''],
      [7, 'last'],
    ]);
});

test('a line that is too long is not kept, and those after it are', async () => {
  for (let size = 1; size <= 30; size++)
    expect(await read('short\nfar too long to be kept\nnext\nalso too long', size, 8)).toEqual([
      [1, 'short'],
      [2, null],
      [3, 'next'],
      [4, null],
    ]);
});

test('the body of a request is taken byte for byte, big numbers included', () => {
  const line = Buffer.from(
    '{ "body" : {"old":1}, "custom_id":"a","method":"POST","url":"/v1/responses", "b\\u006fdy": {"seed":12345678901234567890 , "x":"}"} }',
  );
  expect(Buffer.from(bodyOf(line)).toString()).toBe('{"seed":12345678901234567890 , "x":"}"}');
  expect(readLine(line, '/v1/responses')).toMatchObject({ customId: 'a' });
});

test('a path without its version is the same endpoint', () => {
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: '/embeddings', body: { input: 'x' } });
  expect(readLine(Buffer.from(line), '/v1/embeddings')).toMatchObject({ customId: 'a' });
});

test('deep nesting and broken text are faults of the line', () => {
  const deep = Buffer.from(`{"custom_id":${'['.repeat(500_000)}`);
  expect(readLine(deep, '/v1/responses')).toMatchObject({ fault: { code: 'invalid_json_line' } });
  expect(readLine(Uint8Array.of(0x22, 0xff, 0x22), '/v1/responses')).toMatchObject({
    fault: { code: 'invalid_json_line' },
  });
  expect(readLine(null, '/v1/responses')).toMatchObject({ fault: { code: 'invalid_request' } });
});
