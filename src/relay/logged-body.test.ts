import { expect, test } from 'bun:test';
import { loggedBody, SecretsMask } from './logged-body.ts';

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

/** Every letter as an escape. */
const escaped = (name: string) =>
  [...name].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

test('a secret is masked however the names around it are written', () => {
  const text = `{"tools":[{"type":"${escaped('mcp')}","${escaped('authorization')}":"abc",
    "${escaped('headers')}" : {"X-Key":"a}b{c","Other":"d\\"ef","n":{"deep":["x"]}},"server\\u005furl":"https:\\/\\/a.b\\/c\\u003fd=e"}]}`;
  const tool = JSON.parse(logged(text)).tools[0];
  expect(logged(text)).toHaveLength(text.length);
  expect(tool).toEqual({
    type: 'mcp',
    authorization: '***',
    headers: { 'X-Key': '*****', Other: '*****', n: { '****': ['*'] } },
    server_url: 'https://a.b/c*********',
  });
});

test('what is no text in the place of a secret is masked too', () => {
  const text =
    '{"mcp":{"authorization":{"token":"abc"},"headers":["x"],"authorization_token":["y",{"z":"w"}]},"a":"b"}';
  expect(JSON.parse(logged(text))).toEqual({
    mcp: { authorization: { '*****': '***' }, headers: ['*'], authorization_token: ['*', { '*': '*' }] },
    a: 'b',
  });
});

test('a body that comes in pieces is masked as a whole one is, wherever it is cut', () => {
  const text = `{"mcp":[{"authorization":"a\\"b\\\\","server_url":"https://a.b/?c=d"},{"h":"headers","headers":{"K":"v\\\\"}}],
    "auth${escaped('o')}rization":"c","z":"authorization","y":"?"}`;
  const bytes = Buffer.from(text);
  const whole = logged(text);
  expect(whole).not.toContain('c=d');
  for (let first = 0; first <= bytes.length; first++)
    for (const second of [first, first + 1, first + 2, first + 7]) {
      const mask = new SecretsMask();
      const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
      expect(Buffer.concat(pieces.map((piece) => mask.push(piece))).toString()).toBe(whole);
    }
  expect(bytes.toString()).toBe(text);
});

test('a secret of megabytes is masked to its end', () => {
  for (const part of ['a', '\\"']) {
    const secret = part.repeat(2_000_000);
    expect(logged(`{"type":"mcp","authorization":"${secret}"}`)).toBe(
      `{"type":"mcp","authorization":"${'*'.repeat(secret.length)}"}`,
    );
  }
});
