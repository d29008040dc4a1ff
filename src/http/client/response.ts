import { copyOf } from '../../core/bytes.ts';
import { Malformed } from './failure.ts';
import { checkTrailer, NO_STATUS_LINE, type ResponseHead, readHead, STATUS_LINE_START } from './head.ts';

const HEAD_LIMIT = 64 << 10;
/** A size with its extensions. */
const CHUNK_LINE_LIMIT = 4 << 10;
const HEAD_END = Buffer.from('\r\n\r\n');
/** A view makes Bun lay out a buffer behind the bytes; so many are copied in less time. */
const COPIED_BELOW = 2 << 10;
const CR = 0x0d;
const LF = 0x0a;

type State = 'head' | 'length' | 'until close' | 'size' | 'chunk' | 'chunk end' | 'trailers' | 'complete';

/**
 * Reads answers from the bytes of a connection, cut wherever the network cut them. One at a time:
 *
 *     reader.expect('POST');
 *     const piece = reader.feed(bytes);   // what of the body was in there; throws Malformed
 *     if (reader.head) …                  // the head has been read
 *     if (reader.isComplete) …            // so has the body
 */
export class ResponseReader {
  /** The head of the answer that is being read, once it is there. */
  head: ResponseHead | null = null;
  /** Nothing of it has come, not even an interim answer. */
  isUntouched = true;
  /** Bytes came that belong to no answer: nothing on this connection can be trusted any more. */
  hasSurplus = false;

  #state: State = 'complete';
  #method = '';
  /** Of the body or of the chunk, what is still to come. */
  #left = 0;
  #trailerBytes = 0;
  /** The beginning of a head or of a line whose end has not come yet. */
  #carry: Buffer | null = null;
  #searched = 0;

  expect(method: string): void {
    this.head = null;
    this.isUntouched = true;
    this.#state = 'head';
    this.#method = method;
    this.#searched = 0;
    this.#trailerBytes = 0;
  }

  get isComplete(): boolean {
    return this.#state === 'complete';
  }

  /** The connection has ended: whether that is where the answer ends, too. */
  endsHere(): boolean {
    if (this.#state === 'until close') this.#state = 'complete';
    return this.#state === 'complete';
  }

  /** The body's bytes among these. Mostly they are views, and the bytes around them may have been overwritten. */
  feed(arrived: Buffer): Uint8Array | null {
    this.isUntouched = false;
    const bytes = this.#carry === null ? arrived : Buffer.concat([this.#carry, arrived]);
    this.#carry = null;
    let at = 0;
    if (this.#state === 'head') {
      at = this.#readHeads(bytes);
      if (at < 0) return null;
    }
    switch (this.#state) {
      case 'length':
        return this.#readLength(bytes, at);
      case 'until close':
        return at < bytes.length ? bytes.subarray(at) : null;
      case 'complete':
        if (at < bytes.length) this.hasSurplus = true;
        return null;
      default:
        return this.#readChunks(bytes, at);
    }
  }

  /** Where the body begins, or -1 as long as the head is not whole. Interim answers (1xx) are passed over. */
  #readHeads(bytes: Buffer): number {
    for (let start = 0; ; this.#searched = 0) {
      const end = bytes.indexOf(HEAD_END, start + this.#searched);
      const size = (end < 0 ? bytes.length : end) - start;
      if (size > HEAD_LIMIT) throw new Malformed(`its head is larger than ${HEAD_LIMIT} bytes`);
      if (end < 0) {
        // A server of another protocol may wait for the client to speak; then no more bytes would come.
        if (!STATUS_LINE_START.startsWith(bytes.toString('latin1', start, start + STATUS_LINE_START.length)))
          throw new Malformed(NO_STATUS_LINE);
        if (size > 0) this.#carry = start === 0 ? bytes : Buffer.from(bytes.subarray(start));
        // The mark may have been cut after its third byte.
        this.#searched = Math.max(0, size - 3);
        return -1;
      }
      const head = readHead(bytes.toString('latin1', start, end + 2), this.#method);
      start = end + 4;
      // 101 is no interim answer: it ends HTTP on this connection, and the gateway never asks for that.
      if (head.status < 200 && head.status !== 101) continue;
      this.#begin(head);
      return start;
    }
  }

  #begin(head: ResponseHead) {
    this.head = head;
    const { framing } = head;
    if (framing === 'chunked') this.#state = 'size';
    else if (framing === 'until close') this.#state = 'until close';
    else {
      this.#left = framing;
      this.#state = framing === 0 ? 'complete' : 'length';
    }
  }

  #readLength(bytes: Buffer, at: number): Uint8Array | null {
    const there = bytes.length - at;
    if (there >= this.#left) {
      this.#state = 'complete';
      this.hasSurplus ||= there > this.#left;
    }
    const taken = Math.min(there, this.#left);
    this.#left -= taken;
    if (taken === 0) return null;
    return taken < COPIED_BELOW ? copyOf(bytes, at, at + taken) : bytes.subarray(at, at + taken);
  }

  /** Moves the chunks that came together next to each other, over the lines between them: one piece, not many. */
  #readChunks(bytes: Buffer, begin: number): Uint8Array | null {
    let at = begin;
    let start = begin;
    let end = begin;
    while (at < bytes.length && this.#state !== 'complete') {
      if (this.#state === 'chunk') {
        const taken = Math.min(this.#left, bytes.length - at);
        if (start === end) start = end = at;
        else bytes.copyWithin(end, at, at + taken);
        end += taken;
        at += taken;
        this.#left -= taken;
        if (this.#left === 0) this.#state = 'chunk end';
        continue;
      }
      const next = this.#readLine(bytes, at);
      if (next < 0) {
        this.#carry = Buffer.from(bytes.subarray(at));
        at = bytes.length;
      } else at = next;
    }
    if (at < bytes.length) this.hasSurplus = true;
    if (end === start) return null;
    return end - start < COPIED_BELOW ? copyOf(bytes, start, end) : bytes.subarray(start, end);
  }

  /** Reads one of the lines around chunks. Answers where it ends, or -1 when it has not come whole. */
  #readLine(bytes: Buffer, at: number): number {
    if (this.#state === 'size') return this.#readSize(bytes, at);
    if (this.#state === 'trailers') return this.#readTrailer(bytes, at);
    if (bytes[at] !== CR || (at + 1 < bytes.length && bytes[at + 1] !== LF))
      throw new Malformed('a chunk is longer than its size');
    if (at + 1 === bytes.length) return -1;
    this.#state = 'size';
    return at + 2;
  }

  #readSize(bytes: Buffer, begin: number): number {
    let at = begin;
    let size = 0;
    for (; at < bytes.length; at++) {
      const digit = hexDigit(bytes[at]!);
      if (digit < 0) break;
      // 13 digits are 52 bits: more cannot be counted, and none is sent.
      if (at - begin === 13) throw new Malformed('the size of a chunk is too large');
      size = size * 16 + digit;
    }
    if (at < bytes.length && (at === begin || !isAfterSize(bytes[at]!))) throw new Malformed('a chunk has no size');
    const end = lineEnd(bytes, at, CHUNK_LINE_LIMIT);
    if (end < 0) return -1;
    if (end > at + 1 && !EXTENSION.test(bytes.toString('latin1', at, end - 1)))
      throw new Malformed('what follows the size of a chunk is no extension');
    this.#left = size;
    this.#state = size === 0 ? 'trailers' : 'chunk';
    return end + 1;
  }

  #readTrailer(bytes: Buffer, at: number): number {
    const end = lineEnd(bytes, at, HEAD_LIMIT - this.#trailerBytes);
    if (end < 0) return -1;
    this.#trailerBytes += end + 1 - at;
    if (end === at + 1) this.#state = 'complete';
    else checkTrailer(bytes.toString('latin1', at, end - 1));
    return end + 1;
  }
}

const EXTENSION = /^[ \t]*(?:;[^\0-\x08\x0a-\x1f\x7f]*)?$/;
const isAfterSize = (code: number) => code === CR || code === 0x3b || code === 0x20 || code === 0x09;

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** The place of the LF that ends the line, or -1; it must follow a CR. */
function lineEnd(bytes: Buffer, at: number, limit: number): number {
  const end = bytes.indexOf(LF, at);
  if ((end < 0 ? bytes.length : end) - at > limit) throw new Malformed('a line around a chunk is too long');
  if (end >= 0 && (end === at || bytes[end - 1] !== CR)) throw new Malformed('a line does not end in CR LF');
  return end;
}
