import { crc32 } from 'node:zlib';
import { FramingError } from './framing-error.ts';

export type HeaderValue = string | number | bigint | boolean | Uint8Array | Date;

/** One message of `application/vnd.amazon.eventstream`. */
export interface AwsMessage {
  readonly headers: Readonly<Record<string, HeaderValue>>;
  readonly payload: Uint8Array;
}

// A message is: total length, headers' length, checksum of these two, headers, payload, checksum of all before it.
const PRELUDE = 12;
const LEAST = PRELUDE + 4;
/** AWS promises no message above 16 MiB, and no headers above 128 KiB. */
const MOST_BYTES = 16 << 20;
const MOST_HEADER_BYTES = 128 << 10;

/** Messages from bytes cut anywhere. Both checksums are checked; a message that is too large or damaged throws. */
export class AwsEventStreamParser {
  readonly #mostBytes: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  /** How many bytes must be there before there is anything to do. */
  #needed = PRELUDE;

  constructor({ mostBytes = MOST_BYTES }: { mostBytes?: number } = {}) {
    this.#mostBytes = mostBytes;
  }

  push(chunk: Uint8Array): AwsMessage[] {
    if (chunk.length > 0) {
      // The caller may use its buffer again.
      this.#pieces.push(chunk.slice());
      this.#bytes += chunk.length;
    }
    if (this.#bytes < this.#needed) return [];
    const messages: AwsMessage[] = [];
    let rest = this.#joined();
    while (rest.length >= PRELUDE) {
      const total = this.#totalLength(rest);
      this.#needed = total;
      if (rest.length < total) break;
      messages.push(readMessage(rest.subarray(0, total)));
      rest = rest.subarray(total);
      this.#needed = PRELUDE;
    }
    this.#pieces = rest.length > 0 ? [rest] : [];
    this.#bytes = rest.length;
    return messages;
  }

  /** When the stream has ended; a message that is not whole throws. */
  end(): AwsMessage[] {
    if (this.#bytes > 0) throw new FramingError(`the stream ended ${this.#bytes} bytes into a message`);
    return [];
  }

  #joined(): Uint8Array {
    return this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
  }

  #totalLength(bytes: Uint8Array): number {
    const view = viewOf(bytes);
    const total = view.getUint32(0);
    const headers = view.getUint32(4);
    if (view.getUint32(8) !== crc32(bytes.subarray(0, 8)))
      throw new FramingError('the checksum of a message prelude is wrong');
    if (total > this.#mostBytes)
      throw new FramingError(`a message of ${total} bytes is larger than ${this.#mostBytes}`);
    if (headers > MOST_HEADER_BYTES || total < LEAST + headers)
      throw new FramingError(`a message of ${total} bytes cannot have ${headers} bytes of headers`);
    return total;
  }
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function readMessage(bytes: Uint8Array): AwsMessage {
  const view = viewOf(bytes);
  const end = bytes.length - 4;
  if (view.getUint32(end) !== crc32(bytes.subarray(0, end)))
    throw new FramingError('the checksum of a message is wrong');
  const headersEnd = PRELUDE + view.getUint32(4);
  return { headers: readHeaders(bytes.subarray(PRELUDE, headersEnd)), payload: bytes.slice(headersEnd, end) };
}

const SIZES: Readonly<Record<number, number>> = { 0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16 };

function readHeaders(bytes: Uint8Array): Record<string, HeaderValue> {
  const view = viewOf(bytes);
  const headers: Record<string, HeaderValue> = {};
  const text = (from: number, to: number) => Buffer.from(bytes.subarray(from, to)).toString('utf8');
  let at = 0;
  const advance = (count: number) => {
    const from = at;
    at += count;
    if (at > bytes.length) throw new FramingError('a header of a message is cut off');
    return from;
  };
  while (at < bytes.length) {
    const nameLength = view.getUint8(advance(1));
    const nameAt = advance(nameLength);
    const name = text(nameAt, at);
    const type = view.getUint8(advance(1));
    const size = type === 6 || type === 7 ? view.getUint16(advance(2)) : SIZES[type];
    if (size === undefined) throw new FramingError(`a header of a message has the unknown type ${type}`);
    const from = advance(size);
    headers[name] = type === 7 ? text(from, at) : binaryValue(type, view, bytes.subarray(from, at));
  }
  return headers;
}

function binaryValue(type: number, view: DataView, bytes: Uint8Array): HeaderValue {
  const from = bytes.byteOffset - view.byteOffset;
  if (type === 0 || type === 1) return type === 0;
  if (type === 2) return view.getInt8(from);
  if (type === 3) return view.getInt16(from);
  if (type === 4) return view.getInt32(from);
  if (type === 5) return view.getBigInt64(from);
  if (type === 8) return new Date(Number(view.getBigInt64(from)));
  return bytes.slice();
}

/** A message with text headers, as AWS would frame it. */
export function formatAwsMessage(headers: Readonly<Record<string, string>>, payload: Uint8Array): Uint8Array {
  const parts = Object.entries(headers).map(([name, value]) => {
    const nameBytes = Buffer.from(name);
    const valueBytes = Buffer.from(value);
    const lengths = Buffer.from([7, valueBytes.length >> 8, valueBytes.length & 0xff]);
    return Buffer.concat([Buffer.from([nameBytes.length]), nameBytes, lengths, valueBytes]);
  });
  const headerBytes = Buffer.concat(parts);
  const message = Buffer.alloc(LEAST + headerBytes.length + payload.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(headerBytes.length, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  headerBytes.copy(message, PRELUDE);
  message.set(payload, PRELUDE + headerBytes.length);
  message.writeUInt32BE(crc32(message.subarray(0, message.length - 4)), message.length - 4);
  return message;
}
