import { expect, test } from 'bun:test';
import { stepsOf } from '../../web/design/steps.ts';

test('lines behind a chart of counts stand at whole numbers, and behind any other wherever they fit', () => {
  expect(stepsOf([[1, null, 0], [12]])!.slice(0, 5)).toEqual([1, 2, 5, 10, 20]);
  expect(stepsOf([[1_000_000]])!.every(Number.isInteger)).toBe(true);
  expect(stepsOf([])).toBeDefined();
  expect(stepsOf([[1], [0.25]])).toBeUndefined();
});
