import { expect, test } from 'bun:test';
import { GatewayError } from './errors.ts';
import { StaleCache } from './stale-cache.ts';

function given(capacity = 10) {
  let now = 0;
  const cache = new StaleCache<string>({ capacity, freshMs: 100, staleMs: 1_000, patienceMs: 20, now: () => now });
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

test('a store that is silent counts as away for those who have an old value, and for nobody else', async () => {
  const { get, loads, pass } = given();
  await get('a');
  pass(500);
  const silent = Promise.withResolvers<string>();
  expect(await get('a', () => silent.promise)).toBe('a!');
  const waiting = get('b', () => silent.promise);

  expect(await get('a')).toBe('a!');
  expect(loads).toEqual(['a', 'a', 'b']);
  silent.resolve('new');
  expect(await waiting).toBe('new');
  expect(await get('a')).toBe('new');
});

test('while the store is away only one waits for it, and the first answer ends that', async () => {
  const { get, pass } = given();
  for (const key of ['a', 'b']) await get(key);
  pass(500);
  await get('a', away);
  const silent = Promise.withResolvers<string>();
  // Only turns of this process's event loop pass here, so no time limit can run out.
  expect(await get('b', () => silent.promise)).toBe('b!');

  silent.resolve('b again');
  await silent.promise;
  await Promise.resolve();

  expect(await get('b')).toBe('b again');
  expect(await get('a', async () => 'a again')).toBe('a again');
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

test('of many whom nobody knows a few are loaded in one turn of the event loop, and all of them in the end', async () => {
  const { get, loads } = given(100);
  const all = Promise.all(Array.from({ length: 40 }, (_, index) => get(`key ${index}`)));
  const first = loads.length;
  expect(first).toBeLessThan(20);
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(loads.length).toBeGreaterThan(first);
  expect(loads.length).toBeLessThan(40);
  expect((await all).at(-1)).toBe('key 39!');
  expect(loads).toHaveLength(40);
});
