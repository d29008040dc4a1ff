import { expect, test } from 'bun:test';
import { median, percentile, short, span } from './numbers.ts';

test('the median of an even count lies between the two in the middle', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([9, 1, 5])).toBe(5);
});

test('a percentile is a value that was seen, by nearest rank', () => {
  const values = Array.from({ length: 200 }, (_, index) => index + 1);
  expect(percentile(values, 0.5)).toBe(100);
  expect(percentile(values, 0.99)).toBe(198);
  expect(percentile([7], 0.99)).toBe(7);
});

test('statistics of nothing are an error, not NaN', () => {
  expect(() => median([])).toThrow('median of nothing');
  expect(() => percentile([], 0.5)).toThrow('percentile of nothing');
});

test('numbers are shown with about three digits', () => {
  expect([1830.4, 21.44, 2.123, 0.0621, 0, -0.0312].map(short)).toEqual([
    '1,830',
    '21.4',
    '2.12',
    '0.062',
    '0',
    '-0.031',
  ]);
  expect(span([2, 1.5, 30])).toBe('1.50 to 30.0');
});
