import { afterEach, beforeEach, expect, test } from 'bun:test';
import { groupedStore } from './grouped.ts';
import { type Db, openSqlite, type Store } from './store.ts';

let plain: Store;
let commits = 0;
let store: Store;

beforeEach(async () => {
  plain = openSqlite(':memory:');
  await plain.migrate();
  commits = 0;
  const counted: Store = {
    ...plain,
    transaction: (work, who) => {
      commits++;
      return plain.transaction(work, who);
    },
  };
  store = groupedStore(counted);
});
afterEach(() => plain.close());

const write = (db: Db, name: string) => db.insertInto('facts').values({ name, value: 'written' }).execute();
const written = async () =>
  (await plain.db.selectFrom('facts').select('name').orderBy('name').execute()).map(({ name }) => name);

test('transactions that wait are committed together, in their order, and each gets its own answer', async () => {
  const answers = await Promise.all(
    Array.from({ length: 150 }, (_, number) =>
      store.transaction(async (db) => {
        await write(db, `fact ${String(number).padStart(3, '0')}`);
        return (await db.selectFrom('facts').select('name').execute()).length;
      }),
    ),
  );

  expect(answers).toEqual(Array.from({ length: 150 }, (_, number) => number + 1));
  // The first went alone: no other transaction was waiting yet.
  expect(commits).toBe(3);
});

test('one that fails takes back its own writes and nobody elses', async () => {
  const outcomes = await Promise.allSettled(
    ['a', 'b', 'c', 'd'].map((name) =>
      store.transaction(async (db) => {
        await write(db, name);
        if (name === 'b') throw new Error('not b');
        if (name === 'c') await write(db, 'a');
      }),
    ),
  );

  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect((outcomes[1] as PromiseRejectedResult).reason.message).toBe('not b');
  expect(await written()).toEqual(['a', 'd']);
});

test('when the commit fails, all of them fail', async () => {
  const broken = groupedStore({
    ...plain,
    transaction: async (work) => {
      await plain.transaction(async (db) => {
        await work(db);
        throw new Error('the disk is full');
      });
      throw new Error('never');
    },
  });

  const outcomes = await Promise.allSettled(['a', 'b'].map((name) => broken.transaction((db) => write(db, name))));

  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await written()).toEqual([]);
});
