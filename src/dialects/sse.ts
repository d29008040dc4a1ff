import { textOf } from '../core/bytes.ts';
import { FramingError } from './framing-error.ts';

export interface ServerSentEvent {
  /** Absent when the stream did not name it. */
  readonly event?: string;
  readonly data: string;
  readonly id?: string;
}

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = '\ufeff';
const NOTHING = new Uint8Array(0);

/** An event of this size is no event; holding more would let a provider fill the memory. */
const MOST_BYTES = 16 << 20;

/**
 * Server-sent events of any legal framing, from bytes cut anywhere: lines end with LF, CRLF or CR, data may have several
 * lines, comments and unknown fields pass by. Lines are split before they are decoded, so a cut inside a character is
 * none. An event without the blank line that should end it counts when the stream ends.
 */
export class SseParser {
  readonly #mostBytes: number;
  /** The beginning of a line whose end has not come. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  #eventBytes = 0;
  #skipsLineFeed = false;
  #isFirstLine = true;
  #data: string | null = null;
  #event: string | undefined;
  #id: string | undefined;
  #ready: ServerSentEvent[] = [];

  constructor({ mostBytes = MOST_BYTES }: { mostBytes?: number } = {}) {
    this.#mostBytes = mostBytes;
  }

  push(chunk: Uint8Array): ServerSentEvent[] {
    let from = 0;
    if (this.#skipsLineFeed && chunk.length > 0) {
      this.#skipsLineFeed = false;
      if (chunk[0] === LF) from = 1;
    }
    // Most streams have no CR at all, and then the native search finds each line.
    let nextCarriageReturn = chunk.indexOf(CR, from);
    let nextLineFeed = chunk.indexOf(LF, from);
    while (nextCarriageReturn >= 0 || nextLineFeed >= 0) {
      const isCarriageReturn = nextCarriageReturn >= 0 && (nextLineFeed < 0 || nextCarriageReturn < nextLineFeed);
      const end = isCarriageReturn ? nextCarriageReturn : nextLineFeed;
      this.#line(chunk, from, end);
      from = end + 1;
      if (isCarriageReturn) {
        if (from === chunk.length) this.#skipsLineFeed = true;
        else if (chunk[from] === LF) from++;
        nextCarriageReturn = chunk.indexOf(CR, from);
      }
      if (nextLineFeed >= 0 && nextLineFeed < from) nextLineFeed = chunk.indexOf(LF, from);
    }
    if (from < chunk.length) this.#keep(chunk.subarray(from));
    return this.#take();
  }

  end(): ServerSentEvent[] {
    if (this.#pieceBytes > 0) this.#line(NOTHING, 0, 0);
    this.#dispatch();
    return this.#take();
  }

  #take(): ServerSentEvent[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  #keep(piece: Uint8Array) {
    this.#pieceBytes += piece.length;
    this.#check(this.#pieceBytes);
    // The caller may use its buffer again.
    this.#pieces.push(piece.slice());
  }

  #check(bytes: number) {
    if (this.#eventBytes + bytes > this.#mostBytes)
      throw new FramingError(`an event of the stream is larger than ${this.#mostBytes} bytes`);
  }

  /** The line that ends there. It is read from where it stands: a view of it would take longer to make than to read. */
  #line(chunk: Uint8Array, from: number, end: number) {
    if (this.#pieceBytes > 0) {
      const bytes = Buffer.concat([...this.#pieces, chunk.subarray(from, end)]);
      this.#pieces = [];
      this.#pieceBytes = 0;
      this.#line(bytes, 0, bytes.length);
      return;
    }
    if (from === end) return this.#dispatch();
    this.#check(end - from);
    let line = textOf(chunk, from, end);
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      if (line.startsWith(BYTE_ORDER_MARK)) line = line.slice(1);
      if (line === '') return this.#dispatch();
    }
    this.#field(line, end - from);
  }

  #field(line: string, bytes: number) {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const nameEnd = colon < 0 ? line.length : colon;
    const from = line.charCodeAt(colon + 1) === 0x20 ? colon + 2 : colon + 1;
    const value = colon < 0 ? '' : line.slice(from);
    // Compared where it stands: a text of its own for each name would be one for each line.
    const isNamed = (name: string) => nameEnd === name.length && line.startsWith(name);
    if (isNamed('data')) {
      this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
      this.#eventBytes += bytes;
    } else if (isNamed('event')) this.#event = value;
    else if (isNamed('id') && !value.includes('\0')) this.#id = value;
  }

  #dispatch() {
    this.#isFirstLine = false;
    if (this.#data !== null) {
      // Member by member: every chunk of a stream passes here, and each spread would be an object more.
      const ready: { -readonly [Member in keyof ServerSentEvent]: ServerSentEvent[Member] } = { data: this.#data };
      if (this.#event) ready.event = this.#event;
      if (this.#id !== undefined) ready.id = this.#id;
      this.#ready.push(ready);
    }
    this.#data = null;
    this.#event = undefined;
    this.#id = undefined;
    this.#eventBytes = 0;
  }
}

/** An event as bytes on the wire would spell it. A line end inside `data` makes another data line. */
export function formatSse({ event, data, id }: ServerSentEvent): string {
  const head = `${event ? `event: ${event}\n` : ''}${id === undefined ? '' : `id: ${id}\n`}`;
  const lines = /[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).join('\ndata: ') : data;
  return `${head}data: ${lines}\n\n`;
}
