import type { HeaderMap } from '../../core/header-map.ts';

/** What the connection decides by itself; a caller's own would contradict it. */
const OWNED = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'te',
  'trailer',
  'upgrade',
]);
const LINE_BREAKING = /[\0\r\n]|[^\0-\xff]/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Paths and queries that a URL parser would leave as they are: no dot segments, nothing that it would encode. All
 * others go through it, so that what is sent is what a standard client would send.
 */
const AS_IT_IS = /^(?:\/(?!\.|%2e)[\w\-~!$&()*+,;=:@%.]*)+(?:\?[\x21\x24-\x26\x28-\x3b\x3d\x3f-\x7e]*)?$/i;

/** How the body of a request is framed: its length, or nothing said of it in advance. */
export type RequestFraming = number | 'chunked';

/** The path and query of an absolute URL, as they are sent. */
export function requestTarget(url: string): string {
  const target = url.slice(originLength(url));
  if (AS_IT_IS.test(target)) return target;
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** Everything up to the path of an absolute URL. */
function originLength(url: string): number {
  const start = url.indexOf('://') + 3;
  for (let index = start; index < url.length; index++) {
    const character = url.charCodeAt(index);
    if (character === 0x2f || character === 0x3f || character === 0x23) return index; // / ? #
  }
  return url.length;
}

/** The head of a request, as Latin-1 text. Throws a `TypeError` where a value would break out of its line. */
export function requestHead(request: {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly headers: HeaderMap;
  /** Null: a request without a body. */
  readonly framing: RequestFraming | null;
  /** The server need not wait for another request on this connection. */
  readonly isLast: boolean;
}): string {
  const { method, target, host, framing } = request;
  if (!TOKEN.test(method)) throw new TypeError('The method of a request is not a token.');
  const headers: Record<string, string | string[]> = request.headers.toJSON();
  let text = `${method} ${target} HTTP/1.1\r\nhost: ${host}\r\n`;
  for (const name in headers) {
    if (OWNED.has(name)) continue;
    const value = headers[name]!;
    if (typeof value === 'string') text += headerLine(name, value);
    else for (const each of value) text += headerLine(name, each);
  }
  // Some servers turn away who does not name himself.
  if (headers['user-agent'] === undefined) text += 'user-agent: gateway\r\n';
  if (headers.accept === undefined) text += 'accept: */*\r\n';
  if (framing === 'chunked') text += 'transfer-encoding: chunked\r\n';
  else if (framing !== null) text += `content-length: ${checkLength(framing)}\r\n`;
  else if (method !== 'GET' && method !== 'HEAD') text += 'content-length: 0\r\n';
  return request.isLast ? `${text}connection: close\r\n\r\n` : `${text}\r\n`;
}

function checkLength(length: number): number {
  if (!Number.isSafeInteger(length) || length < 0) throw new TypeError('The length of a body is not a whole number.');
  return length;
}

function headerLine(name: string, value: string): string {
  if (LINE_BREAKING.test(value)) throw new TypeError(`The header ${name} holds characters that no header may hold.`);
  return `${name}: ${value}\r\n`;
}
