import { afterEach, beforeEach, expect, test } from 'bun:test';
import { sql } from 'kysely';
import {
  type LimitNode,
  type LimitNodeOptions,
  limitsModeOf,
  startLimitNode,
  until,
} from '../../../test/limit-nodes.ts';
import { chargeOf, reservationOf, settlementOf } from '../../../test/limits/counters-suite.ts';
import { createDatabase, startPostgres } from '../../../test/postgres.ts';
import { startRedis, type TestRedis } from '../../../test/redis.ts';
import { GatewayError } from '../../core/errors.ts';
import { openPostgres, type Store } from '../../storage/store.ts';
import type { Counters, Reservation } from '../counters/counters.ts';

const HOLD = 60_000;
const MAX = 50;

let redis: TestRedis;
let store: Store;
let nodes: LimitNode[];

beforeEach(async () => {
  redis = await startRedis();
  store = await openPostgres(await createDatabase());
  await store.migrate();
  nodes = [];
});
afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await store.close();
  await redis.stop();
});

async function start(options: Partial<LimitNodeOptions> = {}, from: Store = store): Promise<LimitNode> {
  const node = await startLimitNode(from, { redisUrl: redis.url, ...options });
  nodes.push(node);
  return node;
}

const startThree = () => Promise.all([start(), start(), start()]);
const counting = (where: string) => until(`${where} counts`, async () => (await limitsModeOf(store)) === where);
const budget = (amount = 1) => reservationOf(chargeOf('budget', amount, MAX));

/** Reserves as a patient client does: a 503 is tried again. */
async function patiently(counters: Counters, reservation: Reservation) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await counters.reserve(reservation, HOLD);
    } catch (error) {
      if (!(error instanceof GatewayError && error.status === 503) || attempt > 5) throw error;
    }
  }
}

/** What every node and the database say about the budget when nothing is going on. */
async function expectSpent(used: number) {
  for (const { counters } of nodes) await counters.flush();
  const rows = await store.db.selectFrom('usage_ledger').selectAll().execute();
  const added = rows.flatMap(({ charges }) => JSON.parse(charges) as [string, number, number | null][]);
  expect(added.reduce((sum, [, amount]) => sum + amount, 0)).toBe(used);
  const stored = await store.db.selectFrom('limit_counters').selectAll().execute();
  expect(stored).toEqual([{ counter: 'budget', used, held: 0, ends_at: null }]);
  // A node that has just moved to Redis tells it what it settled before.
  for (const { counters } of nodes)
    await until(`${used} are used and none held`, async () => {
      const level = (await counters.read(['budget'])).get('budget');
      return level?.used === used && level.held === 0;
    });
}

const disturbances: Record<string, () => Promise<void>> = {
  'nothing happens to Redis': async () => {},
  'Redis loses its memory': () => redis.flush(),
  'Redis dies and comes back empty': async () => {
    await redis.kill();
    await Bun.sleep(400);
    await redis.restart({ keepData: false });
  },
  'Redis dies and comes back with an old snapshot': async () => {
    await redis.kill();
    await redis.restart({ keepData: true });
  },
  'Redis freezes for a while': async () => {
    redis.pause();
    await Bun.sleep(1_500);
    redis.resume();
  },
  'Redis freezes for a moment': async () => {
    redis.pause();
    await Bun.sleep(300);
    redis.resume();
  },
};

for (const [what, disturb] of Object.entries(disturbances)) {
  test(`200 calls over three nodes take exactly what the budget allows while ${what}`, async () => {
    await startThree();
    await counting('redis');
    const admitted: { node: LimitNode; reservation: Reservation }[] = [];
    const call = async (number: number) => {
      const node = nodes[number % nodes.length]!;
      const reservation = budget();
      if (!(await patiently(node.counters, reservation)).admitted) return;
      admitted.push({ node, reservation });
      if (number % 2) node.counters.settle(settlementOf(reservation));
    };

    const calls: Promise<void>[] = [];
    let disturbed: Promise<void> | null = null;
    for (let number = 0; number < 200; number++) {
      calls.push(call(number));
      if (number === 15) await saved();
      if (number === 30) disturbed = disturb();
      if (number % 10 === 9) await Bun.sleep(5);
    }
    await Promise.all([...calls, disturbed]);

    expect(admitted).toHaveLength(MAX);
    await until('Redis counts again', async () => (await limitsModeOf(store)) === 'redis', 15_000);
    for (const { node, reservation } of admitted) node.counters.settle(settlementOf(reservation));
    await expectSpent(MAX);
    expect((await patiently(nodes[1]!.counters, budget())).admitted).toBe(false);
  });
}

/** What a Redis that comes back from disk will remember. */
async function saved() {
  const client = new Bun.RedisClient(redis.url);
  await client.send('SAVE', []);
  client.close();
}

test('calls that began in Redis and ended in PostgreSQL, or the other way round, are counted once', async () => {
  const [one, two] = await Promise.all([start(), start()]);
  await counting('redis');
  const before = budget(10);
  await one!.counters.reserve(before, HOLD);
  await redis.kill();
  const between = budget(10);
  expect(await patiently(two!.counters, between)).toEqual({ admitted: true, used: [0], levels: [20] });
  one!.counters.settle(settlementOf(before, 4));
  await redis.restart({ keepData: false });
  await counting('redis');

  two!.counters.settle(settlementOf(between, 5));

  await expectSpent(9);
});

test('an outage of Redis is said, and that it is over', async () => {
  const node = await start();
  await counting('redis');
  await until('nothing is wrong', () => node.health.snapshot().length === 0);

  await redis.kill();

  const said = () => node.health.snapshot().find(({ part }) => part === 'redis')?.effect;
  await until('Redis is said to be away', () => said() !== undefined);
  expect(said()).toContain('limits are counted in PostgreSQL');
  await redis.restart({ keepData: false });
  await until('Redis is said to be back', () => node.health.snapshot().length === 0);
});

test('while a node that may be alive keeps all from counting, that is said, and that it is over', async () => {
  const node = await start({ deadAfterMs: 1_000 });
  await counting('redis');
  const parts = () => node.health.snapshot().map(({ part }) => part);
  await sql`insert into limits_nodes (node, epoch, seen_at) values ('silent', 0, limits_now())`.execute(store.db);
  await redis.flush();

  const waiting = patiently(node.counters, budget());

  await until('it is said', () => parts().includes('limits'));
  expect((await waiting).admitted).toBe(true);
  await until('it is over', () => !parts().includes('limits'));
});

test('while one node has no Redis, none counts there', async () => {
  const first = await start();
  await counting('redis');
  await first.counters.reserve(budget(30), HOLD);

  const without = await startLimitNode(store, { redisUrl: null });

  expect(await patiently(without.counters, budget(30))).toMatchObject({ admitted: false, levels: [30] });
  expect(await limitsModeOf(store)).toBe('postgres');
  await without.close();
  await counting('redis');
  expect(await patiently(first.counters, budget(30))).toMatchObject({ admitted: false, levels: [30] });
});

test('nodes that talk to different Redis servers count in PostgreSQL and say why', async () => {
  const other = await startRedis();
  const [one, two] = [await start(), await start({ redisUrl: other.url })];

  await until('it is said', () => two.health.snapshot().some(({ effect }) => effect.includes('different')));

  expect((await patiently(one.counters, budget(30))).admitted).toBe(true);
  expect((await patiently(two.counters, budget(30))).admitted).toBe(false);
  await other.stop();
});

test('a Redis that throws keys away does not count', async () => {
  const client = new Bun.RedisClient(redis.url);
  await client.send('CONFIG', ['SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru']);
  client.close();
  const node = await start();

  expect((await patiently(node.counters, budget())).admitted).toBe(true);

  await until('it is said', () => node.health.snapshot().some(({ effect }) => effect.includes('maxmemory-policy')));
  expect(await limitsModeOf(store)).toBe('postgres');
});

test('holds of a node that was taken for dead are counted when it comes back', async () => {
  // It looks at the mode only when something fails, as a process does that was stopped and goes on.
  const sleeping = await start({ pollMs: 3_600_000 });
  const awake = await start({ deadAfterMs: 300 });
  await counting('redis');
  await sleeping.counters.reserve(budget(20), HOLD);
  await Bun.sleep(400);
  await redis.flush();
  expect(await patiently(awake.counters, budget(10))).toMatchObject({ admitted: true, levels: [10] });
  await counting('redis');

  expect(await patiently(sleeping.counters, budget(5))).toMatchObject({ admitted: true, levels: [35] });

  expect(await patiently(awake.counters, budget(20))).toMatchObject({ admitted: false, levels: [35] });
});

test('a hold that nobody settles ends at its estimate, whoever reserved it', async () => {
  const [dying, living] = await Promise.all([start(), start()]);
  await counting('redis');
  const reservation = budget(20);
  await dying!.counters.reserve(reservation, 1);

  await until('the hold has ended', async () => {
    const level = (await living!.counters.read(['budget'])).get('budget');
    return level?.used === 20 && level.held === 0;
  });

  await living!.counters.flush();
  const rows = await store.db.selectFrom('usage_ledger').selectAll().execute();
  expect(rows).toMatchObject([{ id: reservation.id, state: 'estimated', settled: 0 }]);
});

test('without PostgreSQL Redis goes on counting; without both, calls are told to come back', async () => {
  const postgres = await startPostgres();
  const own = await openPostgres(postgres.url);
  await own.migrate();
  const node = await startLimitNode(own, { redisUrl: redis.url, waitMs: 500 });
  await until('Redis counts', async () => (await limitsModeOf(own)) === 'redis');
  await until('this node knows', async () => {
    const probe = reservationOf(chargeOf('probe', 0, 1));
    return (await node.counters.reserve(probe, HOLD)).admitted && node.health.snapshot().length === 0;
  });

  await postgres.stop();
  const reservation = budget(20);
  expect((await node.counters.reserve(reservation, HOLD)).admitted).toBe(true);
  node.counters.settle(settlementOf(reservation));
  await node.counters.flush();
  await redis.kill();
  const refused = Promise.resolve(node.counters.reserve(budget(), HOLD));
  expect(await refused.catch((error: unknown) => error)).toMatchObject({
    code: 'limits_unavailable',
    status: 503,
    headers: { 'retry-after': '1' },
  });

  await postgres.start();
  expect(await patiently(node.counters, budget(1))).toMatchObject({ admitted: true, levels: [21] });
  await node.close();
  await own.close();
  await postgres.remove();
});
