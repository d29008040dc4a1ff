import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { openLink } from '../../test/chaos/link.ts';
import { createEmptyDatabase } from '../../test/postgres.ts';
import { type AnyDb, type Engine, migrate } from './migrate.ts';
import { migrations } from './migrations.ts';
import { type Db, isUniqueViolation, openPostgres, openSqlite, type Store } from './store.ts';

/** One suite, both stores. */
function storeContract(engine: Engine, open: () => Promise<Store>) {
  describe(engine, () => {
    let store: Store;
    beforeAll(async () => {
      store = await open();
      await store.migrate();
    });
    afterAll(() => store.close());

    const fact = (name: string, value = 'x') => store.db.insertInto('facts').values({ name, value }).execute();
    const names = async () =>
      (await store.db.selectFrom('facts').select('name').orderBy('name').execute()).map((row) => row.name);

    test('migrations apply once', async () => {
      expect(await store.migrate()).toEqual([]);
      await store.ping();
    });

    test('a schema one step ahead is accepted, one further ahead is refused', async () => {
      const applied = (name: string) =>
        (store.db as unknown as AnyDb).insertInto('gateway_migrations').values({ name, applied_at: 'x' }).execute();
      await applied('9998-next');
      expect(await store.migrate()).toEqual([]);
      await applied('9999-after-next');
      expect(store.migrate()).rejects.toThrow('newer than this program');
      await (store.db as unknown as AnyDb).deleteFrom('gateway_migrations').where('name', 'like', '999%').execute();
    });

    test('two nodes that migrate at once apply each step once', async () => {
      const counted = {
        name: '0001-once',
        up: async (db: AnyDb) => void (await db.schema.createTable('made_once').addColumn('id', 'text').execute()),
      };
      const results = await Promise.all([1, 2, 3].map(() => migrate(store.db, engine, 'race_migrations', [counted])));
      expect(results.flat()).toEqual(['0001-once']);
    });

    test('a transaction that throws leaves nothing behind', async () => {
      const failing = store.transaction(async (db) => {
        await db.insertInto('facts').values({ name: 'half', value: 'done' }).execute();
        throw new Error('on purpose');
      });
      expect(failing).rejects.toThrow('on purpose');
      expect(await names()).not.toContain('half');
    });

    test('a transaction that need not wait for the disk is all or nothing, too, and the next one waits again', async () => {
      const waits = async (db: Db): Promise<boolean> => {
        if (engine === 'sqlite')
          return (await sql<{ synchronous: number }>`pragma synchronous`.execute(db)).rows[0]!.synchronous === 2;
        const { rows } = await sql<{ synchronous_commit: string }>`show synchronous_commit`.execute(db);
        return rows[0]!.synchronous_commit === 'on';
      };
      const failing = store.transaction(
        async (db) => {
          await db.insertInto('facts').values({ name: 'unflushed half', value: 'x' }).execute();
          throw new Error('on purpose');
        },
        { flush: 'later' },
      );
      expect(failing).rejects.toThrow('on purpose');
      const later = await store.transaction(
        async (db) => {
          await db.insertInto('facts').values({ name: 'unflushed', value: 'x' }).execute();
          return waits(db);
        },
        { flush: 'later' },
      );
      expect([later, await store.transaction(waits)]).toEqual([false, true]);
      expect((await names()).filter((name) => name.startsWith('unflushed'))).toEqual(['unflushed']);
    });

    test('concurrent transactions on one row are serialised', async () => {
      await fact('count', '0');
      await Promise.all(
        Array.from({ length: 20 }, () =>
          store.transaction(async (db) => {
            const query = db.selectFrom('facts').select('value').where('name', '=', 'count');
            const { value } = await (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirstOrThrow();
            await db
              .updateTable('facts')
              .set({ value: String(Number(value) + 1) })
              .where('name', '=', 'count')
              .execute();
          }),
        ),
      );
      const { value } = await store.db
        .selectFrom('facts')
        .select('value')
        .where('name', '=', 'count')
        .executeTakeFirstOrThrow();
      expect(value).toBe('20');
    });

    test('text ids compare bytewise', async () => {
      for (const name of ['sort-b', 'sort-B', 'sort-a', 'sort-_', 'sort-1']) await fact(name);
      expect((await names()).filter((name) => name.startsWith('sort-'))).toEqual([
        'sort-1',
        'sort-B',
        'sort-_',
        'sort-a',
        'sort-b',
      ]);
    });

    test('64-bit numbers and counts come back as numbers', async () => {
      const created_at = 1_794_711_568_049;
      await store.db.insertInto('organisations').values({ id: 'big', name: 'n', created_at }).execute();
      const row = await store.db
        .selectFrom('organisations')
        .selectAll()
        .where('id', '=', 'big')
        .executeTakeFirstOrThrow();
      expect(row.created_at).toBe(created_at);
      const { total } = await store.db
        .selectFrom('organisations')
        .select((select) => select.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      expect(total).toBe(1);
    });

    test('a taken unique value is told apart from other failures', async () => {
      await fact('taken');
      const again = await fact('taken').catch((error: unknown) => error);
      expect(isUniqueViolation(again)).toBe(true);
      expect(isUniqueViolation(new Error('other'))).toBe(false);
    });

    test('text survives as it was, in every script', async () => {
      const value = 'naïve ✓ 漢字 😀 \'"; drop table facts; --';
      await fact('script', value);
      const row = await store.db
        .selectFrom('facts')
        .select('value')
        .where('name', '=', 'script')
        .executeTakeFirstOrThrow();
      expect(row.value).toBe(value);
    });
  });
}

storeContract('sqlite', async () => openSqlite(':memory:'));
storeContract('postgres', async () => openPostgres(await createEmptyDatabase()));

test('a connection that the server ends between two statements fails its transaction and nothing else', async () => {
  const store = await openPostgres(await createEmptyDatabase());
  const cut = store.transaction(async (db) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
    await sql`select pg_terminate_backend(${rows[0]!.pid})`.execute(store.db);
    await Bun.sleep(100);
    await sql`select 1`.execute(db);
  });

  await expect(cut).rejects.toMatchObject({ code: 'store_unavailable' });
  await sql`select 1`.execute(store.db);
  await store.close();
});

test('a store that is not there says store_unavailable', async () => {
  const store = await openPostgres('postgres://nobody@127.0.0.1:1/none');
  expect(store.ping()).rejects.toMatchObject({ code: 'store_unavailable', status: 503 });
  expect(store.transaction(async () => {})).rejects.toMatchObject({ code: 'store_unavailable' });
  await store.close();
});

test('the database of a LiteLLM proxy is refused before anything is written there', async () => {
  const store = await openPostgres(await createEmptyDatabase());
  await sql`create table "LiteLLM_VerificationToken" (token text)`.execute(store.db);

  await expect(store.migrate()).rejects.toThrow('DATABASE_URL is the database of a LiteLLM proxy');

  const { rows } = await sql`select * from information_schema.tables where table_schema = 'public'`.execute(store.db);
  expect(rows).toHaveLength(1);
  await store.close();
});

test('migration names are unique and sorted', () => {
  const all = migrations.map(({ name }) => name);
  expect(all).toEqual([...new Set(all)].sort());
});

test('a database that has fallen silent does not answer a ping, and does not let whoever asks wait', async () => {
  const url = new URL(await createEmptyDatabase());
  const link = await openLink(Number(url.port));
  url.port = String(link.port);
  const store = await openPostgres(url.href);
  await store.migrate();
  link.cut('blackhole');
  const askedAt = performance.now();

  expect(await store.ping().catch((error: unknown) => error)).toMatchObject({ code: 'store_unavailable' });

  expect(performance.now() - askedAt).toBeLessThan(10_000);
  link.restore();
  await store.ping();
  await store.close();
  link.close();
});
