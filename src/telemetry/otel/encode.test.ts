import { expect, test } from 'bun:test';
import { nanosOf, ProtoWriter } from './encode.ts';

const written = (write: (writer: ProtoWriter) => void): Buffer => {
  const writer = new ProtoWriter();
  write(writer);
  return Buffer.from(writer.take());
};

test('moments are written to the nanosecond, without big numbers', () => {
  for (const ms of [0, 0.5, 1, 1_048_575.999999, 1_763_330_000_000.123, 763_330_000_000.9996, 4_102_444_800_000.25])
    expect(written((writer) => writer.nanos(7, ms)).readBigUInt64LE(1)).toBe(nanosOf(ms));
});

test('numbers of any size, texts of any length and any letters are written as Protocol Buffers have them', () => {
  const varint = (value: number) => written((writer) => writer.integer(1, value)).toString('hex');
  expect([0, 127, 128, 300, 2 ** 31 - 1, 2 ** 31, 2 ** 40].map(varint)).toEqual([
    '0800',
    '087f',
    '088001',
    '08ac02',
    '08ffffffff07',
    '088080808008',
    '08808080808020',
  ]);
  for (const text of ['', 'a', 'ä', 'x'.repeat(127), 'x'.repeat(128), 'ü'.repeat(100)]) {
    const bytes = written((writer) => writer.text(1, text));
    expect(bytes.subarray(bytes.length - Buffer.byteLength(text)).toString()).toBe(text);
  }
  // The same attribute three times: the third is a copy of the second.
  const thrice = written((writer) => {
    for (let time = 0; time < 3; time++) writer.attribute(9, 'key', 'välue');
  }).toString('hex');
  expect(thrice).toBe(thrice.slice(0, thrice.length / 3).repeat(3));
  const double = written((writer) => writer.doubleAttribute(9, 'key', 0.5)).toString('hex');
  expect(double).toBe('4a100a036b6579120921000000000000e03f');
});
