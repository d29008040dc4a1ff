import { expect, test } from 'bun:test';
import { fallAsleep } from '../../test/awake.ts';
import { createDatabase } from '../../test/postgres.ts';
import { eventually } from '../../test/process.ts';
import { createHealth } from '../core/health.ts';
import { every, isQuiet, stir } from '../core/runtime/seconds.ts';
import { listen } from '../http/server.ts';
import { createChanges } from './changes.ts';
import { openPostgres, type Store } from './store.ts';
import { watchStore } from './watch-store.ts';

fallAsleep();

/** Long enough that nothing is noticed by asking. */
const NEVER_MS = 1_000_000;

test('a node that was quiet and told nothing knows of a change before it answers its next request', async () => {
  const url = await createDatabase();
  const store = await openPostgres(url);
  await store.migrate();
  const changes = createChanges({ store, databaseUrl: url, health: createHealth({ now: Date.now }), pollMs: NEVER_MS });
  await changes.start();
  let told = 0;
  changes.subscribe('keys', () => told++);
  await changes.transaction('keys', (db) => db.insertInto('facts').values({ name: 'known', value: 'x' }).execute());
  const seconds = every(1, () => {});
  const server = listen({
    host: '127.0.0.1',
    port: 0,
    answer: async () => new Response(String(told)),
    refuse: () => new Response('', { status: 503 }),
  });
  const heard = async () => Number(await (await fetch(server.url)).text());
  const before = await heard();
  await eventually('nobody has asked for a while', isQuiet, 60_000);

  // As if the notification had got lost.
  await store.db.updateTable('versions').set({ version: 1_000 }).where('topic', '=', 'keys').execute();
  expect(await heard()).toBe(before + 1);
  expect(stir()).toBeUndefined();

  await server.stop(0);
  seconds.stop();
  await changes.close();
  await store.close();
}, 120_000);

test('who asks for the health of a node that was quiet hears that its store went away meanwhile', async () => {
  let isThere = true;
  const ping = async () => {
    if (!isThere) throw new Error('away');
  };
  const health = createHealth({ now: Date.now });
  const watch = watchStore({ store: { ping } as unknown as Store, health });
  const server = listen({
    host: '127.0.0.1',
    port: 0,
    answer: async () => Response.json(health.snapshot().map(({ part }) => part)),
    refuse: () => new Response('', { status: 503 }),
  });
  const heard = async () => (await fetch(server.url)).json();
  expect(await heard()).toEqual([]);
  await eventually('nobody has asked for a while', isQuiet, 60_000);

  isThere = false;
  expect(await heard()).toEqual(['store']);

  await server.stop(0);
  watch.stop();
}, 120_000);
