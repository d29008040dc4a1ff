import type { Framing } from './faults.ts';

export interface ServerSentEvent {
  readonly event?: string;
  /** A string is written as it is, anything else as JSON. */
  readonly data: unknown;
}

const encoder = new TextEncoder();

/** The events as bytes: one piece per event, unless the framing splits them. */
export function encodeEvents(
  events: Iterable<ServerSentEvent>,
  { lineEnd = '\n', framing }: { lineEnd?: '\n' | '\r\n'; framing?: ReadonlySet<Framing> },
): Iterable<Uint8Array<ArrayBuffer>> {
  if (framing === undefined) return encodePlainly(events, lineEnd);
  const encoded = encodeOddly(events, lineEnd, framing);
  return framing.has('split') ? split(encoded) : encoded;
}

function* encodePlainly(events: Iterable<ServerSentEvent>, lineEnd: string): Generator<Uint8Array<ArrayBuffer>> {
  for (const { event, data } of events) {
    const name = event === undefined ? '' : `event: ${event}${lineEnd}`;
    yield encoder.encode(`${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}${lineEnd}${lineEnd}`);
  }
}

function* encodeOddly(
  events: Iterable<ServerSentEvent>,
  usualLineEnd: string,
  framing: ReadonlySet<Framing>,
): Generator<Uint8Array<ArrayBuffer>> {
  const lineEnd = framing.has('crlf') ? '\r\n' : framing.has('cr') ? '\r' : usualLineEnd;
  const colon = framing.has('no-space') ? ':' : ': ';
  const indent = framing.has('multiline') ? 1 : undefined;
  for (const { event, data } of events) {
    const lines: string[] = [];
    if (framing.has('comments')) lines.push(':', ': a comment that is an event of its own, and no event', '', ':near');
    if (event !== undefined) lines.push(`event${colon}${event}`);
    if (framing.has('comments')) lines.push(': data: inside an event');
    const text = typeof data === 'string' ? data : JSON.stringify(data, null, indent);
    for (const line of text.split('\n')) lines.push(`data${colon}${line}`);
    lines.push('', '');
    yield encoder.encode(lines.join(lineEnd));
  }
}

// Coprime with little in between, so that after a few events every kind of border has been cut.
const SPLIT_SIZES = [5, 1, 3, 11, 2, 7];

/** The same bytes with borders inside lines and characters; what an event leaves over is joined to the next one. */
function* split(pieces: Iterable<Uint8Array<ArrayBuffer>>): Generator<Uint8Array<ArrayBuffer>> {
  let rest: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  let turn = 0;
  for (const piece of pieces) {
    const bytes = new Uint8Array(rest.length + piece.length);
    bytes.set(rest);
    bytes.set(piece, rest.length);
    let from = 0;
    for (;;) {
      const size = SPLIT_SIZES[turn % SPLIT_SIZES.length]!;
      if (from + size > bytes.length) break;
      yield bytes.slice(from, from + size);
      from += size;
      turn += 1;
    }
    rest = bytes.slice(from);
  }
  if (rest.length > 0) yield rest;
}
