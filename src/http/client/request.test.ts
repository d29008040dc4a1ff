import { describe, expect, test } from 'bun:test';
import { requestHead, requestTarget } from './request.ts';

type Request = Parameters<typeof requestHead>[0];

const headOf = (more: Partial<Request> = {}) =>
  requestHead({
    method: 'POST',
    target: '/v1/things',
    host: 'provider.example',
    headers: new Headers({ accept: 'a', 'user-agent': 'u' }),
    framing: 7,
    isLast: false,
    ...more,
  });

test('the head of a request is its line, its host, its headers and its length', () => {
  expect(headOf({ headers: new Headers({ accept: 'a', 'user-agent': 'u', 'X-Custom': 'caf\xe9' }) })).toBe(
    'POST /v1/things HTTP/1.1\r\nhost: provider.example\r\naccept: a\r\nuser-agent: u\r\nx-custom: caf\xe9\r\ncontent-length: 7\r\n\r\n',
  );
});

test('who sends no user agent and accepts nothing in particular says so', () => {
  const head = headOf({ headers: new Headers() });

  expect(head).toContain('\r\nuser-agent: gateway\r\n');
  expect(head).toContain('\r\naccept: */*\r\n');
});

describe('the framing of a request is said once, whatever its headers say:', () => {
  const contradicting = new Headers({
    'content-length': '99',
    'transfer-encoding': 'gzip',
    connection: 'upgrade',
    upgrade: 'other',
    expect: '100-continue',
    host: 'other.example',
    te: 'trailers',
  });
  const framingOf = (more: Partial<Request>) =>
    headOf({ headers: contradicting, ...more })
      .split('\r\n')
      .filter((line) => /^(content-length|transfer-encoding|connection|upgrade|expect|host|te):/.test(line));
  const host = 'host: provider.example';

  test('a body of known length', () => expect(framingOf({ framing: 7 })).toEqual([host, 'content-length: 7']));
  test('a stream', () => expect(framingOf({ framing: 'chunked' })).toEqual([host, 'transfer-encoding: chunked']));
  test('none, where there could be one', () =>
    expect(framingOf({ framing: null })).toEqual([host, 'content-length: 0']));
  for (const method of ['GET', 'HEAD']) {
    test(`none, with ${method}`, () => expect(framingOf({ framing: null, method })).toEqual([host]));
  }
  test('the last request of a connection', () =>
    expect(framingOf({ isLast: true })).toEqual([host, 'content-length: 7', 'connection: close']));
});

test('a header cannot break out of its line', () => {
  for (const value of ['a\r\nx-b: c', 'a\nb', 'a\rb', 'a\0b', 'a\u20ac']) {
    // Headers refuses these by itself; code that gets a bad value past it must fail here.
    const headers = { toJSON: () => ({ 'x-a': value }) } as unknown as Headers;
    expect(() => headOf({ headers })).toThrow('The header x-a holds characters that no header may hold.');
  }
  expect(() => headOf({ framing: Number.NaN })).toThrow('not a whole number');
  expect(() => headOf({ method: 'GET / HTTP/1.1\r\nx:' })).toThrow('not a token');
});

test('a path and a query are sent as a standard client sends them', () => {
  const origin = 'https://provider.example:8443';
  for (const rest of [
    '/v1/chat/completions',
    '/v1/a%2Fb?c=d%20e',
    '/v1/models/gpt-4o:tuned@1~x!$&()*+,;=',
    "/v1/it's?it's",
    '/v1/../admin',
    '/v1/%2e%2E/admin',
    '/v1/./a/.b',
    '/v1/a..b',
    '/v1/räsumé?ü=ö',
    '/v1/a b"<>`{}|^\\c',
    '/v1?a=%2F%20+%C3%A9&b&=c&x[]=1&redirect=https://example.com/?q=1&empty={}|^`\\"<>',
    '/v1/a#fragment',
    '/v1/a?b#c?d',
    '//double//slashes/',
    '/v1/tab\tand\nline',
    '?only=/a/query',
    '#only/a-fragment',
    '',
  ]) {
    const { pathname, search } = new URL(origin + rest);
    expect(requestTarget(origin + rest)).toBe(pathname + search);
  }
});
