import { expect, test } from 'bun:test';
import { crc32 } from 'node:zlib';
import { AwsEventStreamParser, formatAwsMessage } from './aws-event-stream.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const EVENT = { ':message-type': 'event', ':event-type': 'contentBlockDelta', ':content-type': 'application/json' };
const frames = ['{"p":"abc"}', '', '{"text":"言葉 🌊"}'].map((payload) => formatAwsMessage(EVENT, bytesOf(payload)));
const stream = Buffer.concat(frames);

function parse(pieces: readonly Uint8Array[]) {
  const parser = new AwsEventStreamParser();
  const messages = pieces.flatMap((piece) => parser.push(piece));
  return [...messages, ...parser.end()].map(({ headers, payload }) => ({
    headers,
    text: Buffer.from(payload).toString('utf8'),
  }));
}

/** A message with headers that are given as bytes, and right checksums. */
function frame(headers: Uint8Array, payload = bytesOf('{}')): Buffer {
  const message = Buffer.alloc(16 + headers.length + payload.length);
  message.writeUInt32BE(message.length, 0);
  message.writeUInt32BE(headers.length, 4);
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8);
  message.set(headers, 12);
  message.set(payload, 12 + headers.length);
  message.writeUInt32BE(crc32(message.subarray(0, -4)), message.length - 4);
  return message;
}

test('messages come out the same wherever the stream is cut', () => {
  const whole = parse([stream]);
  expect(whole).toEqual([
    { headers: EVENT, text: '{"p":"abc"}' },
    { headers: EVENT, text: '' },
    { headers: EVENT, text: '{"text":"言葉 🌊"}' },
  ]);
  for (let cut = 0; cut <= stream.length; cut++)
    expect(parse([stream.subarray(0, cut), stream.subarray(cut)])).toEqual(whole);
  expect(parse(Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(whole);
});

test('the published example of a message is read', () => {
  // The one message of the vendor's description of the format that has a header and a payload.
  const hex =
    '0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1';
  expect(parse([Buffer.from(hex, 'hex')])).toEqual([
    { headers: { 'content-type': 'application/json' }, text: "{'foo':'bar'}" },
  ]);
});

test('headers of every type are read', () => {
  const named = (name: string, type: number, ...value: number[]) => [name.length, ...bytesOf(name), type, ...value];
  const headers = Uint8Array.from([
    ...named('yes', 0),
    ...named('no', 1),
    ...named('byte', 2, 0xff),
    ...named('short', 3, 0x01, 0x00),
    ...named('int', 4, 0xff, 0xff, 0xff, 0xfe),
    ...named('long', 5, 0, 0, 0, 1, 0, 0, 0, 0),
    ...named('bytes', 6, 0, 2, 7, 8),
    ...named('text', 7, 0, 2, 0xc3, 0xb1),
    ...named('time', 8, 0, 0, 0, 0, 0, 0, 0x03, 0xe8),
    ...named('uuid', 9, ...Array.from({ length: 16 }, (_, index) => index)),
  ]);
  expect(parse([frame(headers)])[0]?.headers).toEqual({
    yes: true,
    no: false,
    byte: -1,
    short: 256,
    int: -2,
    long: 4294967296n,
    bytes: Uint8Array.of(7, 8),
    text: 'ñ',
    time: new Date(1000),
    uuid: Uint8Array.from({ length: 16 }, (_, index) => index),
  });
});

test('a flipped bit anywhere is noticed', () => {
  const [first] = frames;
  for (let at = 0; at < first!.length; at++) {
    const damaged = Buffer.from(first!);
    damaged[at]! ^= 1;
    expect(() => parse([damaged])).toThrow();
  }
});

test('a stream that ends inside a message, a message that is too large, and headers that are cut are refused', () => {
  expect(() => parse([stream.subarray(0, -1)])).toThrow('ended');
  const parser = new AwsEventStreamParser({ mostBytes: 100 });
  expect(() => parser.push(formatAwsMessage({}, new Uint8Array(200)))).toThrow('larger than 100');
  expect(() => parse([frame(Uint8Array.of(200, 1))])).toThrow('cut off');
  expect(() => parse([frame(Uint8Array.of(1, 0x61, 77))])).toThrow('unknown type 77');
});
