import { expect, test } from 'bun:test';
import { sql } from 'kysely';
import { fail } from '../../core/errors.ts';
import { openSqlite, type Store } from '../../storage/store.ts';
import type { RunBus } from './bus.ts';
import { DeltaWriter } from './delta-writer.ts';
import { BEGINNING, eventsAfter, insertEvents, rowOf } from './events.ts';

const RUN = 'run_1';
const bus = { hasOtherNodes: false } as RunBus;

/** A store that knows one run, of epoch 1, and little else of it. */
async function storeWithRun(): Promise<Store> {
  const store = openSqlite(':memory:');
  await store.migrate();
  await sql`pragma foreign_keys = off`.execute(store.db);
  const { rows } = await sql<{ name: string; type: string; needed: number }>`
    select name, type, "notnull" or pk as needed from pragma_table_info('runs')`.execute(store.db);
  const needed = rows.filter((column) => column.needed);
  const values = needed.map(({ name, type }) =>
    name === 'id' ? RUN : name === 'epoch' ? 1 : type === 'text' ? 'x' : 0,
  );
  await sql`insert into runs (${sql.join(needed.map(({ name }) => sql.ref(name)))})
    values (${sql.join(values)})`.execute(store.db);
  return store;
}

const piece = (seq: number, epoch = 1) => ({ name: 'thread.message.delta', data: String(seq), epoch, seq });
const written = async (store: Store) => (await eventsAfter(store.db, RUN, BEGINNING)).map(({ data }) => data);

async function until(condition: () => Promise<boolean>) {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 1_000) throw new Error('It did not happen.');
    await Bun.sleep(5);
  }
}

for (const [when, isCommitted] of [
  ['before it is committed', false],
  ['after it is committed, which the node cannot know', true],
] as const)
  test(`pieces whose write fails ${when} are written next time, each once`, async () => {
    const store = await storeWithRun();
    let failures = 0;
    const transaction: Store['transaction'] = async (work, options) => {
      if (failures > 0) return store.transaction(work, options);
      failures++;
      if (isCommitted) await store.transaction(work, options);
      return fail('store_unavailable');
    };
    const writer = new DeltaWriter({
      store: Object.create(store, { transaction: { value: transaction } }),
      bus,
      everyMs: 1,
    });
    writer.add(RUN, 1, piece(1));
    writer.add(RUN, 1, piece(2));
    await until(async () => failures === 1);
    writer.add(RUN, 1, piece(3));

    await until(async () => (await written(store)).length >= 3);
    expect(await written(store)).toEqual(['1', '2', '3']);
    await store.close();
  });

test('pieces of an epoch before do not go with those of the next', async () => {
  const store = await storeWithRun();
  const writer = new DeltaWriter({ store, bus, everyMs: 60_000 });
  writer.add(RUN, 1, piece(1, 0));
  writer.add(RUN, 1, piece(1));
  expect((await writer.take(RUN))?.events).toEqual([piece(1)]);
  await store.close();
});

test('pieces that come too late, when another node has said them again, are read by nobody', async () => {
  const store = await storeWithRun();
  const whole = { name: 'thread.message.completed', data: 'whole', epoch: 2, seq: 5 };
  await insertEvents(store.db, [
    rowOf(RUN, [piece(3, 2), piece(4, 2)], 1),
    rowOf(RUN, [whole], null),
    rowOf(RUN, [piece(1), piece(2)], 1),
    rowOf(RUN, [piece(9)], 0),
  ]);
  expect(await written(store)).toEqual(['9', '3', '4', 'whole']);
  await store.close();
});
