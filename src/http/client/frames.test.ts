import { describe, expect, test } from 'bun:test';
import { Malformed } from './failure.ts';
import { clientFrame, FrameReader, OPCODE } from './frames.ts';

/** A frame as a server sends it. */
function serverFrame(opcode: number, payload: string, { isLast = true } = {}): Buffer {
  const bytes = Buffer.from(payload);
  const head =
    bytes.byteLength < 126 ? Buffer.alloc(2) : bytes.byteLength < 65_536 ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = (isLast ? 0x80 : 0) | opcode;
  head[1] = head.byteLength === 2 ? bytes.byteLength : head.byteLength === 4 ? 126 : 127;
  if (head.byteLength === 4) head.writeUInt16BE(bytes.byteLength, 2);
  if (head.byteLength === 10) head.writeBigUInt64BE(BigInt(bytes.byteLength), 2);
  return Buffer.concat([head, bytes]);
}

function readAll(pieces: readonly Buffer[], largest = 1 << 20): string[] {
  const reader = new FrameReader(largest);
  const read: string[] = [];
  for (const piece of pieces) {
    reader.add(piece);
    for (let message = reader.next(); message; message = reader.next())
      read.push(`${message.opcode} ${message.payload.toString()}`);
  }
  return read;
}

describe('frames of a WebSocket', () => {
  test('are read the same wherever the bytes are cut, with pings between the parts of a message', () => {
    const sent = Buffer.concat([
      serverFrame(OPCODE.text, 'Hé'),
      serverFrame(OPCODE.text, 'one ', { isLast: false }),
      serverFrame(OPCODE.ping, 'there?'),
      serverFrame(OPCODE.more, 'two'),
      serverFrame(OPCODE.binary, 'x'.repeat(300)),
    ]);
    const whole = readAll([sent]);
    expect(whole).toEqual(['1 Hé', '9 there?', '1 one two', `2 ${'x'.repeat(300)}`]);
    for (let cut = 1; cut < sent.byteLength; cut++)
      expect(readAll([sent.subarray(0, cut), sent.subarray(cut)])).toEqual(whole);
    expect(readAll([...sent].map((byte) => Buffer.from([byte])))).toEqual(whole);
  });

  test.each([
    ['is masked', Buffer.from([0x81, 0x80, 0, 0, 0, 0])],
    ['uses an extension', Buffer.from([0xc1, 0x00])],
    ['goes on with nothing', serverFrame(OPCODE.more, 'x')],
    ['begins within another', Buffer.concat([serverFrame(1, 'x', { isLast: false }), serverFrame(1, 'y')])],
    ['is too large', serverFrame(OPCODE.text, 'x'.repeat(2_000))],
    ['is a ping that is cut', serverFrame(OPCODE.ping, 'x', { isLast: false })],
  ])('of a server that %s are refused', (_, bytes) => {
    expect(() => readAll([bytes], 1_000)).toThrow(Malformed);
  });

  test.each([0, 1, 125, 126, 127, 65_535, 65_536, 70_003])('of a client are masked: %d bytes', (size) => {
    const text = 'é'.repeat(size >> 1) + 'x'.repeat(size & 1);
    const frame = clientFrame(OPCODE.text, text);
    const lengthBytes = size < 126 ? 0 : size < 65_536 ? 2 : 8;
    const head = 2 + lengthBytes + 4;
    expect(frame[1]! & 0x80).toBe(0x80);
    expect(frame.byteLength).toBe(head + size);
    const mask = frame.subarray(head - 4, head);
    const payload = Buffer.from(frame.subarray(head).map((byte, at) => byte ^ mask[at & 3]!));
    expect(payload.toString()).toBe(text);
  });
});
