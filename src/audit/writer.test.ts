import { afterEach, expect, test } from 'bun:test';
import { record, testSealer } from '../../test/audit/records.ts';
import { GatewayError } from '../core/errors.ts';
import { createHealth } from '../core/health.ts';
import { type Db, openSqlite, type Store } from '../storage/store.ts';
import { AuditWriter } from './writer.ts';

const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

async function given() {
  const store = openSqlite(':memory:');
  stores.push(store);
  await store.migrate();
  const health = createHealth({ now: Date.now });
  const reported: string[] = [];
  let isAway = false;
  let inserts = 0;
  const insertInto: Db['insertInto'] = (table) => {
    inserts++;
    if (isAway) throw new GatewayError('store_unavailable', []);
    return store.db.insertInto(table);
  };
  const db = { insertInto } as Db;
  return {
    writer: new AuditWriter({
      onStored: () => {},
      store: { ...store, db },
      sealer: testSealer(),
      health,
      report: ({ id }) => reported.push(id),
    }),
    reported,
    degraded: () => health.snapshot().map(({ effect }) => effect),
    inserts: () => inserts,
    goAway: (value: boolean) => {
      isAway = value;
    },
    count: async () =>
      Number(
        (
          await store.db
            .selectFrom('audit_records')
            .select((select) => select.fn.countAll().as('n'))
            .executeTakeFirstOrThrow()
        ).n,
      ),
  };
}

test('records that come while others are written are written together', async () => {
  const { writer, inserts, count } = await given();

  await Promise.all(Array.from({ length: 500 }, () => writer.write(record('one'))));

  expect(await count()).toBe(500);
  expect(inserts()).toBeLessThan(6);
});

test('while the store is away nobody waits, and what came is written when it is back', async () => {
  const { writer, goAway, count, degraded } = await given();
  goAway(true);
  await Promise.all([writer.write(record('one')), writer.write(record('one'))]);
  await writer.write(record('one'));
  expect(await count()).toBe(0);
  expect(degraded()[0]).toContain('wait in memory');

  goAway(false);
  await writer.flush();

  expect(await count()).toBe(3);
  expect(degraded()).toEqual([]);
});

test('what would fill the memory is lost, and that is said', async () => {
  const { writer, goAway, degraded, count } = await given();
  goAway(true);
  const large = { request_body: JSON.stringify('x'.repeat(60_000)) };
  for (let number = 0; number < 600; number++) await writer.write(record('one', large));
  expect(degraded()[0]).toContain('being lost');

  goAway(false);
  await writer.flush();

  expect(await count()).toBeGreaterThan(500);
  expect(await count()).toBeLessThan(600);
});

test('a record is written once, however often it is told', async () => {
  const { writer, count } = await given();
  const one = record('one');

  await writer.write(one);
  await writer.write({ ...one, response_status_code: 503 });

  expect(await count()).toBe(1);
});

test('a record that the store does not take is told to the operator and holds up no other', async () => {
  const { writer, count, reported } = await given();
  const bad = record('one', { method: null as unknown as 'POST' });

  await writer.write(bad);
  await Promise.all([record('one'), { ...bad, id: 'another' }, record('one')].map((each) => writer.write(each)));

  expect(await count()).toBe(2);
  expect(reported).toEqual([bad.id, 'another']);
});
