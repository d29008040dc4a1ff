import { describe, expect, test } from 'bun:test';
import { dataOf, EventCutter, EventTooLarge, withData, withoutData } from './events.ts';

const STREAMS = [
  'data: {"a":1}\n\ndata: {"b":2}\n\n',
  'id: 7\r\nretry: 10\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: hello\r\n\r\ndata: ü\r\n\r\n',
  'data: 1\r\rdata: 2\r\r',
  '\n\n\ndata: 1\n\n\n\ndata: 2\n\nid: 9\ndata: no end',
  ': only a comment\n\n',
  '\ufeffdata: 1\n\n',
  '',
];

const cutAll = (pieces: readonly Uint8Array[]) => {
  const cutter = new EventCutter();
  const events = pieces.flatMap((piece) => cutter.push(piece));
  const rest = cutter.end();
  return rest ? [...events, rest] : events;
};

describe('a stream that comes in pieces', () => {
  for (const stream of STREAMS) {
    test(`is the same put together, and has the same events, wherever it is cut: ${JSON.stringify(stream)}`, () => {
      const bytes = Buffer.from(stream);
      const data = (events: readonly Uint8Array[]) => events.map(dataOf).filter((each) => each !== null);
      const whole = data(cutAll([bytes]));
      for (let at = 0; at <= bytes.length; at++) {
        const events = cutAll([bytes.subarray(0, at), bytes.subarray(at)]);
        expect(Buffer.concat(events).equals(bytes)).toBe(true);
        expect(data(events)).toEqual(whole);
      }
      const single = cutAll([...bytes].map((byte) => Uint8Array.of(byte)));
      expect(Buffer.concat(single).equals(bytes)).toBe(true);
      expect(data(single)).toEqual(whole);
    });
  }
});

test('data of several lines is one text, and a field without a colon is an empty line of it', () => {
  expect(dataOf(Buffer.from('data: a\ndata\ndata:b\nevent: x\n\n'))).toBe('a\n\nb');
  expect(dataOf(Buffer.from('event: x\n: data: no\ndatabase: no\n\n'))).toBeNull();
});

test('other data takes the place of all data lines, and everything else stays', () => {
  const event = Buffer.from('id: 7\r\ndata: {"a":\r\ndata: 1}\r\nevent: message\r\n\r\n');
  expect(Buffer.from(withData(event, '{"b":2}')).toString()).toBe('id: 7\nevent: message\ndata: {"b":2}\n\n');
  expect(Buffer.from(withoutData(event)).toString()).toBe('id: 7\n: withheld\n\n');
});

test('whether a stream is between two events is known at every byte', () => {
  const cutter = new EventCutter();
  const states = [...Buffer.from('data: 1\n\ndata')].map((byte) => {
    cutter.push(Uint8Array.of(byte));
    return cutter.isBetween;
  });
  expect(states.map(Number).join('')).toBe('0000000010000');
  expect(new EventCutter().isBetween).toBe(true);
});

test('an event without an end fills no memory', () => {
  const strict = new EventCutter({ mostBytes: 100 });
  expect(() => strict.push(Buffer.from(`data: ${'x'.repeat(200)}`))).toThrow(EventTooLarge);
  const skipping = new EventCutter({ mostBytes: 100, skipsLarge: true });
  skipping.push(Buffer.from(`data: ${'x'.repeat(200)}`));
  expect(skipping.isBetween).toBe(false);
  expect(skipping.push(Buffer.from('\n\ndata: 1\n\n')).map(dataOf)).toEqual(['1']);
});
