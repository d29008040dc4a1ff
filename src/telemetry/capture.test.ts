import { expect, test } from 'bun:test';
import { BodyCapture, TAIL_BYTES } from './capture.ts';

const bytesOf = (size: number, seed = 0) => Uint8Array.from({ length: size }, (_, index) => (index * 31 + seed) % 251);
const joined = (capture: BodyCapture) => Buffer.concat(capture.pieces());

test('what fits the cap is kept whole, whatever the size of its chunks', () => {
  const body = bytesOf(50_000);
  for (const step of [1, 7, 100, 4_095, 4_096, 20_000, 50_000]) {
    const capture = new BodyCapture(50_000);
    for (let at = 0; at < body.length; at += step) capture.add(body.slice(at, at + step));
    expect(joined(capture).equals(body)).toBe(true);
    expect(capture.totalBytes).toBe(50_000);
    expect(capture.truncated).toBe(false);
  }
});

test('beyond the cap the first bytes and the last ones are kept, and all are counted', () => {
  const body = bytesOf(100_000);
  for (const step of [13, 1_000, 30_000, 100_000]) {
    const capture = new BodyCapture(10_000);
    for (let at = 0; at < body.length; at += step) capture.add(body.slice(at, at + step));
    expect(joined(capture).equals(body.subarray(0, 10_000))).toBe(true);
    expect(Buffer.from(capture.tail(10_000)!).equals(body.subarray(body.length - TAIL_BYTES))).toBe(true);
    expect(capture.totalBytes).toBe(100_000);
    expect(capture.truncated).toBe(true);
  }
});

test('a body just beyond the cap has a tail that reaches back into what was kept', () => {
  const body = bytesOf(10_500);
  const capture = new BodyCapture(10_000);
  capture.add(body.slice(0, 6_000));
  capture.add(body.slice(6_000));
  expect(Buffer.from(capture.tail(10_000)!).equals(body)).toBe(true);
});

test('large chunks are kept by reference', () => {
  const chunk = bytesOf(8_192);
  const capture = new BodyCapture(100_000);
  capture.add(chunk);
  expect(capture.pieces()[0]).toBe(chunk);
});

test('a small view does not keep its large buffer alive', () => {
  const large = new Uint8Array(1_000_000);
  const capture = new BodyCapture(100_000);
  capture.add(large.subarray(0, 5_000));
  expect(capture.pieces()[0]!.buffer).not.toBe(large.buffer);
});

test('the many small chunks of a stream end up in few pieces', () => {
  const capture = new BodyCapture(100_000);
  for (let index = 0; index < 500; index++) capture.add(bytesOf(100, index));
  expect(capture.pieces().length).toBeLessThan(12);
  expect(joined(capture).length).toBe(50_000);
});

test('the tail of a body in many pieces is its end, and null when the head is all of it', () => {
  const capture = new BodyCapture(100_000);
  const body = bytesOf(60_000);
  for (let at = 0; at < body.length; at += 5_000) capture.add(body.slice(at, at + 5_000));
  const head = capture.head(8_192);
  expect(Buffer.from(head).equals(body.subarray(0, 8_192))).toBe(true);
  expect(Buffer.from(capture.tail(head.byteLength)!).equals(body.subarray(-TAIL_BYTES))).toBe(true);
  expect(capture.tail(60_000)).toBeNull();
});
