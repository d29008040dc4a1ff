import { expect, test } from 'bun:test';
import { allOf, andThen, orElse } from './now-or-later.ts';

const next = (value: number) => value + 1;
const fails = () => {
  throw new Error('no');
};

test('what is at hand goes on at once, and what comes later goes on then', async () => {
  expect(andThen(1, next)).toBe(2);
  expect(await andThen(Promise.resolve(1), next)).toBe(2);
  expect(andThen(1, (value) => Promise.resolve(value))).toBeInstanceOf(Promise);
});

test('several are at hand when each of them is', async () => {
  expect(allOf([1, 2])).toEqual([1, 2]);
  expect(allOf([])).toEqual([]);
  expect(await allOf([1, Promise.resolve(2)])).toEqual([1, 2]);
});

test('work that fails is replaced, at once or later', async () => {
  expect(orElse(() => 1, fails)).toBe(1);
  expect(orElse(fails, () => 2)).toBe(2);
  expect(
    await orElse(
      () => Promise.reject(new Error('no')),
      () => 3,
    ),
  ).toBe(3);
});
