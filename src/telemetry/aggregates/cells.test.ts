import { expect, test } from 'bun:test';
import { seeded } from '../../../test/fuzz.ts';
import { type Cell, partOf, unpack } from '../../../test/telemetry/cells.ts';
import { addAmount, nothing, SUMS } from './amount.ts';
import { Cells } from './cells.ts';
import { partIn } from './chunk.ts';
import { count } from './histogram.ts';
import { LAYS, type Layout } from './layout.ts';

type Random = ReturnType<typeof seeded>;
const LAYOUTS = Object.keys(LAYS) as Layout[];

/** Some of one call, some of many, some taken away; few ids, so that many are called the same. */
function randomCells(random: Random, width: number, count: number, ids: number): Cell[] {
  return Array.from({ length: count }, () => ({
    key: Array.from({ length: width }, () => 1 + random.below(ids)),
    amount: randomAmount(random),
  }));
}

function randomAmount(random: Random) {
  const amount = nothing();
  const sign = random.chance(0.1) ? -1 : 1;
  for (const name of SUMS)
    if (random.chance(0.7))
      amount.sums[name] = sign * (random.chance(0.05) ? 2 ** random.below(48) : random.below(300));
  amount.sums.calls = sign;
  for (const histogram of [amount.durations, amount.firstBytes])
    for (let left = random.chance(0.9) ? random.below(3) : random.below(400); left > 0; left--)
      count(histogram, random.below(random.chance(0.95) ? 1_400 : 5_000), sign * (1 + random.below(200)));
  return amount;
}

/** The same, a cell at a time. */
function addedUp(cells: readonly Cell[]): Cell[] {
  const sums = new Map<string, Cell>();
  for (const { key, amount } of cells) {
    const text = key.join();
    if (!sums.has(text)) sums.set(text, { key, amount: nothing() });
    addAmount(sums.get(text)!.amount, amount);
  }
  for (const { amount } of sums.values())
    for (const histogram of [amount.durations, amount.firstBytes] as Map<number, number>[])
      for (const [bucket, times] of histogram) if (times === 0) histogram.delete(bucket);
  return [...sums.values()]
    .filter(({ amount }) => SUMS.some((name) => amount.sums[name] !== 0))
    .sort(({ key: one }, { key: other }) => one[0]! - other[0]! || one[1]! - other[1]! || one[2]! - other[2]!);
}

for (const layout of LAYOUTS)
  test(`cells that are laid "${layout}" are added up wherever they come from, and read as if they had come one by one`, () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = seeded(seed);
      const width = 1 + random.below(3);
      const ids = 1 + random.below(random.chance(0.5) ? 8 : 2_000);
      const parts = Array.from({ length: 1 + random.below(6) }, () =>
        randomCells(random, width, random.below(random.chance(0.2) ? 1_500 : 60), ids),
      );
      const all = new Cells(width);
      for (const cells of parts) {
        if (random.chance(0.5)) all.add(partOf(cells, width));
        else {
          const before = new Cells(width);
          before.add(partOf(cells, width));
          all.add(partIn(before.pack(random.pick(LAYOUTS)), width));
        }
      }
      expect(unpack(all.pack(layout), width)).toEqual(addedUp(parts.flat()));
    }
  });

test('cells whose first id is negative are left out', () => {
  const random = seeded(5);
  const cells = randomCells(random, 2, 200, 9);
  const { chunk, keys } = partOf(cells, 2);
  const some = new Cells(2);
  some.add({ chunk, keys: [keys[0]!.map((id) => (id % 2 === 0 ? -1 : id)), keys[1]!] });
  expect(unpack(some.pack('in narrow runs'), 2)).toEqual(addedUp(cells.filter(({ key }) => key[0]! % 2 !== 0)));
});

test('beyond so many cells, new people are counted together by their core, and nothing is lost', () => {
  const random = seeded(6);
  for (const width of [2, 3]) {
    const cells = randomCells(random, width, 5_000, 40);
    const few = new Cells(width, 300);
    for (let at = 0; at < cells.length; at += 500) few.add(partOf(cells.slice(at, at + 500), width));
    const seen = new Set<string>();
    const expected = cells.map(({ key, amount }) => {
      const text = key.join();
      if (seen.size < 300) seen.add(text);
      return { key: seen.has(text) ? key : [key[0]!, ...key.slice(1).map(() => 0)], amount };
    });
    expect(unpack(few.pack('in narrow runs'), width)).toEqual(addedUp(expected));
    // One for each core.
    expect(new Set(expected.map(({ key }) => key.join())).size).toBe(340);
  }
});

test('of one kind there are as many cells as there are names', () => {
  const cells = Array.from(
    { length: 700 },
    (_, id): Cell => ({ key: [id + 1], amount: { ...nothing(), sums: { ...nothing().sums, calls: 1 } } }),
  );
  const all = new Cells(1, 10);
  all.add(partOf(cells, 1));
  expect(unpack(all.pack('in narrow runs'), 1)).toEqual(cells);
});
