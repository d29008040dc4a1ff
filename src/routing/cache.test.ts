import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CachedAnswer, createAnswerCache, createMemoryCache } from './cache.ts';
import { openSqliteCache } from './cache-stores.ts';

const folder = mkdtempSync(join(tmpdir(), 'gateway-answers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const now = () => 1_000;
const answer = (headers: Record<string, string> = {}): CachedAnswer => ({
  status: 200,
  headers,
  body: Buffer.from('{}'),
  storedAt: 0,
});

test('headers take room like bodies', () => {
  const cache = createMemoryCache({ now, mostBytes: 1 << 20 });
  const large = answer({ 'x-large': 'x'.repeat(60_000) });
  for (let index = 0; index < 100; index++) cache.set(String(index), large, 60_000);
  const kept = Array.from({ length: 100 }, (_, index) => cache.get(String(index))).filter((each) => each !== null);
  expect(kept.length).toBeLessThan(18);
  expect(kept.length).toBeGreaterThan(10);
});

test('whoever waits too long for another call asks for itself', async () => {
  const cache = createAnswerCache({ store: createMemoryCache({ now }), now, patienceMs: 5 });
  const asked = { maxAgeMs: 60_000, refresh: false, signal: new AbortController().signal };
  const stalled = await cache.turn('key', asked);
  const impatient = await cache.turn('key', asked);
  expect([stalled.hit, impatient.hit]).toEqual([null, null]);
});

test('whoever has left waits for nobody', async () => {
  const cache = createAnswerCache({ store: createMemoryCache({ now }), now, patienceMs: 60_000 });
  const asked = { maxAgeMs: 60_000, refresh: false };
  await cache.turn('key', { ...asked, signal: new AbortController().signal });
  expect((await cache.turn('key', { ...asked, signal: AbortSignal.abort() })).hit).toBe(null);
});

test('a damaged file of answers is begun again', () => {
  const file = join(folder, 'answers.db');
  writeFileSync(file, Buffer.alloc(10_000, 'no database'));
  const cache = openSqliteCache({ file, now });
  cache.set('key', answer(), 60_000);
  expect(cache.get('key')).toMatchObject({ status: 200 });
  cache.close();
});
