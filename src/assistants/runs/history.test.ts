import { expect, test } from 'bun:test';
import type { MessageRow, RunRow } from '../../storage/schema.ts';
import { openSqlite } from '../../storage/store.ts';
import { historyOf } from './history.ts';

const LENGTH = 1_000;
const nameOf = (number: number) => `msg_${String(number).padStart(6, '0')}`;

async function givenThread() {
  const store = openSqlite(':memory:');
  await store.migrate();
  const thread = { id: 'thread', workspace_id: 'workspace', tool_resources: '{}', metadata: '{}', created_at: 1 };
  await store.db
    .insertInto('threads')
    .values({ ...thread, deleted_at: null })
    .execute();
  const rows = Array.from(
    { length: LENGTH },
    (_, number): MessageRow => ({
      id: nameOf(number),
      thread_id: 'thread',
      user_id: null,
      role: number % 2 ? 'assistant' : 'user',
      status: 'completed',
      content: JSON.stringify([{ type: 'text', text: { value: `${number}`.padEnd(100, '.'), annotations: [] } }]),
      attachments: '[]',
      assistant_id: null,
      run_id: number === LENGTH - 1 ? 'run' : null,
      metadata: '{}',
      incomplete_reason: null,
      created_at: 1,
      completed_at: 1,
      incomplete_at: null,
      deleted_at: number === 5 ? 1 : null,
    }),
  );
  for (let at = 0; at < rows.length; at += 100)
    await store.db
      .insertInto('messages')
      .values(rows.slice(at, at + 100))
      .execute();
  return store;
}

const runWith = (truncation_strategy: object) =>
  ({ id: 'run', thread_id: 'thread', body: JSON.stringify({ truncation_strategy }) }) as RunRow;
const AUTO = runWith({ type: 'auto', last_messages: null });

const numbersIn = (sayings: readonly { text: string }[]) => sayings.map(({ text }) => Number.parseInt(text, 10));
const everything = [...Array(LENGTH).keys()].filter((number) => number !== 5 && number !== LENGTH - 1);

test('a history is all that was said before the run, oldest first', async () => {
  const store = await givenThread();
  expect(numbersIn(await historyOf(store.db, AUTO, Number.POSITIVE_INFINITY))).toEqual(everything);
  await store.close();
});

test('of one that cannot be kept, both ends are read and nothing twice', async () => {
  const store = await givenThread();
  const read = numbersIn(await historyOf(store.db, AUTO, 25_000));
  expect(read).toEqual(everything.filter((number) => read.includes(number)));
  expect(read.slice(0, 250)).toEqual(everything.slice(0, 250));
  expect(read.slice(-250)).toEqual(everything.slice(-250));
  expect(read.length).toBeLessThan(LENGTH - 100);
  // What was read from one end meets what was read from the other.
  expect(numbersIn(await historyOf(store.db, AUTO, 55_000))).toEqual(everything);
  await store.close();
});

test.each([1, 199, 200, 201, 400])('the last %d messages are exactly so many', async (last) => {
  const store = await givenThread();
  const read = await historyOf(store.db, runWith({ type: 'last_messages', last_messages: last }), 10);
  expect(numbersIn(read)).toEqual(everything.slice(-last));
  await store.close();
});

test('of images that stand in messages as data, no more is read than a process can hold', async () => {
  const store = await givenThread();
  const url = `data:image/png;base64,${'A'.repeat(40 << 20)}`;
  const content = JSON.stringify([{ type: 'image_url', image_url: { url, detail: 'auto' } }]);
  const large = [2, 990, 992, 996].map(nameOf);
  await store.db.updateTable('messages').set({ content }).where('id', 'in', large).execute();

  const last = await historyOf(store.db, runWith({ type: 'last_messages', last_messages: 20 }), 10);
  expect(numbersIn(last.slice(-2))).toEqual([997, 998]);
  expect(last.map(({ images }) => images)).toEqual([0, 0, 0, 1, 0, 0].slice(-last.length));

  const all = await historyOf(store.db, AUTO, Number.POSITIVE_INFINITY);
  expect(all.filter(({ images }) => images > 0)).toHaveLength(2);
  expect(numbersIn(all.slice(0, 2))).toEqual([0, 1]);
  await store.close();
});
