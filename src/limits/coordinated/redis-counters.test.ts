import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { chargeOf, reservationOf, settlementOf } from '../../../test/limits/counters-suite.ts';
import { startRedis, type TestRedis } from '../../../test/redis.ts';
import { connectRedis, type Redis } from '../../storage/redis.ts';
import { createRedisCounters, EpochLost, type RedisCounters } from './redis-counters.ts';
import { holdOf } from './redis-hold.ts';

const HOLD = 60_000;
const NOTHING = { counters: [], holds: [] };

let server: TestRedis;
let redis: Redis;
let counters: RedisCounters;
let tags = 0;

beforeAll(async () => {
  server = await startRedis();
  redis = connectRedis(server.url);
  await redis.whenUp(60_000);
});
beforeEach(() => {
  counters = createRedisCounters(redis, `test${tags++}`);
});
afterAll(async () => {
  redis.close();
  await server.stop();
});

const lost = async (work: Promise<unknown>) => expect(await work.catch((error) => error)).toBeInstanceOf(EpochLost);

test('nothing is counted in an epoch that was never opened, was withdrawn, or is not the last one', async () => {
  await lost(counters.reserve('1-a', reservationOf(chargeOf('rpm', 1, 10)), HOLD));
  await counters.load('1-a', NOTHING);
  await counters.check('1-a');
  await counters.load('2-b', NOTHING);
  await lost(counters.check('1-a'));
  await lost(counters.settle('1-a', settlementOf(reservationOf(chargeOf('rpm', 1, 10)))));
  await counters.withdraw('1-a');
  await counters.check('2-b');
  await counters.withdraw('2-b');
  for (const work of [
    counters.check('2-b'),
    counters.renew('2-b', ['x'], HOLD),
    counters.read('2-b', ['rpm']),
    counters.reset('2-b', ['rpm']),
    counters.due('2-b'),
    counters.endHold('2-b', holdOf(reservationOf(chargeOf('rpm', 1, 10)))),
  ])
    await lost(work);
});

test('a Redis that lost its memory admits nothing', async () => {
  await counters.load('1-a', NOTHING);
  await server.flush();

  await lost(counters.reserve('1-a', reservationOf(chargeOf('rpm', 1, 10)), HOLD));
});

test('an epoch is not opened when Redis loses its memory while it is filled', async () => {
  const forgetful: Redis = new Proxy(redis, {
    get: (target, name) => {
      const member = Reflect.get(target, name) as unknown;
      if (name !== 'eval') return typeof member === 'function' ? member.bind(target) : member;
      return async (...args: Parameters<Redis['eval']>) => {
        const answer = await target.eval(...args);
        if (args[2].includes('half')) await server.flush();
        return answer;
      };
    },
  });
  const filling = createRedisCounters(forgetful, 'flushed');
  const snapshot = { counters: [{ counter: 'half', used: 7, held: 0, endsAt: null }], holds: [] };

  await lost(filling.load('1-a', snapshot));
  await lost(filling.check('1-a'));
});

test('a reservation that is sent twice is held once', async () => {
  await counters.load('1-a', NOTHING);
  const reservation = reservationOf(chargeOf('tokens', 30, 40));

  await counters.reserve('1-a', reservation, HOLD);
  const { verdict } = await counters.reserve('1-a', reservation, HOLD);

  expect(verdict).toEqual({ admitted: true, used: [0], levels: [30] });
});

test('calls of one turn are decided together, and those that ended make room first', async () => {
  await counters.load('1-a', NOTHING);
  const running = reservationOf(chargeOf('tokens', 60, 100));
  await counters.reserve('1-a', running, HOLD);

  const asked = [30, 40, 20, 10, 1].map((amount) =>
    counters.reserve('1-a', reservationOf(chargeOf('other', 1, 10), chargeOf('tokens', amount, 100)), HOLD),
  );
  const settled = counters.settle('1-a', settlementOf(running, 10));
  const verdicts = (await Promise.all(asked)).map(({ verdict }) => verdict);
  await settled;

  expect(verdicts).toEqual([
    { admitted: true, used: [0, 10], levels: [1, 40] },
    { admitted: true, used: [0, 10], levels: [2, 80] },
    { admitted: true, used: [0, 10], levels: [3, 100] },
    { admitted: false, refused: [1], used: [0, 10], levels: [3, 100] },
    { admitted: false, refused: [1], used: [0, 10], levels: [3, 100] },
  ]);
  expect((await counters.read('1-a', ['other'])).get('other')).toEqual({ used: 0, held: 3 });
});

test('of more calls than one command takes, exactly as many pass as the limit says', async () => {
  await counters.load('1-a', NOTHING);
  const asked = Array.from({ length: 650 }, () =>
    counters.reserve('1-a', reservationOf(chargeOf('requests', 1, 450), chargeOf('tokens', 5, 1e9)), HOLD),
  );
  const admitted = (await Promise.all(asked)).filter(({ verdict }) => verdict.admitted);

  expect(admitted).toHaveLength(450);
  expect((await counters.read('1-a', ['tokens'])).get('tokens')).toEqual({ used: 0, held: 2_250 });
});

test('whatever is asked after a settlement sees it, also in the same turn', async () => {
  await counters.load('1-a', NOTHING);
  const running = reservationOf(chargeOf('tokens', 60, 100));
  await counters.reserve('1-a', running, HOLD);

  const settled = counters.settle('1-a', settlementOf(running, 7));
  const sums = await counters.read('1-a', ['tokens']);
  await settled;

  expect(sums.get('tokens')).toEqual({ used: 7, held: 0 });
});

test('when the counters are gone, every call of a turn is told, and nothing is counted', async () => {
  await counters.load('1-a', NOTHING);
  await counters.load('2-b', NOTHING);
  const reservations = [1, 2, 3].map((amount) => reservationOf(chargeOf('tokens', amount, 100)));

  const asked = reservations.map((reservation) => counters.reserve('1-a', reservation, HOLD));
  const settled = counters.settle('1-a', settlementOf(reservations[0]!));
  const current = counters.reserve('2-b', reservationOf(chargeOf('tokens', 9, 100)), HOLD);

  for (const work of [...asked, settled]) await lost(work);
  expect((await current).verdict).toEqual({ admitted: true, used: [0], levels: [9] });
});

test('what was loaded counts: sums, holds, and when they end', async () => {
  const ending = reservationOf(chargeOf('tokens', 30, 100));
  const going = reservationOf(chargeOf('tokens', 5, 100));
  await counters.load('1-a', {
    counters: [{ counter: 'tokens', used: 50, held: 35, endsAt: Date.now() + 60_000 }],
    holds: [
      { hold: holdOf(ending), leftMs: 0 },
      { hold: holdOf(going), leftMs: HOLD },
    ],
  });

  const { verdict, isDue } = await counters.reserve('1-a', reservationOf(chargeOf('tokens', 16, 100)), HOLD);
  expect({ verdict, isDue }).toEqual({
    verdict: { admitted: false, refused: [0], used: [50], levels: [85] },
    isDue: true,
  });
  const due = await counters.due('1-a');
  expect(due).toEqual([holdOf(ending)]);
  await counters.endHold('1-a', due[0]!);
  await counters.endHold('1-a', due[0]!);
  await counters.settle('1-a', settlementOf(going, 1));
  expect((await counters.read('1-a', ['tokens'])).get('tokens')).toEqual({ used: 81, held: 0 });
  await counters.settle('1-a', settlementOf(ending, 10));
  await counters.settle('1-a', settlementOf(ending, 10));
  expect((await counters.read('1-a', ['tokens'])).get('tokens')).toEqual({ used: 61, held: 0 });
});

test('sums are exact up to 2^53', async () => {
  await counters.load('1-a', NOTHING);
  const max = Number.MAX_SAFE_INTEGER;
  const large = reservationOf(chargeOf('cost', max - 10, max));
  await counters.reserve('1-a', large, HOLD);
  await counters.settle('1-a', settlementOf(large, max - 3));

  const { verdict } = await counters.reserve('1-a', reservationOf(chargeOf('cost', 3, max)), HOLD);

  expect(verdict).toEqual({ admitted: true, used: [max - 3], levels: [max] });
});

test('counters of windows go by themselves, those of budgets without reset stay', async () => {
  await counters.load('1-a', NOTHING);
  const window = { ...chargeOf('rpm@1', 1, 10), endsAt: Date.now() + 1_000 };
  await counters.reserve('1-a', reservationOf(window, chargeOf('budget', 1, 10)), HOLD);

  const client = new Bun.RedisClient(server.url);
  const ends = async (counter: string) =>
    client.pttl((await client.keys(`gateway:*test${tags - 1}}*:c:${counter}`))[0]!);
  expect(await ends('rpm@1')).toBeGreaterThan(1_000);
  expect(await ends('rpm@1')).toBeLessThan(3_600_000);
  expect(await ends('budget')).toBe(-1);
  client.close();
});

test('what former epochs left is removed, and nothing else', async () => {
  const other = createRedisCounters(redis, 'another-installation');
  await other.load('1-z', NOTHING);
  await counters.load('1-a', NOTHING);
  await counters.reserve('1-a', reservationOf(chargeOf('budget', 1, 10)), HOLD);
  await counters.load('2-b', NOTHING);
  await counters.reserve('2-b', reservationOf(chargeOf('budget', 1, 10)), HOLD);

  await counters.removeOthers('2-b');

  const client = new Bun.RedisClient(server.url);
  const left = await client.keys(`gateway:*test${tags - 1}}*`);
  client.close();
  expect(left.filter((key) => key.includes(':1-a:'))).toEqual([]);
  expect(left).toHaveLength(4);
  await counters.check('2-b');
  await other.check('1-z');
});
