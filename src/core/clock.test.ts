import { expect, test } from 'bun:test';
import { oncePerTurn } from './clock.ts';

test('a clock that is read once per turn stands still within it and goes on in the next', async () => {
  let time = 0;
  const clock = oncePerTurn(() => ++time);
  expect([clock(), clock()]).toEqual([1, 1]);
  await Promise.resolve();
  expect(clock()).toBe(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect([clock(), clock()]).toEqual([2, 2]);
});
