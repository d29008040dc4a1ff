import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { chargeOf, reservationOf, settlementOf } from '../../../test/limits/counters-suite.ts';
import { createDatabase, startPostgres, type TestPostgres } from '../../../test/postgres.ts';
import { fail, GatewayError } from '../../core/errors.ts';
import { openPostgres, openSqlite, type Store } from '../../storage/store.ts';
import { createPostgresCounters } from '../coordinated/postgres-counters.ts';
import type { Settlement } from '../counters/counters.ts';
import { postingOf, recordOfAll } from '../counters/posting.ts';
import { recordOf } from './journal.ts';
import { createLedger } from './ledger.ts';

let server: TestPostgres;
let store: Store;
let folder: string;
beforeAll(async () => {
  server = await startPostgres();
  store = await openPostgres(server.url);
  await store.migrate();
});
afterAll(async () => {
  await store.close();
  await server.remove();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-ledger-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (more: Partial<Parameters<typeof createLedger>[0]> = {}) =>
  createLedger({ store, folder, now: Date.now, ...more });
const call = (counter = 'tokens') => reservationOf(chargeOf(counter, 10, 1_000));
const used = async (counter: string, from = store) =>
  (await from.db.selectFrom('limit_counters').select('used').where('counter', '=', counter).executeTakeFirst())?.used;
const rowsOf = async (settlements: readonly Settlement[], from = store) => {
  const ids = settlements.map(({ id }) => id);
  return from.db.selectFrom('usage_ledger').selectAll().where('id', 'in', ids).execute();
};

const rowsIn = async <Row>({ db }: Store, text: string) => (await sql.raw<Row>(text).execute(db)).rows;

async function until(condition: () => Promise<boolean>) {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    if (await condition().catch(() => false)) return;
    await Bun.sleep(25);
  }
  throw new Error('It did not happen within a minute.');
}

test('what is settled while PostgreSQL is away is written when it is back, also by the next process', async () => {
  const settlements = Array.from({ length: 1_200 }, () => settlementOf(call('outage'), 1));
  const first = open();
  first.add(settlements[0]!);
  await first.flush();
  await server.stop();

  for (const settlement of settlements.slice(1, 700)) first.add(settlement);
  await first.flush();
  expect(readdirSync(folder).length).toBeGreaterThan(0);
  await first.close();
  const second = open();
  for (const settlement of settlements.slice(600)) second.add(settlement);
  await second.flush();
  await server.start();

  await until(async () => (await rowsOf(settlements)).length === settlements.length);
  await until(async () => (await used('outage')) === settlements.length);
  await second.close();
  expect(readdirSync(folder)).toEqual([]);
});

test('calls are refused with store_unavailable while PostgreSQL is away, and counted again when it is back', async () => {
  const counters = createPostgresCounters({ store, ledger: open(), node: 'one' });
  expect(await counters.reserve(call('away'), 60_000)).toMatchObject({ admitted: true });
  await server.stop();

  const refused = await Promise.resolve(counters.reserve(call('away'), 60_000)).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: 'store_unavailable', status: 503 });
  await server.start();

  await until(async () => (await counters.reserve(call('back'), 60_000)).admitted);
  await until(async () => (await counters.read(['away'])).get('away')?.held === 10);
  await counters.close();
});

test('a database that is silent refuses calls in time, and what it decides afterwards counts nothing', async () => {
  const counters = createPostgresCounters({ store, ledger: open(), node: 'one', answerWithinMs: 200 });
  await counters.reserve(call('silent'), 60_000);
  const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const locking = store.transaction(async (db) => {
    await sql`lock table limit_counters`.execute(db);
    locked.resolve();
    await released.promise;
  });
  await locked.promise;

  const refused = await Promise.allSettled([1, 2, 3].map(() => counters.reserve(call('silent'), 60_000)));
  released.resolve();
  await locking;

  for (const one of refused) expect(one).toMatchObject({ reason: { code: 'store_unavailable' } });
  await counters.flush();
  await until(async () => (await counters.read(['silent'])).get('silent')?.held === 10);
  expect(await used('silent')).toBe(0);
  await counters.close();
});

test('two nodes that settle or give up the same calls at once count each call once', async () => {
  const folders = [join(folder, 'a'), join(folder, 'b'), join(folder, 'c')];
  const ledgers = folders.map((one) => open({ folder: one }));
  const settlements = Array.from({ length: 300 }, (_, index) => settlementOf(call(`race-${index % 3}`), 7));

  for (const settlement of settlements) ledgers[0]!.add(settlement);
  for (const settlement of settlements.toReversed()) ledgers[1]!.add(settlement, { expired: true });
  for (const settlement of settlements) ledgers[2]!.add(settlement);
  await Promise.all(ledgers.map((ledger) => ledger.flush()));

  for (const counter of ['race-0', 'race-1', 'race-2']) expect(await used(counter)).toBe(700);
  expect((await rowsOf(settlements)).every(({ settled }) => settled === 1)).toBe(true);
  await Promise.all(ledgers.map((ledger) => ledger.close()));
});

test('a call that was given up before is settled also beside new ones that count for several limits', async () => {
  const ledger = open();
  const late = settlementOf(call('beside'), 7);
  ledger.add(late, { expired: true });
  await ledger.flush();
  const several = settlementOf(reservationOf(chargeOf('beside', 10, 1_000), chargeOf('beside too', 10, 1_000)), 5);
  ledger.add(several);
  ledger.add(late);
  await ledger.flush();

  expect(await used('beside')).toBe(12);
  expect((await rowsOf([late, several])).map(({ settled }) => settled)).toEqual([1, 1]);
  await ledger.close();
});

test('to settle new calls no earlier ones are read, before the server has looked at the ledger as well', async () => {
  const own = await openPostgres(await createDatabase());
  await own.migrate();
  const readings = async () => {
    const [table] = await rowsIn<{ added: number; readings: number }>(
      own,
      `select n_tup_ins::int as added, seq_scan::int as readings from pg_stat_user_tables where relname = 'usage_ledger'`,
    );
    return table!;
  };
  const ledger = createLedger({ store: own, folder, now: Date.now });
  const before = (await readings()).readings;
  for (let batch = 0; batch < 20; batch++) {
    for (let count = 0; count < 50; count++) ledger.add(settlementOf(call('many'), 1));
    await ledger.flush();
  }
  // Servers say what they did a moment later.
  await until(async () => (await readings()).added === 1_000);
  expect((await readings()).readings).toBe(before);
  await ledger.close();
  await own.close();
});

test('a row that the database refuses is set aside and does not hold up the others', async () => {
  const problems: string[] = [];
  const ledger = open({ report: (problem) => problems.push(problem) });
  const [good, bad, other] = [settlementOf(call('aside')), settlementOf(call('aside')), settlementOf(call('aside'))];
  ledger.add(good);
  ledger.add({ ...bad, entry: { ...bad.entry, cost: 0.5 } });
  ledger.add(other);
  await ledger.flush();

  expect((await rowsOf([good, bad, other])).map(({ id }) => id).sort()).toEqual([good.id, other.id].sort());
  expect(problems.join()).toContain('refused.jsonl');
  expect(readFileSync(join(folder, 'refused.jsonl'), 'utf8')).toContain(bad.id);
  await ledger.close();
});

test('counters that ended an hour ago are deleted, others are not', async () => {
  const at = (counter: string, ends_at: number | null) => ({ counter, used: 1, held: 0, ends_at });
  const rows = [at('prune-old', Date.now() - 3_700_000), at('prune-new', Date.now() - 60_000), at('prune-never', null)];
  await store.db.insertInto('limit_counters').values(rows).execute();
  const ledger = open();
  ledger.add(settlementOf(call('any')));
  await ledger.flush();

  await until(async () => (await used('prune-old')) === undefined);
  expect(await used('prune-new')).toBe(1);
  expect(await used('prune-never')).toBe(1);
  await ledger.close();
});

test('a catching up that failed goes on by itself, although it is not asked for again', async () => {
  const settlement = settlementOf(call('caught-up'), 3);
  let isAway = true;
  const silent = {
    getExecutor: () => ({
      transformQuery: (node: unknown) => node,
      compileQuery: () => ({}),
      executeQuery: () => Bun.sleep(100).then(() => fail('store_unavailable')),
    }),
  };
  const awayAtFirst: Store = Object.create(store, { db: { get: () => (isAway ? silent : store.db) } });
  const ledger = open({ store: awayAtFirst });
  ledger.add(settlement);
  await expect(ledger.catchUp()).rejects.toThrow(GatewayError);
  isAway = false;

  await until(async () => (await rowsOf([settlement])).length === 1);
  await ledger.close();
});

test('without a disk, settled calls go straight to the store', async () => {
  const embedded = openSqlite(':memory:');
  await embedded.migrate();
  const problems: string[] = [];
  const ledger = open({ store: embedded, report: (problem) => problems.push(problem) });
  rmSync(folder, { recursive: true, force: true });
  const settlement = settlementOf(call());
  ledger.add(settlement);
  await ledger.flush();

  expect(await rowsOf([settlement], embedded)).toHaveLength(1);
  expect(problems[0]).toContain('cannot be kept on disk');
  await ledger.close();
  await embedded.close();
});

test('nothing waits for another for ever when nodes reserve, settle and give up at once', async () => {
  const nodes = ['a', 'b', 'c'].map((node) =>
    createPostgresCounters({ store, ledger: open({ folder: join(folder, node) }), node, answerWithinMs: 60_000 }),
  );
  const names = ['w', 'x', 'y', 'z'];
  let admitted = 0;
  await Promise.all(
    nodes.map(async (counters, index) => {
      for (let round = 0; round < 40; round++) {
        const order = (round + index) % 2 ? names : names.toReversed();
        const one = reservationOf(...order.map((name) => chargeOf(name, 1, 1e6)));
        // Some end at once, and the next reservation counts them.
        if ((await counters.reserve(one, round % 4 === 0 ? 0 : 60_000)).admitted) admitted++;
        counters.settle(settlementOf(one, 2, 2, 2, 2));
      }
      await counters.flush();
    }),
  );

  const levels = await nodes[0]!.read(names);
  for (const name of names) expect({ name, ...levels.get(name) }).toEqual({ name, used: 240, held: 0 });
  expect(admitted).toBe(120);
  for (const node of nodes) await node.close();
});

test('files of gateways before this one are read', async () => {
  const [alone, first, second] = Array.from({ length: 3 }, () => settlementOf(call('former'), 5));
  const postings = [alone!, first!, second!].map((each) => postingOf(each, { expired: false }));
  const { counters: _, ...columns } = recordOfAll(postings.slice(1));
  const former = { ...columns, charges: postings.slice(1).map(({ charges }) => charges) };
  writeFileSync(join(folder, `000000000001-${process.pid}.journal`), recordOf(postings[0]) + recordOf(former));

  const ledger = open();
  await ledger.catchUp();
  await ledger.close();

  expect(await rowsOf([alone!, first!, second!])).toHaveLength(3);
  expect(await used('former')).toBe(15);
  expect(readdirSync(folder)).toEqual([]);
});
