import { expect, test } from 'bun:test';
import { BoundedMap } from './bounded-map.ts';

const among = (map: { has(key: string): boolean }, keys: readonly string[]) => keys.filter((key) => map.has(key));

test('when there is too much the oldest goes', () => {
  const map = new BoundedMap<string, number>(2);
  for (const key of ['a', 'b', 'c']) map.set(key, 1);
  expect(among(map, ['a', 'b', 'c'])).toEqual(['b', 'c']);
  expect(map.size).toBe(2);
});

test('what is set again is the youngest and pushes nothing out, what is only read is not', () => {
  const map = new BoundedMap<string, number>(2);
  for (const key of ['a', 'b', 'a']) map.set(key, 1);
  expect(among(map, ['a', 'b'])).toEqual(['a', 'b']);
  map.get('b');
  map.set('c', 1);
  expect(among(map, ['a', 'b', 'c'])).toEqual(['a', 'c']);
});

test('with weights as many go as are needed, and what is too heavy by itself is not kept', () => {
  const map = new BoundedMap<string, number>(10, (weight) => weight);
  for (const [key, weight] of [
    ['a', 4],
    ['b', 4],
    ['c', 2],
  ] as const)
    map.set(key, weight);
  expect(map.size).toBe(3);
  map.set('d', 6);
  expect(among(map, ['a', 'b', 'c', 'd'])).toEqual(['c', 'd']);
  map.set('d', 1);
  map.set('e', 7);
  expect(among(map, ['c', 'd', 'e'])).toEqual(['c', 'd', 'e']);
  map.set('f', 11);
  expect(map.size).toBe(0);
});

test('what is deleted or cleared makes room', () => {
  const map = new BoundedMap<string, number>(2);
  for (const key of ['a', 'b']) map.set(key, 1);
  expect([map.delete('a'), map.delete('a')]).toEqual([true, false]);
  map.set('c', 1);
  expect(among(map, ['b', 'c'])).toEqual(['b', 'c']);
  map.clear();
  expect([map.size, map.get('b')]).toEqual([0, undefined]);
  for (const key of ['d', 'e', 'f']) map.set(key, 1);
  expect(among(map, ['d', 'e', 'f'])).toEqual(['e', 'f']);
});

test('it holds what a list of the same rules holds, whatever is done', () => {
  let seed = 7;
  const below = (limit: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % limit;
  };
  const map = new BoundedMap<number, number>(20, (weight) => weight);
  let expected: { key: number; weight: number }[] = [];
  for (let step = 0; step < 20_000; step++) {
    const [key, weight] = [below(15), below(6)];
    expected = expected.filter((each) => each.key !== key);
    if (below(4) === 0) map.delete(key);
    else {
      map.set(key, weight);
      expected.push({ key, weight });
      while (expected.reduce((sum, each) => sum + each.weight, 0) > 20) expected.shift();
    }
    expect(map.size).toBe(expected.length);
    for (const each of expected) expect(map.get(each.key)).toBe(each.weight);
  }
});
