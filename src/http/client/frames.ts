import { Malformed } from './failure.ts';

/** Kinds of frames (RFC 6455 section 5.2). */
export const OPCODE = { more: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

export interface Message {
  readonly opcode: number;
  readonly payload: Buffer;
}

const LAST = 0x80;
const MASKED = 0x80;
const RESERVED = 0x70;
const SHORT = 125;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
/** Control frames are above it. */
const CONTROL = 0x8;
const MASK_BYTES = 4;
const NOTHING = Buffer.alloc(0);

/** Reads what a server sends on a WebSocket. Holds no more than what has come of a message that is not whole yet. */
export class FrameReader {
  readonly #largest: number;
  #pieces: Buffer[] = [];
  #length = 0;
  #begun: { readonly opcode: number; readonly parts: Buffer[]; size: number } | null = null;

  constructor(largest: number) {
    this.#largest = largest;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#length += piece.byteLength;
  }

  /** The next message that is whole; null: more has to come. Throws `Malformed`. */
  next(): Message | null {
    for (;;) {
      const frame = this.#frame();
      if (frame === null) return null;
      const { opcode, payload, isLast } = frame;
      if (opcode >= CONTROL) return frame;
      if (opcode !== OPCODE.more) {
        if (this.#begun) throw new Malformed('a message began within another');
        if (isLast) return frame;
        this.#begun = { opcode, parts: [payload], size: payload.byteLength };
        continue;
      }
      const begun = this.#begun;
      if (!begun) throw new Malformed('a message went on that had not begun');
      begun.parts.push(payload);
      begun.size += payload.byteLength;
      if (begun.size > this.#largest) throw new Malformed('a message is too large');
      if (!isLast) continue;
      this.#begun = null;
      return { opcode: begun.opcode, payload: Buffer.concat(begun.parts) };
    }
  }

  #frame(): (Message & { readonly isLast: boolean }) | null {
    const start = this.#peek(2);
    if (start === null) return null;
    const [first, second] = [start[0]!, start[1]!];
    if (first & RESERVED) throw new Malformed('a frame uses an extension that was not offered');
    if (second & MASKED) throw new Malformed('a frame of the server is masked');
    const opcode = first & 0x0f;
    const isLast = (first & LAST) !== 0;
    const given = second & 0x7f;
    if (opcode >= CONTROL && (given > SHORT || !isLast)) throw new Malformed('a control frame is too long or cut');
    const headLength = given === LENGTH_16 ? 4 : given === LENGTH_64 ? 10 : 2;
    const head = this.#peek(headLength);
    if (head === null) return null;
    const length =
      given === LENGTH_16 ? head.readUInt16BE(2) : given === LENGTH_64 ? Number(head.readBigUInt64BE(2)) : given;
    if (length > this.#largest) throw new Malformed('a message is too large');
    if (this.#length < headLength + length) return null;
    const bytes = this.#take(headLength + length);
    return { opcode, payload: bytes.subarray(headLength), isLast };
  }

  /** The first bytes, where so many have come. */
  #peek(size: number): Buffer | null {
    if (this.#length < size) return null;
    if (this.#pieces[0]!.byteLength < size) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0]!;
  }

  #take(size: number): Buffer {
    if (this.#pieces[0]!.byteLength < size) this.#pieces = [Buffer.concat(this.#pieces)];
    const [first] = this.#pieces;
    const taken = first!.subarray(0, size);
    this.#length -= size;
    if (first!.byteLength === size) this.#pieces.shift();
    else this.#pieces[0] = first!.subarray(size);
    return taken;
  }
}

/** Random bytes by the page: a call for each frame would cost more than masking a short one. */
const masks = new Uint32Array(1_024);
let nextMask = masks.length;

function newMask(): number {
  if (nextMask >= masks.length) {
    crypto.getRandomValues(masks);
    nextMask = 0;
  }
  return masks[nextMask++]!;
}

/** A message as a client sends it: in one frame, masked. */
export function clientFrame(opcode: number, content: string | Uint8Array = NOTHING): Buffer {
  const size = typeof content === 'string' ? Buffer.byteLength(content) : content.byteLength;
  const lengthBytes = size <= SHORT ? 0 : size < 65_536 ? 2 : 8;
  const head = 2 + lengthBytes + MASK_BYTES;
  // The payload begins at a word, so that it can be masked by words.
  const lead = (MASK_BYTES - (head % MASK_BYTES)) % MASK_BYTES;
  const bytes = Buffer.allocUnsafeSlow(lead + head + size);
  const frame = bytes.subarray(lead);
  frame[0] = LAST | opcode;
  frame[1] = MASKED | (lengthBytes === 0 ? size : lengthBytes === 2 ? LENGTH_16 : LENGTH_64);
  if (lengthBytes === 2) frame.writeUInt16BE(size, 2);
  else if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(size), 2);
  const mask = newMask();
  frame.writeUInt32LE(mask, head - MASK_BYTES);
  if (typeof content === 'string') frame.write(content, head, 'utf8');
  else frame.set(content, head);
  maskPayload(bytes, lead + head, size, mask);
  return frame;
}

/** By words, which every machine that Bun runs on has with the lowest byte first. */
function maskPayload(bytes: Buffer, start: number, size: number, mask: number): void {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + start, size >> 2);
  for (let at = 0; at < words.length; at++) words[at]! ^= mask;
  for (let at = size & ~3; at < size; at++) bytes[start + at]! ^= (mask >>> (8 * (at & 3))) & 0xff;
}
