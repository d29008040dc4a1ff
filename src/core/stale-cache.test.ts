import { expect, test } from 'bun:test';
import { GatewayError } from './errors.ts';
import { StaleCache } from './stale-cache.ts';

function given(capacity = 10) {
  let now = 0;
  const cache = new StaleCache<string>({ capacity, freshMs: 100, staleMs: 1_000, now: () => now });
  const loads: string[] = [];
  const get = (key: string, answer: () => Promise<string | null> = async () => `${key}!`) =>
    cache.get(key, () => {
      loads.push(key);
      return answer();
    });
  const pass = (ms: number) => {
    now += ms;
  };
  return { cache, loads, get, pass };
}
const away = async () => {
  throw new GatewayError('store_unavailable', []);
};

test('a fresh value is answered without loading again, an old one is loaded again', async () => {
  const { cache, get, loads, pass } = given();
  await get('a');
  expect(cache.peek('a')).toBe('a!');
  await get('a');
  expect(loads).toEqual(['a']);
  pass(100);
  expect(cache.peek('a')).toBeUndefined();
  await get('a');
  expect(loads).toEqual(['a', 'a']);
});

test('while the store is away the old value serves, but not for ever', async () => {
  const { get, pass } = given();
  await get('a');
  pass(500);
  expect(await get('a', away)).toBe('a!');
  pass(500);
  expect(get('a', away)).rejects.toMatchObject({ code: 'store_unavailable' });
});

test('a failure of another kind is not hidden', async () => {
  const { get, pass } = given();
  await get('a');
  pass(500);
  expect(get('a', () => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug');
});

test('many who ask at once cause one load', async () => {
  const { get, loads } = given();
  await Promise.all(Array.from({ length: 50 }, () => get('a')));
  expect(loads).toEqual(['a']);
});

test('what was not found is asked for again, and pushes nothing out', async () => {
  const { cache, get, loads } = given(2);
  await get('a');
  for (let index = 0; index < 10; index++) await get('missing', async () => null);
  expect(loads.filter((key) => key === 'missing')).toHaveLength(10);
  expect(cache.peek('a')).toBe('a!');
});

test('the oldest goes when the cache is full', async () => {
  const { cache, get } = given(2);
  for (const key of ['a', 'b', 'c']) await get(key);
  expect([cache.peek('a'), cache.peek('b'), cache.peek('c')]).toEqual([undefined, 'b!', 'c!']);
});

test('a load that began before a change is not kept', async () => {
  const { cache, get } = given();
  const slow = Promise.withResolvers<string>();
  const loading = get('a', () => slow.promise);
  cache.clear();
  slow.resolve('from before');
  expect(await loading).toBe('from before');
  expect(cache.peek('a')).toBeUndefined();
});
