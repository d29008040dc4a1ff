import { expect, test } from 'bun:test';
import { fallAsleep } from '../../test/awake.ts';
import { createDatabase } from '../../test/postgres.ts';
import { eventually } from '../../test/process.ts';
import { createHealth } from '../core/health.ts';
import { every, isQuiet, stir } from '../core/runtime/seconds.ts';
import { listen } from '../http/server.ts';
import { createChanges } from './changes.ts';
import { openPostgres } from './store.ts';

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
