import { describe, expect, test } from 'bun:test';
import { rangeOf } from './byte-range.ts';

describe('of 100 bytes', () => {
  for (const [header, start, end] of [
    ['bytes=0-0', 0, 1],
    ['bytes=10-19', 10, 20],
    ['bytes=90-', 90, 100],
    ['bytes=-10', 90, 100],
    ['bytes=-1000', 0, 100],
    ['bytes=50-1000', 50, 100],
    ['bytes=0-', 0, 100],
  ] as const) {
    test(`${header} is from ${start} to ${end}`, () => expect(rangeOf(header, 100)).toEqual({ start, end }));
  }

  for (const header of [null, '', 'bytes=', 'bytes=-', 'bytes=5-4', 'bytes=0-1,5-6', 'lines=0-1', 'bytes=a-b']) {
    test(`${header} is everything`, () => expect(rangeOf(header, 100)).toBeNull());
  }

  for (const header of ['bytes=100-', 'bytes=100-200', 'bytes=-0']) {
    test(`${header} is refused with the size`, () => {
      const refused = (() => {
        try {
          return rangeOf(header, 100);
        } catch (error) {
          return error;
        }
      })();
      expect(refused).toMatchObject({ status: 416, headers: { 'content-range': 'bytes */100' } });
    });
  }
});

test('of nothing, no range can be had', () => {
  expect(() => rangeOf('bytes=-5', 0)).toThrow('0 bytes');
  expect(() => rangeOf('bytes=0-', 0)).toThrow('0 bytes');
});
