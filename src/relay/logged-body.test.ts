import { expect, test } from 'bun:test';
import { loggedBody } from './logged-body.ts';

const logged = (text: string): string => Buffer.from(loggedBody({ head: Buffer.from(text) })).toString();

test('what a client gives for MCP servers is masked, byte for byte', () => {
  const text = JSON.stringify({
    input: 'é say "authorization": "kept"',
    tools: [
      { type: 'mcp', authorization: 'to"k€n', headers: { 'X-Key': 'abc', n: 1 }, server_url: 'https://a.b/c?d=e' },
    ],
    mcp_servers: [{ type: 'url', authorization_token: 'tök' }],
  });
  const shown = logged(text);
  expect(Buffer.byteLength(shown)).toBe(Buffer.byteLength(text));
  expect(JSON.parse(shown)).toEqual({
    input: 'é say "authorization": "kept"',
    tools: [
      { type: 'mcp', authorization: '*********', headers: { 'X-Key': '***', n: 1 }, server_url: 'https://a.b/c?***' },
    ],
    mcp_servers: [{ type: 'url', authorization_token: '****' }],
  });
});

test('what is cut off in the middle of a secret is masked to its end', () => {
  expect(logged('{"tools":[{"type":"mcp","authorization" : "abc')).toBe(
    '{"tools":[{"type":"mcp","authorization" : "***',
  );
});

test('other bodies stay the bytes that they are', () => {
  const bytes = Buffer.from('{"authorization":"abc","headers":{"a":"b"}}');
  expect(loggedBody({ head: bytes })).toBe(bytes);
});
