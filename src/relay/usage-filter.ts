import { copyOf, includesBytes, indexOfBytes, textOf } from '../core/bytes.ts';
import { CLOSE_BRACE, COLON, COMMA, OPEN_BRACE } from '../core/json-marks.ts';
import { type Incoming, receivedHeaders } from '../http/upstream.ts';
import { isEncoded, readUsage } from '../telemetry/usage.ts';
import type { Report } from './call.ts';
import { rewrittenFields } from './rewritten.ts';

const USAGE = Buffer.from('"usage"');
const NULL = Buffer.from('null');
const EMPTY_CHOICES = /"choices"\s*:\s*\[\s*\]/;
/** The line with the usage is far shorter; what is longer is passed on as it comes. */
const LONGEST_HELD = 64 << 10;
const LF = 0x0a;
const CR = 0x0d;
const NOTHING = new Uint8Array();

/** A stream as the client would have got it, had the gateway not asked for its usage. Other answers stay as they are. */
export function withoutUsage(incoming: Incoming, report: Report): Incoming {
  const received = receivedHeaders(incoming);
  const type = received['content-type'] ?? '';
  if (incoming.status >= 400 || !type.startsWith('text/event-stream') || isEncoded(received['content-encoding']))
    return incoming;
  const filter = new UsageFilter(report);
  const read = async () => {
    for (let piece = await incoming.read(); piece; piece = await incoming.read()) {
      const passed = filter.push(piece);
      if (passed.byteLength > 0) return passed;
    }
    return filter.end();
  };
  return {
    status: incoming.status,
    statusText: incoming.statusText,
    fields: received['content-length'] === undefined ? received : rewrittenFields(incoming, type),
    get headers() {
      return incoming.headers;
    },
    read,
    bytes: () => incoming.bytes(),
    cancel: () => incoming.cancel(),
  };
}

/**
 * Takes out what was said because the gateway had asked: the line without choices that tells the usage, and `"usage":null`
 * in the lines before it. Lines pass whole. A piece of whole lines that does not speak of usage is passed on as it is.
 */
class UsageFilter {
  readonly #report: Report;
  #pending: Uint8Array | null = null;
  /** The line that tells the usage is out, and the blank line after it has not come. */
  #dropsBlank = false;
  /** In a line that was too long to be held. */
  #isInLongLine = false;
  /** Its lines end in a way that no provider is known for: all of it passes, and the log reads the usage from it. */
  #isStrange = false;

  constructor(report: Report) {
    this.#report = report;
  }

  push(piece: Uint8Array): Uint8Array {
    const bytes = this.#pending ? Buffer.concat([this.#pending, piece]) : piece;
    const end = bytes.lastIndexOf(LF) + 1;
    if (this.#isStrange || (end === 0 && hasBareReturn(bytes))) {
      this.#pending = null;
      this.#isStrange = true;
      return bytes;
    }
    if (end === 0 && (this.#isInLongLine || bytes.byteLength > LONGEST_HELD)) {
      this.#pending = null;
      this.#isInLongLine = true;
      return bytes;
    }
    this.#pending = end === bytes.byteLength ? null : copyOf(bytes, end);
    if (end === 0) return NOTHING;
    const lines = end === bytes.byteLength ? bytes : bytes.subarray(0, end);
    const isLong = this.#isInLongLine;
    this.#isInLongLine = false;
    if (!this.#dropsBlank && !includesBytes(lines, USAGE)) return lines;
    return this.#cut(lines, isLong ? lines.indexOf(LF) + 1 : 0);
  }

  /** What was held when the stream ended, perhaps within a line; null: nothing. */
  end(): Uint8Array | null {
    const rest = this.#pending;
    this.#pending = null;
    return rest && !this.#isUsage(rest) ? rest : null;
  }

  #cut(lines: Uint8Array, start: number): Uint8Array {
    const kept: Uint8Array[] = [];
    let from = 0;
    let at = start;
    const leaveOut = (first: number, end: number) => {
      kept.push(lines.subarray(from, first));
      from = end;
      at = end;
    };
    if (this.#dropsBlank) leaveOut(0, this.#afterBlank(lines, 0));
    for (let found = indexOfBytes(lines, USAGE, at); found >= 0; found = indexOfBytes(lines, USAGE, at)) {
      const lineEnd = lines.indexOf(LF, found) + 1;
      const nothing = nullMember(lines, found);
      if (nothing) leaveOut(nothing.start, nothing.end);
      else {
        const lineStart = lines.lastIndexOf(LF, found) + 1;
        if (this.#isUsage(lines.subarray(lineStart, lineEnd))) leaveOut(lineStart, this.#afterBlank(lines, lineEnd));
        else at = lineEnd;
      }
    }
    if (kept.length === 0) return lines;
    kept.push(lines.subarray(from));
    return Buffer.concat(kept);
  }

  /** One past the blank line at that place; it is awaited where the bytes end. */
  #afterBlank(lines: Uint8Array, at: number): number {
    this.#dropsBlank = at === lines.byteLength;
    if (lines[at] === LF) return at + 1;
    return lines[at] === CR && lines[at + 1] === LF ? at + 2 : at;
  }

  #isUsage(line: Uint8Array): boolean {
    if (!EMPTY_CHOICES.test(textOf(line))) return false;
    const { usage, model = null } = readUsage({ contentType: 'text/event-stream', head: line, tail: null });
    if (usage) this.#report(usage, model);
    return usage !== undefined;
  }
}

/** Of bytes without a line feed, whether a carriage return stands within them. */
function hasBareReturn(bytes: Uint8Array): boolean {
  const at = bytes.indexOf(CR);
  return at >= 0 && at < bytes.byteLength - 1;
}

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x09;

/**
 * The stretch of `"usage":null` with one comma beside it, if this is what stands there. In a JSON string its quotes would
 * be escaped, so this is a member.
 */
function nullMember(bytes: Uint8Array, name: number): { readonly start: number; readonly end: number } | null {
  let at = name + USAGE.byteLength;
  while (isSpace(bytes[at])) at++;
  if (bytes[at] !== COLON) return null;
  at++;
  while (isSpace(bytes[at])) at++;
  for (let index = 0; index < NULL.byteLength; index++) if (bytes[at + index] !== NULL[index]) return null;
  let end = at + NULL.byteLength;
  while (isSpace(bytes[end])) end++;
  let start = name - 1;
  while (isSpace(bytes[start])) start--;
  if (bytes[start] === COMMA) return bytes[end] === COMMA || bytes[end] === CLOSE_BRACE ? { start, end } : null;
  return bytes[start] === OPEN_BRACE && bytes[end] === COMMA ? { start: name, end: end + 1 } : null;
}
