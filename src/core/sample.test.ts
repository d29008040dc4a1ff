import { expect, test } from 'bun:test';
import { type LeftOut, Sample } from './sample.ts';

const PERIOD_MS = 40;

function given(most: { perAddress: number; inAll: number }) {
  const told: LeftOut<string>[] = [];
  let leftOut = 0;
  const sample = new Sample<string>({
    ...most,
    periodMs: PERIOD_MS,
    now: Date.now,
    onLeftOut: () => leftOut++,
    tell: (each) => told.push(each),
  });
  const takes = (times: number, address: string, kind = 'a') =>
    Array.from({ length: times }, () => sample.takes(address, kind, kind)).filter(Boolean).length;
  return { sample, told, takes, leftOut: () => leftOut };
}

test('the first of each kind and address are taken, the others counted and told once', async () => {
  const { takes, told, leftOut } = given({ perAddress: 3, inAll: 100 });
  expect([takes(10, 'x'), takes(2, 'y'), takes(5, 'x', 'b')]).toEqual([3, 2, 3]);
  expect(leftOut()).toBe(9);
  expect(told).toEqual([]);
  await Bun.sleep(PERIOD_MS + 20);
  expect(told).toMatchObject([
    { kind: 'a', count: 7, addresses: [{ address: 'x', count: 7 }], fromOthers: 0 },
    { kind: 'b', count: 2 },
  ]);
});

test('addresses of one IPv6 network are one, and there is an end to all addresses together', () => {
  const { takes, sample, told } = given({ perAddress: 3, inAll: 10 });
  expect([takes(2, '2001:db8::1'), takes(2, '2001:db8::2')]).toEqual([2, 1]);
  const all = Array.from({ length: 5_000 }, (_, number) => takes(1, `10.0.${number >> 8}.${number & 255}`));
  expect(all.filter(Boolean)).toHaveLength(7);
  sample.flush();
  expect(told).toMatchObject([{ count: 4_994 }]);
  expect(told[0]!.addresses).toHaveLength(5);
  expect(told[0]!.addresses.reduce((sum, { count }) => sum + count, 0) + told[0]!.fromOthers).toBe(4_994);
});

test('while it goes on fewer are taken, and after a quiet period as many as before', async () => {
  const { takes } = given({ perAddress: 10, inAll: 100 });
  expect(takes(50, 'x')).toBe(10);
  await Bun.sleep(PERIOD_MS + 20);
  expect([takes(50, 'x'), takes(50, 'y')]).toEqual([1, 10]);
  // On a busy machine periods are longer than they should be; each look begins another.
  let taken = 0;
  for (let looks = 1; looks <= 10 && taken !== 10; looks++) {
    await Bun.sleep(looks * 3 * PERIOD_MS);
    taken = takes(50, 'x');
  }
  expect(taken).toBe(10);
});
