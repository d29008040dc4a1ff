import type { SentHeaders } from '../headers.ts';
import { Malformed } from './failure.ts';

/** Where an answer's body ends. */
export type Framing = number | 'chunked' | 'until close';

export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: SentHeaders;
  readonly framing: Framing;
  /** For how long the connection may wait for another request; 0: not at all. */
  readonly keepMs: number;
}

/** Shorter than what load balancers and web servers commonly wait (60 s and more); those that wait less mostly say so. */
const KEEP_MS = 30_000;
/** So much earlier than the server says: its clock started when it sent the answer. */
const HINT_MARGIN_MS = 500;

export const STATUS_LINE_START = 'HTTP/1.';
export const NO_STATUS_LINE = 'it does not begin with an HTTP/1.1 status line';
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([^\r]*))?$/;
const DIGITS = /^\d+$/;
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names that were looked at before, as they came and in lower case: a provider sends the same ones over and over. */
const names = new Map<string, string>();

function nameOf(written: string): string {
  const known = names.get(written);
  if (known !== undefined) return known;
  // Also refuses a folded line and a space before the colon, which RFC 9112 section 5 forbids.
  if (!TOKEN.test(written)) throw new Malformed('a header line has no proper name');
  if (names.size > 1_000) names.clear();
  const name = written.toLowerCase();
  names.set(written, name);
  return name;
}

/** Where the CR stands that ends a line. One without the other may be a line's end to some readers and not to others. */
function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\r', at);
  if (end < 0 || text.indexOf('\n', at) !== end + 1) throw new Malformed('a line of its head does not end in CR LF');
  return end;
}

const isBlank = (code: number) => code === 0x20 || code === 0x09;

/** Header lines, each ended by CR LF, by lower-case name. */
function readLines(text: string, start: number): Record<string, string> {
  // Without a prototype no name is there before it was sent.
  const headers = { __proto__: null } as unknown as Record<string, string | string[]>;
  for (let at = start; at < text.length; ) {
    const end = endOfLine(text, at);
    const colon = text.indexOf(':', at);
    if (colon < 0 || colon > end) throw new Malformed('a header line has no colon');
    const name = nameOf(text.slice(at, colon));
    let from = colon + 1;
    let to = end;
    // Not trim(), which would also take bytes above 0x7f that look like spaces in Latin-1.
    while (from < to && isBlank(text.charCodeAt(from))) from++;
    while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
    const value = text.slice(from, to);
    const before = headers[name];
    if (before === undefined) headers[name] = name === 'set-cookie' ? [value] : value;
    else if (typeof before === 'string') headers[name] = `${before}, ${value}`;
    else before.push(value);
    at = end + 2;
  }
  // `set-cookie` alone is an array, as in what Headers.toJSON() answers.
  return headers as Record<string, string>;
}

/**
 * Reads the head of an answer, from the status line to the CR LF of the last header line, as Latin-1 text.
 * Throws `Malformed` for whatever could be read in two ways.
 */
export function readHead(text: string, method: string): ResponseHead {
  if (!text.startsWith(STATUS_LINE_START)) throw new Malformed(NO_STATUS_LINE);
  if (CONTROL.test(text)) throw new Malformed('its head holds control characters');
  const lineEnd = endOfLine(text, 0);
  const line = statusLine(text.slice(0, lineEnd));
  if (!line) throw new Malformed(NO_STATUS_LINE);
  const headers = readLines(text, lineEnd + 2);
  const { status, isOld, reason } = line;
  const framing = framingOf(headers, { isOld, hasNoBody: method === 'HEAD' || hasNoBody(status) });
  const keepMs = framing === 'until close' || status < 200 ? 0 : keepMsOf(headers, isOld);
  return { status, statusText: reason, headers, framing, keepMs };
}

interface StatusLine {
  readonly status: number;
  readonly reason: string;
  readonly isOld: boolean;
}

const GOOD: StatusLine = { status: 200, reason: 'OK', isOld: false };

function statusLine(text: string): StatusLine | null {
  if (text === 'HTTP/1.1 200 OK') return GOOD;
  const line = STATUS_LINE.exec(text);
  return line && { status: Number(line[2]), reason: line[3] ?? '', isOld: line[1] === '0' };
}

const hasNoBody = (status: number) => status < 200 || status === 204 || status === 304;

/** RFC 9112 section 6.3. What a proxy in between could have read otherwise is refused. */
function framingOf(
  headers: Record<string, string>,
  { isOld, hasNoBody }: { isOld: boolean; hasNoBody: boolean },
): Framing {
  const coding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (coding !== undefined) {
    if (length !== undefined) throw new Malformed('it has both content-length and transfer-encoding');
    if (isOld || coding.toLowerCase() !== 'chunked')
      throw new Malformed(`its transfer-encoding "${coding.slice(0, 40)}" is not chunked`);
    return hasNoBody ? 0 : 'chunked';
  }
  if (length === undefined) return hasNoBody ? 0 : 'until close';
  const size = lengthOf(length);
  headers['content-length'] = String(size);
  return hasNoBody ? 0 : size;
}

function lengthOf(text: string): number {
  // Several that are the same are one.
  const lengths = text.includes(',') ? new Set(text.split(',').map((each) => each.trim())) : null;
  const only = lengths ? [...lengths].join() : text;
  const size = Number(only);
  if (!DIGITS.test(only) || !Number.isSafeInteger(size))
    throw new Malformed(`its content-length "${text.slice(0, 40)}" is not one number`);
  return size;
}

/** What a provider says of its connections is the same every time. */
let lastKeep = { connection: '' as string | undefined, hint: '' as string | undefined, isOld: false, keepMs: KEEP_MS };

function keepMsOf(headers: Record<string, string>, isOld: boolean): number {
  const { connection, 'keep-alive': hint } = headers;
  if (lastKeep.connection !== connection || lastKeep.hint !== hint || lastKeep.isOld !== isOld)
    lastKeep = { connection, hint, isOld, keepMs: readKeepMs(headers, isOld) };
  return lastKeep.keepMs;
}

function readKeepMs(headers: Record<string, string>, isOld: boolean): number {
  const options = headers.connection?.toLowerCase();
  if (options !== undefined && /(^|,)\s*close\s*(,|$)/.test(options)) return 0;
  if (isOld && !(options !== undefined && /(^|,)\s*keep-alive\s*(,|$)/.test(options))) return 0;
  const hint = headers['keep-alive'];
  const seconds = hint === undefined ? null : /(?:^|[,;\s])timeout\s*=\s*"?(\d{1,9})/i.exec(hint);
  return seconds ? Math.max(0, Math.min(KEEP_MS, Number(seconds[1]) * 1_000 - HINT_MARGIN_MS)) : KEEP_MS;
}

/** A line after the last chunk. What it says is dropped, as an unmodified fetch would; how it is written is checked. */
export function checkTrailer(line: string): void {
  const colon = line.indexOf(':');
  if (/[\r\n]/.test(line) || CONTROL.test(line) || colon < 0) throw new Malformed('a trailer line is no header line');
  nameOf(line.slice(0, colon));
}
