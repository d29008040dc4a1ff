import { expect, test } from 'bun:test';
import { GatewayError } from '../core/errors.ts';
import { cachedBy } from './cached-by.ts';
import type { Topic } from './changes.ts';

type Answer = () => Promise<string | null>;

function given(most = 10) {
  let now = 0;
  const handlers: [Topic, () => void][] = [];
  const changes = {
    subscribe: (topic: Topic, handler: () => void) => {
      handlers.push([topic, handler]);
      return () => {};
    },
  };
  const change = (topic: Topic) => {
    for (const [each, handler] of handlers) if (each === topic) handler();
  };
  const loads: string[] = [];
  const load = (key: string, answer: Answer) => {
    loads.push(key);
    return answer();
  };
  const options = { most, freshMs: 100, staleMs: 1_000, patienceMs: 20, now: () => now };
  const cache = cachedBy(changes, ['keys', 'users'], load, options);
  const get = (key: string, answer: Answer = async () => `${key}!`) => cache.get(key, answer);
  const pass = (ms: number) => {
    now += ms;
  };
  return { cache, change, loads, get, pass };
}
const away = async () => {
  throw new GatewayError('store_unavailable', []);
};

test('a change of one of its topics empties it, a change of another does not', async () => {
  const { cache, change, get } = given();
  for (const topic of ['keys', 'users'] as const) {
    for (const key of ['a', 'b']) await get(key);
    change('configs');
    expect([cache.peek('a'), cache.peek('b')]).toEqual(['a!', 'b!']);
    change(topic);
    expect([cache.peek('a'), cache.peek('b')]).toEqual([undefined, undefined]);
  }
});

test('after a change not even a store that is away brings the old value back', async () => {
  const { change, get } = given();
  await get('a');
  change('keys');
  expect(get('a', away)).rejects.toMatchObject({ code: 'store_unavailable' });
});

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

test('a store that is silent counts as away for callers with an old value, and for no others', async () => {
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

test('the value that was loaded longest ago goes when the cache is full', async () => {
  const { cache, get, pass } = given(2);
  for (const key of ['a', 'b']) await get(key);
  pass(100);
  for (const key of ['b', 'a', 'c']) await get(key);
  expect([cache.peek('a'), cache.peek('b'), cache.peek('c')]).toEqual(['a!', undefined, 'c!']);
});

test('a load that began before a change is not kept, and neither undoes nor splits one that began after it', async () => {
  const { cache, change, get, loads } = given();
  const [before, after] = [Promise.withResolvers<null>(), Promise.withResolvers<string>()];
  const old = get('a', () => before.promise);
  change('keys');
  const waiting = [get('a', () => after.promise)];
  before.resolve(null);
  expect(await old).toBeNull();
  waiting.push(get('a'));
  after.resolve('new');
  expect(await Promise.all(waiting)).toEqual(['new', 'new']);
  expect(loads).toEqual(['a', 'a']);
  expect(cache.peek('a')).toBe('new');

  const slow = Promise.withResolvers<string>();
  const loading = get('b', () => slow.promise);
  change('users');
  slow.resolve('from before');
  expect(await loading).toBe('from before');
  expect(cache.peek('b')).toBeUndefined();
});

test('of many unknown keys a few are loaded in one turn of the event loop, and all of them in the end', async () => {
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
