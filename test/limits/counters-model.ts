import { expect } from 'bun:test';
import type { Reservation, Settlement } from '../../src/limits/counters/counters.ts';
import {
  type CountersBench,
  chargeOf,
  HOLD,
  randomFrom,
  reservationOf,
  restart,
  settlementOf,
} from './reservations.ts';

interface ModelHold {
  readonly reservation: Reservation;
  endsAt: number;
}

/** What counters should do, in the plainest way. */
class Model {
  now = 0;
  readonly used = new Map<string, number>();
  readonly holds = new Map<string, ModelHold>();
  readonly ended = new Map<string, Reservation>();
  readonly settled = new Set<string>();

  held(counter: string): number {
    let sum = 0;
    for (const { reservation } of this.holds.values())
      for (const charge of reservation.charges) if (charge.counter === counter) sum += charge.amount;
    return sum;
  }

  add(counter: string, amount: number) {
    this.used.set(counter, Math.max(0, (this.used.get(counter) ?? 0) + amount));
  }

  reserve(reservation: Reservation): boolean {
    for (const [id, hold] of this.holds) {
      if (hold.endsAt > this.now) continue;
      this.holds.delete(id);
      this.ended.set(id, hold.reservation);
      for (const { counter, amount } of hold.reservation.charges) this.add(counter, amount);
    }
    const fits = reservation.charges.every(
      ({ counter, amount, max }) => (this.used.get(counter) ?? 0) + this.held(counter) + Math.max(1, amount) <= max,
    );
    if (fits) this.holds.set(reservation.id, { reservation, endsAt: this.now + HOLD });
    return fits;
  }

  settle({ id, charges }: Settlement) {
    if (this.settled.has(id)) return;
    this.settled.add(id);
    this.holds.delete(id);
    for (const { counter, actual } of charges) this.add(counter, actual);
    for (const { counter, amount } of this.ended.get(id)?.charges ?? []) this.add(counter, -amount);
    this.ended.delete(id);
  }
}

/** Random calls on counters and on the model; whatever differs fails the test. */
export async function compareWithModel(bench: CountersBench, seed: number) {
  const random = randomFrom(seed);
  const upTo = (most: number) => Math.floor(random() * (most + 1));
  const names = ['one', 'two', 'three'];
  const nodes = [bench.counters, ...bench.others];
  const model = new Model();
  const known: Reservation[] = [];
  for (let step = 0; step < 150; step++) {
    const counters = nodes[upTo(nodes.length - 1)]!;
    const choice = random();
    if (choice < 0.5) {
      const charges = names.filter(() => random() < 0.6).map((name) => chargeOf(name, upTo(40), 100 + upTo(300)));
      const reservation = reservationOf(...charges);
      if (charges.length === 0) continue;
      const { admitted } = await counters.reserve(reservation, HOLD);
      expect(`step ${step}: ${admitted}`).toBe(`step ${step}: ${model.reserve(reservation)}`);
      if (admitted) known.push(reservation);
    } else if (choice < 0.85 && known.length > 0) {
      const reservation = known[upTo(known.length - 1)]!;
      const settlement = settlementOf(reservation, ...reservation.charges.map(() => upTo(60)));
      counters.settle(settlement);
      model.settle(settlement);
      await counters.flush();
    } else if (choice < 0.9) {
      const ids = known.filter(() => random() < 0.3).map(({ id }) => id);
      await counters.renew(ids, HOLD);
      for (const id of ids) {
        const hold = model.holds.get(id);
        if (hold) hold.endsAt = model.now + HOLD;
      }
    } else if (choice < 0.97) {
      const ms = 1_000 * upTo(50);
      await bench.passTime(ms);
      model.now += ms;
    } else {
      const name = names[upTo(2)]!;
      await restart(bench, counters, [name]);
      model.used.set(name, 0);
    }
  }
  const probe = reservationOf(chargeOf('probe', 1, 1));
  await bench.counters.reserve(probe, HOLD);
  model.reserve(probe);
  for (const node of nodes) await node.flush();
  const levels = await bench.counters.read(names);
  for (const name of names) {
    const { used, held } = levels.get(name) ?? { used: 0, held: 0 };
    expect({ name, used, held }).toEqual({ name, used: model.used.get(name) ?? 0, held: model.held(name) });
  }
  const rows = await bench.ledger();
  expect(rows.map(({ id, settled }) => `${id} ${settled}`).sort()).toEqual(
    [...[...model.settled].map((id) => `${id} 1`), ...[...model.ended.keys()].map((id) => `${id} 0`)].sort(),
  );
}
