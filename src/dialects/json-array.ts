import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/json-marks.ts';
import { FramingError } from './framing-error.ts';
import type { ServerSentEvent } from './sse.ts';

/** An element of this size is none; holding more would let a provider fill the memory. */
const MOST_BYTES = 16 << 20;

/**
 * The objects of a JSON array that comes piece by piece, from bytes cut anywhere: how Gemini streams when it is not asked
 * for server-sent events. Each object is an event without a name. An object that stands alone counts as well, since
 * refusals come so.
 */
export class JsonArrayParser {
  readonly #mostBytes: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  /** Braces and brackets that are open inside the element. */
  #depth = 0;
  #isInText = false;
  #isEscaped = false;

  constructor({ mostBytes = MOST_BYTES }: { mostBytes?: number } = {}) {
    this.#mostBytes = mostBytes;
  }

  push(chunk: Uint8Array): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const wasOutside = this.#depth === 0;
      this.#step(chunk[at]!);
      if (wasOutside && this.#depth > 0) from = at;
      if (wasOutside || this.#depth > 0) continue;
      this.#keep(chunk.subarray(from, at + 1));
      events.push({ data: this.#take() });
    }
    if (this.#depth > 0) this.#keep(chunk.subarray(from));
    return events;
  }

  /** An element that is not whole is no event; that the answer is not whole either, its decoder sees. */
  end(): ServerSentEvent[] {
    return [];
  }

  #step(byte: number) {
    if (this.#isInText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) this.#isInText = false;
    } else if (byte === OPEN_BRACE) this.#depth++;
    else if (this.#depth === 0) return;
    else if (byte === QUOTE) this.#isInText = true;
    else if (byte === OPEN_BRACKET) this.#depth++;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#depth--;
  }

  #keep(piece: Uint8Array) {
    this.#bytes += piece.length;
    if (this.#bytes > this.#mostBytes)
      throw new FramingError(`an element of the stream is larger than ${this.#mostBytes} bytes`);
    // The caller may use its buffer again.
    this.#pieces.push(piece.slice());
  }

  #take(): string {
    const text = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#bytes = 0;
    return text;
  }
}
