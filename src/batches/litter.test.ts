import { expect, test } from 'bun:test';
import { Litter } from './litter.ts';

function counted(isInTheWay: () => boolean) {
  let collections = 0;
  const litter = new Litter({
    isInTheWay,
    collect: () => {
      collections++;
    },
  });
  return { litter, collections: () => collections };
}

test('memory is collected after so much was said, and then after as much again', () => {
  const { litter, collections } = counted(() => false);
  for (let made = 0; made < 100; made++) litter.add(1 << 20);
  expect(collections()).toBeGreaterThanOrEqual(4);
  expect(collections()).toBeLessThanOrEqual(25);
});

test('many small requests count, too', () => {
  const { litter, collections } = counted(() => false);
  for (let made = 0; made < 50_000; made++) litter.add(0);
  expect(collections()).toBeGreaterThanOrEqual(4);
});

test('nobody who calls a model waits for it', () => {
  let isCalled = true;
  const { litter, collections } = counted(() => isCalled);
  for (let made = 0; made < 100; made++) litter.add(1 << 20);
  expect(collections()).toBe(0);
  isCalled = false;
  for (let made = 0; made < 100; made++) litter.add(1 << 20);
  expect(collections()).toBeGreaterThan(0);
});
