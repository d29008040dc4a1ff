import { afterEach, describe, expect, test } from 'bun:test';
import { Client } from 'pg';
import { createDatabase } from '../../test/postgres.ts';
import { createHealth } from '../core/health.ts';
import { type Changes, createChanges } from './changes.ts';
import { openPostgres, openSqlite, type Store } from './store.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Node {
  readonly store: Store;
  readonly changes: Changes;
  readonly degraded: () => string[];
  /** How often this node heard that keys changed, since it started. */
  readonly heard: () => number;
}

async function startNode(databaseUrl: string | null, pollMs?: number): Promise<Node> {
  const store = databaseUrl ? await openPostgres(databaseUrl) : openSqlite(':memory:');
  await store.migrate();
  const health = createHealth({ now: Date.now });
  const changes = createChanges({ store, databaseUrl, health, pollMs });
  await changes.start();
  cleanups.push(async () => {
    await changes.close();
    await store.close();
  });
  let heard = 0;
  changes.subscribe('keys', () => heard++);
  return { store, changes, degraded: () => health.snapshot().map(({ part }) => part), heard: () => heard };
}

async function within(limitMs: number, isTrue: () => boolean) {
  const deadline = performance.now() + limitMs;
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`not within ${limitMs} ms`);
    await Bun.sleep(5);
  }
}

/** Cuts every listening connection of that database, as a failing server or network would. */
async function cutListeners(databaseUrl: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'gateway listener' and datname = current_database()`,
  );
  await client.end();
  return rowCount ?? 0;
}

/** Long enough that nothing is noticed by asking. */
const NEVER_MS = 1_000_000;
const fact = (name: string) => (db: Store['db']) =>
  db.insertInto('facts').values({ name, value: 'x' }).execute() as Promise<unknown>;

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(engine, () => {
    const given = async () => startNode(engine === 'postgres' ? await createDatabase() : null, NEVER_MS);

    test('a change is known to its own node when its transaction resolves, and once', async () => {
      const { changes, heard } = await given();

      await changes.transaction('keys', fact('a'));
      expect(heard()).toBe(1);
      await changes.transaction('configs', fact('b'));
      await Bun.sleep(100);

      expect(heard()).toBe(1);
    });

    test('a change that was rolled back is not announced', async () => {
      const { changes, heard, store } = await given();

      const failing = changes.transaction('keys', async () => {
        throw new Error('on purpose');
      });
      await expect(failing).rejects.toThrow('on purpose');
      const late = store.transaction(async (db) => {
        await changes.announce(db, 'keys');
        throw new Error('too late');
      });
      await expect(late).rejects.toThrow('too late');
      await Bun.sleep(100);

      expect(heard()).toBe(0);
    });

    test('a change announced in a transaction of somebody else is heard when that commits', async () => {
      const { changes, heard, store } = await given();

      await store.transaction(async (db) => {
        await fact('c')(db);
        await changes.announce(db, 'keys');
      });

      await within(1_000, () => heard() === 1);
    });

    test('a node that catches up has heard of what was announced before', async () => {
      const { changes, heard, store } = await given();

      await store.transaction((db) => changes.announce(db, 'keys'));
      await changes.catchUp();

      expect(heard()).toBe(1);
    });

    test('a text is received on its channel and no other, until nobody wants it', async () => {
      const { changes, store } = await given();
      const received: (string | null)[] = [];
      const end = changes.onNotify('work', (payload) => received.push(payload));
      changes.onNotify('other', (payload) => received.push(`wrong ${payload}`));

      // Listening begins a moment after it was asked for.
      for (let attempt = 0; received.length === 0 && attempt < 100; attempt++) {
        await changes.notify(store.db, 'work', 'run_1');
        await Bun.sleep(20);
      }
      end();
      await changes.notify(store.db, 'work', 'run_2');
      await Bun.sleep(100);

      expect([...new Set(received)]).toEqual(['run_1']);
    });
  });
}

test('another node hears of a change at once', async () => {
  const url = await createDatabase();
  const [a, b] = [await startNode(url, NEVER_MS), await startNode(url, NEVER_MS)];

  await Promise.all([1, 2, 3].map((number) => a.changes.transaction('keys', fact(`many ${number}`))));

  await within(1_000, () => b.heard() >= 1);
  expect([a.degraded(), b.degraded()]).toEqual([[], []]);
});

test('a node that does not hear notifications finds out by asking', async () => {
  const url = await createDatabase();
  const [a, b] = [await startNode(url, 100), await startNode(url, 100)];
  let isOver = false;
  const cutting = (async () => {
    while (!isOver) await cutListeners(url);
  })();
  await within(5_000, () => b.degraded().includes('notify'));
  const before = b.heard();

  await a.changes.transaction('keys', fact('unheard'));
  await within(3_000, () => b.heard() > before);

  isOver = true;
  await cutting;
  await within(10_000, () => b.degraded().length === 0);
});

test('what changed while the connection was cut is heard after it is back, and receivers are told to look', async () => {
  const url = await createDatabase();
  const [a, b] = [await startNode(url, NEVER_MS), await startNode(url, NEVER_MS)];
  const received: (string | null)[] = [];
  b.changes.onNotify('work', (payload) => received.push(payload));

  expect(await cutListeners(url)).toBe(2);
  await a.changes.transaction('keys', fact('meanwhile'));

  await within(10_000, () => b.heard() >= 1 && received.includes(null));
  expect(b.degraded()).toEqual([]);
});
