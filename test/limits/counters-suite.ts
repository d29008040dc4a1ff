import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Counters } from '../../src/limits/counters/counters.ts';
import { compareWithModel } from './counters-model.ts';
import {
  type CountersBench,
  chargeOf,
  entryOf,
  HOLD,
  newId,
  reservationOf,
  restart,
  settlementOf,
} from './reservations.ts';

export {
  type CountersBench,
  chargeOf,
  entryOf,
  randomFrom,
  reservationOf,
  settlementOf,
} from './reservations.ts';

/** One suite for everything that counts. `open` answers counters that nobody has used. */
export function countersContract(name: string, open: () => Promise<CountersBench>): void {
  describe(name, () => {
    let bench: CountersBench;
    let counters: Counters;
    beforeEach(async () => {
      bench = await open();
      counters = bench.counters;
    });
    afterEach(() => bench.close());

    const level = async (counter: string) => {
      await counters.flush();
      return (await counters.read([counter])).get(counter) ?? { used: 0, held: 0 };
    };
    const row = async (id: string) => {
      await counters.flush();
      return (await bench.ledger()).find((one) => one.id === id);
    };
    /** Any reserve ends holds that are due. */
    const endHolds = async (ms: number) => {
      await bench.passTime(ms);
      await counters.reserve(reservationOf(chargeOf('elsewhere', 1, 1e9)), HOLD);
    };

    test('of 200 parallel calls exactly as many are admitted as the limit says', async () => {
      const verdicts = await Promise.all(
        Array.from({ length: 200 }, () => counters.reserve(reservationOf(chargeOf('rpm', 1, 50)), HOLD)),
      );

      expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(50);
      expect(await level('rpm')).toEqual({ used: 0, held: 50 });
    });

    test('several nodes together admit exactly as many calls as the limit says', async () => {
      const nodes = [counters, ...bench.others];

      const verdicts = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          nodes[index % nodes.length]!.reserve(
            // In changing order, so that a node that locks them as they come would wait for another for ever.
            index % 2
              ? reservationOf(chargeOf('a', 2, 100), chargeOf('b', 1, 1_000))
              : reservationOf(chargeOf('b', 1, 1_000), chargeOf('a', 2, 100)),
            HOLD,
          ),
        ),
      );

      expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(50);
      expect(await level('a')).toEqual({ used: 0, held: 100 });
      expect(await level('b')).toEqual({ used: 0, held: 50 });
    });

    test('a call that one limit refuses is counted by none', async () => {
      await counters.reserve(reservationOf(chargeOf('full', 10, 10)), HOLD);

      const verdict = await counters.reserve(
        reservationOf(chargeOf('roomy', 5, 100), chargeOf('full', 1, 10), chargeOf('other', 2, 1)),
        HOLD,
      );

      expect(verdict).toEqual({ admitted: false, refused: [1, 2], used: [0, 0, 0], levels: [0, 10, 0] });
      expect(await level('roomy')).toEqual({ used: 0, held: 0 });
    });

    test('an admitted call is told how full its counters are', async () => {
      const first = reservationOf(chargeOf('tokens', 30, 100));
      await counters.reserve(first, HOLD);
      counters.settle(settlementOf(first, 20));

      const verdict = await counters.reserve(
        reservationOf(chargeOf('tokens', 50, 100), chargeOf('requests', 1, 3)),
        HOLD,
      );

      expect(verdict).toEqual({ admitted: true, used: [20, 0], levels: [70, 1] });
    });

    test('a settlement makes room at once for the next call of the same node', async () => {
      for (let index = 0; index < 20; index++) {
        const reservation = reservationOf(chargeOf('tight', 100, 119));
        expect((await counters.reserve(reservation, HOLD)).admitted).toBe(true);
        counters.settle(settlementOf(reservation, 1));
      }

      expect(await level('tight')).toEqual({ used: 20, held: 0 });
    });

    test('an amount of 0 is admitted until the limit is spent', async () => {
      const unknown = () => reservationOf(chargeOf('cost', 0, 100));
      const first = unknown();
      expect((await counters.reserve(first, HOLD)).admitted).toBe(true);
      expect(await level('cost')).toEqual({ used: 0, held: 0 });
      counters.settle(settlementOf(first, 100));

      expect((await counters.reserve(unknown(), HOLD)).admitted).toBe(false);
    });

    test('a call is settled once', async () => {
      const reservation = reservationOf(chargeOf('tokens', 30, 100), chargeOf('requests', 1, 10));
      await counters.reserve(reservation, HOLD);

      counters.settle(settlementOf(reservation, 12, 1));
      counters.settle(settlementOf(reservation, 29, 1));
      await counters.flush();
      counters.settle(settlementOf(reservation, 28, 1));

      expect(await level('tokens')).toEqual({ used: 12, held: 0 });
      expect(await level('requests')).toEqual({ used: 1, held: 0 });
      expect(await row(reservation.id)).toMatchObject({ state: 'final', output_tokens: 7, settled: 1 });
    });

    test('a call that takes more than its estimate is charged, and the next one refused', async () => {
      const reservation = reservationOf(chargeOf('tokens', 30, 100));
      await counters.reserve(reservation, HOLD);
      counters.settle(settlementOf(reservation, 130));

      expect((await counters.reserve(reservationOf(chargeOf('tokens', 1, 100)), HOLD)).admitted).toBe(false);
      expect(await level('tokens')).toEqual({ used: 130, held: 0 });
    });

    test('calls without limits get their row in the ledger', async () => {
      const entry = entryOf(newId(), { state: 'final', cost: null, model: null, virtual_key: null });
      counters.settle({ id: entry.id, charges: [], entry });

      expect(await row(entry.id)).toEqual({ ...entry, charges: '[]', settled: 1 });
    });

    test('a model name that no database takes does not hold up the ledger', async () => {
      const bad = reservationOf(chargeOf('tokens', 1, 100));
      const estimate = entryOf(bad.id, { model: `a\0b\ud800${'x'.repeat(5_000)}` });
      expect((await counters.reserve({ ...bad, estimate }, HOLD)).admitted).toBe(true);
      counters.settle({ ...settlementOf(bad), entry: { ...estimate, state: 'final' } });
      const good = entryOf(newId());
      counters.settle({ id: good.id, charges: [], entry: good });

      expect((await row(bad.id))?.model).toStartWith('a\ufffdb\ufffdxxx');
      expect(await row(good.id)).toBeDefined();
    });

    test('a hold that ends counts at its estimate and gets an estimated row', async () => {
      const reservation = reservationOf(chargeOf('tokens', 30, 100));
      await counters.reserve(reservation, HOLD);

      await endHolds(HOLD + 1);

      expect(await level('tokens')).toEqual({ used: 30, held: 0 });
      expect(await row(reservation.id)).toMatchObject({ state: 'estimated', output_tokens: 100, settled: 0 });
    });

    test('a settlement that comes late corrects what was counted', async () => {
      const reservation = reservationOf(chargeOf('tokens', 30, 100));
      await counters.reserve(reservation, HOLD);
      await endHolds(HOLD + 1);
      await counters.flush();

      counters.settle(settlementOf(reservation, 12));
      counters.settle(settlementOf(reservation, 99));

      expect(await level('tokens')).toEqual({ used: 12, held: 0 });
      expect(await row(reservation.id)).toMatchObject({ state: 'final', output_tokens: 7, settled: 1 });
    });

    test('a settlement corrects also when the row of the ended hold is still on its way', async () => {
      const reservation = reservationOf(chargeOf('tokens', 30, 100));
      await counters.reserve(reservation, HOLD);
      await endHolds(HOLD + 1);

      counters.settle(settlementOf(reservation, 45));

      expect(await level('tokens')).toEqual({ used: 45, held: 0 });
      expect(await row(reservation.id)).toMatchObject({ state: 'final', settled: 1 });
    });

    test('a hold that is renewed goes on', async () => {
      const reservation = reservationOf(chargeOf('tokens', 30, 100));
      await counters.reserve(reservation, HOLD);
      await bench.passTime(HOLD - 10_000);
      await counters.renew([reservation.id, 'unknown'], HOLD);

      await endHolds(HOLD - 10_000);

      expect(await level('tokens')).toEqual({ used: 0, held: 30 });
    });

    test('a reset starts again from 0 and keeps what is held', async () => {
      const done = reservationOf(chargeOf('budget', 60, 100));
      await counters.reserve(done, HOLD);
      counters.settle(settlementOf(done, 50));
      const running = reservationOf(chargeOf('budget', 40, 100));
      await counters.reserve(running, HOLD);

      await restart(bench, counters, ['budget', 'never-used']);

      expect(await level('budget')).toEqual({ used: 0, held: 40 });
      counters.settle(settlementOf(running, 15));
      expect(await level('budget')).toEqual({ used: 15, held: 0 });
    });

    test('a correction of what a reset has forgotten leaves no credit', async () => {
      const reservation = reservationOf(chargeOf('budget', 60, 100));
      await counters.reserve(reservation, HOLD);
      await endHolds(HOLD + 1);
      await restart(bench, counters, ['budget']);

      counters.settle(settlementOf(reservation, 10));

      expect((await level('budget')).used).toBe(0);
    });

    test('windows do not mix', async () => {
      const now = Date.now();
      const first = { counter: 'rpm@1', amount: 1, max: 1, endsAt: now + 3_600_000 };
      const second = { counter: 'rpm@2', amount: 1, max: 1, endsAt: now + 7_200_000 };
      const early = reservationOf(first);
      expect((await counters.reserve(early, HOLD)).admitted).toBe(true);
      expect((await counters.reserve(reservationOf(first), HOLD)).admitted).toBe(false);

      expect((await counters.reserve(reservationOf(second), HOLD)).admitted).toBe(true);
      counters.settle(settlementOf(early));

      expect(await level('rpm@1')).toEqual({ used: 1, held: 0 });
      expect(await level('rpm@2')).toEqual({ used: 0, held: 1 });
    });

    for (const seed of [1, 2, 3, 4, 5]) {
      test(`does what a simple model does, in random order (seed ${seed})`, async () => {
        await compareWithModel(bench, seed);
      });
    }
  });
}
